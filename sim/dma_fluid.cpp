// The fluid server. Rates become integers once; after that everything is integer arithmetic on ticks.
#include "sim/dma_fluid.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/integer.h"

namespace dlcc::sim {
namespace {

constexpr int kUnitBits = 24;                                                // work units of one byte: 2^24
constexpr double kUnitsPerTick = double{1 << kUnitBits} / (1 << kTickBits);  // of one byte a cycle

}  // namespace

DmaDemand demand_of(const hw::Descriptor& descriptor, const hw::DmaEngine& engine, bool put) {
  DmaDemand demand{descriptor.bytes(), 0, descriptor.blocks};
  const int64_t granule = std::max<int64_t>(engine.granule, 1);
  const auto cost = [&](int64_t address) {
    const int64_t misalignment = ((address % granule) + granule) % granule;
    return std::max(engine.min_run, round_up(descriptor.block + misalignment, granule));
  };
  // Misalignments repeat with this period.
  const int64_t period = descriptor.blocks > 1 ? granule / std::gcd(std::abs(descriptor.global_stride), granule) : 1;
  int64_t total = 0;
  for (int64_t i = 0; i < std::min(period, descriptor.blocks); ++i) {
    const int64_t repeats = (descriptor.blocks - i + period - 1) / period;
    total += repeats * cost(descriptor.global + i * descriptor.global_stride);
  }
  if (put && descriptor.block < engine.rmw_below) {
    total = std::llround(static_cast<double>(total) * engine.rmw_factor);
  }
  demand.effective = total;
  return demand;
}

FluidEngine::FluidEngine(const hw::DmaEngine& engine, int id, int cores, EventQueue& events)
    : engine_(engine),
      id_(static_cast<int16_t>(id)),
      events_(events),
      window_(ticks(engine.startup + engine.request * cores)),
      cores_(static_cast<size_t>(cores)) {
  rate_.push_back(0);
  for (int n = 1; n <= cores; ++n) {
    rate_.push_back(static_cast<uint64_t>(std::max<long long>(std::llround(engine.rate_for(n) * kUnitsPerTick), 1)));
  }
  lone_rate_ = engine.lone_rate > 0
                   ? static_cast<uint64_t>(std::max<long long>(std::llround(engine.lone_rate * kUnitsPerTick), 1))
                   : rate_[1];
}

uint64_t FluidEngine::rate_of_each() const {
  if (serving_.empty()) {
    return 0;
  }
  return std::max<uint64_t>(std::min(lone_rate_, rate_[static_cast<size_t>(std::max(active_, 1))] / serving_.size()),
                            1);
}

uint32_t FluidEngine::submit(int core, const DmaDemand& demand, int64_t now) {
  uint32_t id = static_cast<uint32_t>(flows_.size());
  if (free_flows_.empty()) {
    flows_.emplace_back();
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  // Cycles of a block are time of the whole engine: bytes at its full rate.
  const double peak = engine_.rate_for(static_cast<int>(cores_.size()));
  const auto overhead =
      static_cast<uint64_t>(static_cast<double>(demand.blocks * engine_.block_overhead) * peak * (1 << kUnitBits));
  Flow& flow = flows_[id];
  flow.bytes = demand.bytes;
  flow.work = (static_cast<uint64_t>(demand.effective) << kUnitBits) + overhead;
  const double lone = engine_.lone_rate > 0 ? engine_.lone_rate : engine_.rate_for(1);
  flow.earliest = now + ticks(std::max(engine_.lone_startup, engine_.startup)) +
                  static_cast<int64_t>(static_cast<double>(demand.bytes) / lone * (1 << kTickBits));
  asked_bytes_ += demand.bytes;
  asked_work_ += static_cast<double>(flow.work);
  Core& state = cores_[static_cast<size_t>(core)];
  ++state.outstanding;
  if (!state.active) {
    advance(now);
    state.active = true;
    ++active_;
    reschedule(now);
  }
  arbiter_free_ = std::max(arbiter_free_, now) + ticks(engine_.request);
  events_.push({.tick = arbiter_free_ + ticks(engine_.startup),
                .phase = Phase::Grant,
                .kind = EventKind::Ready,
                .queue = id_,
                .core = core,
                .value = id});
  return id;
}

void FluidEngine::advance(int64_t now) {
  virtual_ += each_ * static_cast<uint64_t>(now - last_);
  last_ = now;
}

/// Sets the rate for what is served now, and the event at which the first of it will be finished.
void FluidEngine::reschedule(int64_t now) {
  ++generation_;
  each_ = rate_of_each();
  if (serving_.empty()) {
    virtual_ = 0;
    return;
  }
  const uint64_t finish = serving_.begin()->first;
  const uint64_t left = finish > virtual_ ? finish - virtual_ : 0;
  events_.push({.tick = now + static_cast<int64_t>((left + each_ - 1) / each_),
                .phase = Phase::Complete,
                .kind = EventKind::Served,
                .queue = id_,
                .core = serving_.begin()->second,
                .value = generation_});
}

void FluidEngine::serve_next(int core) {
  const Core& state = cores_[static_cast<size_t>(core)];
  if (!state.ready.empty()) {
    serving_.insert({virtual_ + flows_[state.ready.front()].work, core});
  }
}

void FluidEngine::on_ready(int core, uint32_t flow, int64_t now) {
  advance(now);
  Core& state = cores_[static_cast<size_t>(core)];
  state.ready.push_back(flow);
  if (state.ready.size() == 1) {
    serve_next(core);
    reschedule(now);
  }
}

void FluidEngine::on_served(uint32_t generation, int64_t now) {
  if (generation != generation_) {
    return;
  }
  advance(now);
  while (!serving_.empty() && serving_.begin()->first <= virtual_) {
    const int core = serving_.begin()->second;
    serving_.erase(serving_.begin());
    Core& state = cores_[static_cast<size_t>(core)];
    const uint32_t id = state.ready.front();
    state.ready.pop_front();
    events_.push({.tick = std::max(now, flows_[id].earliest),
                  .phase = Phase::Complete,
                  .kind = EventKind::Done,
                  .queue = id_,
                  .core = core,
                  .value = id});
    serve_next(core);
  }
  reschedule(now);
}

void FluidEngine::on_done(int core, uint32_t flow, int64_t now) {
  served_bytes_ += flows_[flow].bytes;
  free_flows_.push_back(flow);
  Core& state = cores_[static_cast<size_t>(core)];
  state.last_done = now;
  if (--state.outstanding == 0 && !state.quiet_pending) {
    state.quiet_pending = true;
    events_.push({.tick = now + window_, .phase = Phase::Issue, .kind = EventKind::Quiet, .queue = id_, .core = core});
  }
}

void FluidEngine::on_quiet(int core, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  state.quiet_pending = false;
  if (state.outstanding > 0) {
    return;
  }
  if (state.last_done + window_ > now) {
    state.quiet_pending = true;
    events_.push({.tick = state.last_done + window_,
                  .phase = Phase::Issue,
                  .kind = EventKind::Quiet,
                  .queue = id_,
                  .core = core});
    return;
  }
  advance(now);
  state.active = false;
  --active_;
  reschedule(now);
}

void FluidEngine::check_conservation(int64_t end) const {
  DLCC_CHECK(asked_bytes_ == served_bytes_)
      << "engine " << engine_.name << " was asked for " << asked_bytes_ << " bytes and served " << served_bytes_;
  double peak = 0;
  for (const uint64_t rate : rate_) {
    peak = std::max(peak, static_cast<double>(rate));
  }
  // One tick of each descriptor may be lost to rounding.
  DLCC_CHECK(asked_work_ <= peak * (static_cast<double>(end) + static_cast<double>(events_.processed()) + 1))
      << "engine " << engine_.name << " served faster than its rate";
}

}  // namespace dlcc::sim
