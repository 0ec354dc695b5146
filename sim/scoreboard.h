// Cycles of a Kernel on an in-order core that issues up to Issue::width instructions a cycle, each to a different port.
// The innermost loop bodies are scheduled instruction by instruction until their issue pattern repeats; trips multiply
// the steady state.
#pragma once

#include <cstdint>
#include <span>

#include "hw/kernel.h"
#include "hw/machine.h"
#include "hw/program.h"

namespace dlcc::sim {

/// Cycles of one execution of the leaf with these variable values. An operation that the chip file does not list is an
/// internal error here (lowering checks it first).
int64_t kernel_cycles(const hw::Kernel& kernel, const hw::Machine& machine, std::span<const int64_t> env,
                      size_t var_count);

}  // namespace dlcc::sim
