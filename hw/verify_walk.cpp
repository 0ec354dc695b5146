// Runs the loops and lets of a group on real values, on the cores and iterations that matter, and checks the open
// requirements of its leaves.
#include "hw/verify_walk.h"

#include <algorithm>
#include <unordered_set>

#include "hw/dma_expand.h"
#include "hw/let_value.h"

namespace dlcc::hw {
namespace {

constexpr int64_t kExhaustive = 4096;    // nests with at most this many points are tried completely
constexpr int64_t kMaxVisits = 1 << 18;  // of leaves, per group
constexpr int64_t kMaxPoints = 1 << 16;  // of one transfer whose descriptors are looked at

/// 0, 1, the middle and the last of n, or all of them.
std::vector<int64_t> sample(int64_t n, bool all) {
  std::vector<int64_t> out;
  if (all) {
    for (int64_t i = 0; i < n; ++i) {
      out.push_back(i);
    }
    return out;
  }
  for (const int64_t i : {int64_t{0}, int64_t{1}, n / 2, n - 1}) {
    if (i >= 0 && i < n && (out.empty() || i > out.back())) {
      out.push_back(i);
    }
  }
  return out;
}

class Walker {
 public:
  Walker(const Program& program, const Group& group, const Machine& machine, OpenLeaves open, Diags& diags)
      : program_(program),
        group_(group),
        machine_(machine),
        open_(std::move(open)),
        diags_(diags),
        env_(group.vars.size(), 0) {}

  void run() {
    if (!mark(group_.body)) {
      return;
    }
    const int64_t cores = machine_.core_count();
    all_ = points(group_.body, cores) <= kExhaustive;
    for (const int64_t core : sample(cores, all_)) {
      env_[0] = core;
      walk(group_.body);
    }
  }

 private:
  /// Remembers the loops and guards that contain open leaves.
  bool mark(const Body& body) {
    bool any = false;
    for (const Node& node : body) {
      const Body* inner = body_of(node);
      if (inner == nullptr ? open_.contains(&node) : mark(*inner)) {
        hot_.insert(&node);
        any = true;
      }
    }
    return any;
  }

  static const Body* body_of(const Node& node) {
    if (const auto* loop = std::get_if<For>(&node.v)) {
      return &loop->body;
    }
    const auto* guard = std::get_if<If>(&node.v);
    return guard == nullptr ? nullptr : &guard->body;
  }

  /// Points of the deepest hot nest, if its loops have constant bounds (an outer variable counts as 0).
  int64_t points(const Body& body, int64_t outside) const {
    int64_t most = outside;
    for (const Node& node : body) {
      if (!hot_.contains(&node) || outside > kExhaustive) {
        continue;
      }
      if (const auto* loop = std::get_if<For>(&node.v)) {
        const int64_t span = loop->end.constant() - loop->begin.constant();
        const bool affine = !loop->end.is_constant();
        const int64_t trips = affine ? kExhaustive : std::max<int64_t>(span / loop->step + 1, 1);
        most = std::max(most, points(loop->body, trips > kExhaustive ? kExhaustive + 1 : outside * trips));
      } else if (const auto* guard = std::get_if<If>(&node.v)) {
        most = std::max(most, points(guard->body, outside));
      }
    }
    return most;
  }

  void walk(const Body& body) {
    for (const Node& node : body) {
      if (const auto* let = std::get_if<Let>(&node.v)) {
        env_[static_cast<size_t>(let->var)] = apply(let->op, let->a.eval(env_), let->b.eval(env_));
      } else if (!hot_.contains(&node) || visits_ > kMaxVisits) {
        continue;
      } else if (const auto* loop = std::get_if<For>(&node.v)) {
        const int64_t begin = loop->begin.eval(env_), end = loop->end.eval(env_);
        const int64_t trips = end > begin ? (end - begin - 1) / loop->step + 1 : 0;
        for (const int64_t i : sample(trips, all_ && trips <= kExhaustive)) {
          env_[static_cast<size_t>(loop->var)] = begin + i * loop->step;
          scope_.push_back(loop->var);
          walk(loop->body);
          scope_.pop_back();
        }
      } else if (const auto* guard = std::get_if<If>(&node.v)) {
        const auto& conditions = guard->non_negative;
        if (std::all_of(conditions.begin(), conditions.end(), [&](const Affine& c) { return c.eval(env_) >= 0; })) {
          walk(guard->body);
        }
      } else {
        ++visits_;
        visit(node, open_.at(&node));
      }
    }
  }

  void visit(const Node& node, OpenLeaf& leaf) {
    if (leaf.box != nullptr) {
      for (const BoxDim& dim : *leaf.box) {
        if (dim.extent.eval(env_) <= 0) {
          return;
        }
      }
    }
    auto& open = leaf.requirements;
    open.erase(std::remove_if(open.begin(), open.end(),
                              [&](const Requirement& r) {
                                const std::string problem = r.kind == Requirement::Kind::Alignment
                                                                ? misaligned(std::get<Dma>(node.v))
                                                                : violated(r);
                                if (!problem.empty()) {
                                  diags_.push_back({DiagKind::Error, leaf.where, problem + at_values()});
                                }
                                return !problem.empty();
                              }),
               open.end());
  }

  std::string violated(const Requirement& r) const {
    const int64_t low = r.low.eval(env_), high = r.high.eval(env_);
    if (low < r.min) {
      return r.what + " reaches " + std::to_string(low) + ", the least allowed is " + std::to_string(r.min);
    }
    if (high > r.max) {
      return r.what + " reaches " + std::to_string(high) + ", the most allowed is " + std::to_string(r.max);
    }
    if (low % r.multiple_of != 0) {
      return r.what + " is " + std::to_string(low) + ", not a multiple of " + std::to_string(r.multiple_of);
    }
    return {};
  }

  /// A row that data choose: rows are evenly spaced, so that two of them decide for all.
  std::string misaligned(const Dma& dma) {
    const int64_t rows = dma.lookup.has_value() ? std::min<int64_t>(dma.lookup->extent, 2) : 1;
    std::string problem;
    for (int64_t row = 0; row < rows && problem.empty(); ++row) {
      if (dma.lookup.has_value()) {
        env_[static_cast<size_t>(dma.lookup->var)] = row;
      }
      problem = misaligned_now(dma);
    }
    return problem;
  }

  std::string misaligned_now(const Dma& dma) const {
    const ConcreteBox box = clip(dma, group_, program_, env_, nullptr);
    int64_t points = 1;
    for (const int64_t extent : box.extent) {
      points = std::min(points, kMaxPoints + 1) * std::min(extent, kMaxPoints + 1);
    }
    if (points > kMaxPoints || has_blocked_side(dma, group_)) {
      return {};
    }
    const DmaEngine& engine = machine_.dma[static_cast<size_t>(machine_.paths[static_cast<size_t>(dma.path)].engine)];
    std::vector<Descriptor> descriptors;
    expand(box, engine, descriptors);
    for (const Descriptor& d : descriptors) {
      for (const int64_t bytes : {d.global, d.local, d.block, d.global_stride}) {
        if (bytes % engine.align != 0) {
          return "an address, stride or size of " + std::to_string(bytes) + " bytes is not a multiple of the " +
                 std::to_string(engine.align) + " that engine '" + engine.name + "' requires";
        }
      }
    }
    return {};
  }

  /// " with core = 3, t = 5": the values for which it is violated.
  std::string at_values() const {
    std::string out = " with core = " + std::to_string(env_[0]);
    for (const VarId var : scope_) {
      const auto v = static_cast<size_t>(var);
      out += ", " + group_.vars[v] + " = " + std::to_string(env_[v]);
    }
    return out;
  }

  const Program& program_;
  const Group& group_;
  const Machine& machine_;
  OpenLeaves open_;
  Diags& diags_;
  std::vector<int64_t> env_;
  std::vector<VarId> scope_;
  std::unordered_set<const Node*> hot_;
  bool all_ = false;
  int64_t visits_ = 0;
};

}  // namespace

void walk_open_leaves(const Program& program, const Group& group, const Machine& machine, OpenLeaves open,
                      Diags& diags) {
  Walker(program, group, machine, std::move(open), diags).run();
}

}  // namespace dlcc::hw
