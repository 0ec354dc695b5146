// BufferPlan: where each box of a tile lives, how many slots it has, and whether all fit. Capacity is decided here, byte-exactly, before any code exists.
#pragma once

#include <string>
#include <vector>

#include "hw/program.h"
#include "lowering/region.h"

namespace dlcc::lowering {

/// A buffer and why it exists. Exactly one of load / stmt / operand is set.
struct PlannedBuffer {
  hw::Buffer buffer;
  int load = -1;                 // RegionMap::loads
  int stmt = -1;                 // its output
  int operand = -1;              // of the intrinsic: a micro tile in an inner memory
  int level = 0;                 // a fresh instance at each iteration of the loops up to this level
  Box box;                       // of the tensor (statement dims for the root); index 0 of the buffer is `origin`
};

struct BufferPlan {
  std::vector<PlannedBuffer> buffers;
  std::vector<int> of_load;      // buffer of each load
  std::vector<int> of_stmt;      // buffer of each statement's output
  std::vector<int> of_operand;   // buffer of each intrinsic operand, -1 when it is a view of another buffer
  /// Bytes over the capacity of the memory that overflows most; 0: fits.
  int64_t overflow = 0;
  std::string overflow_memory;
};

/// Sizes and offsets. Never fails; look at overflow.
BufferPlan plan_buffers(const GroupAnalysis& group, const TilePlan& plan, const RegionMap& regions, const hw::Machine& machine);

/// "needs 81920 bytes of ldm, has 61440: x 16x10x58 f32 37120 x2, w ... " for errors and --explain.
std::string itemise(const BufferPlan& plan, const hw::Machine& machine);

/// Two slots are worth it when one agent fills the buffer while another uses it and there is more than one instance.
bool wants_two_slots(const PlannedBuffer& buffer, const RegionMap& regions, const TilePlan& plan, const hw::Machine& machine);

}  // namespace dlcc::lowering
