// From the statement of a Compute leaf to its vector Kernel: a register tile over Par dims, vectors along the dim in
// which the written buffer is contiguous, lane counts that halve down to scalars for the rest of a row (so no element
// outside the box is touched). One generator for every vector machine: lanes, registers and the operations that exist
// come from the chip file.
#pragma once

#include "base/result.h"
#include "hw/program.h"
#include "lowering/context.h"

namespace dlcc::lowering {

/// Fills leaf.kernel; its loops run over the variables of the leaf's own dims. Falls back to scalars (lanes 1) where
/// lanes cannot be contiguous or an operation has no vector form (said to context.explain); leaves on blocked buffers
/// get no kernel. Unsupported: an operation that the chip has in no form.
Status kernelize(hw::Compute& leaf, hw::Group& group, const Context& context);

}  // namespace dlcc::lowering
