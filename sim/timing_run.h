// The timing run: cores as pipes with a program counter each, DMA engines as fluid servers, one event queue. No data
// moves here. A machine with one pipe is its own front end and runs ahead of the events until it touches something
// shared; with several pipes a front end puts instructions into their finite queues.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "hw/dma_expand.h"
#include "sim/dma_fluid.h"
#include "sim/events.h"
#include "sim/expand_ops.h"
#include "sim/leaf_cost.h"
#include "sim/lookups.h"
#include "sim/sim.h"
#include "sim/trace.h"

namespace dlcc::sim {

class TimingRun {
 public:
  TimingRun(const hw::Program& program, const hw::Machine& machine, const Options& options, const LookupLog& lookups, Result& result);
  Status run();

 private:
  enum class Block : uint8_t { None, Starved, WaitDma, WaitFlag, QueueFull, Transfer, Barrier };
  struct Op {
    const Leaf* leaf = nullptr;
    std::vector<int64_t> env;
  };
  struct Pipe {
    std::deque<Op> queue;
    Op op;             // running, or waiting to run
    int64_t time = 0;  // what it did until here is accounted for
    Block block = Block::None;
    // A transfer being issued: its descriptors, the next one, whether its issue cycles are paid, how many of them are
    // still on the way.
    std::vector<hw::Descriptor> descriptors;
    size_t next = 0;
    bool expanded = false, paid = false;
    int on_the_way = 0;
    int64_t full_mark = 0, barrier_mark = 0;  // the front end's totals when this pipe ran dry
    bool running() const { return op.leaf != nullptr; }
  };
  struct Front {
    int64_t time = 0;
    Block block = Block::None;
    int64_t since = 0;  // of the block
    int64_t full_total = 0, barrier_total = 0;
    const Leaf* leaf = nullptr;  // fetched, not yet queued
    bool paid = false;
    bool ended = false;  // no more leaves in this group
  };
  struct Core {
    int group = -1;
    std::unique_ptr<Cursor> cursor;
    std::vector<Pipe> pipes;
    Front front;
    std::vector<std::vector<int>> channels;  // [channel][slot]: transfers on the way, or tokens
    bool at_barrier = false, released = false, done = false;
    int64_t release_at = 0;
  };
  /// A descriptor on its way, by engine and number.
  struct Flight {
    int core = 0, pipe = 0, group = 0, leaf = 0;
    int channel = hw::kNone;
    int64_t slot = 0;
    bool blocking = false;  // the pipe itself waits for it
    int64_t start = 0;
  };
  struct GroupSums {
    std::vector<PipeTime> pipes;  // in ticks
    std::vector<int64_t> busy;    // by core, ticks
    int64_t end = 0, bytes = 0, descriptors = 0;
  };

  bool decoupled() const { return machine_.pipes.size() > 1; }
  void handle(const Event& event);
  void wake(int core, int queue, int64_t tick, Phase phase);
  void on_done(const Event& event);
  bool enter_group(int core, int group, int64_t now);
  void finish_core(int core, int64_t now);

  // timing_pipe.cpp
  void step_pipe(int core, int pipe, int64_t now);
  bool fetch(int core, int pipe, int64_t now);
  bool execute(int core, int pipe, int64_t now);
  bool execute_dma(int core, int pipe, int64_t now);
  bool execute_wait(int core, int pipe, int64_t now);
  void execute_signal(int core, int pipe, int64_t now);
  void begin_transfer(int core, int pipe);
  void submit(int core, int pipe, int64_t now);
  void spend(int core, int pipe, int64_t tick_count);
  void unblock(int core, int pipe, int64_t now);
  bool block(int core, int pipe, Block why);

  // timing_front.cpp
  void step_front(int core, int64_t now);
  bool drained(const Core& core) const;
  void set_front_block(Front& front, Block why, int64_t now);
  int64_t front_total(const Front& front, Block why, int64_t now) const;
  bool arrive(int core, int64_t now);

  int64_t sync_ticks(hw::SyncKind kind) const;
  const hw::DmaEngine* engine_of(const hw::Dma& dma, int* id) const;
  GroupSums& sums(int core) { return sums_[static_cast<size_t>(cores_[static_cast<size_t>(core)].group)]; }
  PipeTime& account(int core, int pipe) { return sums(core).pipes[static_cast<size_t>(pipe)]; }
  LeafCosts& costs(int core) { return *costs_[static_cast<size_t>(cores_[static_cast<size_t>(core)].group)]; }
  const hw::Group& group_of(int core) const {
    return program_.groups[static_cast<size_t>(cores_[static_cast<size_t>(core)].group)];
  }
  void report();
  void report_group(size_t group, int64_t begin, GroupTime& out) const;
  std::string deadlock() const;

  const hw::Program& program_;
  const hw::Machine& machine_;
  const Options& options_;
  LookupReplay lookups_;
  Result& result_;
  EventQueue events_;
  std::vector<std::unique_ptr<GroupCode>> codes_;
  std::vector<std::unique_ptr<LeafCosts>> costs_;
  std::vector<std::unique_ptr<FluidEngine>> engines_;
  std::vector<std::vector<Flight>> flights_;  // [engine][number]
  std::vector<Core> cores_;
  std::vector<GroupSums> sums_;
  Trace trace_;
  int at_barrier_ = 0, done_ = 0;
  int64_t end_ = 0;
};

}  // namespace dlcc::sim
