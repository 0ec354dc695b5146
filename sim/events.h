// The event queue of the timing run: integer ticks, a total order that no host can change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dlcc::sim {

/// 1 cycle = 1024 ticks.
constexpr int kTickBits = 10;
constexpr int64_t ticks(int64_t cycles) {
  return cycles << kTickBits;
}
constexpr int64_t cycles_of(int64_t ticks) {
  return ticks >> kTickBits;
}
constexpr int64_t cycles_up(int64_t ticks) {
  return (ticks + (1 << kTickBits) - 1) >> kTickBits;
}

/// At equal ticks, in this order.
enum class Phase : uint8_t { Complete, Release, Grant, Issue };

/// Wake: a pipe (or, queue -1, the front end) of a core goes on. Ready: a descriptor's first byte moves. Served: an
/// engine has finished a descriptor's bytes. Done: a descriptor completes. Quiet: a core stops counting as active on an
/// engine.
enum class EventKind : uint8_t { Wake, Ready, Served, Done, Quiet };

struct Event {
  int64_t tick = 0;
  Phase phase = Phase::Issue;
  EventKind kind = EventKind::Wake;
  int16_t queue = 0;  // pipe or engine
  int32_t core = 0;
  uint32_t value = 0;  // descriptor, or the generation that makes a Served or Wake valid
  uint64_t seq = 0;
};

class EventQueue {
 public:
  void push(Event event) {
    event.seq = seq_++;
    heap_.push_back(event);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  Event pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    ++processed_;
    return event;
  }
  uint64_t processed() const { return processed_; }

 private:
  static bool later(const Event& a, const Event& b) {
    if (a.tick != b.tick) {
      return a.tick > b.tick;
    }
    if (a.phase != b.phase) {
      return a.phase > b.phase;
    }
    if (a.core != b.core) {
      return a.core > b.core;
    }
    return a.queue != b.queue ? a.queue > b.queue : a.seq > b.seq;
  }
  std::vector<Event> heap_;
  uint64_t seq_ = 0, processed_ = 0;
};

}  // namespace dlcc::sim
