// report.json (documented in docs/report.md, versioned) and the table that dlcc and dlsim print.
#pragma once

#include <string>

#include "hw/machine.h"
#include "hw/program.h"
#include "sim/sim.h"

namespace dlcc::toolchain {

std::string report_json(const hw::Program& program, const hw::Machine& machine, const sim::Result& timed);
/// A line per layer, and a one-line total.
std::string report_table(const hw::Program& program, const hw::Machine& machine, const sim::Result& timed);

}  // namespace dlcc::toolchain
