#include "frontend/ops/index_map.h"

#include <algorithm>

namespace dlcc::frontend::ops {

std::vector<Run> runs_of(const std::vector<int64_t>& positions) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < static_cast<int64_t>(positions.size()); ++i) {
    int64_t value = positions[static_cast<size_t>(i)];
    if (!runs.empty()) {
      Run& run = runs.back();
      int64_t step = value - (run.start + run.step * (run.count - 1));
      if (run.count == 1 || step == run.step) {
        run.step = step;
        ++run.count;
        continue;
      }
    }
    runs.push_back({i, 1, value, 0});
  }
  return runs;
}

std::optional<int64_t> repeat_factor(const std::vector<int64_t>& positions) {
  int64_t factor = std::count(positions.begin(), positions.end(), 0);
  if (factor < 2 || static_cast<int64_t>(positions.size()) % factor != 0) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < static_cast<int64_t>(positions.size()); ++i) {
    if (positions[static_cast<size_t>(i)] != i / factor) {
      return std::nullopt;
    }
  }
  return factor;
}

}  // namespace dlcc::frontend::ops
