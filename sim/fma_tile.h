// The inner kernel of multiply-accumulate leaves: a tile of up to 4 rows x 16 lanes, accumulated over a list of
// reduction points in order, one fused rounding a point. Same bits with and without the vector units of the host.
#pragma once

#include <cstdint>

namespace dlcc::sim {

constexpr int kFmaRows = 4;
constexpr int kFmaLanes = 16;

/// Element of row q, lane l, reduction point r: data[q][offsets[r] + (splat ? 0 : l)].
struct FmaOperand {
  const float* data[kFmaRows];
  const int64_t* offsets;
  bool splat;
};

/// acc[q][l] = fma(a, b, acc[q][l]) for r = 0 .. count - 1 in order. rows: 1 or kFmaRows; lanes: 1 .. kFmaLanes.
void fma_tile(float* const* acc, int rows, int lanes, const FmaOperand& a, const FmaOperand& b, int64_t count);

}  // namespace dlcc::sim
