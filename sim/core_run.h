// One core of the run in values: its scratchpads, its shadow, its transfers in flight, its pipes. It runs from barrier
// to barrier; everything that it shares with other cores is the memory behind RunContext, and its log of arena accesses
// that others merge.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/dma_expand.h"
#include "sim/global_shadow.h"
#include "sim/group_plan.h"
#include "sim/local_shadow.h"
#include "sim/lookups.h"
#include "sim/sim.h"

namespace dlcc::sim {

struct RunContext {
  const hw::Program& program;
  const hw::Machine& machine;
  const Options& options;
  std::byte* arena = nullptr;
  const std::byte* weights = nullptr;
  LookupLog& lookups;
};

enum class CoreStop : uint8_t { Running, Barrier, End, Deadlock };

class CoreRun {
 public:
  CoreRun(const RunContext& context, int core);
  void start(const GroupPlan& plan, int group);
  /// Runs to the next barrier, the group's end or a deadlock.
  CoreStop run(uint32_t epoch);
  /// Checks and clean-up at the group's end.
  void finish();

  int core() const { return core_; }
  std::vector<GlobalAccess>& log() { return log_; }
  std::vector<Finding>& findings() { return findings_; }
  /// What each blocked pipe waits for.
  std::string waiting_for() const;
  void report(const std::string& check, int leaf, hw::PipeId pipe, const std::string& message);

 private:
  struct Queued {
    const Leaf* leaf = nullptr;
    std::vector<int64_t> env;
    uint64_t order = 0;
  };
  /// One side of a transfer in flight, for the shadow.
  struct Side {
    const ViewCode* view = nullptr;
    int64_t base = 0;
    const Runs* runs = nullptr;
  };
  struct Transfer {
    const Leaf* leaf = nullptr;
    const LeafPlan* plan = nullptr;
    std::vector<int64_t> env;
    std::vector<int64_t> extents;
    hw::ConcreteBox box;
    bool clipped = false, moved = false;
    int channel = hw::kNone;
    int64_t slot = 0;
    Side from, to;
    uint32_t epoch = 0;
  };
  using Clock = std::vector<uint32_t>;

  CoreStop run_in_order();
  CoreStop run_pipes();
  void refill();
  int choose_pipe();
  bool blocked(const Queued& op) const;
  void execute(const Leaf& leaf, const std::vector<int64_t>& env);
  void execute_dma(const Leaf& leaf, const std::vector<int64_t>& env);
  void execute_fill(const Leaf& leaf, const std::vector<int64_t>& env);
  void execute_compute(const Leaf& leaf, const std::vector<int64_t>& env);
  void execute_intrinsic(const Leaf& leaf, const std::vector<int64_t>& env);
  void execute_signal(const Leaf& leaf, const std::vector<int64_t>& env);
  void execute_wait(const Leaf& leaf, const std::vector<int64_t>& env);
  void run_body(const Leaf& leaf, const LeafPlan& plan, const ComputeCode& code, const int64_t* env,
                const std::vector<int64_t>& extents, std::optional<te::Value> start);

  bool check_bounds(const Leaf& leaf, const ViewCode& view, const int64_t* env, const std::vector<int64_t>& extents);
  bool look_up(Transfer& transfer);
  bool prepare(Transfer& transfer);
  void begin(Transfer& transfer);
  void move(Transfer& transfer);
  void move_elements(const Transfer& transfer);
  void complete(Transfer& transfer);
  void check_descriptors(const Transfer& transfer);
  void check_in_flight(const Transfer& transfer);
  void maybe_move();
  bool is_async(const hw::Dma& dma) const;

  void touch(const Leaf& leaf, const ViewCode& view, const int64_t* env, const std::vector<int64_t>& extents,
             bool write);
  void report_local(const Leaf& leaf, const Side& side, const Verdict& verdict, bool write);
  Agent agent(hw::PipeId pipe) const;
  std::byte* address(const ViewCode& view, int64_t offset) const;
  uint64_t random();
  int64_t channel_slot(int channel, int64_t slot, const Leaf& leaf);

  const RunContext& context_;
  int core_;
  const GroupPlan* plan_ = nullptr;
  int group_ = 0;
  uint32_t epoch_ = 0;
  std::unique_ptr<Cursor> cursor_;
  std::vector<std::vector<std::byte>> memories_;
  std::vector<LocalShadow> shadows_;
  std::vector<Transfer> in_flight_;
  std::vector<GlobalAccess> log_;
  std::vector<Finding> findings_;
  std::vector<char> reported_;                          // by leaf: one finding each
  std::vector<std::vector<std::deque<Clock>>> tokens_;  // [channel][slot]
  std::vector<Clock> clocks_;                           // [pipe]
  std::vector<std::deque<Queued>> queues_;              // [pipe]
  std::vector<int> priorities_;
  size_t queued_ = 0;
  uint64_t order_ = 0;
  enum class Front : uint8_t { Running, Barrier, End };
  Front front_ = Front::Running;
  uint64_t random_ = 0;
};

}  // namespace dlcc::sim
