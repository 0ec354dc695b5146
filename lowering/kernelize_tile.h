// The register tile of a kernel: which dim the lanes run along, how many vectors and which other dims are unrolled.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lowering/kernelize_leaf.h"

namespace dlcc::lowering {

/// One pass over the rest of the row: `count` vectors of `lanes` a step.
struct Rung {
  int lanes = 1;
  int count = 1;
  int64_t step() const { return int64_t{lanes} * count; }
};

struct KernelTile {
  int row = -1;  // the dim along which lanes and rungs run; -1: the leaf has no Par dim of more than one point
  std::vector<Rung> rungs;                      // widest first, the last one of step 1
  std::vector<std::pair<int, int64_t>> unroll;  // other Par dims and their factors, > 1
  int lanes() const { return rungs.empty() ? 1 : rungs.front().lanes; }
};

/// The tile with the least estimated time whose values fit the chip's registers. why_scalar: set when the tile has no
/// vectors.
KernelTile choose_tile(const LeafForm& form, std::string& why_scalar);

/// Constant pieces of [0, extent) for a list of steps, widest first: how many times each step runs.
std::vector<int64_t> trips_of(int64_t extent, const std::vector<int64_t>& steps);

}  // namespace dlcc::lowering
