// Greedy fusion in program order: a statement joins the groups of its producers when the rules of fuse.h allow it.
#include "lowering/fuse.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lowering/analysis.h"
#include "lowering/buffers.h"
#include "lowering/gather_rows.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using te::Stmt;
using te::StmtKind;

namespace {

constexpr size_t kMaxGroup = 24;   // statements; longer chains win nothing and make plans slower to try

class Fuser {
 public:
  Fuser(const te::Module& module, const Context& context) : module_(module), context_(context), group_of_(module.stmts.size(), -1) {
    const size_t n = module.tensors.size();
    writers_.resize(n);
    readers_.resize(n);
    escapes_.assign(n, false);
    for (size_t t = 0; t < n; ++t) {
      if (module.tensors[t].storage >= 0) {
        escapes_[t] = escapes_[static_cast<size_t>(module.root_of(static_cast<int>(t)))] = true;
      }
    }
    for (int t : module.outputs) {
      escapes_[static_cast<size_t>(t)] = escapes_[static_cast<size_t>(module.root_of(t))] = true;
    }
    for (size_t s = 0; s < module.stmts.size(); ++s) {
      writers_[static_cast<size_t>(module.stmts[s].write.tensor)].push_back(static_cast<int>(s));
      for (const te::Access& read : module.stmts[s].reads) {
        readers_[static_cast<size_t>(read.tensor)].push_back(static_cast<int>(s));
      }
    }
  }

  std::vector<FusionGroup> run() {
    for (size_t s = 0; s < module_.stmts.size(); ++s) {
      groups_.push_back({{static_cast<int>(s)}});
      group_of_[s] = static_cast<int>(groups_.size()) - 1;
      try_to_join(static_cast<int>(s));
    }
    std::vector<FusionGroup> out;
    for (FusionGroup& group : groups_) {
      if (!group.stmts.empty()) {
        out.push_back(std::move(group));
      }
    }
    std::sort(out.begin(), out.end(), [](const FusionGroup& a, const FusionGroup& b) { return a.stmts.back() < b.stmts.back(); });
    return out;
  }

 private:
  const Stmt& stmt(int s) const { return module_.stmts[static_cast<size_t>(s)]; }
  const std::string& name(int s) const { return stmt(s).name; }

  /// Groups of the producers that the consumer may fuse with, read by read.
  std::vector<int> candidate_groups(int consumer) {
    std::set<int> allowed, refused;
    for (const te::Access& read : stmt(consumer).reads) {
      const std::vector<int>& writers = writers_[static_cast<size_t>(read.tensor)];
      if (writers.empty()) {
        continue;
      }
      const int group = group_of_[static_cast<size_t>(writers.front())];
      const std::string reason = edge_refusal(writers, read, consumer);
      (reason.empty() ? allowed : refused).insert(group);
      if (!reason.empty()) {
        context_.explain.add(name(consumer), fmt::format("not fused with '{}': {}", name(writers.front()), reason));
      }
    }
    std::vector<int> out;
    std::set_difference(allowed.begin(), allowed.end(), refused.begin(), refused.end(), std::back_inserter(out));
    return out;
  }

  void try_to_join(int consumer) {
    const std::vector<int> candidates = candidate_groups(consumer);
    if (candidates.empty() || join(candidates, consumer)) {
      return;
    }
    if (candidates.size() == 1) {
      return;
    }
    // Not all of them: the producer with the most arithmetic gains most from keeping its result on chip.
    std::vector<int> by_work = candidates;
    std::stable_sort(by_work.begin(), by_work.end(), [&](int a, int b) { return work(a) > work(b); });
    for (int group : by_work) {
      if (join({group}, consumer)) {
        return;
      }
    }
  }

  int64_t work(int group) const {
    int64_t total = 0;
    for (int s : groups_[static_cast<size_t>(group)].stmts) {
      total += flops_of(stmt(s));
    }
    return total;
  }

  bool join(const std::vector<int>& producers, int consumer) {
    FusionGroup merged;
    for (int group : producers) {
      const std::vector<int>& stmts = groups_[static_cast<size_t>(group)].stmts;
      merged.stmts.insert(merged.stmts.end(), stmts.begin(), stmts.end());
    }
    merged.stmts.push_back(consumer);
    std::sort(merged.stmts.begin(), merged.stmts.end());
    const std::string reason = group_refusal(merged);
    if (!reason.empty()) {
      context_.explain.add(name(consumer), fmt::format("not fused with '{}': {}", name(groups_[static_cast<size_t>(producers.front())].stmts.back()), reason));
      return false;
    }
    for (int group : producers) {
      groups_[static_cast<size_t>(group)].stmts.clear();
    }
    const int into = group_of_[static_cast<size_t>(consumer)];
    for (int s : merged.stmts) {
      group_of_[static_cast<size_t>(s)] = into;
    }
    groups_[static_cast<size_t>(into)] = std::move(merged);
    return true;
  }

  /// Why this producer's value cannot be made where the consumer needs it; empty: it can.
  std::string edge_refusal(const std::vector<int>& writers, const te::Access& read, int consumer) const {
    const int producer = writers.front();
    if (writers.size() > 1) {
      return "several statements write its tensor";
    }
    if (escapes_[static_cast<size_t>(read.tensor)]) {
      return "its tensor is an output of the model or is reshaped";
    }
    if (!writes_by_identity(stmt(producer))) {
      return "it does not write with unit stride";
    }
    if (read.indirect_axis >= 0) {
      return "it is read through an index";
    }
    for (size_t axis = 0; axis < read.index.size(); ++axis) {
      const te::Affine& written = stmt(producer).write.index[axis];
      if (read.fill && written.is_constant() && !(read.index[axis] == written)) {
        return "it is padded along an axis of one point, which may lie outside the box that a tile needs";
      }
    }
    if (is_contraction(stmt(consumer))) {
      return "a contraction reads its operands more than once";
    }
    return reuse_refusal(producer, read, consumer);
  }

  bool holds_contraction(int producer) const {
    const FusionGroup& group = groups_[static_cast<size_t>(group_of_[static_cast<size_t>(producer)])];
    return std::any_of(group.stmts.begin(), group.stmts.end(), [&](int s) { return is_contraction(stmt(s)); });
  }

  // Recomputation: a dim of the consumer that the read does not depend on, or windows that overlap.
  std::string reuse_refusal(int producer, const te::Access& read, int consumer) const {
    const Stmt& c = stmt(consumer);
    const bool heavy = holds_contraction(producer);
    for (size_t d = 0; d < c.dims.size(); ++d) {
      const bool used = std::any_of(read.index.begin(), read.index.end(), [&](const te::Affine& e) { return e.depends_on(static_cast<int>(d)); });
      if (c.dims[d].kind == te::DimKind::Par && !used && heavy) {
        return fmt::format("its contraction would run again for each tile of '{}'", dim_name(c, static_cast<int>(d)));
      }
    }
    for (const te::Affine& index : read.index) {
      int64_t step = 0, window = 1;
      for (const te::Term& term : index.terms()) {
        const bool red = c.dims[static_cast<size_t>(term.var)].kind == te::DimKind::Red;
        if (red) {
          window += std::abs(term.coef) * (c.dims[static_cast<size_t>(term.var)].extent - 1);
        } else {
          step = std::abs(term.coef);
        }
      }
      if (step > 0 && window == 1 && step > 1) {
        return "it would compute elements that nobody reads";
      }
      if (step > 0 && window > 2 * step) {
        return fmt::format("windows of {} at stride {} overlap too much", window, step);
      }
    }
    return "";
  }

  std::string group_refusal(const FusionGroup& merged) const {
    if (merged.stmts.size() > kMaxGroup) {
      return fmt::format("a group of {} statements, the limit is {}", merged.stmts.size(), kMaxGroup);
    }
    for (int s : merged.stmts) {
      if (gathers_rows(stmt(s), module_.tensors, context_.machine)) {
        return "'" + name(s) + "' gathers row by row";
      }
    }
    int contractions = 0;
    const std::set<int> members(merged.stmts.begin(), merged.stmts.end());
    for (int s : merged.stmts) {
      contractions += is_contraction(stmt(s)) ? 1 : 0;
      if (s == merged.stmts.back()) {
        continue;
      }
      for (int reader : readers_[static_cast<size_t>(stmt(s).write.tensor)]) {
        if (!members.contains(reader)) {
          return fmt::format("'{}' is also needed by '{}'", name(s), name(reader));
        }
      }
    }
    if (contractions > 1) {
      return "a group holds one contraction";
    }
    if (const std::string reason = fill_refusal(merged); !reason.empty()) {
      return reason;
    }
    return footprint_refusal(merged);
  }

  /// Two consumers that expect different values outside one producer's tensor.
  std::string fill_refusal(const FusionGroup& merged) const {
    for (int s : merged.stmts) {
      std::set<double> fills;
      for (int reader : merged.stmts) {
        for (const te::Access& read : stmt(reader).reads) {
          if (read.tensor == stmt(s).write.tensor && read.fill) {
            fills.insert(*read.fill);
          }
        }
      }
      if (fills.size() > 1) {
        return fmt::format("consumers of '{}' pad it differently", name(s));
      }
    }
    return "";
  }

  /// The smallest tile must leave half of the memory, or the group could only be tiled badly.
  std::string footprint_refusal(const FusionGroup& merged) const {
    Explain quiet;
    const Result<GroupAnalysis> group = analyse(module_, merged, {context_.machine, quiet});
    if (!group.ok()) {
      return group.diags().front().message;
    }
    TilePlan plan;
    for (size_t d = 0; d < group->root_stmt().dims.size(); ++d) {
      const te::Dim& dim = group->root_stmt().dims[d];
      plan.tile.push_back(dim.kind == te::DimKind::Par ? 1 : dim.extent);
      if (dim.kind == te::DimKind::Par && dim.extent > 1) {
        plan.order.push_back(static_cast<int>(d));
      }
    }
    if (group->streamed >= 0) {
      plan.red_tile.assign(group->stmts[static_cast<size_t>(group->streamed)].dims.size(), 1);
    }
    const BufferPlan buffers = plan_buffers(*group, plan, propagate(*group, plan), context_.machine);
    const hw::Memory& memory = context_.machine.memories[static_cast<size_t>(context_.machine.work_memory())];
    int64_t used = 0;
    for (const PlannedBuffer& planned : buffers.buffers) {
      used += planned.buffer.slot_bytes * planned.buffer.copies;
    }
    return used * 2 > memory.usable() ? fmt::format("its smallest tile takes {} of {} bytes", used, memory.usable()) : "";
  }

  const te::Module& module_;
  const Context& context_;
  std::vector<int> group_of_;
  std::vector<FusionGroup> groups_;
  std::vector<std::vector<int>> writers_, readers_;   // by tensor
  std::vector<bool> escapes_;                         // by tensor: its whole value must reach global memory
};

}  // namespace

std::vector<FusionGroup> fuse(const te::Module& module, const Context& context) { return Fuser(module, context).run(); }

std::vector<FusionGroup> split(const FusionGroup& group) {
  std::vector<FusionGroup> out;
  for (int s : group.stmts) {
    out.push_back({{s}});
  }
  return out;
}

}  // namespace dlcc::lowering
