// The event loop of the timing run, and its report.
#include "sim/timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "sim/timing_run.h"

namespace dlcc::sim {

TimingRun::TimingRun(const hw::Program& program, const hw::Machine& machine, const Options& options, const LookupLog& lookups,
                     Result& result)
    : program_(program),
      machine_(machine),
      options_(options),
      lookups_(lookups),
      result_(result),
      trace_(options.record_trace, machine.core_count()) {
  const int cores = machine.core_count();
  for (const hw::Group& group : program.groups) {
    codes_.push_back(std::make_unique<GroupCode>(group, machine));
    costs_.push_back(std::make_unique<LeafCosts>(*codes_.back(), program, machine));
    GroupSums sums;
    sums.pipes.resize(machine.pipes.size());
    sums.busy.assign(static_cast<size_t>(cores), 0);
    sums_.push_back(std::move(sums));
  }
  for (size_t e = 0; e < machine.dma.size(); ++e) {
    engines_.push_back(std::make_unique<FluidEngine>(machine.dma[e], static_cast<int>(e), cores, events_));
  }
  flights_.resize(machine.dma.size());
  cores_.resize(static_cast<size_t>(cores));
  for (Core& core : cores_) {
    core.pipes.resize(machine.pipes.size());
  }
}

Status TimingRun::run() {
  for (int core = 0; core < static_cast<int>(cores_.size()); ++core) {
    enter_group(core, 0, 0);
    for (Pipe& pipe : cores_[static_cast<size_t>(core)].pipes) {
      pipe.block = decoupled() ? Block::Starved : Block::None;
    }
    wake(core, decoupled() ? -1 : 0, 0, Phase::Issue);
  }
  int64_t last = 0;
  while (!events_.empty()) {
    const Event event = events_.pop();
    DLCC_CHECK(event.tick >= last) << "time runs backwards";
    last = event.tick;
    handle(event);
  }
  result_.events = events_.processed();
  if (done_ < static_cast<int>(cores_.size())) {
    const std::string text = deadlock();
    if (!options_.sanitize) {
      return error("program '" + program_.model + "'", "deadlock: " + text);
    }
    result_.findings.push_back({"deadlock", "", "", 0, "", text});
    return ok_status();
  }
  report();
  return ok_status();
}

void TimingRun::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::Wake:
      if (event.queue < 0) {
        step_front(event.core, event.tick);
      } else {
        step_pipe(event.core, event.queue, event.tick);
      }
      return;
    case EventKind::Ready:
      return engines_[static_cast<size_t>(event.queue)]->on_ready(event.core, event.value, event.tick);
    case EventKind::Served:
      return engines_[static_cast<size_t>(event.queue)]->on_served(event.value, event.tick);
    case EventKind::Quiet:
      return engines_[static_cast<size_t>(event.queue)]->on_quiet(event.core, event.tick);
    case EventKind::Done:
      return on_done(event);
  }
}

void TimingRun::wake(int core, int queue, int64_t tick, Phase phase) {
  events_.push(
      {.tick = tick, .phase = phase, .kind = EventKind::Wake, .queue = static_cast<int16_t>(queue), .core = core});
}

/// A descriptor has completed: replies, the pipe that waits for it, the pipes that wait for room in the engine's queue.
void TimingRun::on_done(const Event& event) {
  engines_[static_cast<size_t>(event.queue)]->on_done(event.core, event.value, event.tick);
  const Flight flight = flights_[static_cast<size_t>(event.queue)][event.value];
  trace_.add(Trace::Kind::Transfer, flight.core, flight.pipe, flight.group, flight.leaf, flight.start, event.tick);
  end_ = std::max(end_, event.tick);
  Core& core = cores_[static_cast<size_t>(event.core)];
  if (flight.channel != hw::kNone && flight.group == core.group) {
    --core.channels[static_cast<size_t>(flight.channel)][static_cast<size_t>(flight.slot)];
  }
  if (flight.blocking) {
    --core.pipes[static_cast<size_t>(flight.pipe)].on_the_way;
  }
  for (size_t p = 0; p < core.pipes.size(); ++p) {
    const Block why = core.pipes[p].block;
    if (why == Block::WaitDma || why == Block::QueueFull || why == Block::Transfer) {
      wake(event.core, static_cast<int>(p), event.tick, Phase::Release);
    }
  }
}

/// False: there is no such group, the core is done.
bool TimingRun::enter_group(int core, int group, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  if (state.group >= 0) {
    GroupSums& old = sums(core);
    old.end = std::max(old.end, now);
  }
  if (group >= static_cast<int>(program_.groups.size())) {
    finish_core(core, now);
    return false;
  }
  state.group = group;
  state.cursor = std::make_unique<Cursor>(*codes_[static_cast<size_t>(group)], core);
  state.channels.clear();
  for (const hw::Channel& channel : program_.groups[static_cast<size_t>(group)].channels) {
    state.channels.emplace_back(static_cast<size_t>(channel.slots),
                                channel.kind == hw::ChannelKind::Flag ? channel.initial : 0);
  }
  state.front.ended = false;
  return true;
}

void TimingRun::finish_core(int core, int64_t now) {
  cores_[static_cast<size_t>(core)].done = true;
  ++done_;
  end_ = std::max(end_, now);
}

int64_t TimingRun::sync_ticks(hw::SyncKind kind) const {
  const hw::Sync* sync = machine_.sync_of(kind);
  return sync == nullptr ? 0 : ticks(sync->cost);
}

const hw::DmaEngine* TimingRun::engine_of(const hw::Dma& dma, int* id) const {
  *id = machine_.paths[static_cast<size_t>(dma.path)].engine;
  return *id == hw::kNone ? nullptr : &machine_.dma[static_cast<size_t>(*id)];
}

void TimingRun::report() {
  for (const auto& engine : engines_) {
    engine->check_conservation(end_);
  }
  int64_t begin = 0;
  for (size_t g = 0; g < sums_.size(); ++g) {
    // A core may be ahead of the others: a group lasts from the end of the one before, of the slowest core, to its own.
    sums_[g].end = std::max(sums_[g].end, begin);
    GroupTime out;
    report_group(g, begin, out);
    result_.groups.push_back(std::move(out));
    begin = sums_[g].end;
  }
  result_.cycles = machine_.launch_cycles + cycles_up(std::max(begin, end_));
  if (trace_.enabled()) {
    std::vector<std::vector<std::string>> names;
    for (size_t g = 0; g < codes_.size(); ++g) {
      names.emplace_back();
      for (const Leaf& leaf : codes_[g]->leaves()) {
        names.back().push_back(leaf_name(leaf, program_.groups[g], program_, machine_));
      }
    }
    result_.trace = trace_.json(program_, machine_, names);
  }
}

void TimingRun::report_group(size_t group, int64_t begin, GroupTime& out) const {
  const GroupSums& sums = sums_[group];
  const auto cores = static_cast<int64_t>(cores_.size());
  out.cycles = cycles_up(sums.end) - cycles_up(begin);
  out.dma_bytes = sums.bytes;
  out.dma_descriptors = sums.descriptors;
  for (size_t p = 0; p < sums.pipes.size(); ++p) {
    PipeTime time = sums.pipes[p];
    time.pipe = machine_.pipes[p].name;
    int64_t used = 0;
    for (int64_t* part : {&time.busy, &time.wait_dma, &time.wait_flag, &time.queue_full, &time.wait_barrier}) {
      *part = cycles_of(*part);
      used += *part;
    }
    DLCC_CHECK(time.busy <= cores * cycles_up(sums.end))
        << "pipe " << time.pipe << " is busy for longer than the program runs";
    time.idle = std::max<int64_t>(cores * out.cycles - used, 0);
    out.pipes.push_back(std::move(time));
  }
  int64_t most = 0, total = 0;
  for (const int64_t busy : sums.busy) {
    most = std::max(most, busy);
    total += busy;
  }
  out.balance = total > 0 ? static_cast<double>(most) * static_cast<double>(cores) / static_cast<double>(total) : 1;
  std::vector<int64_t> bytes(machine_.memories.size(), 0);
  for (const hw::Buffer& buffer : program_.groups[group].buffers) {
    bytes[static_cast<size_t>(buffer.memory)] =
        std::max(bytes[static_cast<size_t>(buffer.memory)], buffer.offset + buffer.copies * buffer.slot_bytes);
  }
  out.scratchpad_bytes = bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

std::string TimingRun::deadlock() const {
  std::string text;
  int shown = 0;
  for (size_t c = 0; c < cores_.size() && shown < 4; ++c) {
    const Core& core = cores_[c];
    if (core.done) {
      continue;
    }
    ++shown;
    text += fmt::format("{}core {} in group '{}'", text.empty() ? "" : "; ", c,
                        program_.groups[static_cast<size_t>(core.group)].info.name);
    if (core.at_barrier) {
      text += " waits at a barrier";
    }
    if (core.front.block == Block::QueueFull && core.front.leaf != nullptr) {
      text += fmt::format(", front end waits for room in the queue of pipe {}",
                          machine_.pipes[static_cast<size_t>(core.front.leaf->pipe)].name);
    }
    for (size_t p = 0; p < core.pipes.size(); ++p) {
      if (core.pipes[p].running()) {
        text += fmt::format(
            ", pipe {} at '{}'", machine_.pipes[p].name,
            leaf_name(*core.pipes[p].op.leaf, program_.groups[static_cast<size_t>(core.group)], program_, machine_));
      }
    }
  }
  return text;
}

Status run_timing(const hw::Program& program, const hw::Machine& machine, const Options& options, const LookupLog& lookups, Result& result) {
  return TimingRun(program, machine, options, lookups, result).run();
}

std::vector<DmaRecord> record_dma(const hw::Program& program, const hw::Machine& machine, const LookupLog& lookups) {
  LookupReplay replay(lookups);
  std::vector<int64_t> with_row;
  std::vector<DmaRecord> records;
  std::vector<std::unique_ptr<GroupCode>> codes;
  for (const hw::Group& group : program.groups) {
    codes.push_back(std::make_unique<GroupCode>(group, machine));
  }
  std::vector<hw::Descriptor> descriptors;
  for (int core = 0; core < machine.core_count(); ++core) {
    for (size_t g = 0; g < codes.size(); ++g) {
      Cursor cursor(*codes[g], core);
      while (const Leaf* leaf = cursor.next()) {
        if (leaf->kind != OpKind::Dma) {
          continue;
        }
        const auto& dma = leaf->as<hw::Dma>();
        const int engine = machine.paths[static_cast<size_t>(dma.path)].engine;
        if (engine == hw::kNone || (dma.src.kind != hw::ObjectKind::Tensor && dma.dst.kind != hw::ObjectKind::Tensor)) {
          continue;
        }
        const std::vector<int64_t>* env = &cursor.env();
        if (dma.lookup.has_value()) {
          with_row = cursor.env();
          env = &with_row;
          with_row[static_cast<size_t>(dma.lookup->var)] = replay.next(core, static_cast<int>(g), leaf->index);
        }
        descriptors.clear();
        hw::expand(hw::clip(dma, program.groups[g], program, *env, nullptr),
                   machine.dma[static_cast<size_t>(engine)], descriptors);
        const bool put = dma.dst.kind == hw::ObjectKind::Tensor;
        const hw::Space space = program.tensors[static_cast<size_t>(put ? dma.dst.object : dma.src.object)].space;
        for (const hw::Descriptor& descriptor : descriptors) {
          records.push_back({core, static_cast<int>(g), put, space, descriptor});
        }
      }
    }
  }
  return records;
}

}  // namespace dlcc::sim
