// Backward interval propagation from the root's tile (facts: for e = sum c_i d_i + k over boxes, lo = sum_{c>0} c lo_i + sum_{c<0} c (lo_i + n_i - 1) + k
// and size = sum |c_i| (n_i - 1) + 1).
#include "lowering/region.h"

#include <algorithm>
#include <cstdlib>

#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using te::Stmt;

Bounds bounds_of(const Affine& affine, const std::vector<TileLoop>& loops) {
  Bounds b{affine.constant(), affine.constant()};
  for (const te::Term& term : affine.terms()) {
    const int64_t reach = term.coef * (loops[static_cast<size_t>(term.var - 1)].count - 1);
    (reach > 0 ? b.max : b.min) += reach;
  }
  return b;
}

int64_t RegionMap::inner_trips(int level) const {
  int64_t n = 1;
  for (size_t l = static_cast<size_t>(level); l < loops.size(); ++l) {
    n *= loops[l].count;
  }
  return n;
}

int RegionMap::level_of(const Box& box) const {
  int level = 0;
  for (const Range& range : box) {
    for (const te::Term& term : range.lo.terms()) {
      level = std::max(level, static_cast<int>(term.var));
    }
  }
  return level;
}

namespace {

class Propagator {
 public:
  Propagator(const GroupAnalysis& group, const TilePlan& plan) : group_(group), plan_(plan) {}

  RegionMap run() {
    const size_t n = group_.stmts.size();
    out_.dims.resize(n);
    out_.outputs.resize(n);
    out_.output_fill.resize(n);
    make_loops();
    for (size_t s = n; s-- > 0;) {
      set_dims(s);
      for (size_t r = 0; r < group_.stmts[s].reads.size(); ++r) {
        add_read(s, r);
      }
    }
    return std::move(out_);
  }

 private:
  void make_loops() {
    out_.loops.reserve(plan_.order.size() + plan_.red_tile.size());
    const Stmt& root = group_.root_stmt();
    for (int dim : plan_.order) {
      const int64_t tile = plan_.tile[static_cast<size_t>(dim)];
      add_loop(group_.root(), dim, tile, root.dims[static_cast<size_t>(dim)].extent, false);
    }
    for (size_t d = 0; d < plan_.red_tile.size(); ++d) {
      const te::Dim& dim = group_.stmts[static_cast<size_t>(group_.streamed)].dims[d];
      if (dim.kind == te::DimKind::Red && plan_.red_tile[d] < dim.extent) {
        add_loop(group_.streamed, static_cast<int>(d), plan_.red_tile[d], dim.extent, true);
      }
    }
  }

  void add_loop(int stmt, int dim, int64_t tile, int64_t extent, bool reduction) {
    const int64_t count = (extent + tile - 1) / tile;
    if (count > 1) {
      out_.loops.push_back({stmt, dim, tile, count, reduction});
      (reduction ? out_.steps : out_.tiles) *= count;
    }
  }

  /// The box that the loops give to a dim: a tile of it, or all.
  Range own_range(int stmt, int dim) const {
    const int64_t extent = group_.stmts[static_cast<size_t>(stmt)].dims[static_cast<size_t>(dim)].extent;
    for (size_t l = 0; l < out_.loops.size(); ++l) {
      const TileLoop& loop = out_.loops[l];
      if (loop.stmt == stmt && loop.dim == dim) {
        return make_range(Affine::var(static_cast<VarId>(l + 1), loop.tile), loop.tile, extent);
      }
    }
    return make_range(0, extent, extent);
  }

  Range make_range(const Affine& lo, int64_t size, int64_t limit) const {
    const Bounds b = bounds_of(lo, out_.loops);
    return {lo, size, limit, b.min < 0, b.max + size > limit};
  }

  void set_dims(size_t s) {
    const Stmt& stmt = group_.stmts[s];
    Box& dims = out_.dims[s];
    dims.resize(stmt.dims.size());
    const bool is_root = static_cast<int>(s) == group_.root();
    for (size_t d = 0; d < stmt.dims.size(); ++d) {
      if (is_root || stmt.dims[d].kind != te::DimKind::Par) {
        dims[d] = own_range(static_cast<int>(s), static_cast<int>(d));
        if (is_root && stmt.dims[d].kind == te::DimKind::Par) {
          out_.outputs[s].push_back(dims[d]);
        }
      }
    }
    if (is_root) {
      return;
    }
    DLCC_CHECK(!out_.outputs[s].empty() || stmt.write.index.empty()) << stmt.name << ": a fused statement without a consumer";
    for (size_t axis = 0; axis < stmt.write.index.size(); ++axis) {
      const int d = dim_of_write_axis(stmt, axis);
      if (d >= 0) {
        const Range& needed = out_.outputs[s][axis];
        dims[static_cast<size_t>(d)] = make_range(needed.lo - stmt.write.index[axis].constant(), needed.size,
                                                  stmt.dims[static_cast<size_t>(d)].extent);
      }
    }
  }

  Range image(const Affine& index, const Box& dims, int64_t limit) const {
    Affine lo(index.constant());
    int64_t size = 1;
    for (const te::Term& term : index.terms()) {
      const Range& dim = dims[static_cast<size_t>(term.var)];
      lo += (term.coef > 0 ? dim.lo : dim.lo + (dim.size - 1)) * term.coef;
      size += std::abs(term.coef) * (dim.size - 1);
    }
    return make_range(lo, size, limit);
  }

  void add_read(size_t s, size_t r) {
    const te::Access& read = group_.stmts[s].reads[r];
    const GroupTensor& tensor = group_.tensors[static_cast<size_t>(read.tensor)];
    Box box;
    box.reserve(read.index.size());
    for (size_t axis = 0; axis < read.index.size(); ++axis) {
      const int64_t limit = tensor.shape[axis];
      box.push_back(static_cast<int>(axis) == read.indirect_axis ? make_range(0, limit, limit)
                                                                 : image(read.index[axis], out_.dims[s], limit));
      if (!read.fill) {
        keep_inside(box.back());
      }
    }
    if (tensor.producer >= 0) {
      merge_into(out_.outputs[static_cast<size_t>(tensor.producer)], box);
      if (read.fill) {
        out_.output_fill[static_cast<size_t>(tensor.producer)] = read.fill;
      }
    } else {
      add_load(s, r, std::move(box));
    }
  }

  // Without a fill nothing outside is ever touched, whatever the unclipped box says: a box as large as the tensor is the tensor.
  void keep_inside(Range& range) const {
    if (range.size >= range.limit) {
      range = make_range(0, range.limit, range.limit);
    }
  }

  static bool same_slope(const Box& a, const Box& b) {
    for (size_t axis = 0; axis < a.size(); ++axis) {
      if (!(a[axis].lo - b[axis].lo).is_constant()) {
        return false;
      }
    }
    return true;
  }

  Range hull(const Range& a, const Range& b) const {
    const Affine gap = b.lo - a.lo;
    if (!gap.is_constant()) {
      return make_range(0, a.limit, a.limit);   // different slopes: the whole dim is always enough
    }
    const int64_t begin = std::min<int64_t>(0, gap.constant());
    const int64_t end = std::max(a.size, gap.constant() + b.size);
    return make_range(a.lo + begin, end - begin, a.limit);
  }

  void merge_into(Box& into, const Box& box) const {
    if (into.empty()) {
      into = box;
      return;
    }
    for (size_t axis = 0; axis < box.size(); ++axis) {
      into[axis] = hull(into[axis], box[axis]);
    }
  }

  void add_load(size_t s, size_t r, Box box) {
    const te::Access& read = group_.stmts[s].reads[r];
    const Load::User user{static_cast<int>(s), static_cast<int>(r)};
    for (Load& load : out_.loads) {
      if (load.tensor == read.tensor && load.phase == group_.phase[s] && load.fill == read.fill && same_slope(load.box, box)) {
        merge_into(load.box, box);
        load.users.push_back(user);
        return;
      }
    }
    out_.loads.push_back({read.tensor, group_.phase[s], std::move(box), read.fill, {user}});
  }

  const GroupAnalysis& group_;
  const TilePlan& plan_;
  RegionMap out_;
};

}  // namespace

RegionMap propagate(const GroupAnalysis& group, const TilePlan& plan) { return Propagator(group, plan).run(); }

}  // namespace dlcc::lowering
