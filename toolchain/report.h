// report.json: documented in docs/report.md, versioned. The table for people is sim/report.h.
#pragma once

#include <string>

#include "hw/machine.h"
#include "hw/program.h"
#include "sim/sim.h"

namespace dlcc::toolchain {

std::string report_json(const hw::Program& program, const hw::Machine& machine, const sim::Result& timed);
}  // namespace dlcc::toolchain
