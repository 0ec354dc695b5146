// Variables, lets, guards and transfers of a group's program.
#include "lowering/emit.h"

#include <algorithm>

#include "hw/let_value.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using hw::LetOp;

bool AffineLess::operator()(const Affine& a, const Affine& b) const {
  if (a.constant() != b.constant()) {
    return a.constant() < b.constant();
  }
  const auto less = [](const te::Term& x, const te::Term& y) { return std::tie(x.var, x.coef) < std::tie(y.var, y.coef); };
  return std::lexicographical_compare(a.terms().begin(), a.terms().end(), b.terms().begin(), b.terms().end(), less);
}

bool Scope::Key::operator<(const Key& other) const {
  const AffineLess less;
  if (op != other.op) {
    return op < other.op;
  }
  if (!(a == other.a)) {
    return less(a, other.a);
  }
  return less(b, other.b);
}

GroupEmitter::GroupEmitter(const GroupAnalysis& group, const TilePlan& plan, RegionMap regions, BufferPlan buffers, std::function<int(int)> tensor_of,
                           const Context& context)
    : group_(group),
      plan_(plan),
      regions_(std::move(regions)),
      buffers_(std::move(buffers)),
      tensor_of_(std::move(tensor_of)),
      context_(context) {
  out_.vars = {"core"};
  for (const TileLoop& loop : regions_.loops) {
    out_.vars.push_back(dim_name(group.stmts[static_cast<size_t>(loop.stmt)], loop.dim) + ".t");
  }
  for (const PlannedBuffer& planned : buffers_.buffers) {
    out_.buffers.push_back(planned.buffer);
  }
}

VarId GroupEmitter::new_var(const std::string& name) {
  out_.vars.push_back(name);
  return static_cast<VarId>(out_.vars.size()) - 1;
}

int GroupEmitter::new_channel(hw::Channel channel) {
  out_.channels.push_back(std::move(channel));
  return static_cast<int>(out_.channels.size()) - 1;
}

/// The value of a let when it needs no variable.
static std::optional<Affine> fold(LetOp op, const Affine& a, const Affine& b) {
  if (op == LetOp::Assign) {
    return a;
  }
  if (a.is_constant() && b.is_constant()) {
    return Affine(hw::apply(op, a.constant(), b.constant()));
  }
  if (op == LetOp::FloorDiv || op == LetOp::Mod) {
    return b == Affine(1) ? std::optional(op == LetOp::FloorDiv ? a : Affine(0)) : std::nullopt;
  }
  const Affine gap = a - b;
  if (!gap.is_constant()) {
    return std::nullopt;
  }
  return (op == LetOp::Min) == (gap.constant() <= 0) ? a : b;
}

Affine GroupEmitter::let(Scope& scope, LetOp op, const Affine& a, const Affine& b) {
  if (const std::optional<Affine> known = fold(op, a, b)) {
    return *known;
  }
  const auto [at, fresh] = scope.lets.try_emplace(Scope::Key{op, a, b}, 0);
  if (fresh) {
    static constexpr const char* kNames[] = {"a", "q", "r", "lo", "hi"};
    at->second = new_var(kNames[static_cast<size_t>(op)] + std::to_string(out_.vars.size()));
    append(scope, hw::Let{at->second, op, a, b});
  }
  return Affine::var(at->second);
}

void GroupEmitter::guarded(Scope& scope, const std::vector<Affine>& conditions, const std::function<void(Scope&)>& fill) {
  std::vector<Affine> open;
  for (const Affine& condition : conditions) {
    if (!condition.is_constant()) {
      open.push_back(condition);
    } else if (condition.constant() < 0) {
      return;
    }
  }
  if (open.empty()) {
    fill(scope);
    return;
  }
  hw::If guard{std::move(open), {}};
  Scope inner = scope;
  inner.body = &guard.body;
  fill(inner);
  if (!guard.body.empty()) {
    append(scope, std::move(guard));
  }
}

void GroupEmitter::loop(Scope& scope, VarId var, const Affine& begin, const Affine& end, const std::function<void(Scope&)>& fill) {
  hw::For node{var, begin, end, 1, {}};
  Scope inner = scope;
  inner.body = &node.body;
  fill(inner);
  if (!node.body.empty()) {
    append(scope, std::move(node));
  }
}

void GroupEmitter::set_indices(Scope& scope, const Affine& step, const std::string& suffix) {
  scope.loop_index.assign(regions_.loops.size(), 0);
  for (size_t l = 0; l < regions_.loops.size(); ++l) {
    const Affine quotient = let(scope, LetOp::FloorDiv, step, regions_.inner_trips(static_cast<int>(l) + 1));
    const Affine index = l == 0 ? quotient : let(scope, LetOp::Mod, quotient, regions_.loops[l].count);
    const VarId var = suffix.empty() ? static_cast<VarId>(l + 1) : new_var(out_.vars[l + 1] + suffix);
    append(scope, hw::Let{var, LetOp::Assign, index, 0});
    scope.loop_index[l] = var;
  }
}

Affine GroupEmitter::in_scope(const Affine& over_loops, const Scope& scope) const {
  return over_loops.rename([&](VarId v) { return scope.loop_index[static_cast<size_t>(v - 1)]; });
}

Clipped GroupEmitter::clip(Scope& scope, const Range& range) {
  const Bounds b = bounds_of(range.lo, regions_.loops);
  const Affine lo = in_scope(range.lo, scope);
  Clipped out;
  out.lo = range.below ? let(scope, LetOp::Max, lo, 0) : lo;
  const Affine end = range.above ? let(scope, LetOp::Min, lo + range.size, range.limit) : lo + range.size;
  out.extent = end - out.lo;
  out.max_extent = std::min(range.size, range.limit);
  if (b.max >= range.limit || b.min + range.size <= 0) {
    out.extent = let(scope, LetOp::Max, out.extent, 0);   // some tile lies wholly outside
  }
  return out;
}

hw::BoxDim GroupEmitter::new_dim(const std::string& name, const Affine& extent, int64_t max_extent, te::DimKind kind) {
  return {new_var(name), extent, max_extent, kind};
}

int GroupEmitter::path(hw::MemoryId from, hw::MemoryId to) const {
  const std::vector<int> route = machine().route(from, to);
  DLCC_CHECK(route.size() == 1) << "no direct path from " << machine().memories[static_cast<size_t>(from)].name << " to "
                                << machine().memories[static_cast<size_t>(to)].name;
  return route.front();
}

const hw::DmaEngine& GroupEmitter::engine(hw::MemoryId from, hw::MemoryId to) const {
  return machine().dma[static_cast<size_t>(machine().paths[static_cast<size_t>(path(from, to))].engine)];
}

/// Where a load's box starts. A box that is filled outside keeps its unclipped origin; any other slides inside the tensor, so that its extents stay
/// constant: a dense box is one descriptor, a clipped one might be one a row.
std::vector<Affine> GroupEmitter::load_origin(Scope& scope, const Load& load) {
  std::vector<Affine> origin;
  for (const Range& range : load.box) {
    Affine lo = in_scope(range.lo, scope);
    if (!load.fill && range.below) {
      lo = let(scope, LetOp::Max, lo, 0);
    }
    if (!load.fill && range.above) {
      lo = let(scope, LetOp::Min, lo, range.limit - range.size);
    }
    origin.push_back(std::move(lo));
  }
  return origin;
}

void GroupEmitter::load(Scope& scope, int id, const Affine& slot, int channel) {
  const Load& load = regions_.loads[static_cast<size_t>(id)];
  const int target = buffers_.of_load[static_cast<size_t>(id)];
  const GroupTensor& tensor = group_.tensors[static_cast<size_t>(load.tensor)];
  hw::Dma dma;
  dma.path = path(machine().global_memory(), buffer(target).memory);
  dma.src = {hw::ObjectKind::Tensor, tensor_of_(tensor.module_tensor), 0, {}};
  dma.dst = {hw::ObjectKind::Buffer, target, slot, {}};
  bool outside = false;
  const std::vector<Affine> origin = load_origin(scope, load);
  for (size_t axis = 0; axis < load.box.size(); ++axis) {
    const Range& range = load.box[axis];
    outside |= range.clipped();
    dma.box.push_back(new_dim("p" + std::to_string(axis), range.size, range.size));
    dma.src.index.push_back(origin[axis] + Affine::var(dma.box.back().var));
    dma.dst.index.push_back(Affine::var(dma.box.back().var));
  }
  if (load.fill && outside) {
    dma.fill = load.fill;
  }
  dma.channel = channel;
  dma.channel_slot = channel == hw::kNone ? Affine(0) : slot;
  append(scope, std::move(dma));
}

void GroupEmitter::store(Scope& scope, const Affine& slot, int channel) {
  const int root = group_.root();
  const te::Stmt& stmt = group_.root_stmt();
  const int source = buffers_.of_stmt[static_cast<size_t>(root)];
  Iteration at = iterate(scope, root, false);
  hw::Dma dma;
  dma.path = path(buffer(source).memory, machine().global_memory());
  dma.src = {hw::ObjectKind::Buffer, source, slot, write_index(scope, root, at)};
  dma.dst = {hw::ObjectKind::Tensor, tensor_of_(group_.tensors[static_cast<size_t>(stmt.write.tensor)].module_tensor), 0, {}};
  for (const Affine& index : stmt.write.index) {
    dma.dst.index.push_back(at.at(index));
  }
  dma.box = std::move(at.dims);
  dma.channel = channel;
  dma.channel_slot = channel == hw::kNone ? Affine(0) : slot;
  append(scope, std::move(dma));
}

hw::Group GroupEmitter::finish(hw::Body body) {
  out_.body = std::move(body);
  out_.info.name = group_.name;
  out_.info.kind = group_.kind;
  out_.info.onnx_nodes = group_.onnx_nodes;
  out_.info.flops = group_.flops;
  out_.info.tile = print(plan_, group_);
  if (plan_.intrinsic >= 0) {
    const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan_.intrinsic)];
    out_.info.intrinsics.push_back(machine().intrinsics[static_cast<size_t>(match.intrinsic)].id);
  }
  return std::move(out_);
}

CoreRange core_range(GroupEmitter& emitter, Scope& scope) {
  const int64_t cores = emitter.machine().core_count();
  const int64_t tiles = emitter.regions().tiles;
  const int64_t steps = emitter.regions().steps;
  // Core c takes tiles [ceil(c n / cores), ceil((c + 1) n / cores)): contiguous, so that what neighbours share stays loaded, and balanced.
  const auto bound = [&](const Affine& core) { return emitter.let(scope, LetOp::FloorDiv, core * tiles + (cores - 1), cores); };
  CoreRange range;
  range.tile_begin = bound(Affine::var(0));
  range.tile_end = bound(Affine::var(0) + 1);
  range.step_begin = range.tile_begin * steps;
  range.step_end = range.tile_end * steps;
  return range;
}

Affine instance_edge(GroupEmitter& emitter, Scope& scope, const Affine& counter, int64_t inner, const Affine& begin, const Affine& end, bool last) {
  const Affine position = emitter.let(scope, LetOp::Mod, last ? counter + 1 : counter, inner);
  const Affine from_border = last ? end - 1 - counter : counter - begin;
  return position.is_zero() ? position : emitter.let(scope, LetOp::Min, position, from_border);
}

}  // namespace dlcc::lowering
