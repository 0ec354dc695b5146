// The scoreboard. A loop is run until the state of the core after an iteration (when registers become ready, when ports
// become free, relative to the issue cycle) equals the state some iterations before; the trips that are left repeat
// that period.
#include "sim/scoreboard.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "base/check.h"
#include "sim/expand_ops.h"

namespace dlcc::sim {
namespace {

using hw::KernelInstr;
using hw::KernelLoop;
using hw::KernelNode;
using hw::KernelOp;

constexpr int kHistory = 8;              // longest period looked for
constexpr int64_t kMaxIterations = 256;  // then the mean of the second half stands for the rest

struct Timing {
  int port = 0;
  int64_t latency = 1, occupancy = 1;
};

std::string_view operation_name(const KernelInstr& instr) {
  switch (instr.kind) {
    case KernelOp::Const:
      return "const";
    case KernelOp::Index:
      return "index";
    case KernelOp::Load:
      return instr.lanes > 1 && !instr.aligned ? "loadu" : "load";
    case KernelOp::LoadSplat:
      return instr.lanes > 1 ? "load_splat" : "load";
    case KernelOp::Store:
      return instr.lanes > 1 && !instr.aligned ? "storeu" : "store";
    case KernelOp::Splat:
      return instr.lanes > 1 ? "splat" : "move";
    case KernelOp::Move:
      return "move";
    case KernelOp::Compute:
      return te::name_of(instr.op);
  }
  return "";
}

/// The chip's entry for the operation: in vector form, else a scalar for each lane.
std::optional<Timing> lookup(const hw::VectorUnit& unit, std::string_view name, DType type, int lanes) {
  if (const hw::VectorOp* op = unit.find(name, type, lanes)) {
    return Timing{op->port, op->latency, op->occupancy};
  }
  if (const hw::VectorOp* op = unit.find(name, type, 1); op != nullptr && lanes > 1) {
    return Timing{op->port, op->latency + (lanes - 1) * op->occupancy, lanes * op->occupancy};
  }
  return std::nullopt;
}

Timing timing_of(const KernelInstr& instr, const hw::Kernel& kernel, const hw::VectorUnit& unit) {
  DType type = instr.type;
  const bool compares =
      instr.op == te::Op::IsNan || instr.op == te::Op::IsInf || (instr.op >= te::Op::Lt && instr.op <= te::Op::Ne);
  if (instr.kind == KernelOp::Compute && compares && instr.src[0] >= 0) {
    type = kernel.registers[static_cast<size_t>(instr.src[0])].type;
  }
  const std::string_view name = operation_name(instr);
  std::optional<Timing> found = lookup(unit, name, type, instr.lanes);
  if (!found && instr.kind == KernelOp::Index) {
    found = lookup(unit, "const", type, instr.lanes);
  }
  DLCC_CHECK(found.has_value()) << "the chip has no timing for " << name << " on " << dlcc::name_of(type) << " x "
                                << instr.lanes;
  return *found;
}

class Scoreboard {
 public:
  Scoreboard(const hw::Kernel& kernel, const hw::Machine& machine, std::vector<int64_t> env)
      : kernel_(kernel),
        machine_(machine),
        env_(std::move(env)),
        ready_(kernel.registers.size(), 0),
        port_free_(std::max<size_t>(machine.issue.ports.size(), 1), 0) {}

  int64_t run() {
    run(kernel_.body);
    int64_t end = cycle_ + (slots_ > 0 ? 1 : 0);
    for (const int64_t ready : ready_) {
      end = std::max(end, ready);
    }
    for (const int64_t free : port_free_) {
      end = std::max(end, free);
    }
    return end;
  }

 private:
  void issue(const Timing& timing, const std::array<int, 4>& sources, int dst) {
    int64_t at = cycle_;
    for (const int source : sources) {
      if (source >= 0) {
        at = std::max(at, ready_[static_cast<size_t>(source)]);
      }
    }
    if (dst >= 0) {
      at = std::max(at, ready_[static_cast<size_t>(dst)] - timing.latency);  // results of one register come in order
    }
    int64_t& free = port_free_[static_cast<size_t>(timing.port) % port_free_.size()];
    at = std::max(at, free);
    if (at == cycle_ && slots_ >= std::max(machine_.issue.width, 1)) {
      at = std::max(cycle_ + 1, free);
    }
    slots_ = at == cycle_ ? slots_ + 1 : 1;
    cycle_ = at;
    free = at + std::max<int64_t>(timing.occupancy, 1);
    if (dst >= 0) {
      ready_[static_cast<size_t>(dst)] = at + std::max<int64_t>(timing.latency, 1);
    }
  }

  void run(const std::vector<KernelNode>& body) {
    for (const KernelNode& node : body) {
      if (const auto* instr = std::get_if<KernelInstr>(&node.v)) {
        issue(timing_of(*instr, kernel_, machine_.vector),
              {instr->src[0], instr->src[1], instr->src[2], instr->index_register}, instr->dst);
      } else {
        run(std::get<KernelLoop>(node.v));
      }
    }
  }

  static bool depends(const std::vector<KernelNode>& body, te::VarId var) {
    return std::any_of(body.begin(), body.end(), [&](const KernelNode& node) {
      const auto* loop = std::get_if<KernelLoop>(&node.v);
      return loop != nullptr && (loop->begin.depends_on(var) || loop->end.depends_on(var) || depends(loop->body, var));
    });
  }

  /// Everything that later issues depend on, relative to now.
  std::vector<int64_t> state() const {
    std::vector<int64_t> result{slots_};
    for (const auto* list : {&ready_, &port_free_}) {
      for (const int64_t at : *list) {
        result.push_back(std::max<int64_t>(at - cycle_, 0));
      }
    }
    return result;
  }

  void skip(int64_t cycles) {
    cycle_ += cycles;
    for (auto* list : {&ready_, &port_free_}) {
      for (int64_t& at : *list) {
        at += cycles;
      }
    }
  }

  void run(const KernelLoop& loop) {
    int64_t& var = env_[static_cast<size_t>(loop.var)];
    if (!loop.resume) {
      var = eval(loop.begin, env_.data());
    }
    const int64_t end = eval(loop.end, env_.data());
    int64_t trips = end - var >= loop.step ? (end - var) / loop.step : 0;
    const bool regular = !depends(loop.body, loop.var);
    const std::optional<Timing> control = lookup(machine_.vector, "loop", DType::I64, 1);
    std::vector<std::pair<std::vector<int64_t>, int64_t>> history;  // state and cycle after each iteration
    for (int64_t done = 0; trips > 0; ++done) {
      run(loop.body);
      if (control) {
        issue(*control, {-1, -1, -1, -1}, -1);
      }
      var += loop.step;
      --trips;
      if (!regular || trips == 0) {
        continue;
      }
      trips -= leap(history, trips, done, loop, var);
    }
  }

  /// Skips iterations that repeat earlier ones; returns how many.
  int64_t leap(std::vector<std::pair<std::vector<int64_t>, int64_t>>& history, int64_t trips, int64_t done,
               const KernelLoop& loop, int64_t& var) {
    std::vector<int64_t> now = state();
    int64_t skipped = 0, cycles = 0;
    for (size_t back = 1; back <= std::min<size_t>(history.size(), kHistory) && skipped == 0; ++back) {
      const auto& [before, cycle] = history[history.size() - back];
      if (before == now) {
        const int64_t periods = trips / static_cast<int64_t>(back);
        skipped = periods * static_cast<int64_t>(back);
        cycles = periods * (cycle_ - cycle);
      }
    }
    if (skipped == 0 && done >= kMaxIterations) {
      const auto& [before, cycle] = history[history.size() / 2];
      const auto span = static_cast<int64_t>(history.size() - history.size() / 2);
      skipped = trips;
      cycles = trips * (cycle_ - cycle) / span;
    }
    history.emplace_back(std::move(now), cycle_);
    if (skipped > 0) {
      history.clear();
      skip(cycles);
      var += skipped * loop.step;
    }
    return skipped;
  }

  const hw::Kernel& kernel_;
  const hw::Machine& machine_;
  std::vector<int64_t> env_;
  std::vector<int64_t> ready_;
  std::vector<int64_t> port_free_;
  int64_t cycle_ = 0;
  int slots_ = 0;
};

te::VarId highest_var(const std::vector<KernelNode>& body) {
  te::VarId highest = 0;
  for (const KernelNode& node : body) {
    if (const auto* loop = std::get_if<KernelLoop>(&node.v)) {
      highest = std::max({highest, loop->var, highest_var(loop->body)});
    }
  }
  return highest;
}

}  // namespace

int64_t kernel_cycles(const hw::Kernel& kernel, const hw::Machine& machine, std::span<const int64_t> env,
                      size_t var_count) {
  std::vector<int64_t> values(env.begin(), env.end());
  values.resize(std::max({values.size(), var_count, static_cast<size_t>(highest_var(kernel.body)) + 1}), 0);
  return Scoreboard(kernel, machine, std::move(values)).run();
}

}  // namespace dlcc::sim
