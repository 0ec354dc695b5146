// Text and table forms of a simulation's result, for dlsim and dlcc.
#pragma once

#include <string>

#include "hw/machine.h"
#include "hw/program.h"
#include "sim/sim.h"

namespace dlcc::sim {

/// A line per layer (cycles, bound, bound / cycles, where the pipes' time went) and a total. Empty without a timing
/// run.
std::string layer_table(const hw::Program& program, const hw::Machine& machine, const Result& result);
/// A line per finding: "read-before-wait: conv_1, core 3, pipe core, 'compute conv_1': message".
std::string findings_text(const Result& result);
/// The share of a pipe's time that is its largest wait: {"wait_dma", 0.41}; "none" when nothing waits.
struct Stall {
  std::string reason = "none";
  double share = 0;
};
Stall main_stall(const GroupTime& group, int cores);

}  // namespace dlcc::sim
