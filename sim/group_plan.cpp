// Compiling the leaves of a group for the run in values.
#include "sim/group_plan.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace dlcc::sim {
namespace {

std::vector<te::DimKind> kinds_of(const std::vector<hw::BoxDim>& box) {
  std::vector<te::DimKind> kinds;
  for (const hw::BoxDim& dim : box) {
    kinds.push_back(dim.kind);
  }
  return kinds;
}

/// An operand's view says where element (0,..,0) lies, or, when it names the axes itself, where every element lies.
hw::View compose(const hw::View& operand, const std::vector<te::Affine>& index, const std::vector<hw::BoxDim>& box) {
  for (const te::Affine& at : operand.index) {
    for (const hw::BoxDim& dim : box) {
      if (at.depends_on(dim.var)) {
        return operand;
      }
    }
  }
  hw::View view = operand;
  DLCC_CHECK(index.size() <= view.index.size())
      << "an operand of rank " << index.size() << " in a buffer of rank " << view.index.size();
  const size_t skip = view.index.size() - index.size();
  for (size_t d = 0; d < index.size(); ++d) {
    view.index[skip + d] += index[d].rename([&](te::VarId axis) { return box[static_cast<size_t>(axis)].var; });
  }
  return view;
}

}  // namespace

GroupPlan::GroupPlan(const hw::Group& group, const hw::Program& program, const hw::Machine& machine)
    : group_(&group),
      program_(&program),
      machine_(&machine),
      code_(group, machine),
      memory_bytes_(machine.memories.size(), 0),
      memory_shift_(machine.memories.size(), 3) {
  for (const hw::Buffer& buffer : group.buffers) {
    const auto memory = static_cast<size_t>(buffer.memory);
    memory_bytes_[memory] = std::max(memory_bytes_[memory], buffer.offset + buffer.copies * buffer.slot_bytes);
    memory_shift_[memory] =
        std::min(memory_shift_[memory], std::countr_zero(static_cast<unsigned>(bytes_of(buffer.type))));
  }
  for (const Leaf& leaf : code_.leaves()) {
    switch (leaf.kind) {
      case OpKind::Dma:
        plans_.push_back(make(leaf.as<hw::Dma>()));
        break;
      case OpKind::Fill:
        plans_.push_back(make(leaf.as<hw::Fill>()));
        break;
      case OpKind::Compute:
        plans_.push_back(make(leaf.as<hw::Compute>()));
        break;
      case OpKind::Intrin:
        plans_.push_back(make(leaf.as<hw::IntrinCall>()));
        break;
      default:
        plans_.emplace_back();
        break;
    }
  }
}

LeafPlan GroupPlan::make(const hw::Dma& dma) const {
  LeafPlan plan;
  plan.box = &dma.box;
  plan.views.emplace_back(dma.src, dma.box, *group_, *program_);
  plan.views.emplace_back(dma.dst, dma.box, *group_, *program_);
  if (dma.lookup.has_value()) {
    static const std::vector<hw::BoxDim> kOnePoint;
    plan.views.emplace_back(dma.lookup->index, kOnePoint, *group_, *program_);
  }
  return plan;
}

LeafPlan GroupPlan::make(const hw::Fill& fill) const {
  LeafPlan plan;
  plan.box = &fill.box;
  plan.views.emplace_back(fill.dst, fill.box, *group_, *program_);
  return plan;
}

LeafPlan GroupPlan::make(const hw::Compute& compute) const {
  LeafPlan plan;
  plan.box = &compute.dims;
  plan.views.emplace_back(compute.write, compute.dims, *group_, *program_);
  std::vector<DType> types;
  std::vector<Indirection> indirections;
  for (size_t r = 0; r < compute.reads.size(); ++r) {
    const hw::ComputeRead& read = compute.reads[r];
    plan.views.emplace_back(read.view, compute.dims, *group_, *program_, read.indirect_dim);
    const ViewCode& view = plan.views.back();
    types.push_back(view.type());
    if (read.indirect_dim >= 0) {
      indirections.push_back({static_cast<int>(r), read.indirect_read,
                              view.shape()[static_cast<size_t>(read.indirect_dim)],
                              view.dim_stride(read.indirect_dim)});
    }
  }
  plan.compute = std::make_unique<ComputeCode>(compute.body, kinds_of(compute.dims), plan.views[0].type(), types,
                                               compute.accumulate, compute.monoid, indirections);
  return plan;
}

LeafPlan GroupPlan::make(const hw::IntrinCall& call) const {
  const te::Semantics& semantics = machine_->intrinsics[static_cast<size_t>(call.intrinsic)].semantics;
  LeafPlan plan;
  plan.box = &call.box;
  const auto add = [&](int operand, const std::vector<te::Affine>& index) {
    plan.made_views.push_back(
        std::make_unique<hw::View>(compose(call.operands[static_cast<size_t>(operand)], index, call.box)));
    plan.views.emplace_back(*plan.made_views.back(), call.box, *group_, *program_);
  };
  add(semantics.output, semantics.output_index);
  for (const te::Access& read : semantics.reads) {
    add(read.tensor, read.index);
  }
  return plan;
}

const ComputeCode& GroupPlan::intrinsic_code(const Leaf& leaf, const std::vector<int64_t>& params) const {
  const std::lock_guard lock(intrinsics_->mutex);
  std::unique_ptr<ComputeCode>& code = intrinsics_->codes[{leaf.index, params}];
  if (code == nullptr) {
    const hw::Intrinsic& intrinsic = machine_->intrinsics[static_cast<size_t>(leaf.as<hw::IntrinCall>().intrinsic)];
    const te::Semantics& semantics = intrinsic.semantics;
    te::ScalarExpr body = semantics.update;
    for (te::ScalarNode& node : body) {
      if (node.op == te::Op::Param) {
        const int64_t value = params[static_cast<size_t>(node.integer)];
        node = {.op = te::Op::Const, .type = node.type, .number = static_cast<double>(value), .integer = value};
      }
    }
    const LeafPlan& plan = plans_[static_cast<size_t>(leaf.index)];
    std::vector<DType> types;
    for (size_t v = 1; v < plan.views.size(); ++v) {
      types.push_back(plan.views[v].type());
    }
    code = std::make_unique<ComputeCode>(body, semantics.axis_kinds, plan.views[0].type(), types,
                                         semantics.reduces || semantics.reads_output, semantics.monoid,
                                         std::vector<Indirection>{});
  }
  return *code;
}

}  // namespace dlcc::sim
