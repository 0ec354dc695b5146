// RegionMap: from a tile of the root, backwards: which box of every dim and tensor one tile needs. Boxes are affine in the loops' indices,
// of constant size, and unclipped: a padded access may reach outside its tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lowering/plan.h"

namespace dlcc::lowering {

using te::Affine;
using te::VarId;

/// One loop of the flattened nest, outer to inner: tiles of the root's dims, then tiles of the streamed reduction's dims.
/// Its index variable is 1 + its position (variable 0 is the core's number).
struct TileLoop {
  int stmt = 0;                  // whose dim
  int dim = 0;
  int64_t tile = 1;
  int64_t count = 1;             // trips, > 1
  bool reduction = false;
};

/// [lo, lo + size) of a dim of `limit` points. `below`/`above`: some tile reaches under 0 / over limit.
struct Range {
  Affine lo;
  int64_t size = 1;
  int64_t limit = 1;
  bool below = false, above = false;
  bool clipped() const { return below || above; }
};
using Box = std::vector<Range>;

/// A box of a tensor in global memory that a tile reads.
struct Load {
  int tensor = 0;                // GroupAnalysis::tensors
  Phase phase = Phase::Final;
  Box box;                       // by dim of the tensor
  std::optional<double> fill;    // of padding; the path can pad then
  struct User {
    int stmt, read;
  };
  std::vector<User> users;
};

struct RegionMap {
  std::vector<TileLoop> loops;
  std::vector<Box> dims;         // [stmt][dim]: the statement's own iteration box
  std::vector<Box> outputs;      // [stmt]: box of what it writes: by tensor dim; for the root by its Par dims
  std::vector<std::optional<double>> output_fill;   // value outside the tensor that consumers expect
  std::vector<Load> loads;
  int64_t tiles = 1;             // product of the non-reduction counts
  int64_t steps = 1;             // product of the reduction counts
  /// Trips of the loops inside loop `level - 1` (level 0: all loops).
  int64_t inner_trips(int level) const;
  /// 1 + the innermost loop on which the box depends, 0 if none.
  int level_of(const Box& box) const;
};

/// Smallest and largest value over all loop indices.
struct Bounds {
  int64_t min, max;
};
Bounds bounds_of(const Affine& affine, const std::vector<TileLoop>& loops);

RegionMap propagate(const GroupAnalysis& group, const TilePlan& plan);

}  // namespace dlcc::lowering
