// The scheduling half of a core: program order on machines with one pipe, in-order queues with flags on the others.
#include "sim/core_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dlcc::sim {
namespace {

constexpr size_t kWindow = 4096;  // operations that wait in a core's queues: more than any flag protocol spans

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

CoreRun::CoreRun(const RunContext& context, int core) : context_(context), core_(core) {
  memories_.resize(context.machine.memories.size());
  shadows_.resize(context.machine.memories.size());
}

uint64_t CoreRun::random() {
  return mix(random_++);
}

void CoreRun::start(const GroupPlan& plan, int group) {
  plan_ = &plan;
  group_ = group;
  cursor_ = std::make_unique<Cursor>(plan.code(), core_);
  random_ = mix(context_.options.seed ^ mix(static_cast<uint64_t>(group) << 20 ^ static_cast<uint64_t>(core_)));
  const size_t pipes = context_.machine.pipes.size();
  for (size_t m = 0; m < memories_.size(); ++m) {
    const auto bytes = static_cast<size_t>(plan.memory_bytes()[m]);
    if (memories_[m].size() < bytes) {
      memories_[m].resize(bytes);
    }
    if (context_.options.sanitize) {
      std::fill_n(memories_[m].begin(), bytes, std::byte{0xff});  // a NaN in every float type
      shadows_[m].reset(plan.memory_bytes()[m], plan.memory_shift()[m], static_cast<int>(pipes));
    }
  }
  in_flight_.clear();
  reported_.assign(plan.code().leaves().size(), 0);
  clocks_.assign(pipes, Clock(pipes, 0));
  queues_.assign(pipes, {});
  tokens_.clear();
  for (const hw::Channel& channel : plan.group().channels) {
    tokens_.emplace_back(static_cast<size_t>(channel.slots));
    for (auto& slot : tokens_.back()) {
      slot.assign(static_cast<size_t>(channel.initial), Clock(pipes, 0));
    }
  }
  priorities_.resize(pipes);
  std::iota(priorities_.rbegin(), priorities_.rend(), 0);
  if (context_.options.seed != 0) {
    for (size_t i = pipes; i > 1; --i) {
      std::swap(priorities_[i - 1], priorities_[random() % i]);
    }
  }
  queued_ = 0;
  front_ = Front::Running;
}

CoreStop CoreRun::run(uint32_t epoch) {
  epoch_ = epoch;
  return context_.machine.pipes.size() > 1 ? run_pipes() : run_in_order();
}

CoreStop CoreRun::run_in_order() {
  while (const Leaf* leaf = cursor_->next()) {
    if (leaf->kind == OpKind::Barrier) {
      return CoreStop::Barrier;
    }
    if (leaf->kind == OpKind::Wait) {
      const auto& wait = leaf->as<hw::Wait>();
      const hw::Channel& channel = plan_->group().channels[static_cast<size_t>(wait.channel)];
      const int64_t slot = channel_slot(wait.channel, eval(wait.slot, cursor_->env().data()), *leaf);
      if (channel.kind == hw::ChannelKind::Flag &&
          tokens_[static_cast<size_t>(wait.channel)][static_cast<size_t>(slot)].empty()) {
        queues_[0].push_back({leaf, cursor_->env(), 0});
        return CoreStop::Deadlock;
      }
    }
    execute(*leaf, cursor_->env());
    if (context_.options.dma_timing == DmaTiming::Random) {
      maybe_move();
    }
  }
  return CoreStop::End;
}

/// The front end: fills the queues until they are full, a barrier, or the end.
void CoreRun::refill() {
  while (front_ == Front::Running && queued_ < kWindow) {
    const Leaf* leaf = cursor_->next();
    if (leaf == nullptr) {
      front_ = Front::End;
    } else if (leaf->kind == OpKind::Barrier) {
      front_ = Front::Barrier;
    } else {
      queues_[static_cast<size_t>(leaf->pipe)].push_back({leaf, cursor_->env(), order_++});
      ++queued_;
    }
  }
}

bool CoreRun::blocked(const Queued& op) const {
  if (op.leaf->kind != OpKind::Wait) {
    return false;
  }
  const auto& wait = op.leaf->as<hw::Wait>();
  const auto& slots = tokens_[static_cast<size_t>(wait.channel)];
  const int64_t slot = eval(wait.slot, op.env.data());
  return plan_->group().channels[static_cast<size_t>(wait.channel)].kind == hw::ChannelKind::Flag && slot >= 0 &&
         slot < static_cast<int64_t>(slots.size()) && slots[static_cast<size_t>(slot)].empty();
}

/// AtIssue: program order as far as flags allow. Random: any. AtWait: one pipe as far as it gets, by priority.
int CoreRun::choose_pipe() {
  std::vector<int> ready;
  for (const int pipe : priorities_) {
    const auto& queue = queues_[static_cast<size_t>(pipe)];
    if (!queue.empty() && !blocked(queue.front())) {
      ready.push_back(pipe);
    }
  }
  if (ready.empty()) {
    return hw::kNone;
  }
  switch (context_.options.dma_timing) {
    case DmaTiming::AtWait:
      return ready.front();
    case DmaTiming::Random:
      return ready[random() % ready.size()];
    case DmaTiming::AtIssue:
      break;
  }
  return *std::min_element(ready.begin(), ready.end(), [&](int a, int b) {
    return queues_[static_cast<size_t>(a)].front().order < queues_[static_cast<size_t>(b)].front().order;
  });
}

CoreStop CoreRun::run_pipes() {
  if (front_ == Front::Barrier) {
    front_ = Front::Running;
  }
  while (true) {
    refill();
    const int pipe = choose_pipe();
    if (pipe != hw::kNone) {
      auto& queue = queues_[static_cast<size_t>(pipe)];
      const Queued op = std::move(queue.front());
      queue.pop_front();
      --queued_;
      execute(*op.leaf, op.env);
      if (context_.options.dma_timing == DmaTiming::Random) {
        maybe_move();
      }
      continue;
    }
    if (queued_ > 0) {
      return CoreStop::Deadlock;
    }
    if (front_ == Front::Running) {
      continue;
    }
    // Every pipe is empty: a barrier, or the end of the group, joins them.
    Clock joined(clocks_.size(), 0);
    for (const Clock& clock : clocks_) {
      for (size_t p = 0; p < joined.size(); ++p) {
        joined[p] = std::max(joined[p], clock[p]);
      }
    }
    clocks_.assign(clocks_.size(), joined);
    return front_ == Front::End ? CoreStop::End : CoreStop::Barrier;
  }
}

std::string CoreRun::waiting_for() const {
  std::string text;
  for (size_t pipe = 0; pipe < queues_.size(); ++pipe) {
    if (queues_[pipe].empty()) {
      continue;
    }
    const Queued& op = queues_[pipe].front();
    text += fmt::format("{}pipe {} waits at '{}'", text.empty() ? "" : ", ", context_.machine.pipes[pipe].name,
                        leaf_name(*op.leaf, plan_->group(), context_.program, context_.machine));
    if (op.leaf->kind == OpKind::Wait) {
      const auto& wait = op.leaf->as<hw::Wait>();
      const hw::Channel& channel = plan_->group().channels[static_cast<size_t>(wait.channel)];
      text += fmt::format(" slot {} for a signal from pipe {}", eval(wait.slot, op.env.data()),
                          context_.machine.pipes[static_cast<size_t>(channel.from)].name);
    }
  }
  return text.empty() ? "a barrier" : text;
}

/// Transfers still running, and flags still set: the next group would inherit them.
void CoreRun::finish() {
  for (Transfer& transfer : in_flight_) {
    reported_[static_cast<size_t>(transfer.leaf->index)] = 0;
    report("dma-in-flight", transfer.leaf->index, transfer.leaf->pipe,
           fmt::format("the group ends before this transfer is waited for; wait on '{}' slot {}",
                       plan_->group().channels[static_cast<size_t>(transfer.channel)].name, transfer.slot));
    complete(transfer);
  }
  in_flight_.clear();
  const auto& channels = plan_->group().channels;
  for (size_t c = 0; c < channels.size(); ++c) {
    for (size_t s = 0; s < tokens_[c].size(); ++s) {
      if (channels[c].kind == hw::ChannelKind::Flag && !tokens_[c][s].empty()) {
        report("unpaired-wait", -1, channels[c].to,
               fmt::format("channel '{}' slot {} ends the group with {} flags set: signals (and {} at the start) and "
                           "waits do not pair",
                           channels[c].name, s, tokens_[c][s].size(), channels[c].initial));
      }
    }
  }
}

void CoreRun::report(const std::string& check, int leaf, hw::PipeId pipe, const std::string& message) {
  if (leaf >= 0) {
    if (reported_[static_cast<size_t>(leaf)] != 0) {
      return;
    }
    reported_[static_cast<size_t>(leaf)] = 1;
  }
  if (findings_.size() >= static_cast<size_t>(std::max(context_.options.max_findings, 1))) {
    return;
  }
  Finding finding;
  finding.check = check;
  finding.group = plan_->group().info.name;
  finding.leaf = leaf < 0 ? ""
                          : leaf_name(plan_->code().leaves()[static_cast<size_t>(leaf)], plan_->group(),
                                      context_.program, context_.machine);
  finding.core = core_;
  finding.pipe = pipe < 0 ? "" : context_.machine.pipes[static_cast<size_t>(pipe)].name;
  finding.message = message;
  findings_.push_back(std::move(finding));
}

Agent CoreRun::agent(hw::PipeId pipe) const {
  const auto p = static_cast<size_t>(pipe);
  return {pipe, clocks_[p][p], clocks_.size() > 1 ? clocks_[p].data() : nullptr};
}

/// The slot, or 0 with a finding when the channel has no such slot.
int64_t CoreRun::channel_slot(int channel, int64_t slot, const Leaf& leaf) {
  const hw::Channel& found = plan_->group().channels[static_cast<size_t>(channel)];
  if (slot >= 0 && slot < found.slots) {
    return slot;
  }
  report("out-of-bounds", leaf.index, leaf.pipe,
         fmt::format("channel '{}' has {} slots, slot {} is used", found.name, found.slots, slot));
  return 0;
}

void CoreRun::execute_signal(const Leaf& leaf, const std::vector<int64_t>& env) {
  const auto& signal = leaf.as<hw::Signal>();
  const int64_t slot = channel_slot(signal.channel, eval(signal.slot, env.data()), leaf);
  tokens_[static_cast<size_t>(signal.channel)][static_cast<size_t>(slot)].push_back(
      clocks_[static_cast<size_t>(leaf.pipe)]);
}

void CoreRun::execute_wait(const Leaf& leaf, const std::vector<int64_t>& env) {
  const auto& wait = leaf.as<hw::Wait>();
  const int64_t slot = channel_slot(wait.channel, eval(wait.slot, env.data()), leaf);
  Clock& mine = clocks_[static_cast<size_t>(leaf.pipe)];
  if (plan_->group().channels[static_cast<size_t>(wait.channel)].kind == hw::ChannelKind::Flag) {
    auto& tokens = tokens_[static_cast<size_t>(wait.channel)][static_cast<size_t>(slot)];
    if (tokens.empty()) {
      return;  // only after an out-of-bounds slot was reported
    }
    for (size_t p = 0; p < mine.size(); ++p) {
      mine[p] = std::max(mine[p], tokens.front()[p]);
    }
    tokens.pop_front();
    return;
  }
  std::erase_if(in_flight_, [&](Transfer& transfer) {
    if (transfer.channel != wait.channel || transfer.slot != slot) {
      return false;
    }
    complete(transfer);
    return true;
  });
}

void CoreRun::maybe_move() {
  for (Transfer& transfer : in_flight_) {
    if (!transfer.moved && random() % 4 == 0) {
      move(transfer);
    }
  }
}

}  // namespace dlcc::sim
