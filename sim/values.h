// The run in values: all groups, all cores, between barriers on host threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "sim/lookups.h"
#include "sim/sim.h"

namespace dlcc::sim {

/// Fills result.outputs and result.findings. The program has passed check_program. Error: inputs that do not match, a
/// deadlock (also a finding).
Status run_values(const hw::Program& program, const hw::Machine& machine, const std::vector<te::Array>& inputs,
                  std::span<const std::byte> weights, const Options& options, LookupLog& lookups, Result& result);

}  // namespace dlcc::sim
