// Checks of one group: its declarations, and every node of its body. Used by verify() only.
#pragma once

#include <string>

#include "base/result.h"
#include "hw/program.h"

namespace dlcc::hw {

/// Sizes, layouts, alignment, capacity and overlap of the group's buffers; channels. False: the body must not be looked
/// at.
bool verify_declarations(const Group& group, const Machine& machine, Diags& diags);

/// The nodes, given that the declarations are right.
void verify_body(const Program& program, const Group& group, const Machine& machine, Diags& diags);

class VarBounds;
/// The registers, accesses and loops of a kernel. bounds: of the variables outside it; left as they were.
void verify_kernel(const Compute& leaf, const Program& program, const Group& group, VarBounds& bounds,
                   const std::string& where, Diags& diags);

}  // namespace dlcc::hw
