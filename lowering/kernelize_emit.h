// From a leaf and its register tile to the Kernel.
#pragma once

#include "base/result.h"
#include "lowering/kernelize_tile.h"

namespace dlcc::lowering {

/// Unsupported: an operation that the chip has neither with the tile's lanes nor as a scalar.
Result<hw::Kernel> emit_kernel(const LeafForm& form, const KernelTile& tile);

}  // namespace dlcc::lowering
