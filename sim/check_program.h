// Is the program well-formed enough to run? Every index in range, every size finite, every object inside its space.
// What depends on loop values (boxes, slots, order) is checked while running. hw::verify says more, earlier; this is
// what the simulator's own memory safety rests on.
#pragma once

#include "base/result.h"
#include "hw/program.h"

namespace dlcc::sim {

Status check_program(const hw::Program& program, const hw::Machine& machine, size_t weight_bytes);

}  // namespace dlcc::sim
