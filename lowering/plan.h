// TilePlan: plain data that fixes how a group is tiled; the only thing that a tuner changes. Printable, parsable, comparable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "lowering/analysis.h"

namespace dlcc::lowering {

struct TilePlan {
  std::vector<int64_t> tile;       // by dim of the root statement
  std::vector<int> order;          // dims of the root with more than one tile, outer to inner
  std::vector<int64_t> red_tile;   // by dim of the streamed statement; Par dims: 0; empty without one
  bool double_buffer = true;       // streamed loads and stores get two slots
  int intrinsic = -1;              // index into GroupAnalysis::intrinsics
  std::vector<int64_t> micro;      // extent of each axis of the intrinsic in one call
  friend bool operator==(const TilePlan&, const TilePlan&) = default;
};

/// "tile co:16 oh:8 ow:28 order co oh red ci:8 double_buffer" with the dims' names.
std::string print(const TilePlan& plan, const GroupAnalysis& group);
Result<TilePlan> parse_plan(std::string_view text, const GroupAnalysis& group, const std::string& where);
/// Sizes in range, order consistent. Empty: fine.
std::string check(const TilePlan& plan, const GroupAnalysis& group);

/// The analytical default: the tile with the least estimated time among those that fit, found by descent over one dim at a time.
/// Error (kind Error): nothing fits; the message itemises the smallest tile's buffers, the capacity, and the knob.
Result<TilePlan> choose_plan(const GroupAnalysis& group, const Context& context);

}  // namespace dlcc::lowering
