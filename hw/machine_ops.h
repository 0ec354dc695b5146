// vector.ops and vector.scalar_ops: compact entries -> one VectorOp per operation and type.
#pragma once

#include <string>
#include <vector>

#include "hw/machine_reader.h"

namespace dlcc::hw {

/// Fills unit.ops and unit.scalar_ops, and the lanes that the file leaves to their default.
void read_operations(Section& vector, Reader& reader, const std::vector<std::string>& ports, VectorUnit& unit);

}  // namespace dlcc::hw
