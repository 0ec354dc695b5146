#include "lowering/cost.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

namespace {

/// What one transfer of a box costs the engine.
struct Transfer {
  double descriptors = 1;
  double blocks = 1;
  double block_bytes = 0;
};

// Inner dims merge while they cover the tensor; the next dim gives the blocks of a descriptor, the others descriptors of their own.
Transfer transfer_of(const Box& box, const std::vector<int64_t>& shape, int bytes, const hw::DmaEngine& engine) {
  Transfer t;
  double run = bytes;
  size_t d = shape.size();
  bool merges = true;
  while (d > 0 && merges) {
    --d;
    run *= static_cast<double>(shape[d]);
    merges = shape[d] == box[d].limit && !box[d].clipped();
  }
  t.block_bytes = run;
  bool have_blocks = engine.max_dims < 2;
  while (d > 0) {
    --d;
    if (shape[d] == 1) {
      continue;
    }
    t.blocks *= static_cast<double>(shape[d]);
    t.descriptors *= have_blocks ? static_cast<double>(shape[d]) : 1;
    have_blocks = true;
  }
  return t;
}

double transfer_cycles(const Transfer& t, const hw::DmaEngine& engine, int active) {
  const double granule = static_cast<double>(std::max<int64_t>(engine.granule, 1));
  const double charged = std::max(static_cast<double>(engine.min_run), std::ceil(t.block_bytes / granule) * granule);
  const double bytes = t.blocks * charged;
  const double lone = engine.lone_rate > 0 ? bytes / engine.lone_rate : 0;
  const double rate = engine.rate_for(active);
  const double shared = rate > 0 ? bytes * active / rate : 0;
  const double arbiter = static_cast<double>(engine.request) * t.descriptors * active;
  return static_cast<double>(engine.startup) + std::max({lone, shared, arbiter, static_cast<double>(engine.issue) * t.descriptors}) +
         static_cast<double>(engine.block_overhead) * t.blocks;
}

class Estimator {
 public:
  Estimator(const GroupAnalysis& group, const TilePlan& plan, const RegionMap& regions, const BufferPlan& buffers, const hw::Machine& machine)
      : group_(group), plan_(plan), regions_(regions), buffers_(buffers), machine_(machine) {
    active_ = static_cast<int>(std::min<int64_t>(machine.core_count(), regions.tiles));
    tiles_per_core_ = (regions.tiles + machine.core_count() - 1) / machine.core_count();
  }

  Estimate run() const {
    Estimate e;
    bool synchronous = !plan_.double_buffer;
    for (const PlannedBuffer& planned : buffers_.buffers) {
      const bool is_store = planned.stmt == group_.root();
      if (planned.load < 0 && !is_store) {
        continue;
      }
      const hw::DmaEngine* engine = is_store ? engine_of(planned.buffer.memory, machine_.global_memory())
                                             : engine_of(machine_.global_memory(), planned.buffer.memory);
      if (engine == nullptr) {
        continue;
      }
      synchronous |= engine->kind == hw::EngineKind::Core;
      const Transfer t = transfer_of(planned.box, planned.buffer.shape, bytes_of(planned.buffer.type), *engine);
      e.dma += instances(planned.level) * transfer_cycles(t, *engine, active_);
    }
    const double per_tile = tile_compute();
    e.compute = static_cast<double>(tiles_per_core_) * per_tile;
    const double steps = static_cast<double>(tiles_per_core_ * regions_.steps);
    const double overhead = 60 * steps * static_cast<double>(1 + group_.stmts.size());
    e.total = (synchronous ? e.dma + e.compute : std::max(e.dma, e.compute) + (e.dma + e.compute) / (steps + 1)) + overhead;
    return e;
  }

 private:
  const hw::DmaEngine* engine_of(hw::MemoryId from, hw::MemoryId to) const {
    const std::vector<int> route = machine_.route(from, to);
    return route.empty() ? nullptr : &machine_.dma[static_cast<size_t>(machine_.paths[static_cast<size_t>(route.front())].engine)];
  }

  /// How often the busiest core makes a fresh instance at that level.
  double instances(int level) const {
    const int64_t steps = tiles_per_core_ * regions_.steps;
    const int64_t inner = regions_.inner_trips(level);
    return static_cast<double>((steps + inner - 1) / inner);
  }

  double tile_compute() const {
    double cycles = 0;
    for (size_t s = 0; s < group_.stmts.size(); ++s) {
      const double times = group_.phase[s] == Phase::Stream ? static_cast<double>(regions_.steps) : 1;
      const bool on_matrix_unit = plan_.intrinsic >= 0 && static_cast<int>(s) == group_.streamed;
      cycles += times * (on_matrix_unit ? intrinsic_cycles() : stmt_cycles(s));
    }
    return cycles;
  }

  double stmt_cycles(size_t s) const {
    const te::Stmt& stmt = group_.stmts[s];
    const int lanes = std::max(machine_.vector.lanes_of(stmt.body.back().type), 1);
    double points = 1;
    double inner = 1;
    for (size_t d = 0; d < stmt.dims.size(); ++d) {
      const double size = static_cast<double>(std::min(regions_.dims[s][d].size, regions_.dims[s][d].limit));
      points *= size;
      if (!stmt.write.index.empty() && stmt.write.index.back().depends_on(static_cast<int>(d))) {
        inner = size;
      }
    }
    const double rest = std::fmod(inner, lanes);
    const double quarter = std::max(1, lanes / 4);
    const double vectors = std::floor(inner / lanes) + std::floor(rest / quarter) + std::fmod(rest, quarter);
    const double operations = 1 + 0.5 * static_cast<double>(stmt.body.size());
    return points / inner * vectors * operations;
  }

  double intrinsic_cycles() const {
    const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan_.intrinsic)];
    const hw::Intrinsic& intrin = machine_.intrinsics[static_cast<size_t>(match.intrinsic)];
    const size_t s = static_cast<size_t>(group_.streamed);
    double calls = 1;
    for (size_t d = 0; d < regions_.dims[s].size(); ++d) {
      double step = 1;
      for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
        step = match.axis_to_dim[a] == static_cast<int>(d) ? static_cast<double>(plan_.micro[a]) : step;
      }
      calls *= std::ceil(static_cast<double>(regions_.dims[s][d].size) / step);
    }
    return calls * static_cast<double>(cycles_of(intrin, plan_.micro));
  }

  const GroupAnalysis& group_;
  const TilePlan& plan_;
  const RegionMap& regions_;
  const BufferPlan& buffers_;
  const hw::Machine& machine_;
  int active_ = 1;
  int64_t tiles_per_core_ = 1;
};

}  // namespace

Estimate estimate(const GroupAnalysis& group, const TilePlan& plan, const RegionMap& regions, const BufferPlan& buffers, const hw::Machine& machine) {
  return Estimator(group, plan, regions, buffers, machine).run();
}

int64_t bound_cycles(const GroupAnalysis& group, const hw::Machine& machine) {
  const int lanes = std::max(machine.vector.lanes_of(group.stmts.back().body.back().type), 1);
  double per_cycle = 2.0 * lanes * machine.core_count();
  for (const IntrinsicMatch& match : group.intrinsics) {
    const hw::Intrinsic& intrin = machine.intrinsics[static_cast<size_t>(match.intrinsic)];
    double macs = 1;
    std::vector<int64_t> largest;
    for (size_t a = 0; a < intrin.semantics.axes.size(); ++a) {
      largest.push_back(max_extent_of_axis(intrin, static_cast<int>(a)));
      macs *= static_cast<double>(largest.back());
    }
    const int64_t cycles = cycles_of(intrin, largest);
    per_cycle = std::max(per_cycle, 2.0 * macs / static_cast<double>(cycles) * machine.core_count());
  }
  double bytes = 0;
  std::set<int> counted;
  for (const te::Stmt& stmt : group.stmts) {
    for (const te::Access& read : stmt.reads) {
      const GroupTensor& tensor = group.tensors[static_cast<size_t>(read.tensor)];
      if (tensor.producer < 0 && counted.insert(read.tensor).second) {
        int64_t touched = 1;   // a slice may read less than the whole tensor
        for (const te::Dim& dim : stmt.dims) {
          touched = std::min<int64_t>(touched * dim.extent, te::element_count(tensor.shape));
        }
        bytes += static_cast<double>(std::min(touched, te::element_count(tensor.shape)) * bytes_of(tensor.type));
      }
    }
  }
  const te::Stmt& root = group.root_stmt();
  bytes += static_cast<double>(par_points(root) * bytes_of(group.tensors[static_cast<size_t>(root.write.tensor)].type));
  double rate = 0;
  for (const hw::DmaEngine& engine : machine.dma) {
    rate = std::max(rate, engine.rate_for(machine.core_count()));
  }
  const double compute = static_cast<double>(group.flops) / per_cycle;
  const double traffic = rate > 0 ? bytes / rate : 0;
  return static_cast<int64_t>(std::ceil(std::max(compute, traffic)));
}

}  // namespace dlcc::lowering
