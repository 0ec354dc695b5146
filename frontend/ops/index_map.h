// A list of source positions along one axis, and its pieces that are affine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace dlcc::frontend::ops {

/// positions[first + i] = start + step * i for i < count.
struct Run {
  int64_t first = 0, count = 0;
  int64_t start = 0, step = 0;
};

/// The list cut greedily into runs.
std::vector<Run> runs_of(const std::vector<int64_t>& positions);
/// The factor f for which positions[i] = i / f, i < f * n; nullopt when there is none above 1.
std::optional<int64_t> repeat_factor(const std::vector<int64_t>& positions);

}  // namespace dlcc::frontend::ops
