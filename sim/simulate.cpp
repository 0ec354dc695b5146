// simulate(): structure checks, then the run in values and the run in time.
#include <algorithm>

#include "sim/check_program.h"
#include "sim/lookups.h"
#include "sim/sim.h"
#include "sim/timing.h"
#include "sim/values.h"

namespace dlcc::sim {

dlcc::Result<Result> simulate(const hw::Program& program, const hw::Machine& machine,
                              const std::vector<te::Array>& inputs, std::span<const std::byte> weights,
                              const Options& options) {
  DLCC_RETURN_IF_ERROR(check_program(
      program, machine,
      options.values ? weights.size() : static_cast<size_t>(std::max<int64_t>(program.weights_bytes, 0))));
  Result result;
  LookupLog lookups(machine.core_count());
  if (options.values) {
    DLCC_RETURN_IF_ERROR(run_values(program, machine, inputs, weights, options, lookups, result));
  }
  bool stuck = false;
  for (const Finding& finding : result.findings) {
    stuck = stuck || finding.check == "deadlock";
  }
  if (options.timing && !stuck) {
    DLCC_RETURN_IF_ERROR(run_timing(program, machine, options, lookups, result));
  }
  if (options.timing) {
    result.groups.resize(program.groups.size());  // no time is told of a run that did not end
  }
  if (options.record_dma) {
    result.dma_trace = record_dma(program, machine, lookups);
  }
  return result;
}

}  // namespace dlcc::sim
