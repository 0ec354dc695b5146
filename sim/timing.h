// The run in time.
#pragma once

#include "base/result.h"
#include "sim/lookups.h"
#include "sim/sim.h"

namespace dlcc::sim {

/// Fills result.cycles, groups, events, trace. The program has passed check_program. A deadlock (for example a queue
/// that is too short for the program's flags) is a finding, or an error without `sanitize`; then there are no cycles.
Status run_timing(const hw::Program& program, const hw::Machine& machine, const Options& options, const LookupLog& lookups, Result& result);

/// Every descriptor of every core, by core, in program order.
std::vector<DmaRecord> record_dma(const hw::Program& program, const hw::Machine& machine, const LookupLog& lookups);

}  // namespace dlcc::sim
