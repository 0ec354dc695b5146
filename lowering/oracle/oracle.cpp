// The checks. One Checker per group; per core it keeps the slots of all buffers and what the engine has not delivered yet.
#include "lowering/oracle/oracle.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "lowering/oracle/tree_walk.h"
#include "lowering/oracle/values.h"
#include "lowering/region.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering::oracle {

namespace {

/// The points of a leaf: coordinate n is its box dim n.
struct Points {
  Box box;
  std::map<VarId, int> coordinate;
  const std::vector<int64_t>* env = nullptr;
  bool empty = false;

  Points(const std::vector<hw::BoxDim>& dims, const std::vector<int64_t>& values) : env(&values) {
    for (const hw::BoxDim& dim : dims) {
      coordinate[dim.var] = static_cast<int>(box.size());
      box.push_back({0, dim.extent.eval(values)});
      empty |= box.back().size <= 0;
    }
  }
  /// An expression of the program over this leaf's coordinates.
  Affine local(const Affine& affine) const {
    Affine out(affine.constant());
    for (const te::Term& term : affine.terms()) {
      const auto at = coordinate.find(term.var);
      out += at != coordinate.end() ? Affine::var(at->second, term.coef) : Affine((*env)[static_cast<size_t>(term.var)] * term.coef);
    }
    return out;
  }
  std::vector<Affine> local(const std::vector<Affine>& index) const {
    std::vector<Affine> out;
    for (const Affine& affine : index) {
      out.push_back(local(affine));
    }
    return out;
  }
  Interval range_of(const Affine& over_coordinates) const {
    int64_t lo = over_coordinates.constant(), hi = lo;
    for (const te::Term& term : over_coordinates.terms()) {
      const int64_t reach = term.coef * (box[static_cast<size_t>(term.var)].size - 1);
      (reach > 0 ? hi : lo) += reach;
    }
    return {lo, hi - lo + 1};
  }
};

Box whole(const std::vector<int64_t>& shape) {
  Box box;
  for (int64_t extent : shape) {
    box.push_back({0, extent});
  }
  return box;
}

/// A statement's own expression (over its dims) at points given per dim.
Affine at_points(const Affine& over_dims, const std::vector<Affine>& dims) {
  Affine out(over_dims.constant());
  for (const te::Term& term : over_dims.terms()) {
    out += dims[static_cast<size_t>(term.var)] * term.coef;
  }
  return out;
}

class Checker {
 public:
  Checker(const GroupAnalysis& group, const TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of,
          const hw::Machine& machine, const Options& options)
      : poly_(options.max_operations),
        group_(group),
        plan_(plan),
        lowered_(lowered),
        machine_(machine),
        options_(options),
        regions_(propagate(group, plan)) {
    for (size_t t = 0; t < group.tensors.size(); ++t) {
      if (group.tensors[t].module_tensor >= 0 && !is_internal(static_cast<int>(t))) {
        local_tensor_[tensor_of(group.tensors[t].module_tensor)] = static_cast<int>(t);
      }
    }
  }

  Report run() {
    for (int core = 0; core < machine_.core_count(); ++core) {
      core_ = core;
      slots_.clear();
      pending_.clear();
      if (!walk(lowered_, core, [&](const hw::Node& leaf, const Position& at) { return visit(leaf, at); })) {
        break;
      }
    }
    if (going()) {
      check_coverage();
    }
    if (poly_.failed()) {
      report_.undecided = poly_.failure();
    }
    report_.verdict = !report_.findings.empty() ? Verdict::Wrong : report_.undecided.empty() ? Verdict::Right : Verdict::Undecided;
    return std::move(report_);
  }

 private:
  /// Defined and used inside the group only.
  bool is_internal(int tensor) const {
    const int producer = group_.tensors[static_cast<size_t>(tensor)].producer;
    return producer >= 0 && producer != group_.root();
  }

  bool going() const {
    return !poly_.failed() && report_.undecided.empty() && static_cast<int>(report_.findings.size()) < options_.max_findings;
  }
  // What isl could not answer is no finding.
  void find(const std::string& check, const std::string& message) {
    if (!poly_.failed()) {
      report_.findings.push_back({check, fmt::format("{}: core {}: {}", group_.name, core_, message)});
    }
  }

  bool visit(const hw::Node& leaf, const Position& at) {
    if (++report_.leaves > options_.max_leaves) {
      report_.undecided = fmt::format("more than {} leaf executions", options_.max_leaves);
      return false;
    }
    std::visit([&](const auto& node) { execute(node, at); }, leaf.v);
    return going();
  }
  void execute(const hw::For&, const Position&) {}
  void execute(const hw::Let&, const Position&) {}
  void execute(const hw::If&, const Position&) {}
  void execute(const hw::Signal&, const Position&) {}
  void execute(const hw::Barrier&, const Position&) {}

  const hw::Buffer& buffer(int id) const { return lowered_.buffers[static_cast<size_t>(id)]; }
  const std::vector<int64_t>& shape_of(int tensor) const { return group_.tensors[static_cast<size_t>(tensor)].shape; }
  std::string name_of(int tensor) const { return group_.tensors[static_cast<size_t>(tensor)].name; }

  using SlotKey = std::pair<int, int64_t>;
  SlotKey key_of(const hw::View& view, const Position& at) { return {view.object, view.slot.eval(at.env)}; }

  Family constant(double value) {
    for (size_t c = 0; c < constants_.size(); ++c) {
      if (constants_[c] == value || (constants_[c] != constants_[c] && value != value)) {
        return {true, static_cast<int>(c)};
      }
    }
    constants_.push_back(value);
    return {true, static_cast<int>(constants_.size()) - 1};
  }
  Family element_of(int tensor) const { return {false, tensor}; }

  /// points -> elements of the buffer; nothing (and a finding) when one is outside.
  Map elements(const hw::View& view, const Points& points, const std::string& leaf, int skip = -1) {
    const std::vector<Affine> index = points.local(view.index);
    const hw::Buffer& target = buffer(view.object);
    const int64_t slot = view.slot.eval(*points.env);
    if (slot < 0 || slot >= target.copies) {
      find("bounds", fmt::format("{} uses slot {} of '{}', which has {}", leaf, slot, target.name, target.copies));
      return Map();
    }
    for (size_t d = 0; d < index.size(); ++d) {
      const Interval range = points.range_of(index[d]);
      if (static_cast<int>(d) != skip && (range.lo < 0 || range.lo + range.size > target.shape[d])) {
        find("bounds", fmt::format("{} uses {}..{} of dim {} of '{}', which has {}", leaf, range.lo, range.lo + range.size - 1, d, target.name,
                                   target.shape[d]));
        return Map();
      }
    }
    return poly_.affine(points.box, index);
  }

  bool inside_tensor(const std::vector<Affine>& index, const Points& points, int tensor) const {
    for (size_t d = 0; d < index.size(); ++d) {
      const Interval range = points.range_of(index[d]);
      if (range.lo < 0 || range.lo + range.size > shape_of(tensor)[d]) {
        return false;
      }
    }
    return true;
  }

  // --- transfers ---

  void execute(const hw::Dma& dma, const Position& at) {
    const Points points(dma.box, at.env);
    if (points.empty) {
      return;
    }
    if (dma.src.kind == hw::ObjectKind::Tensor) {
      get(dma, points, at);
    } else if (dma.dst.kind == hw::ObjectKind::Tensor) {
      put(dma, points, at);
    } else {
      move(dma, points, at);
    }
  }

  /// The group's tensor; -1 and a finding for one that is not the group's to touch.
  int tensor_of_view(const hw::View& view) {
    const auto known = local_tensor_.find(view.object);
    if (known == local_tensor_.end()) {
      find("leaf", fmt::format("a transfer touches program tensor {}, which this group does not use", view.object));
      return -1;
    }
    return known->second;
  }

  void get(const hw::Dma& dma, const Points& points, const Position& at) {
    const int tensor = tensor_of_view(dma.src);
    const Map into = elements(dma.dst, points, "a load");
    if (tensor < 0 || !into) {
      return;
    }
    const std::vector<Affine> index = points.local(dma.src.index);
    Map values = compose(reverse(into.copy()), poly_.affine(points.box, index));
    if (!is_single_valued(values)) {
      find("leaf", fmt::format("a load of '{}' writes an element twice", name_of(tensor)));
    }
    std::map<Family, Map> loaded;
    if (!inside_tensor(index, points, tensor)) {
      Map outside = drop_range(values.copy(), poly_.box(whole(shape_of(tensor))));
      values = restrict_range(std::move(values), poly_.box(whole(shape_of(tensor))));
      if (!dma.fill && !is_empty(outside)) {
        find("bounds", fmt::format("a load reads '{}' outside at {}", name_of(tensor), sample(range(std::move(outside)))));
      } else if (dma.fill) {
        loaded.emplace(constant(*dma.fill), product(domain(std::move(outside)), poly_.box({})));
      }
    }
    loaded.emplace(element_of(tensor), std::move(values));
    Slot& slot = slots_[key_of(dma.dst, at)];
    slot.clear();
    if (dma.channel == hw::kNone) {
      deliver(slot, std::move(loaded));
    } else {
      pending_[{dma.channel, dma.channel_slot.eval(at.env)}].emplace_back(key_of(dma.dst, at), std::move(loaded));
    }
  }

  static void deliver(Slot& slot, std::map<Family, Map> values) {
    for (auto& [family, map] : values) {
      slot.add(family, std::move(map));
    }
  }

  void execute(const hw::Wait& wait, const Position& at) {
    const auto arrived = pending_.find({wait.channel, wait.slot.eval(at.env)});
    if (arrived == pending_.end()) {
      return;
    }
    for (auto& [key, values] : arrived->second) {
      deliver(slots_[key], std::move(values));
    }
    pending_.erase(arrived);
  }

  void put(const hw::Dma& dma, const Points& points, const Position& at) {
    const int tensor = tensor_of_view(dma.dst);
    const Map from = elements(dma.src, points, "a store");
    if (tensor < 0 || !from) {
      return;
    }
    const int root = group_.root_stmt().write.tensor;
    if (tensor != root) {
      find("ownership", fmt::format("a store writes '{}', the group's result is '{}'", name_of(tensor), name_of(root)));
      return;
    }
    Map wanted = restrict_range(poly_.affine(points.box, points.local(dma.dst.index)), poly_.box(whole(shape_of(root))));
    if (!is_injective(wanted)) {
      find("ownership", fmt::format("a store writes an element of '{}' twice", name_of(root)));
    }
    require(slots_[key_of(dma.src, at)], from, wanted.copy(), element_of(root), fmt::format("the store of '{}'", name_of(root)));
    Set stored = range(std::move(wanted));
    if (stored_ && !is_empty(intersect(stored_.copy(), stored.copy()))) {
      find("ownership", fmt::format("'{}' is stored again at {}", name_of(root), sample(intersect(stored_.copy(), stored.copy()))));
    }
    stored_ = stored_ ? unite(std::move(stored_), std::move(stored)) : std::move(stored);
  }

  void move(const hw::Dma& dma, const Points& points, const Position& at) {
    const Map from = elements(dma.src, points, "a transfer");
    const Map into = elements(dma.dst, points, "a transfer");
    if (!from || !into) {
      return;
    }
    std::map<Family, Map> moved = slots_[key_of(dma.src, at)].look_up_all(compose(reverse(into.copy()), from.copy()));
    Set missing = range(into.copy());
    for (const auto& [family, values] : moved) {
      missing = subtract(std::move(missing), domain(values.copy()));
    }
    if (!is_empty(missing)) {
      find("footprint", fmt::format("a transfer from '{}' to '{}' copies an element that holds nothing, to {}", buffer(dma.src.object).name,
                                    buffer(dma.dst.object).name, sample(std::move(missing))));
    }
    Slot& slot = slots_[key_of(dma.dst, at)];
    slot.clear();
    deliver(slot, std::move(moved));
  }

  void execute(const hw::Fill& fill, const Position& at) {
    const Points points(fill.box, at.env);
    if (points.empty) {
      return;
    }
    const Map index = elements(fill.dst, points, "a fill");
    if (!index) {
      return;
    }
    Set filled = range(index.copy());
    Slot& slot = slots_[key_of(fill.dst, at)];
    slot.forget(filled);
    slot.add(constant(fill.value), product(std::move(filled), poly_.box({})));
  }

  // --- values ---

  /// points -> wanted values of a family must be what the slot holds at points -> index.
  void require(const Slot& slot, const Map& index, Map wanted, const Family& family, const std::string& what) {
    ++report_.reads;
    const Map held = slot.look_up(index, family);
    if (is_empty(wanted) || (held && is_subset(wanted, held))) {
      return;
    }
    Map wrong = held ? subtract(std::move(wanted), held.copy()) : std::move(wanted);
    find("footprint", fmt::format("{}: point {} is not there (or not complete, or not waited for)", what, sample(std::move(wrong))));
  }

  /// One read of a statement at its instances `dims` (per dim, over the leaf's points).
  void check_read(int stmt, int read, const hw::View& view, Points points, std::vector<Affine> dims, const Position& at) {
    const te::Access& access = group_.stmts[static_cast<size_t>(stmt)].reads[static_cast<size_t>(read)];
    const std::string what = fmt::format("'{}' reads '{}' (read {})", group_.stmts[static_cast<size_t>(stmt)].name, name_of(access.tensor), read);
    std::vector<Affine> wanted;
    for (const Affine& index : access.index) {
      wanted.push_back(at_points(index, dims));
    }
    hw::View from = view;
    if (access.indirect_axis >= 0) {
      // The position is data: all of that axis must be there. One more coordinate runs along it.
      const auto axis = static_cast<size_t>(access.indirect_axis);
      const Affine offset = points.local(view.index[axis]) - wanted[axis];
      const Affine along = Affine::var(static_cast<VarId>(points.box.size()));
      points.box.push_back({0, shape_of(access.tensor)[axis]});
      wanted[axis] = along;
      from.index[axis] = 0;
      std::vector<Affine> index = points.local(from.index);
      index[axis] = along + offset;
      compare(what, access, poly_.affine(points.box, index), wanted, points, slots_[key_of(view, at)]);
      return;
    }
    if (const Map index = elements(from, points, what)) {
      compare(what, access, index, wanted, points, slots_[key_of(view, at)]);
    }
  }

  void compare(const std::string& what, const te::Access& access, const Map& index, const std::vector<Affine>& wanted, const Points& points,
               const Slot& slot) {
    Map values = poly_.affine(points.box, wanted);
    if (!inside_tensor(wanted, points, access.tensor)) {
      const Box tensor = whole(shape_of(access.tensor));
      Map outside = drop_range(values.copy(), poly_.box(tensor));
      values = restrict_range(std::move(values), poly_.box(tensor));
      if (!is_empty(outside)) {
        if (!access.fill) {
          find("bounds", fmt::format("{} outside, at {}", what, sample(range(std::move(outside)))));
          return;
        }
        require(slot, index, product(domain(std::move(outside)), poly_.box({})), constant(*access.fill), what + ", the value outside");
      }
    }
    require(slot, index, std::move(values), element_of(access.tensor), what);
  }

  // --- computing leaves ---

  int stmt_named(const std::string& name) const {
    for (size_t s = 0; s < group_.stmts.size(); ++s) {
      if (group_.stmts[s].name == name) {
        return static_cast<int>(s);
      }
    }
    return -1;
  }

  /// The instance that the regions place at the leaf's point 0; a hint, nothing relies on it being right.
  std::vector<int64_t> origin_of(int stmt, const Position& at) const {
    std::vector<int64_t> lo;
    for (const Range& range : regions_.dims[static_cast<size_t>(stmt)]) {
      const int64_t value = range.lo.eval(at.env);
      lo.push_back(range.below ? std::max<int64_t>(value, 0) : value);
    }
    const te::Stmt& statement = group_.stmts[static_cast<size_t>(stmt)];
    const int64_t block = te::sum_block(statement);
    if (block > 0 && !at.loops.empty()) {
      const auto red = std::find_if(statement.dims.begin(), statement.dims.end(), [](const te::Dim& dim) { return dim.kind == te::DimKind::Red; });
      const auto first = static_cast<size_t>(red - statement.dims.begin());
      const VarId inner = at.loops.back()->var;
      if (lowered_.vars[static_cast<size_t>(inner)] == dim_name(statement, static_cast<int>(first)) + ".b") {
        lo[first] += block * at.env[static_cast<size_t>(inner)];
      }
    }
    return lo;
  }

  bool is_that_statement(const hw::Compute& leaf, const te::Stmt& stmt) const {
    if (leaf.body != stmt.body || leaf.accumulate != (stmt.kind == te::StmtKind::Reduce) || (leaf.accumulate && leaf.monoid != stmt.monoid) ||
        leaf.dims.size() != stmt.dims.size() || leaf.reads.size() != stmt.reads.size()) {
      return false;
    }
    for (size_t d = 0; d < leaf.dims.size(); ++d) {
      if (leaf.dims[d].kind != stmt.dims[d].kind) {
        return false;
      }
    }
    for (size_t r = 0; r < leaf.reads.size(); ++r) {
      if (leaf.reads[r].indirect_dim != stmt.reads[r].indirect_axis || leaf.reads[r].indirect_read != stmt.reads[r].indirect_read) {
        return false;
      }
    }
    return true;
  }

  void execute(const hw::Compute& leaf, const Position& at) {
    const int id = stmt_named(leaf.name);
    if (id < 0 || !is_that_statement(leaf, group_.stmts[static_cast<size_t>(id)])) {
      find("leaf", fmt::format("the leaf '{}' is no statement of the group", leaf.name));
      return;
    }
    const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
    const Points points(leaf.dims, at.env);
    if (points.empty) {
      return;
    }
    const std::vector<int64_t> lo = origin_of(id, at);
    std::vector<Affine> dims;
    for (size_t d = 0; d < lo.size(); ++d) {
      dims.push_back(Affine(lo[d]) + Affine::var(static_cast<VarId>(d)));
      if (!leaf.index_base.empty() && leaf.index_base[d].eval(at.env) != lo[d]) {
        find("leaf", fmt::format("'{}' takes positions of dim {} from {}, its box starts at {}", stmt.name, d, leaf.index_base[d].eval(at.env), lo[d]));
      }
    }
    if (!in_domain(stmt, points, dims)) {
      return;
    }
    for (size_t r = 0; r < stmt.reads.size(); ++r) {
      check_read(id, static_cast<int>(r), leaf.reads[r].view, points, dims, at);
    }
    const Map target = elements(leaf.write, points, fmt::format("the write of '{}'", stmt.name));
    if (!target) {
      return;
    }
    Slot& slot = slots_[key_of(leaf.write, at)];
    leaf.accumulate ? accumulate(id, points, dims, target, slot, false, false) : assign(id, points, dims, target, slot);
  }

  bool in_domain(const te::Stmt& stmt, const Points& points, const std::vector<Affine>& dims) {
    for (size_t d = 0; d < dims.size(); ++d) {
      const Interval range = points.range_of(dims[d]);
      if (range.lo < 0 || range.lo + range.size > stmt.dims[d].extent) {
        find("leaf", fmt::format("'{}' runs {}..{} of dim {}, which has {} points", stmt.name, range.lo, range.lo + range.size - 1,
                                 dim_name(stmt, static_cast<int>(d)), stmt.dims[d].extent));
        return false;
      }
    }
    return true;
  }

  std::vector<Affine> written(const te::Stmt& stmt, const std::vector<Affine>& dims) const {
    std::vector<Affine> out;
    for (const Affine& index : stmt.write.index) {
      out.push_back(at_points(index, dims));
    }
    return out;
  }

  void assign(int id, const Points& points, const std::vector<Affine>& dims, const Map& target, Slot& slot) {
    const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
    Map values = compose(reverse(target.copy()), poly_.affine(points.box, written(stmt, dims)));
    if (!is_single_valued(values)) {
      find("leaf", fmt::format("'{}' writes one element of its buffer twice", stmt.name));
    }
    slot.forget(range(target.copy()));
    slot.add(element_of(stmt.write.tensor), std::move(values));
  }

  /// Point of the statement -> its dims of one kind.
  Map select_dims(const te::Stmt& stmt, te::DimKind kind) {
    Box box;
    std::vector<Affine> picked;
    for (size_t d = 0; d < stmt.dims.size(); ++d) {
      box.push_back({0, stmt.dims[d].extent});
      if (stmt.dims[d].kind == kind) {
        picked.push_back(Affine::var(static_cast<VarId>(d)));
      }
    }
    return poly_.affine(box, picked);
  }

  // by_calls: other elements' calls come between, so where the last box started says nothing about these.
  void accumulate(int id, const Points& points, const std::vector<Affine>& dims, const Map& target, Slot& slot, bool fresh,
                  bool by_calls) {
    const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
    const Set here = range(target.copy());
    Map now = compose(reverse(target.copy()), poly_.affine(points.box, dims));
    if (fresh) {
      slot.forget(here);
    }
    Map before = slot.has_partial(id) ? restrict_domain(slot.partial(id).points.copy(), here.copy()) : Map();
    check_start(stmt, slot, fresh ? Set() : before ? subtract(here.copy(), domain(before.copy())) : here.copy());
    std::vector<int64_t> red_lo;
    bool last = true;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (stmt.dims[d].kind == te::DimKind::Red) {
        const Interval range = points.range_of(dims[d]);
        red_lo.push_back(range.lo);
        last &= range.lo + range.size == stmt.dims[d].extent;
      }
    }
    if (before && !is_empty(before)) {
      check_step(stmt, before, now, slot.partial(id).last_red, red_lo);
    }
    Map all = before ? unite(std::move(before), now.copy()) : std::move(now);
    Map owner = compose(all.copy(), select_dims(stmt, te::DimKind::Par));
    if (!is_single_valued(owner)) {
      find("reduction", fmt::format("'{}' adds points of two results into one element", stmt.name));
    }
    slot.forget(here);
    if (last) {
      finish(stmt, std::move(all), std::move(owner), slot);
    } else {
      Partial& partial = slot.partial(id);
      partial.points = partial.points ? unite(std::move(partial.points), std::move(all)) : std::move(all);
      partial.last_red = by_calls ? std::vector<int64_t>{} : red_lo;
    }
  }

  /// Elements that no point went into yet must hold the identity.
  void check_start(const te::Stmt& stmt, const Slot& slot, Set first) {
    if (!first || is_empty(first)) {
      return;
    }
    const auto at = slot.held().find(constant(te::identity_of(stmt.monoid, stmt.body.back().type)));
    if (at == slot.held().end() || !is_subset(first, domain(at->second.copy()))) {
      find("reduction", fmt::format("'{}' starts on an element that does not hold the identity", stmt.name));
    }
  }

  void check_step(const te::Stmt& stmt, const Map& before, const Map& now, const std::vector<int64_t>& last_red, const std::vector<int64_t>& red_lo) {
    if (Map twice = intersect(before.copy(), now.copy()); !is_empty(twice)) {
      find("reduction", fmt::format("'{}' takes point {} twice", stmt.name, sample(range(std::move(twice)))));
      return;
    }
    bool ascending = true;
    if (!options_.lexicographic) {
      ascending = last_red.empty() || std::lexicographical_compare(last_red.begin(), last_red.end(), red_lo.begin(), red_lo.end());
    } else {
      const Map red = select_dims(stmt, te::DimKind::Red);
      const Map pairs = compose(reverse(compose(before.copy(), red.copy())), compose(now.copy(), red.copy()));
      ascending = is_subset(pairs, poly_.before(static_cast<int>(red_lo.size())));
    }
    if (!ascending) {
      find("order", fmt::format("'{}' reduces in another order than its Red dims' lexicographic one", stmt.name));
    }
  }

  void finish(const te::Stmt& stmt, Map all, Map owner, Slot& slot) {
    const Map wanted = compose(owner.copy(), reverse(select_dims(stmt, te::DimKind::Par)));
    if (!is_subset(wanted, all)) {
      find("reduction", fmt::format("'{}' ends without point {}", stmt.name, sample(range(subtract(wanted.copy(), all.copy())))));
      return;
    }
    Box box;
    std::vector<Affine> dims;
    for (size_t d = 0; d < stmt.dims.size(); ++d) {
      box.push_back({0, stmt.dims[d].extent});
      dims.push_back(Affine::var(static_cast<VarId>(d)));
    }
    slot.add(element_of(stmt.write.tensor), compose(std::move(all), poly_.affine(box, written(stmt, dims))));
  }

  // --- intrinsics ---

  void execute(const hw::IntrinCall& leaf, const Position& at) {
    const bool planned = plan_.intrinsic >= 0 && group_.streamed >= 0 &&
                         group_.intrinsics[static_cast<size_t>(plan_.intrinsic)].intrinsic == leaf.intrinsic;
    if (!planned) {
      find("leaf", fmt::format("intrinsic {} is not the plan's", leaf.intrinsic));
      return;
    }
    const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan_.intrinsic)];
    const hw::Intrinsic& intrinsic = machine_.intrinsics[static_cast<size_t>(leaf.intrinsic)];
    const te::Stmt& stmt = group_.stmts[static_cast<size_t>(group_.streamed)];
    const Points points(leaf.box, at.env);
    if (points.empty) {
      return;
    }
    const std::vector<Affine> dims = call_dims(stmt, match, at);
    if (dims.empty() || !in_domain(stmt, points, dims)) {
      return;
    }
    for (size_t o = 0; o < leaf.operands.size(); ++o) {
      if (static_cast<int>(o) != intrinsic.semantics.output) {
        check_read(group_.streamed, match.operand_to_read[o], leaf.operands[o], points, dims, at);
      }
    }
    const hw::View& out = leaf.operands[static_cast<size_t>(intrinsic.semantics.output)];
    const Map target = elements(out, points, "the intrinsic's result");
    if (!target) {
      return;
    }
    const int init = intrinsic.semantics.init_param;
    const bool fresh = init >= 0 && leaf.params[static_cast<size_t>(init)].eval(at.env) != 0;
    accumulate(group_.streamed, points, dims, target, slots_[key_of(out, at)], fresh, true);
  }

  /// A call covers, per dim of the statement: the tile's start, the micro loop's part, and the axis that runs along it.
  std::vector<Affine> call_dims(const te::Stmt& stmt, const IntrinsicMatch& match, const Position& at) {
    const size_t n = stmt.dims.size();
    if (at.loops.size() < n) {
      find("leaf", "an intrinsic call outside the loops over its micro tiles");
      return {};
    }
    std::vector<Affine> dims;
    const std::vector<int64_t> lo = origin_of(group_.streamed, at);
    for (size_t d = 0; d < n; ++d) {
      const int64_t trip = at.env[static_cast<size_t>(at.loops[at.loops.size() - n + d]->var)];
      int64_t step = 1;
      Affine along(0);
      for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
        if (match.axis_to_dim[a] == static_cast<int>(d)) {
          step = plan_.micro[a];
          along = Affine::var(static_cast<VarId>(a));
        }
      }
      dims.push_back(Affine(lo[d] + trip * step) + along);
    }
    return dims;
  }

  // --- the result ---

  void check_coverage() {
    const te::Stmt& root = group_.root_stmt();
    Box box;
    std::vector<Affine> dims;
    for (size_t d = 0; d < root.dims.size(); ++d) {
      box.push_back({0, root.dims[d].kind == te::DimKind::Par ? root.dims[d].extent : 1});
      dims.push_back(Affine::var(static_cast<VarId>(d)));
    }
    Set live_out = range(poly_.affine(box, written(root, dims)));
    Set missing = stored_ ? subtract(live_out.copy(), stored_.copy()) : live_out.copy();
    if (!is_empty(missing)) {
      find("coverage", fmt::format("'{}' is never stored at {}", name_of(root.write.tensor), sample(std::move(missing))));
    }
    if (stored_ && !is_subset(stored_, live_out)) {
      find("coverage", fmt::format("'{}' is stored where '{}' does not write", name_of(root.write.tensor), root.name));
    }
  }

  Poly poly_;                    // first: what it made must be gone before it
  const GroupAnalysis& group_;
  const TilePlan& plan_;
  const hw::Group& lowered_;
  const hw::Machine& machine_;
  const Options& options_;
  const RegionMap regions_;
  std::map<int, int> local_tensor_;                          // program tensor -> GroupTensor
  std::vector<double> constants_;
  int core_ = 0;
  std::map<SlotKey, Slot> slots_;
  std::map<std::pair<int, int64_t>, std::vector<std::pair<SlotKey, std::map<Family, Map>>>> pending_;   // by channel and its slot
  Set stored_;
  Report report_;
};

}  // namespace

Result<Report> check_group(const GroupAnalysis& group, const TilePlan& plan, const hw::Group& lowered, const std::function<int(int)>& tensor_of,
                           const hw::Machine& machine, const Options& options) {
  for (const hw::Buffer& buffer : lowered.buffers) {
    for (int64_t extent : buffer.shape) {
      if (extent < 0 || extent > INT32_MAX) {
        return unsupported(group.name, fmt::format("buffer '{}' has an extent of {}", buffer.name, extent));
      }
    }
  }
  for (const GroupTensor& tensor : group.tensors) {
    for (int64_t extent : tensor.shape) {
      if (extent > INT32_MAX / 4) {
        return unsupported(group.name, fmt::format("tensor '{}' has an extent of {}", tensor.name, extent));
      }
    }
  }
  return Checker(group, plan, lowered, tensor_of, machine, options).run();
}

std::string to_string(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    text += finding.check + ": " + finding.message + "\n";
  }
  return report.undecided.empty() ? text : text + "undecided: " + report.undecided + "\n";
}

}  // namespace dlcc::lowering::oracle
