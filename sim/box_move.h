// Strided copies and fills of boxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/te/evaluate.h"

namespace dlcc::sim {

/// dst and src do not overlap. Strides in bytes; extents may be 0.
void copy_box(std::byte* dst, std::span<const int64_t> dst_strides, const std::byte* src,
              std::span<const int64_t> src_strides, std::span<const int64_t> extents, int64_t element);
void fill_box(std::byte* dst, std::span<const int64_t> strides, std::span<const int64_t> extents, DType type,
              te::Value value);

/// Calls f(point) for every point of the box in row-major order.
template <class F>
void for_each_point(std::span<const int64_t> extents, int64_t* point, F&& f) {
  for (const int64_t extent : extents) {
    if (extent <= 0) {
      return;
    }
  }
  std::fill_n(point, extents.size(), 0);
  while (true) {
    f();
    size_t d = extents.size();
    while (d > 0 && ++point[d - 1] == extents[d - 1]) {
      point[--d] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

}  // namespace dlcc::sim
