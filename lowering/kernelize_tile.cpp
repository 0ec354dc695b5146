// Choice of the register tile: every candidate is priced with the chip's ports and latencies, remainders included.
#include "lowering/kernelize_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dlcc::lowering {

using te::Op;

namespace {

constexpr int kMaxInstances = 96;  // of the body, over all remainder variants: bounds code size
constexpr int kDefaultRegisters = 16;

/// What one value costs in the innermost loop.
struct NodeCost {
  DimSet deps = 0;
  int port = 0;
  int64_t latency = 0, occupancy = 0;
  bool inner = false;  // runs in the innermost loop
  int last_use = -1;   // position among the nodes
};

struct LaneCosts {
  std::vector<NodeCost> nodes;
  const hw::VectorOp* last = nullptr;  // the update of the accumulator, or the store
  const hw::VectorOp* loop = nullptr;
};

class TileChooser {
 public:
  explicit TileChooser(const LeafForm& form) : form_(form) {
    for (int d = 0; d < form.dim_count(); ++d) {
      if (form.dim(d).max_extent <= 1) {
        continue;
      }
      if (form.dim(d).kind == te::DimKind::Par) {
        par_.push_back(d);
      } else {
        inner_dim_ = d;
      }
    }
  }

  KernelTile choose(std::string& why_scalar) {
    int lanes = 1;
    pick_row(lanes, why_scalar);
    if (row_ < 0) {
      return {};
    }
    pick_narrow(lanes);
    KernelTile best;
    double best_time = 0;
    const std::vector<Unroll> candidates = unrolls();
    const std::vector<int> vectors = form_.leaf().accumulate ? std::vector<int>{1, 2, 3, 4} : std::vector<int>{1, 2, 4};
    for (const int count : vectors) {
      for (const Unroll& unroll : candidates) {
        KernelTile tile{row_, rungs(lanes, count), unroll};
        const bool simplest = count == 1 && unroll.empty();
        if (int64_t{lanes} * count > std::max<int64_t>(extent(row_), lanes) || (!simplest && !fits(tile))) {
          continue;
        }
        const double time = total_time(tile);
        if (best.row < 0 || time < best_time * 0.999) {
          best = std::move(tile);
          best_time = time;
        }
      }
    }
    return best;
  }

 private:
  using Unroll = std::vector<std::pair<int, int64_t>>;

  int64_t extent(int d) const { return form_.dim(d).max_extent; }

  /// The widest vectors that the leaf can have, or the last Par dim and scalars.
  void pick_row(int& lanes, std::string& why_scalar) {
    if (par_.empty()) {
      why_scalar = "there is one element to compute";
      return;
    }
    row_ = par_.back();
    why_scalar = "no dim is contiguous in the written buffer";
    for (const int d : par_) {
      if (form_.stride(form_.write(), d) != 1) {
        continue;
      }
      row_ = d;
      why_scalar = fmt::format("no vector of {} fits the row of {} elements", name_of(form_.write().type), extent(d));
      for (int l = widest(); l >= 2; l /= 2) {
        const bool exists = form_.find("store", form_.write().type, l) != nullptr ||
                            form_.find("storeu", form_.write().type, l) != nullptr;
        if (l > extent(d) || !exists) {
          continue;
        }
        const std::string obstacle = form_.vector_obstacle(d, l);
        if (obstacle.empty()) {
          lanes = l;
          why_scalar.clear();
          return;
        }
        why_scalar = obstacle;
      }
    }
  }

  /// A second lane count for the rest of a row.
  void pick_narrow(int lanes) {
    for (const int divisor : {4, 2}) {
      const int narrow = lanes / divisor;
      if (narrow_ == 0 && narrow >= 2 && form_.vector_obstacle(row_, narrow).empty()) {
        narrow_ = narrow;
      }
    }
  }

  int widest() const {
    int most = 1;
    for (const auto& [type, lanes] : form_.machine().vector.lanes) {
      while (most < lanes) {
        most *= 2;
      }
    }
    return most;
  }

  std::vector<Rung> rungs(int lanes, int count) const {
    std::vector<Rung> out = {{lanes, count}};
    if (count > 1) {
      out.push_back({lanes, 1});
    }
    if (narrow_ > 1) {
      out.push_back({narrow_, 1});
    }
    if (out.back().step() > 1) {
      out.push_back({1, 1});
    }
    return out;
  }

  /// None, each other Par dim alone, and pairs of dims of constant extent.
  std::vector<Unroll> unrolls() const {
    std::vector<Unroll> out = {{}};
    if (!form_.leaf().accumulate) {
      return out;
    }
    for (size_t i = 0; i < par_.size(); ++i) {
      for (const int64_t u : {2, 3, 4, 6, 8}) {
        if (par_[i] != row_ && u <= extent(par_[i])) {
          out.push_back({{par_[i], u}});
        }
      }
      for (size_t j = i + 1; j < par_.size(); ++j) {
        add_pairs(par_[i], par_[j], out);
      }
    }
    return out;
  }

  void add_pairs(int a, int b, std::vector<Unroll>& out) const {
    const auto constant = [&](int d) { return d != row_ && form_.dim(d).extent.is_constant(); };
    if (!constant(a) || !constant(b)) {
      return;
    }
    for (const int64_t u : {2, 3, 4}) {
      for (const int64_t v : {2, 3, 4}) {
        if (u <= extent(a) && v <= extent(b)) {
          out.push_back({{a, u}, {b, v}});
        }
      }
    }
  }

  // ---- price

  /// Which operation produces a node's value when the row has vectors of that many lanes.
  const hw::VectorOp* producer(int n, int lanes) const {
    const te::ScalarNode& node = form_.node(n);
    const bool varies = row_ >= 0 && (form_.deps(n) & dim_bit(row_)) != 0;
    const int width = varies ? lanes : 1;
    switch (node.op) {
      case Op::Load: {
        const LeafAccess& access = form_.read(static_cast<int>(node.integer));
        if (lanes > 1 && !varies) {
          const hw::VectorOp* splat = form_.find("load_splat", node.type, lanes);
          return splat != nullptr ? splat : form_.find("load", node.type, 1);
        }
        return form_.find(width > 1 && !form_.aligned(access, row_, width) ? "loadu" : "load", node.type, width);
      }
      case Op::Const:
        return form_.find("const", node.type, lanes);
      case Op::Index:
        return form_.find("index", DType::I64, 1);
      default:
        return form_.operation(n, width);
    }
  }

  const LaneCosts& costs(int lanes) {
    const auto [at, fresh] = costs_.try_emplace(lanes);
    LaneCosts& out = at->second;
    if (!fresh) {
      return out;
    }
    out.last = form_.leaf().accumulate ? form_.combination(lanes) : form_.find("store", form_.write().type, lanes);
    out.loop = form_.find("loop", DType::I64, 1);
    const DimSet inner = form_.leaf().accumulate && inner_dim_ >= 0 ? dim_bit(inner_dim_) : dim_bit(row_);
    std::map<int, size_t> position;
    for (const int n : form_.nodes()) {
      NodeCost cost;
      cost.deps = form_.deps(n);
      cost.inner = (cost.deps & inner) != 0;
      if (const hw::VectorOp* op = producer(n, lanes)) {
        cost.port = op->port;
        cost.latency = op->latency;
        cost.occupancy = op->occupancy;
      }
      const te::ScalarNode& node = form_.node(n);
      for (const int operand : {node.a, node.b, node.c}) {
        if (operand >= 0) {
          out.nodes[position.at(operand)].last_use = static_cast<int>(out.nodes.size());
        }
      }
      position[n] = out.nodes.size();
      out.nodes.push_back(cost);
    }
    return out;
  }

  using Counts = std::vector<std::pair<int, int64_t>>;  // dim, copies
  static int64_t instances(DimSet deps, const Counts& counts) {
    int64_t product = 1;
    for (const auto& [dim, count] : counts) {
      product *= (deps & dim_bit(dim)) != 0 ? count : 1;
    }
    return product;
  }

  /// Cycles of one pass through the innermost loop.
  double pass_time(int lanes, const Counts& counts) {
    const hw::Machine& machine = form_.machine();
    const LaneCosts& lane_costs = costs(lanes);
    std::vector<double>& ports = ports_;
    ports.assign(std::max<size_t>(machine.issue.ports.size(), 1), 0);
    double issued = 0, first_latency = 0, chain = 0;
    for (const NodeCost& cost : lane_costs.nodes) {
      if (cost.inner) {
        const auto n = static_cast<double>(instances(cost.deps, counts));
        ports[static_cast<size_t>(cost.port)] += n * static_cast<double>(cost.occupancy);
        issued += n;
        first_latency = std::max(first_latency, static_cast<double>(cost.latency));
        chain += static_cast<double>(cost.latency);
      }
    }
    const hw::VectorOp* last = lane_costs.last;
    double floor_time = 1;
    if (last != nullptr) {
      const auto n = static_cast<double>(instances(~DimSet{0}, counts));
      ports[static_cast<size_t>(last->port)] += n * static_cast<double>(last->occupancy);
      issued += n;
      floor_time = form_.leaf().accumulate ? static_cast<double>(last->latency) : 1;
    }
    if (const hw::VectorOp* loop = lane_costs.loop) {
      ports[static_cast<size_t>(loop->port)] += static_cast<double>(loop->occupancy);
      issued += 1;
    }
    const double busy =
        std::max(*std::max_element(ports.begin(), ports.end()), issued / std::max(machine.issue.width, 1));
    return form_.leaf().accumulate ? std::max(busy, floor_time) + first_latency : std::max(busy, chain);
  }

  double total_time(const KernelTile& tile) {
    double total = 0, repeats = 1;
    for (const int d : par_) {
      const bool inside =
          d == row_ || std::any_of(tile.unroll.begin(), tile.unroll.end(), [&](const auto& u) { return u.first == d; });
      repeats *= inside ? 1 : static_cast<double>(extent(d));
    }
    for_each_variant(tile, [&](const Rung& rung, const Counts& counts, double passes) {
      total += passes * pass_time(rung.lanes, counts);
    });
    return total * repeats;
  }

  /// Every combination of a rung and full or remainder unrolling that runs, and how often.
  template <class F>
  void for_each_variant(const KernelTile& tile, F&& f) const {
    std::vector<int64_t> steps;
    for (const Rung& rung : tile.rungs) {
      steps.push_back(rung.step());
    }
    const std::vector<int64_t> trips = trips_of(extent(row_), steps);
    for (size_t r = 0; r < tile.rungs.size(); ++r) {
      for (size_t mask = 0; trips[r] > 0 && mask < (size_t{1} << tile.unroll.size()); ++mask) {
        Counts counts = {{tile.row, tile.rungs[r].count}};
        auto passes = static_cast<double>(trips[r]);
        for (size_t u = 0; u < tile.unroll.size(); ++u) {
          const auto [dim, factor] = tile.unroll[u];
          const bool rest = (mask >> u & 1) != 0;
          counts.push_back({dim, rest ? 1 : factor});
          passes *= static_cast<double>(rest ? extent(dim) % factor : extent(dim) / factor);
        }
        if (passes > 0) {
          f(tile.rungs[r], counts, passes);
        }
      }
    }
  }

  /// Registers of the widest variant, and code size over all variants.
  bool fits(const KernelTile& tile) {
    int64_t size = 0;
    for_each_variant(tile, [&](const Rung&, const Counts& counts, double) { size += instances(~DimSet{0}, counts); });
    if (size > kMaxInstances) {
      return false;
    }
    Counts counts = {{tile.row, tile.rungs.front().count}};
    counts.insert(counts.end(), tile.unroll.begin(), tile.unroll.end());
    const int registers = form_.machine().vector.registers > 0 ? form_.machine().vector.registers : kDefaultRegisters;
    return live_values(tile.lanes(), counts) <= registers;
  }

  int64_t live_values(int lanes, const Counts& counts) {
    const std::vector<NodeCost>& nodes = costs(lanes).nodes;
    int64_t live = form_.leaf().accumulate ? instances(~DimSet{0}, counts) : 0;
    for (const NodeCost& node : nodes) {
      live += node.inner ? 0 : instances(node.deps, counts);
    }
    int64_t most = live;
    for (size_t i = 0; i < nodes.size(); ++i) {
      live += nodes[i].inner ? instances(nodes[i].deps, counts) : 0;
      most = std::max(most, live);
      for (size_t k = 0; k <= i; ++k) {
        live -= nodes[k].inner && nodes[k].last_use == static_cast<int>(i) ? instances(nodes[k].deps, counts) : 0;
      }
    }
    return most;
  }

  const LeafForm& form_;
  std::vector<int> par_;  // Par dims of more than one point
  int inner_dim_ = -1;    // the innermost Red dim of more than one point
  int row_ = -1;
  int narrow_ = 0;
  std::map<int, LaneCosts> costs_;
  std::vector<double> ports_;  // scratch
};

}  // namespace

std::vector<int64_t> trips_of(int64_t extent, const std::vector<int64_t>& steps) {
  std::vector<int64_t> trips;
  for (const int64_t step : steps) {
    trips.push_back(extent / step);
    extent %= step;
  }
  return trips;
}

KernelTile choose_tile(const LeafForm& form, std::string& why_scalar) {
  return TileChooser(form).choose(why_scalar);
}

}  // namespace dlcc::lowering
