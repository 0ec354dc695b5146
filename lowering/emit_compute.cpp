// The computing leaves: statements on their boxes, and fills.
#include <algorithm>

#include "lowering/emit.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using hw::LetOp;

hw::PipeId GroupEmitter::pipe_of_stmt(int stmt) const {
  if (plan_.intrinsic >= 0 && stmt == group_.streamed) {
    const IntrinsicMatch& match = group_.intrinsics[static_cast<size_t>(plan_.intrinsic)];
    return machine().intrinsics[static_cast<size_t>(match.intrinsic)].pipe;
  }
  return machine().vector.pipe;
}

Affine GroupEmitter::Iteration::at(const Affine& over_dims) const {
  Affine out(over_dims.constant());
  for (const te::Term& term : over_dims.terms()) {
    out += point[static_cast<size_t>(term.var)] * term.coef;
  }
  return out;
}

GroupEmitter::Iteration GroupEmitter::iterate(Scope& scope, int id, bool with_reductions) {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
  Iteration at;
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    if (stmt.dims[d].kind != te::DimKind::Par && !with_reductions) {
      at.lo.push_back(0);
      at.point.push_back(0);
      continue;
    }
    const Clipped c = clip(scope, regions_.dims[static_cast<size_t>(id)][d]);
    at.dims.push_back(new_dim(dim_name(stmt, static_cast<int>(d)), c.extent, c.max_extent, stmt.dims[d].kind));
    at.lo.push_back(c.lo);
    at.point.push_back(c.lo + Affine::var(at.dims.back().var));
  }
  return at;
}

/// Position in the statement's own buffer: over its Par dims for the root, over the tensor's dims otherwise.
std::vector<Affine> GroupEmitter::write_index(Scope& scope, int id, const Iteration& at) const {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
  const Box& box = regions_.outputs[static_cast<size_t>(id)];
  std::vector<Affine> index;
  if (id == group_.root()) {
    for (size_t d = 0; d < stmt.dims.size(); ++d) {
      if (stmt.dims[d].kind == te::DimKind::Par) {
        index.push_back(at.point[d] - in_scope(box[index.size()].lo, scope));
      }
    }
    return index;
  }
  for (size_t axis = 0; axis < stmt.write.index.size(); ++axis) {
    index.push_back(at.at(stmt.write.index[axis]) - in_scope(box[axis].lo, scope));
  }
  return index;
}

int GroupEmitter::load_of(int stmt, int read) const {
  for (size_t l = 0; l < regions_.loads.size(); ++l) {
    for (const Load::User& user : regions_.loads[l].users) {
      if (user.stmt == stmt && user.read == read) {
        return static_cast<int>(l);
      }
    }
  }
  DLCC_CHECK(false) << "a read without a load";
  return -1;
}

hw::View GroupEmitter::read_view(Scope& scope, int id, int read, const Iteration& at, const SlotOf& slot_of) {
  const te::Access& access = group_.stmts[static_cast<size_t>(id)].reads[static_cast<size_t>(read)];
  const int producer = group_.tensors[static_cast<size_t>(access.tensor)].producer;
  int source = 0;
  std::vector<Affine> origin;
  if (producer >= 0) {
    source = buffers_.of_stmt[static_cast<size_t>(producer)];
    for (const Range& range : regions_.outputs[static_cast<size_t>(producer)]) {
      origin.push_back(in_scope(range.lo, scope));
    }
  } else {
    const int load = load_of(id, read);
    source = buffers_.of_load[static_cast<size_t>(load)];
    origin = load_origin(scope, regions_.loads[static_cast<size_t>(load)]);
  }
  hw::View view{hw::ObjectKind::Buffer, source, slot_of(source), {}};
  for (size_t axis = 0; axis < access.index.size(); ++axis) {
    view.index.push_back(at.at(access.index[axis]) - origin[axis]);
  }
  return view;
}

void GroupEmitter::fill_borders(Scope& scope, int id, const SlotOf& slot_of) {
  const std::optional<double>& value = regions_.output_fill[static_cast<size_t>(id)];
  const Box& box = regions_.outputs[static_cast<size_t>(id)];
  const bool clipped = std::any_of(box.begin(), box.end(), [](const Range& range) { return range.clipped(); });
  if (!value || !clipped) {
    return;
  }
  const int target = buffers_.of_stmt[static_cast<size_t>(id)];
  hw::Fill fill{pipe_of_stmt(id), {}, {hw::ObjectKind::Buffer, target, slot_of(target), {}}, *value};
  for (size_t axis = 0; axis < box.size(); ++axis) {
    fill.box.push_back(new_dim("z" + std::to_string(axis), box[axis].size, box[axis].size));
    fill.dst.index.push_back(Affine::var(fill.box.back().var));
  }
  append(scope, std::move(fill));
}

void GroupEmitter::fill_identity(Scope& scope, int id, const SlotOf& slot_of) {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
  const int target = buffers_.of_stmt[static_cast<size_t>(id)];
  Iteration at = iterate(scope, id, false);
  hw::Fill fill;
  fill.pipe = pipe_of_stmt(id);
  fill.dst = {hw::ObjectKind::Buffer, target, slot_of(target), write_index(scope, id, at)};
  fill.box = std::move(at.dims);
  fill.value = te::identity_of(stmt.monoid, stmt.body.back().type);
  append(scope, std::move(fill));
}

void GroupEmitter::compute(Scope& scope, int id, const SlotOf& slot_of) {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
  Iteration at = iterate(scope, id, true);
  const auto is_red = [](const te::Dim& dim) { return dim.kind == te::DimKind::Red; };
  const auto first_red = static_cast<size_t>(std::find_if(stmt.dims.begin(), stmt.dims.end(), is_red) - stmt.dims.begin());
  const int64_t block = te::sum_block(stmt);
  if (block == 0 || at.dims[first_red].max_extent <= block) {
    compute_leaf(scope, id, std::move(at), slot_of);
    return;
  }
  const Affine extent = at.dims[first_red].extent;
  const VarId var = new_var(dim_name(stmt, static_cast<int>(first_red)) + ".b");
  loop(scope, var, 0, let(scope, LetOp::FloorDiv, extent + (block - 1), block), [&](Scope& inner) {
    at.dims[first_red].extent = let(inner, LetOp::Min, extent - Affine::var(var, block), block);
    at.dims[first_red].max_extent = block;
    at.lo[first_red] += Affine::var(var, block);
    at.point[first_red] += Affine::var(var, block);
    compute_leaf(inner, id, std::move(at), slot_of);
  });
}

void GroupEmitter::compute_leaf(Scope& scope, int id, Iteration at, const SlotOf& slot_of) {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(id)];
  const int target = buffers_.of_stmt[static_cast<size_t>(id)];
  hw::Compute leaf;
  leaf.name = stmt.name;
  leaf.pipe = pipe_of_stmt(id);
  leaf.write = {hw::ObjectKind::Buffer, target, slot_of(target), write_index(scope, id, at)};
  for (size_t r = 0; r < stmt.reads.size(); ++r) {
    leaf.reads.push_back({read_view(scope, id, static_cast<int>(r), at, slot_of), stmt.reads[r].indirect_axis, stmt.reads[r].indirect_read});
  }
  leaf.body = stmt.body;
  const auto is_index = [](const te::ScalarNode& node) { return node.op == te::Op::Index; };
  if (std::any_of(stmt.body.begin(), stmt.body.end(), is_index)) {
    leaf.index_base = at.lo;
  }
  leaf.accumulate = stmt.kind == te::StmtKind::Reduce;
  leaf.monoid = stmt.monoid;
  leaf.dims = std::move(at.dims);
  append(scope, std::move(leaf));
}

}  // namespace dlcc::lowering
