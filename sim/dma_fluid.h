// One DMA engine in time: a serial arbiter, a start-up latency, then bandwidth that the cores share as a fluid.
// Descriptors of one core are served in order; cores that are being served get equal rates, at most lone_rate each,
// rate_for(n) together. n counts the cores that have used the engine within one arbiter round (start-up + request x
// cores): a burst keeps its rate to its end.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "hw/dma_expand.h"
#include "hw/machine.h"
#include "sim/events.h"

namespace dlcc::sim {

/// What a descriptor asks of an engine.
struct DmaDemand {
  int64_t bytes = 0;      // that arrive
  int64_t effective = 0;  // after granules, shortest runs and read-modify-write
  int64_t blocks = 0;
};
DmaDemand demand_of(const hw::Descriptor& descriptor, const hw::DmaEngine& engine, bool put);

class FluidEngine {
 public:
  FluidEngine(const hw::DmaEngine& engine, int id, int cores, EventQueue& events);
  /// Returns the descriptor's number; a Done event with it comes when it completes.
  uint32_t submit(int core, const DmaDemand& demand, int64_t now);
  void on_ready(int core, uint32_t flow, int64_t now);
  void on_served(uint32_t generation, int64_t now);
  void on_quiet(int core, int64_t now);
  /// To be called for each Done event; frees the descriptor.
  void on_done(int core, uint32_t flow, int64_t now);
  int outstanding(int core) const { return cores_[static_cast<size_t>(core)].outstanding; }
  /// DLCC_CHECKs: every byte asked for was served, and not faster than the engine can.
  void check_conservation(int64_t end) const;

 private:
  struct Flow {
    int64_t bytes = 0;
    uint64_t work = 0;     // units, see kUnitBits
    int64_t earliest = 0;  // tick before which it cannot complete
  };
  struct Core {
    std::deque<uint32_t> ready;  // waiting for service, the first one in service
    int outstanding = 0;
    bool active = false;  // counts in n
    bool quiet_pending = false;
    int64_t last_done = 0;
  };
  void advance(int64_t now);
  void reschedule(int64_t now);
  void serve_next(int core);
  uint64_t rate_of_each() const;

  const hw::DmaEngine& engine_;
  int16_t id_;
  EventQueue& events_;
  int64_t window_ = 0;
  std::vector<uint64_t> rate_;  // [n]: units per tick together
  uint64_t lone_rate_ = 0;      // units per tick
  std::vector<Core> cores_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> free_flows_;
  std::set<std::pair<uint64_t, int>> serving_;  // virtual finish, core
  uint64_t virtual_ = 0;                        // units that each served core has got since the engine was last idle
  uint64_t each_ = 0;                           // units per tick now
  int64_t last_ = 0;
  int64_t arbiter_free_ = 0;
  int active_ = 0;
  uint32_t generation_ = 0;
  int64_t asked_bytes_ = 0, served_bytes_ = 0;
  double asked_work_ = 0;  // units
};

}  // namespace dlcc::sim
