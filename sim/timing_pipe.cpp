// Pipes: what each instruction costs, and what it waits for.
#include <algorithm>
#include <cmath>

#include "sim/timing_run.h"

namespace dlcc::sim {

/// The pipe is busy for that long from its time on.
void TimingRun::spend(int core, int pipe, int64_t tick_count) {
  Pipe& state = cores_[static_cast<size_t>(core)].pipes[static_cast<size_t>(pipe)];
  account(core, pipe).busy += tick_count;
  sums(core).busy[static_cast<size_t>(core)] += tick_count;
  if (state.running()) {
    trace_.add(Trace::Kind::Run, core, pipe, cores_[static_cast<size_t>(core)].group, state.op.leaf->index, state.time,
               state.time + tick_count);
  }
  state.time += tick_count;
}

bool TimingRun::block(int core, int pipe, Block why) {
  Core& state = cores_[static_cast<size_t>(core)];
  Pipe& target = state.pipes[static_cast<size_t>(pipe)];
  target.block = why;
  if (why == Block::Starved) {
    target.full_mark = front_total(state.front, Block::QueueFull, target.time);
    target.barrier_mark = front_total(state.front, Block::Barrier, target.time);
  }
  return false;
}

/// Accounts for the time since the pipe blocked; its condition is then looked at again.
void TimingRun::unblock(int core, int pipe, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  Pipe& target = state.pipes[static_cast<size_t>(pipe)];
  const int64_t waited = now - target.time;
  PipeTime& time = account(core, pipe);
  switch (target.block) {
    case Block::None:
      return;
    case Block::Starved: {
      const int64_t full =
          std::clamp<int64_t>(front_total(state.front, Block::QueueFull, now) - target.full_mark, 0, waited);
      const int64_t barrier =
          std::clamp<int64_t>(front_total(state.front, Block::Barrier, now) - target.barrier_mark, 0, waited - full);
      time.queue_full += full;
      time.wait_barrier += barrier;
      break;  // the rest is idle, which is what the report finds left over
    }
    case Block::WaitDma:
      time.wait_dma += waited;
      break;
    case Block::WaitFlag:
      time.wait_flag += waited;
      break;
    case Block::QueueFull:
      time.queue_full += waited;
      break;
    case Block::Barrier:
      time.wait_barrier += waited;
      break;
    case Block::Transfer:
      time.busy += waited;
      sums(core).busy[static_cast<size_t>(core)] += waited;
      break;
  }
  if (target.running()) {
    const auto kind = target.block == Block::Transfer ? Trace::Kind::Run : Trace::Kind::Wait;
    trace_.add(kind, core, pipe, state.group, target.op.leaf->index, target.time, now);
  }
  target.time = now;
  target.block = Block::None;
}

void TimingRun::step_pipe(int core, int pipe, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  Pipe& self = state.pipes[static_cast<size_t>(pipe)];
  if (state.done || self.time > now) {
    return;  // a busy pipe has its own wake to come
  }
  unblock(core, pipe, now);
  while (!state.done) {
    if (!self.running() && !fetch(core, pipe, now)) {
      return;
    }
    if (!execute(core, pipe, now)) {
      return;
    }
    self.op.leaf = nullptr;
    if (decoupled() && self.time > now) {
      wake(core, pipe, self.time, Phase::Issue);
      return;
    }
  }
}

/// The next instruction: from the queue, or, on a core that is its own front end, from the program.
bool TimingRun::fetch(int core, int pipe, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  Pipe& self = state.pipes[static_cast<size_t>(pipe)];
  if (decoupled()) {
    self.time = std::max(self.time, now);
    if (self.queue.empty()) {
      block(core, pipe, Block::Starved);
      if (state.front.block == Block::Barrier || state.front.ended) {
        wake(core, -1, now, Phase::Issue);  // it may be waiting for the pipes to run dry
      }
      return false;
    }
    self.op = std::move(self.queue.front());
    self.queue.pop_front();
    if (state.front.block == Block::QueueFull) {
      wake(core, -1, now, Phase::Issue);
    }
    return true;
  }
  while (true) {
    if (const Leaf* leaf = state.cursor->next()) {
      self.op.leaf = leaf;
      self.op.env = state.cursor->env();
      return true;
    }
    if (!enter_group(core, state.group + 1, self.time)) {
      return false;
    }
  }
}

/// Runs the current instruction as far as it gets; true when it is done (time says until when the pipe is busy).
bool TimingRun::execute(int core, int pipe, int64_t now) {
  Pipe& self = cores_[static_cast<size_t>(core)].pipes[static_cast<size_t>(pipe)];
  const Leaf& leaf = *self.op.leaf;
  switch (leaf.kind) {
    case OpKind::Compute:
      spend(core, pipe, ticks(costs(core).compute(leaf, self.op.env)));
      return true;
    case OpKind::Intrin:
      spend(core, pipe, ticks(costs(core).intrinsic(leaf, self.op.env)));
      return true;
    case OpKind::Fill:
      spend(core, pipe, ticks(costs(core).fill(leaf, self.op.env)));
      return true;
    default:
      break;
  }
  // The rest touches what others see: it happens when the clock is there.
  if (self.time > now) {
    wake(core, pipe, self.time, Phase::Issue);
    return false;
  }
  switch (leaf.kind) {
    case OpKind::Dma:
      return execute_dma(core, pipe, now);
    case OpKind::Signal:
      execute_signal(core, pipe, now);
      return true;
    case OpKind::Wait:
      return execute_wait(core, pipe, now);
    default:
      return arrive(core, now) || block(core, pipe, Block::Barrier);
  }
}

void TimingRun::execute_signal(int core, int pipe, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  const Pipe& self = state.pipes[static_cast<size_t>(pipe)];
  const auto& signal = self.op.leaf->as<hw::Signal>();
  const hw::Channel& channel = group_of(core).channels[static_cast<size_t>(signal.channel)];
  const int64_t slot = std::clamp<int64_t>(eval(signal.slot, self.op.env.data()), 0, channel.slots - 1);
  ++state.channels[static_cast<size_t>(signal.channel)][static_cast<size_t>(slot)];
  if (state.pipes[static_cast<size_t>(channel.to)].block == Block::WaitFlag) {
    wake(core, channel.to, now, Phase::Release);
  }
}

bool TimingRun::execute_wait(int core, int pipe, int64_t) {
  Core& state = cores_[static_cast<size_t>(core)];
  const Pipe& self = state.pipes[static_cast<size_t>(pipe)];
  const auto& wait = self.op.leaf->as<hw::Wait>();
  const hw::Channel& channel = group_of(core).channels[static_cast<size_t>(wait.channel)];
  const int64_t slot = std::clamp<int64_t>(eval(wait.slot, self.op.env.data()), 0, channel.slots - 1);
  int& count = state.channels[static_cast<size_t>(wait.channel)][static_cast<size_t>(slot)];
  if (channel.kind == hw::ChannelKind::Flag) {
    if (count == 0) {
      return block(core, pipe, Block::WaitFlag);
    }
    --count;
    spend(core, pipe, sync_ticks(hw::SyncKind::FlagPair));
    return true;
  }
  if (count > 0) {
    return block(core, pipe, Block::WaitDma);
  }
  spend(core, pipe, sync_ticks(hw::SyncKind::Reply));
  return true;
}

/// Descriptors of the current transfer, and the cycles that the core pads for it.
void TimingRun::begin_transfer(int core, int pipe) {
  Pipe& self = cores_[static_cast<size_t>(core)].pipes[static_cast<size_t>(pipe)];
  const auto& dma = self.op.leaf->as<hw::Dma>();
  self.expanded = true;
  self.paid = false;
  self.next = 0;
  self.descriptors.clear();
  int id = hw::kNone;
  const hw::DmaEngine* engine = engine_of(dma, &id);
  if (dma.lookup.has_value()) {
    self.op.env[static_cast<size_t>(dma.lookup->var)] =
        lookups_.next(core, cores_[static_cast<size_t>(core)].group, self.op.leaf->index);
  }
  const hw::ConcreteBox box = hw::clip(dma, group_of(core), program_, self.op.env, nullptr);
  int64_t moved = 1, whole = 1;
  for (size_t d = 0; d < box.extent.size(); ++d) {
    moved *= box.extent[d];
  }
  for (const hw::BoxDim& dim : dma.box) {
    whole *= std::max<int64_t>(eval(dim.extent, self.op.env.data()), 0);
  }
  spend(core, pipe, ticks(costs(core).padding(*self.op.leaf, whole - moved)));
  if (engine != nullptr) {
    hw::expand(box, *engine, self.descriptors);
    return;
  }
  // A path without an engine: the pipe copies through the slower of the two ports.
  double rate = 0;
  const hw::Path& path = machine_.paths[static_cast<size_t>(dma.path)];
  for (const hw::MemoryId memory : {path.from, path.to}) {
    const double port = memory < 0 ? 0 : machine_.memories[static_cast<size_t>(memory)].bytes_per_cycle;
    rate = port > 0 && (rate == 0 || port < rate) ? port : rate;
  }
  const double bytes = static_cast<double>(moved * box.element);
  spend(core, pipe,
        ticks(static_cast<int64_t>(std::ceil(bytes / (rate > 0 ? rate : static_cast<double>(box.element))))));
}

bool TimingRun::execute_dma(int core, int pipe, int64_t now) {
  Pipe& self = cores_[static_cast<size_t>(core)].pipes[static_cast<size_t>(pipe)];
  int id = hw::kNone;
  const hw::DmaEngine* engine = engine_of(self.op.leaf->as<hw::Dma>(), &id);
  if (!self.expanded) {
    begin_transfer(core, pipe);
  }
  while (self.next < self.descriptors.size()) {
    if (!self.paid) {
      if (self.time > now) {
        wake(core, pipe, self.time, Phase::Issue);
        return false;
      }
      if (engines_[static_cast<size_t>(id)]->outstanding(core) >= std::max(engine->queue_depth, 1)) {
        // A pipe that is the engine is busy with the descriptors before.
        return block(core, pipe, engine->kind == hw::EngineKind::Async ? Block::QueueFull : Block::Transfer);
      }
      spend(core, pipe, ticks(engine->issue));
      self.paid = true;
    }
    if (self.time > now) {
      wake(core, pipe, self.time, Phase::Issue);
      return false;
    }
    submit(core, pipe, now);
    self.paid = false;
    ++self.next;
  }
  if (self.on_the_way > 0) {
    return block(core, pipe, Block::Transfer);
  }
  self.expanded = false;
  return true;
}

void TimingRun::submit(int core, int pipe, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  Pipe& self = state.pipes[static_cast<size_t>(pipe)];
  const auto& dma = self.op.leaf->as<hw::Dma>();
  int id = hw::kNone;
  const hw::DmaEngine& engine = *engine_of(dma, &id);
  const hw::Descriptor& descriptor = self.descriptors[self.next];
  Flight flight{core, pipe, state.group, self.op.leaf->index, hw::kNone, 0, engine.kind != hw::EngineKind::Async, now};
  if (flight.blocking) {
    ++self.on_the_way;
  } else {
    const hw::Channel& channel = group_of(core).channels[static_cast<size_t>(dma.channel)];
    flight.channel = dma.channel;
    flight.slot = std::clamp<int64_t>(eval(dma.channel_slot, self.op.env.data()), 0, channel.slots - 1);
    ++state.channels[static_cast<size_t>(flight.channel)][static_cast<size_t>(flight.slot)];
  }
  const bool put = dma.dst.kind == hw::ObjectKind::Tensor;
  const uint32_t number = engines_[static_cast<size_t>(id)]->submit(core, demand_of(descriptor, engine, put), now);
  auto& flights = flights_[static_cast<size_t>(id)];
  if (flights.size() <= number) {
    flights.resize(number + 1);
  }
  flights[number] = flight;
  if (put || dma.src.kind == hw::ObjectKind::Tensor) {
    sums(core).bytes += descriptor.bytes();
    ++sums(core).descriptors;
  }
}

}  // namespace dlcc::sim
