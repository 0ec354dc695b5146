// Estimated cycles of a planned group: the roofline with this machine's DMA law, used to rank tiles. The simulator has the last word.
#pragma once

#include "lowering/buffers.h"

namespace dlcc::lowering {

struct Estimate {
  double dma = 0;       // of the busiest core
  double compute = 0;
  double total = 0;
};

Estimate estimate(const GroupAnalysis& group, const TilePlan& plan, const RegionMap& regions, const BufferPlan& buffers, const hw::Machine& machine);

/// max(arithmetic at the machine's best rate on all cores, compulsory traffic at its best bandwidth): no schedule of the group is faster.
int64_t bound_cycles(const GroupAnalysis& group, const hw::Machine& machine);

}  // namespace dlcc::lowering
