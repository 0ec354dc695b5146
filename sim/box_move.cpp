// Dims of one point go, dims that line up merge; the innermost run is one memcpy where both sides are dense.
#include "sim/box_move.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace dlcc::sim {
namespace {

struct Dim {
  int64_t extent, dst, src;
};

std::vector<Dim> normalise(std::span<const int64_t> dst, std::span<const int64_t> src,
                           std::span<const int64_t> extents) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) {
      continue;
    }
    const Dim dim{extents[d], dst[d], src[d]};
    if (!dims.empty() && dims.back().dst == dim.dst * dim.extent && dims.back().src == dim.src * dim.extent) {
      dims.back() = {dims.back().extent * dim.extent, dim.dst, dim.src};
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

void copy_row(std::byte* dst, const std::byte* src, const Dim& dim, int64_t element) {
  if (dim.dst == element && dim.src == element) {
    std::memcpy(dst, src, static_cast<size_t>(dim.extent * element));
    return;
  }
  if (element == 4) {
    for (int64_t i = 0; i < dim.extent; ++i) {
      std::memcpy(dst + i * dim.dst, src + i * dim.src, 4);
    }
    return;
  }
  for (int64_t i = 0; i < dim.extent; ++i) {
    std::memcpy(dst + i * dim.dst, src + i * dim.src, static_cast<size_t>(element));
  }
}

void copy_dims(std::byte* dst, const std::byte* src, const Dim* dims, size_t count, int64_t element) {
  if (count == 1) {
    copy_row(dst, src, dims[0], element);
    return;
  }
  for (int64_t i = 0; i < dims[0].extent; ++i) {
    copy_dims(dst + i * dims[0].dst, src + i * dims[0].src, dims + 1, count - 1, element);
  }
}

bool has_points(std::span<const int64_t> extents) {
  return std::all_of(extents.begin(), extents.end(), [](int64_t extent) { return extent > 0; });
}

}  // namespace

void copy_box(std::byte* dst, std::span<const int64_t> dst_strides, const std::byte* src,
              std::span<const int64_t> src_strides, std::span<const int64_t> extents, int64_t element) {
  if (!has_points(extents)) {
    return;
  }
  const std::vector<Dim> dims = normalise(dst_strides, src_strides, extents);
  if (dims.empty()) {
    std::memcpy(dst, src, static_cast<size_t>(element));
  } else {
    copy_dims(dst, src, dims.data(), dims.size(), element);
  }
}

void fill_box(std::byte* dst, std::span<const int64_t> strides, std::span<const int64_t> extents, DType type,
              te::Value value) {
  if (!has_points(extents)) {
    return;
  }
  // One dense row of the value, copied with stride 0 from row to row.
  const int64_t element = bytes_of(type);
  const std::vector<int64_t> same(extents.size(), 0);
  std::byte one[8];
  te::store_element(type, one, 0, value);
  std::vector<Dim> dims = normalise(strides, same, extents);
  for (size_t d = dims.size(); d-- > 1;) {
    if (dims[d - 1].dst == dims[d].dst * dims[d].extent) {
      dims[d - 1] = {dims[d - 1].extent * dims[d].extent, dims[d].dst, 0};
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
    }
  }
  if (dims.empty()) {
    std::memcpy(dst, one, static_cast<size_t>(element));
    return;
  }
  std::vector<std::byte> row;
  if (dims.back().dst == element) {
    row.resize(static_cast<size_t>(dims.back().extent * element));
    for (int64_t i = 0; i < dims.back().extent; ++i) {
      std::memcpy(&row[static_cast<size_t>(i * element)], one, static_cast<size_t>(element));
    }
    dims.back().src = element;
    copy_dims(dst, row.data(), dims.data(), dims.size(), element);
  } else {
    copy_dims(dst, one, dims.data(), dims.size(), element);
  }
}

}  // namespace dlcc::sim
