// The analytical default plan: descent from the whole tensor towards tiles that fit and balance, one dim at a time, guided by `estimate`.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/integer.h"
#include "lowering/cost.h"
#include "lowering/plan.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

namespace {

constexpr int kMaxSteps = 80;

/// Extents worth trying for a dim, largest first: splits into k nearly equal parts, and those rounded up to whole vectors.
std::vector<int64_t> candidates(int64_t extent, int64_t lanes) {
  std::set<int64_t, std::greater<>> sizes = {extent, 1};
  for (int64_t parts = 1; parts <= extent; parts += std::max<int64_t>(1, parts / 4)) {
    const int64_t size = (extent + parts - 1) / parts;
    sizes.insert(size);
    sizes.insert(std::min(extent, (size + lanes - 1) / lanes * lanes));
  }
  return {sizes.begin(), sizes.end()};
}

/// Whole blocks of a fused sum, halving: a tile that cuts a block would round in more places than the statement says.
void add_blocks(std::vector<int64_t>& sizes, int64_t extent, int64_t block) {
  std::set<int64_t, std::greater<>> all(sizes.begin(), sizes.end());
  for (int64_t blocks = 1; blocks * block < extent; blocks *= 2) {
    all.insert(blocks * block);
  }
  sizes.assign(all.begin(), all.end());
}

/// What a plan may do, from the best to the last resort.
enum class Freedom : uint8_t { WholeBlocks, AnyTile, SingleBuffer };

struct Scored {
  TilePlan plan;
  double score = INFINITY;     // cycles; beyond kMisfit: how far from fitting
};
constexpr double kMisfit = 1e15;

class Chooser {
 public:
  Chooser(const GroupAnalysis& group, const Context& context, int intrinsic, Freedom freedom)
      : group_(group), context_(context), machine_(context.machine), intrinsic_(intrinsic), double_buffer_(freedom != Freedom::SingleBuffer) {
    const te::Stmt& root = group.root_stmt();
    lanes_ = std::max(machine_.vector.lanes_of(root.body.back().type), 1);
    for (size_t d = 0; d < root.dims.size(); ++d) {
      if (root.dims[d].kind == te::DimKind::Par) {
        knobs_.push_back({static_cast<int>(d), false, candidates(root.dims[d].extent, lanes_)});
      }
    }
    if (group.streamed >= 0) {
      const te::Stmt& streamed = group.stmts[static_cast<size_t>(group.streamed)];
      int64_t block = te::sum_block(streamed);
      for (size_t d = 0; d < streamed.dims.size(); ++d) {
        if (streamed.dims[d].kind == te::DimKind::Red) {
          knobs_.push_back({static_cast<int>(d), true, candidates(streamed.dims[d].extent, 1)});
          if (freedom == Freedom::WholeBlocks && block > 1) {
            std::erase_if(knobs_.back().sizes, [&](int64_t size) { return size % block != 0 && size != streamed.dims[d].extent; });
            add_blocks(knobs_.back().sizes, streamed.dims[d].extent, block);
          }
          block = 0;   // only the first Red dim is summed in blocks
        }
      }
    }
  }

  /// The best of several descents: from the whole tensor; from thin tiles of whole rows (few descriptors); from the middle.
  Scored run() {
    Scored best;
    for (const std::vector<size_t>& start : starts()) {
      Scored found = descend(start);
      if (found.score < best.score) {
        best = std::move(found);
      }
    }
    return best;
  }

  /// Every dim at its smallest: what the error itemises.
  Scored smallest() {
    std::vector<size_t> at;
    for (const Knob& knob : knobs_) {
      at.push_back(knob.sizes.size() - 1);
    }
    return score(at);
  }

 private:
  struct Knob {
    int dim;
    bool reduction;
    std::vector<int64_t> sizes;
  };

  using Position = std::vector<size_t>;   // index into each knob's sizes

  std::vector<Position> starts() const {
    Position whole(knobs_.size(), 0), rows, middle;
    size_t last_par = 0;
    for (size_t k = 0; k < knobs_.size(); ++k) {
      last_par = knobs_[k].reduction ? last_par : k;
    }
    for (size_t k = 0; k < knobs_.size(); ++k) {
      rows.push_back(k == last_par && !knobs_[k].reduction ? 0 : knobs_[k].sizes.size() - 1);
      middle.push_back(knobs_[k].sizes.size() / 2);
    }
    std::vector<Position> all = {whole, rows, middle};
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  Scored descend(Position at) {
    double best = score_at(at);
    for (int step = 0; step < kMaxSteps; ++step) {
      Position next = at;
      double improved = best;
      for (size_t k = 0; k < knobs_.size(); ++k) {
        for (int move : {1, 2, 4, -1, -2}) {
          try_moves(at, {{k, move}}, improved, next);
        }
      }
      if (improved >= best) {   // no single dim helps: trade one against another
        for (size_t smaller = 0; smaller < knobs_.size(); ++smaller) {
          for (size_t larger = 0; larger < knobs_.size(); ++larger) {
            for (int move : {1, 3}) {
              try_moves(at, {{smaller, move}, {larger, -move}}, improved, next);
            }
          }
        }
      }
      if (improved >= best) {
        break;
      }
      best = improved;
      at = next;
    }
    return score(at);
  }

  struct Move {
    size_t knob;
    int by;
  };
  void try_moves(const Position& from, std::initializer_list<Move> moves, double& improved, Position& best) {
    Position at = from;
    for (const Move& move : moves) {
      const int64_t to = static_cast<int64_t>(at[move.knob]) + move.by;
      if (to < 0 || to >= static_cast<int64_t>(knobs_[move.knob].sizes.size())) {
        return;
      }
      at[move.knob] = static_cast<size_t>(to);
    }
    if (const double value = score_at(at); value < improved) {
      improved = value;
      best = at;
    }
  }

  double score_at(const Position& at) {
    const auto [known, fresh] = scores_.try_emplace(at, 0.0);
    if (fresh) {
      known->second = score(at).score;
    }
    return known->second;
  }

  TilePlan plan_at(const std::vector<size_t>& at) const {
    TilePlan plan;
    plan.double_buffer = double_buffer_;
    plan.intrinsic = intrinsic_;
    const te::Stmt& root = group_.root_stmt();
    for (const te::Dim& dim : root.dims) {
      plan.tile.push_back(dim.extent);
    }
    if (group_.streamed >= 0) {
      plan.red_tile.assign(group_.stmts[static_cast<size_t>(group_.streamed)].dims.size(), 0);
    }
    for (size_t k = 0; k < knobs_.size(); ++k) {
      const int64_t size = knobs_[k].sizes[at[k]];
      (knobs_[k].reduction ? plan.red_tile : plan.tile)[static_cast<size_t>(knobs_[k].dim)] = size;
    }
    for (size_t d = 0; d < root.dims.size(); ++d) {
      if (root.dims[d].kind == te::DimKind::Par && plan.tile[d] < root.dims[d].extent) {
        plan.order.push_back(static_cast<int>(d));
      }
    }
    return plan;
  }

  /// Best over the choice of the innermost tile loop, which decides what is kept from tile to tile.
  Scored score(const std::vector<size_t>& at) {
    TilePlan plan = plan_at(at);
    const std::vector<int> natural = plan.order;
    Scored best = score_order(plan);
    if (best.score >= kMisfit) {
      return best;
    }
    for (size_t inner = 0; inner + 1 < natural.size(); ++inner) {
      plan.order = natural;
      std::rotate(plan.order.begin() + static_cast<int64_t>(inner), plan.order.begin() + static_cast<int64_t>(inner) + 1, plan.order.end());
      Scored candidate = score_order(plan);
      if (candidate.score < best.score) {
        best = std::move(candidate);
      }
    }
    return best;
  }

  Scored score_order(TilePlan& plan) {
    const RegionMap regions = propagate(group_, plan);
    if (intrinsic_ >= 0) {
      plan.micro = micro_tile(regions);
    }
    const BufferPlan buffers = plan_buffers(group_, plan, regions, machine_);
    Scored scored{plan, 0};
    if (buffers.overflow > 0) {
      scored.score = kMisfit * (1 + static_cast<double>(buffers.overflow) / 1024);
      if (context_.explain.enabled()) {
        context_.explain.add(group_.name, print(plan, group_) + " refused: " + itemise(buffers, machine_));
      }
    } else {
      scored.score = estimate(group_, plan, regions, buffers, machine_).total;
    }
    return scored;
  }

  /// As much of each axis as one call takes, shrunk (longest first) until two slots of every operand fit its memory.
  std::vector<int64_t> micro_tile(const RegionMap& regions) const {
    const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(intrinsic_)];
    const hw::Intrinsic& intrinsic = machine_.intrinsics[static_cast<size_t>(match.intrinsic)];
    std::vector<int64_t> micro;
    for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
      const int d = match.axis_to_dim[a];
      const int64_t extent = d < 0 ? 1 : regions.dims[static_cast<size_t>(group_.streamed)][static_cast<size_t>(d)].size;
      micro.push_back(std::min(extent, max_extent_of_axis(intrinsic, static_cast<int>(a))));
    }
    while (!operands_fit(intrinsic, micro)) {
      auto longest = std::max_element(micro.begin(), micro.end());
      if (*longest == 1) {
        break;   // plan_buffers reports the overflow
      }
      *longest = (*longest + 1) / 2;
    }
    return micro;
  }

  bool operands_fit(const hw::Intrinsic& intrinsic, const std::vector<int64_t>& micro) const {
    std::map<hw::MemoryId, int64_t> used;
    for (const te::Access& read : intrinsic.semantics.reads) {
      const hw::IntrinsicOperand& operand = intrinsic.operands[static_cast<size_t>(read.tensor)];
      if (read.tensor == intrinsic.semantics.output || operand.memory == machine_.work_memory()) {
        continue;
      }
      hw::Buffer buffer;
      buffer.type = operand.type;
      for (const te::Affine& index : read.index) {
        buffer.shape.push_back(micro[static_cast<size_t>(index.terms().front().var)]);
      }
      for (const hw::Layout& layout : machine_.layouts) {
        if (layout.name == operand.layout) {
          buffer.layout = layout.axes;
        }
      }
      const hw::Memory& memory = machine_.memories[static_cast<size_t>(operand.memory)];
      const int64_t align = std::max<int64_t>(memory.align, 1);
      const int64_t slot = round_up(buffer.storage_elements() * bytes_of(buffer.type), align);
      used[operand.memory] += slot * (double_buffer_ ? 2 : 1);
    }
    return std::all_of(used.begin(), used.end(), [&](const auto& entry) {
      return entry.second <= machine_.memories[static_cast<size_t>(entry.first)].usable();
    });
  }

  const GroupAnalysis& group_;
  const Context& context_;
  const hw::Machine& machine_;
  const int intrinsic_;
  const bool double_buffer_;
  int64_t lanes_ = 1;
  std::vector<Knob> knobs_;
  std::map<Position, double> scores_;
};

Diags nothing_fits(const GroupAnalysis& group, const Scored& smallest, const Context& context) {
  const RegionMap regions = propagate(group, smallest.plan);
  const BufferPlan buffers = plan_buffers(group, smallest.plan, regions, context.machine);
  std::string knob;
  for (const hw::Memory& memory : context.machine.memories) {
    if (memory.name == buffers.overflow_memory) {
      knob = fmt::format("memories.{}.size of at least {} bytes would fit it", memory.name, memory.size + buffers.overflow);
    }
  }
  return error(group.name, fmt::format("no tile fits: the smallest ({}) {}; {}", print(smallest.plan, group), itemise(buffers, context.machine), knob));
}

}  // namespace

Result<TilePlan> choose_plan(const GroupAnalysis& group, const Context& context) {
  Scored best;
  for (Freedom freedom : {Freedom::WholeBlocks, Freedom::AnyTile, Freedom::SingleBuffer}) {
    const int intrinsics = freedom == Freedom::SingleBuffer ? 0 : std::min<int>(1, static_cast<int>(group.intrinsics.size()));
    for (int intrinsic = -1; intrinsic < intrinsics; ++intrinsic) {
      Scored found = Chooser(group, context, intrinsic, freedom).run();
      if (found.score < best.score) {
        best = std::move(found);
      }
    }
    if (best.score < kMisfit) {
      return best.plan;
    }
  }
  return nothing_fits(group, Chooser(group, context, -1, Freedom::SingleBuffer).smallest(), context);
}

}  // namespace dlcc::lowering
