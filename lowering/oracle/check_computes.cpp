// Reads, computing leaves and reductions.
#include "lowering/oracle/checker.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering::oracle {

/// points -> wanted values of a family must be what the slot holds at points -> index.
void Checker::require(const Slot& slot, const Map& index, Map wanted, const Family& family, const std::string& what) {
  ++report_.reads;
  const Map held = slot.look_up(index, family);
  if (is_empty(wanted) || (held && is_subset(wanted, held))) {
    return;
  }
  Map wrong = held ? subtract(std::move(wanted), held.copy()) : std::move(wanted);
  find("footprint", fmt::format("{}: point {} is not there (or not complete, or not waited for)", what, sample(std::move(wrong))));
}

/// One read of a statement at its instances `dims` (per dim, over the leaf's points).
void Checker::check_read(int stmt, int read, const hw::View& view, Points points, std::vector<Affine> dims, const Position& at) {
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

void Checker::compare(const std::string& what, const te::Access& access, const Map& index, const std::vector<Affine>& wanted, const Points& points,
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

int Checker::stmt_named(const std::string& name) const {
  for (size_t s = 0; s < group_.stmts.size(); ++s) {
    if (group_.stmts[s].name == name) {
      return static_cast<int>(s);
    }
  }
  return -1;
}

/// The instance that the regions place at the leaf's point 0; a hint, nothing relies on it being right.
std::vector<int64_t> Checker::origin_of(int stmt, const Position& at) const {
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

bool Checker::is_that_statement(const hw::Compute& leaf, const te::Stmt& stmt) const {
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

void Checker::execute(const hw::Compute& leaf, const Position& at) {
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

bool Checker::in_domain(const te::Stmt& stmt, const Points& points, const std::vector<Affine>& dims) {
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

std::vector<Affine> Checker::written(const te::Stmt& stmt, const std::vector<Affine>& dims) const {
  std::vector<Affine> out;
  for (const Affine& index : stmt.write.index) {
    out.push_back(at_points(index, dims));
  }
  return out;
}

void Checker::assign(int id, const Points& points, const std::vector<Affine>& dims, const Map& target, Slot& slot) {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
  Map values = compose(reverse(target.copy()), poly_.affine(points.box, written(stmt, dims)));
  if (!is_single_valued(values)) {
    find("leaf", fmt::format("'{}' writes one element of its buffer twice", stmt.name));
  }
  slot.forget(range(target.copy()));
  slot.add(element_of(stmt.write.tensor), std::move(values));
}

/// Point of the statement -> its dims of one kind.
Map Checker::select_dims(const te::Stmt& stmt, te::DimKind kind) {
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
void Checker::accumulate(int id, const Points& points, const std::vector<Affine>& dims, const Map& target, Slot& slot, bool fresh,
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
void Checker::check_start(const te::Stmt& stmt, const Slot& slot, Set first) {
  if (!first || is_empty(first)) {
    return;
  }
  const auto at = slot.held().find(constant(te::identity_of(stmt.monoid, stmt.body.back().type)));
  if (at == slot.held().end() || !is_subset(first, domain(at->second.copy()))) {
    find("reduction", fmt::format("'{}' starts on an element that does not hold the identity", stmt.name));
  }
}

void Checker::check_step(const te::Stmt& stmt, const Map& before, const Map& now, const std::vector<int64_t>& last_red, const std::vector<int64_t>& red_lo) {
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

void Checker::finish(const te::Stmt& stmt, Map all, Map owner, Slot& slot) {
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

}  // namespace dlcc::lowering::oracle
