// A random plan of a group, among those that `check` accepts and whose buffers fit.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "lowering/buffers.h"
#include "lowering/intrinsic_match.h"
#include "lowering/plan.h"

namespace dlcc::fuzz {

class PlanMaker {
 public:
  PlanMaker(const lowering::GroupAnalysis& group, const hw::Machine& machine, std::mt19937_64& engine)
      : group_(group), machine_(machine), engine_(engine) {}

  /// Larger tiles are tried first; choose_plan's when nothing random fits.
  Result<lowering::TilePlan> make(const lowering::Context& context) {
    for (int attempt = 0; attempt < 24; ++attempt) {
      lowering::TilePlan plan = guess();
      const lowering::RegionMap regions = lowering::propagate(group_, plan);
      if (regions.tiles * regions.steps <= kMaxSteps && lowering::plan_buffers(group_, plan, regions, machine_).overflow == 0) {
        return plan;
      }
    }
    return lowering::choose_plan(group_, context);
  }

 private:
  static constexpr int64_t kMaxSteps = 64, kMaxCalls = 256;

  int64_t pick(int64_t lo, int64_t hi) { return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1)); }
  int64_t tile_of(int64_t extent) {
    const int64_t kind = pick(0, 5);
    return kind < 2 ? extent : kind == 2 ? 1 : kind == 3 ? (extent + 1) / 2 : pick(1, extent);
  }

  lowering::TilePlan guess() {
    lowering::TilePlan plan;
    const te::Stmt& root = group_.root_stmt();
    for (size_t d = 0; d < root.dims.size(); ++d) {
      const bool is_par = root.dims[d].kind == te::DimKind::Par;
      plan.tile.push_back(is_par ? tile_of(root.dims[d].extent) : root.dims[d].extent);
      if (is_par && plan.tile[d] < root.dims[d].extent) {
        plan.order.push_back(static_cast<int>(d));
      }
    }
    std::shuffle(plan.order.begin(), plan.order.end(), engine_);
    if (group_.streamed >= 0) {
      for (const te::Dim& dim : group_.stmts[static_cast<size_t>(group_.streamed)].dims) {
        plan.red_tile.push_back(dim.kind == te::DimKind::Red ? tile_of(dim.extent) : 0);
      }
    }
    plan.double_buffer = pick(0, 2) > 0;
    if (!group_.intrinsics.empty() && pick(0, 3) > 0) {
      add_intrinsic(plan);
    }
    return plan;
  }

  void add_intrinsic(lowering::TilePlan& plan) {
    plan.intrinsic = static_cast<int>(pick(0, static_cast<int64_t>(group_.intrinsics.size()) - 1));
    const lowering::IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan.intrinsic)];
    const lowering::RegionMap regions = lowering::propagate(group_, plan);
    for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
      const int d = match.axis_to_dim[a];
      const int64_t extent = d < 0 ? 1 : regions.dims[static_cast<size_t>(group_.streamed)][static_cast<size_t>(d)].size;
      const hw::Intrinsic& intrinsic = machine_.intrinsics[static_cast<size_t>(match.intrinsic)];
      const int64_t limit = std::min(extent, lowering::max_extent_of_axis(intrinsic, static_cast<int>(a)));
      plan.micro.push_back(pick(1 + limit / 3, limit));
    }
    // The oracle looks at every call.
    int64_t calls = regions.tiles * regions.steps;
    for (size_t d = 0; d < regions.dims[static_cast<size_t>(group_.streamed)].size(); ++d) {
      int64_t size = 1;
      for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
        size = match.axis_to_dim[a] == static_cast<int>(d) ? plan.micro[a] : size;
      }
      calls *= (regions.dims[static_cast<size_t>(group_.streamed)][d].size + size - 1) / size;
    }
    if (calls > kMaxCalls) {
      plan.intrinsic = -1;
      plan.micro.clear();
    }
  }

  const lowering::GroupAnalysis& group_;
  const hw::Machine& machine_;
  std::mt19937_64& engine_;
};

}  // namespace dlcc::fuzz
