// From a Dma leaf with known values to the descriptors that an engine executes. This algorithm is a contract: the runtime shipped with emitted
// code (targets/sunway/runtime) implements the same, and a test compares the two traces.
//
//   1. Clip: each box dim to the points that lie inside the tensor (a tensor dim depends on at most one box dim).
//   2. Drop dims of extent 1. Merge dim k into k+1 when stride[k] == extent[k+1] * stride[k+1] on both sides (outer to inner, repeatedly).
//   3. The innermost dim is a block if both sides are contiguous there, else blocks of one element.
//   4. The next dim becomes the block count if max_dims >= 2 and the scratchpad side is dense (stride == block) and the global stride fits
//      (block <= stride <= max_stride); every further dim, and everything over max_block / max_bytes, becomes separate descriptors, in row-major
//      order of the remaining dims. A block over the smaller of the two limits (rounded down to whole elements) is cut into pieces of that size,
//      one descriptor each, and there is no block count then; a block count over max_bytes / block is cut into runs of that many blocks.
//      A descriptor of one block has stride 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "hw/machine.h"
#include "hw/program.h"

namespace dlcc::hw {

/// `blocks` blocks of `block` bytes; the global side starts at `global` (bytes from the start of its space) and steps by `global_stride` bytes a block;
/// the scratchpad side starts at `local` (bytes from the start of the memory) and is dense. For a copy between two scratchpads "global" is the src.
struct Descriptor {
  int64_t global = 0;
  int64_t local = 0;
  int64_t block = 0;
  int64_t blocks = 1;
  int64_t global_stride = 0;
  int64_t bytes() const { return block * blocks; }
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// A strided box with concrete numbers: both sides' byte address of point 0 after clipping and strides per dim.
struct ConcreteBox {
  std::vector<int64_t> extent;
  std::vector<int64_t> global_stride, local_stride;   // bytes
  int64_t global = 0, local = 0;
  int64_t element = 1;                                // bytes
};

/// True when a side is a buffer with a layout. Its addresses are not affine: clip then gives that side the strides of a dense box, which count
/// blocks and bytes right (runs of the row-major side) but are no addresses.
bool has_blocked_side(const Dma& dma, const Group& group);

/// Step 1. env holds the values of the group's variables. An empty box has an extent of 0. `clipped` (may be null) says whether any point was outside.
ConcreteBox clip(const Dma& dma, const Group& group, const Program& program, std::span<const int64_t> env, bool* clipped);
/// Steps 2-4, for row-major sides. Appends to out.
void expand(const ConcreteBox& box, const DmaEngine& engine, std::vector<Descriptor>& out);

}  // namespace dlcc::hw
