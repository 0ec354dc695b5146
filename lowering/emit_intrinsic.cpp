// The streamed statement through an intrinsic: loops over micro tiles around transfers into the operands' memories and calls.
#include <algorithm>

#include "lowering/emit.h"
#include "lowering/stmt_traits.h"

namespace dlcc::lowering {

using hw::LetOp;

namespace {

/// The indices of an operand in the semantics, over the intrinsic's axes.
const std::vector<Affine>& operand_index(const hw::Intrinsic& intrinsic, size_t operand) {
  const te::Semantics& semantics = intrinsic.semantics;
  const auto reads_it = [&](const te::Access& read) { return read.tensor == static_cast<int>(operand); };
  const auto at = std::find_if(semantics.reads.begin(), semantics.reads.end(), reads_it);
  return at == semantics.reads.end() ? semantics.output_index : at->index;
}

size_t axis_of(const Affine& index) { return static_cast<size_t>(index.terms().front().var); }

}  // namespace

const IntrinsicMatch& GroupEmitter::match() const { return group_.intrinsics[static_cast<size_t>(plan_.intrinsic)]; }
const hw::Intrinsic& GroupEmitter::intrinsic() const { return machine().intrinsics[static_cast<size_t>(match().intrinsic)]; }

/// One loop a dim of the statement; count * step covers the dim's extent of this tile.
GroupEmitter::MicroNest GroupEmitter::micro_nest(Scope& scope, const Affine& step) {
  const te::Stmt& stmt = group_.stmts[static_cast<size_t>(group_.streamed)];
  MicroNest nest;
  nest.whole = iterate(scope, group_.streamed, true);
  nest.loops.resize(stmt.dims.size());
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    MicroLoop& micro = nest.loops[d];
    for (size_t a = 0; a < match().axis_to_dim.size(); ++a) {
      micro.step = match().axis_to_dim[a] == static_cast<int>(d) ? plan_.micro[a] : micro.step;
    }
    micro.extent = nest.whole.dims[d].extent;
    micro.max_count = (nest.whole.dims[d].max_extent + micro.step - 1) / micro.step;
    micro.count = let(scope, LetOp::FloorDiv, micro.extent + (micro.step - 1), micro.step);
    micro.var = new_var(dim_name(stmt, static_cast<int>(d)) + ".m");
  }
  nest.reductions_done = let(scope, LetOp::Mod, step, regions_.steps);
  for (size_t d = stmt.dims.size(); d-- > 0;) {
    nest.ordinal += Affine::var(nest.loops[d].var, nest.calls);
    nest.calls *= nest.loops[d].max_count;
    if (stmt.dims[d].kind == te::DimKind::Red) {
      nest.reductions_done += Affine::var(nest.loops[d].var);
    }
  }
  return nest;
}

/// The axes of one call with their extents, and the statement's position of the call's elements.
GroupEmitter::MicroCall GroupEmitter::micro_call(Scope& scope, const MicroNest& nest) {
  MicroCall call;
  call.point = nest.whole;
  call.point.point = nest.whole.lo;
  for (size_t d = 0; d < nest.loops.size(); ++d) {
    call.point.point[d] += Affine::var(nest.loops[d].var, nest.loops[d].step);
  }
  for (size_t a = 0; a < match().axis_to_dim.size(); ++a) {
    const int d = match().axis_to_dim[a];
    const Affine left = d < 0 ? Affine(1)
                              : nest.loops[static_cast<size_t>(d)].extent - Affine::var(nest.loops[static_cast<size_t>(d)].var, plan_.micro[a]);
    const Affine extent = let(scope, LetOp::Min, left, plan_.micro[a]);
    call.axes.push_back(new_dim(intrinsic().semantics.axes[a], extent, plan_.micro[a], intrinsic().semantics.axis_kinds[a]));
    if (d >= 0) {
      call.point.point[static_cast<size_t>(d)] += Affine::var(call.axes.back().var);
    }
  }
  return call;
}

void GroupEmitter::operand_transfer(Scope& scope, size_t operand, const MicroCall& call, const Affine& slot, const SlotOf& slot_of) {
  const int target = buffers_.of_operand[operand];
  hw::Dma dma;
  std::map<VarId, VarId> own;   // axis variable -> this transfer's variable
  dma.dst = {hw::ObjectKind::Buffer, target, slot, {}};
  for (const Affine& index : operand_index(intrinsic(), operand)) {
    const hw::BoxDim& axis = call.axes[axis_of(index)];
    dma.box.push_back(new_dim("p" + std::to_string(dma.box.size()), axis.extent, axis.max_extent));
    own[axis.var] = dma.box.back().var;
    dma.dst.index.push_back(Affine::var(dma.box.back().var));
  }
  Iteration point = call.point;
  for (Affine& position : point.point) {
    position = position.rename([&](VarId v) { return own.contains(v) ? own.at(v) : v; });
  }
  dma.src = read_view(scope, group_.streamed, match().operand_to_read[operand], point, slot_of);
  dma.path = path(buffer(dma.src.object).memory, buffer(target).memory);
  append(scope, std::move(dma));
}

hw::View GroupEmitter::operand_view(Scope& scope, size_t operand, const MicroCall& call, const Affine& slot, const SlotOf& slot_of) {
  if (static_cast<int>(operand) == intrinsic().semantics.output) {
    const int target = buffers_.of_stmt[static_cast<size_t>(group_.streamed)];
    return {hw::ObjectKind::Buffer, target, slot_of(target), write_index(scope, group_.streamed, call.point)};
  }
  const int own = buffers_.of_operand[operand];
  if (own < 0) {
    return read_view(scope, group_.streamed, match().operand_to_read[operand], call.point, slot_of);
  }
  hw::View view{hw::ObjectKind::Buffer, own, slot, {}};
  for (const Affine& index : operand_index(intrinsic(), operand)) {
    view.index.push_back(Affine::var(call.axes[axis_of(index)].var));
  }
  return view;
}

std::vector<Affine> GroupEmitter::call_params(Scope& scope, const MicroNest& nest, const MicroCall& call) {
  std::vector<Affine> params(intrinsic().params.size(), 0);
  for (size_t a = 0; a < call.axes.size(); ++a) {
    if (const int p = param_of_axis(intrinsic(), static_cast<int>(a)); p >= 0) {
      params[static_cast<size_t>(p)] = call.axes[a].extent;
    }
  }
  if (const int init = intrinsic().semantics.init_param; init >= 0) {
    params[static_cast<size_t>(init)] = Affine(1) - let(scope, LetOp::Min, nest.reductions_done, 1);
  }
  return params;
}

void GroupEmitter::compute_by_intrinsic(Scope& scope, const Affine& step, const SlotOf& slot_of, const MicroHooks& hooks) {
  const MicroNest nest = micro_nest(scope, step);
  const auto one_call = [&](Scope& inner) {
    MicroCall call = micro_call(inner, nest);
    const Affine slot = let(inner, LetOp::Mod, nest.ordinal + step * nest.calls, plan_.double_buffer ? 2 : 1);
    hooks.before_operands(inner, slot);
    for (size_t o = 0; o < buffers_.of_operand.size(); ++o) {
      if (buffers_.of_operand[o] >= 0) {
        operand_transfer(inner, o, call, slot, slot_of);
      }
    }
    hooks.after_operands(inner, slot);
    hw::IntrinCall leaf;
    leaf.intrinsic = match().intrinsic;
    for (size_t o = 0; o < intrinsic().operands.size(); ++o) {
      leaf.operands.push_back(operand_view(inner, o, call, slot, slot_of));
    }
    leaf.params = call_params(inner, nest, call);
    leaf.box = std::move(call.axes);
    hooks.before_call(inner, slot);
    append(inner, std::move(leaf));
    hooks.after_call(inner, slot);
  };
  const std::function<void(Scope&, size_t)> descend = [&](Scope& outer, size_t d) {
    if (d == nest.loops.size()) {
      one_call(outer);
    } else {
      loop(outer, nest.loops[d].var, 0, nest.loops[d].count, [&](Scope& inner) { descend(inner, d + 1); });
    }
  };
  descend(scope, 0);
}

}  // namespace dlcc::lowering
