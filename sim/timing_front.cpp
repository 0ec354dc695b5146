// Front ends and barriers.
#include <algorithm>

#include "sim/timing_run.h"

namespace dlcc::sim {

bool TimingRun::drained(const Core& core) const {
  return std::all_of(core.pipes.begin(), core.pipes.end(), [](const Pipe& pipe) {
    return pipe.queue.empty() && !pipe.running() && pipe.block == Block::Starved;
  });
}

int64_t TimingRun::front_total(const Front& front, Block why, int64_t now) const {
  const int64_t total = why == Block::QueueFull ? front.full_total : front.barrier_total;
  return total + (front.block == why ? now - front.since : 0);
}

void TimingRun::set_front_block(Front& front, Block why, int64_t now) {
  front.full_total = front_total(front, Block::QueueFull, now);
  front.barrier_total = front_total(front, Block::Barrier, now);
  front.block = why;
  front.since = now;
}

/// The core reaches a barrier. True once it may go on.
bool TimingRun::arrive(int core, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  if (state.released && now >= state.release_at) {
    state.released = state.at_barrier = false;
    return true;
  }
  if (state.at_barrier) {
    return false;
  }
  state.at_barrier = true;
  if (++at_barrier_ == static_cast<int>(cores_.size())) {
    at_barrier_ = 0;
    const int64_t release = now + sync_ticks(hw::SyncKind::CoreBarrier);
    for (int c = 0; c < static_cast<int>(cores_.size()); ++c) {
      cores_[static_cast<size_t>(c)].released = true;
      cores_[static_cast<size_t>(c)].release_at = release;
      wake(c, decoupled() ? -1 : 0, release, Phase::Release);
    }
  }
  return false;
}

void TimingRun::step_front(int core, int64_t now) {
  Core& state = cores_[static_cast<size_t>(core)];
  Front& front = state.front;
  while (!state.done && front.time <= now) {
    front.time = now;
    if (front.leaf == nullptr && !front.ended) {
      front.leaf = state.cursor->next();
      front.paid = false;
      front.ended = front.leaf == nullptr;
    }
    if (front.ended || front.leaf->kind == OpKind::Barrier) {
      if (!drained(state)) {
        set_front_block(front, front.ended ? Block::Starved : Block::Barrier, now);
        return;
      }
      if (front.ended) {
        set_front_block(front, Block::None, now);
        for (int p = 0; p < static_cast<int>(state.pipes.size()); ++p) {
          unblock(core, p, now);  // their idle time belongs to the group that ends
        }
        enter_group(core, state.group + 1, now);
        for (int p = 0; p < static_cast<int>(state.pipes.size()); ++p) {
          block(core, p, Block::Starved);
        }
        continue;
      }
      set_front_block(front, Block::Barrier, now);
      if (!arrive(core, now)) {
        return;
      }
      set_front_block(front, Block::None, now);
      front.leaf = nullptr;
      continue;
    }
    const hw::Pipe& pipe = machine_.pipes[static_cast<size_t>(front.leaf->pipe)];
    if (!front.paid) {
      front.paid = true;
      if (pipe.issue > 0) {
        front.time = now + ticks(pipe.issue);
        wake(core, -1, front.time, Phase::Issue);
        return;
      }
    }
    Pipe& target = state.pipes[static_cast<size_t>(front.leaf->pipe)];
    if (target.queue.size() >= static_cast<size_t>(std::max(pipe.queue_depth, 1))) {
      set_front_block(front, Block::QueueFull, now);
      return;
    }
    set_front_block(front, Block::None, now);
    target.queue.push_back({front.leaf, state.cursor->env()});
    if (target.block == Block::Starved) {
      wake(core, front.leaf->pipe, now, Phase::Issue);
    }
    front.leaf = nullptr;
  }
}

}  // namespace dlcc::sim
