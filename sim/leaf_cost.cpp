// Costs of leaves, and their memo keys.
#include "sim/leaf_cost.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "hw/cost_expr.h"
#include "sim/scoreboard.h"

namespace dlcc::sim {
namespace {

void add_vars(const te::Affine& affine, std::set<te::VarId>& vars) {
  for (const te::Term& term : affine.terms()) {
    vars.insert(term.var);
  }
}

/// Variables of the loop bounds, without the kernel's own loop variables.
void bound_vars(const std::vector<hw::KernelNode>& body, std::set<te::VarId>& vars, std::set<te::VarId>& own) {
  for (const hw::KernelNode& node : body) {
    if (const auto* loop = std::get_if<hw::KernelLoop>(&node.v)) {
      add_vars(loop->begin, vars);
      add_vars(loop->end, vars);
      own.insert(loop->var);
      bound_vars(loop->body, vars, own);
    }
  }
}

std::vector<te::VarId> vars_of(const Leaf& leaf) {
  std::set<te::VarId> vars, own;
  if (leaf.kind == OpKind::Compute) {
    const auto& compute = leaf.as<hw::Compute>();
    if (compute.kernel.empty()) {
      for (const hw::BoxDim& dim : compute.dims) {
        add_vars(dim.extent, vars);
      }
    } else {
      bound_vars(compute.kernel.body, vars, own);
    }
  } else if (leaf.kind == OpKind::Intrin) {
    for (const te::Affine& param : leaf.as<hw::IntrinCall>().params) {
      add_vars(param, vars);
    }
  }
  for (const te::VarId var : own) {
    vars.erase(var);
  }
  return {vars.begin(), vars.end()};
}

}  // namespace

LeafCosts::LeafCosts(const GroupCode& code, const hw::Program& program, const hw::Machine& machine)
    : group_(&code.group()), program_(&program), machine_(&machine), memo_(code.leaves().size()) {
  for (const Leaf& leaf : code.leaves()) {
    memo_[static_cast<size_t>(leaf.index)].vars = vars_of(leaf);
  }
}

int64_t LeafCosts::compute(const Leaf& leaf, const std::vector<int64_t>& env) {
  Memo& memo = memo_[static_cast<size_t>(leaf.index)];
  key_.clear();
  for (const te::VarId var : memo.vars) {
    key_.push_back(env[static_cast<size_t>(var)]);
  }
  const auto found = memo.cycles.find(key_);
  if (found != memo.cycles.end()) {
    return found->second;
  }
  const auto& compute = leaf.as<hw::Compute>();
  const int64_t cycles = compute.kernel.empty() ? scalar_estimate(compute, env)
                                                : kernel_cycles(compute.kernel, *machine_, env, group_->vars.size());
  memo.cycles.emplace(key_, cycles);
  return cycles;
}

/// A leaf without a kernel: one scalar instruction after another for every point.
int64_t LeafCosts::scalar_estimate(const hw::Compute& compute, const std::vector<int64_t>& env) const {
  double points = 1;
  for (const hw::BoxDim& dim : compute.dims) {
    points *= static_cast<double>(std::max<int64_t>(eval(dim.extent, env.data()), 0));
  }
  int64_t cycles = compute.accumulate ? 2 : 1;
  for (const te::ScalarNode& node : compute.body) {
    const bool memory = node.op == te::Op::Load;
    const hw::VectorOp* op = machine_->vector.find(memory ? "load" : te::name_of(node.op), node.type, 1);
    cycles += op == nullptr ? 1 : std::max<int64_t>(op->occupancy, 1);
  }
  return static_cast<int64_t>(std::min(points * static_cast<double>(cycles), 1e15));
}

int64_t LeafCosts::intrinsic(const Leaf& leaf, const std::vector<int64_t>& env) {
  const auto& call = leaf.as<hw::IntrinCall>();
  const hw::Intrinsic& intrinsic = machine_->intrinsics[static_cast<size_t>(call.intrinsic)];
  Memo& memo = memo_[static_cast<size_t>(leaf.index)];
  key_.clear();
  for (const te::Affine& param : call.params) {
    key_.push_back(eval(param, env.data()));
  }
  const auto found = memo.cycles.find(key_);
  if (found != memo.cycles.end()) {
    return found->second;
  }
  const auto lookup = [&](std::string_view name) -> const int64_t* {
    for (size_t p = 0; p < intrinsic.params.size(); ++p) {
      if (intrinsic.params[p].name == name) {
        return &key_[p];
      }
    }
    return nullptr;
  };
  const auto cycles = hw::evaluate_cost(intrinsic.cycles, lookup, machine_->file + ": intrinsic " + intrinsic.id);
  DLCC_CHECK(cycles.ok()) << to_string(cycles.diags());
  memo.cycles.emplace(key_, std::max<int64_t>(cycles.value(), 0));
  return std::max<int64_t>(cycles.value(), 0);
}

int64_t LeafCosts::port_cycles(const hw::View& view, int64_t elements) const {
  const bool tensor = view.kind == hw::ObjectKind::Tensor;
  const auto object = static_cast<size_t>(view.object);
  const DType type = tensor ? program_->tensors[object].type : group_->buffers[object].type;
  const hw::MemoryId id = tensor ? machine_->global_memory() : group_->buffers[object].memory;
  const double rate = id < 0 ? 0 : machine_->memories[static_cast<size_t>(id)].bytes_per_cycle;
  const double bytes = static_cast<double>(elements) * bytes_of(type);
  return rate > 0 ? static_cast<int64_t>(std::ceil(bytes / rate)) : elements;  // without a rate: an element a cycle
}

int64_t LeafCosts::fill(const Leaf& leaf, const std::vector<int64_t>& env) const {
  const auto& fill = leaf.as<hw::Fill>();
  int64_t elements = 1;
  for (const hw::BoxDim& dim : fill.box) {
    elements *= std::max<int64_t>(eval(dim.extent, env.data()), 0);
  }
  return elements == 0 ? 0 : std::max<int64_t>(port_cycles(fill.dst, elements), 1);
}

int64_t LeafCosts::padding(const Leaf& leaf, int64_t padded_elements) const {
  const auto& dma = leaf.as<hw::Dma>();
  if (padded_elements <= 0 || !dma.fill.has_value() ||
      machine_->paths[static_cast<size_t>(dma.path)].can(hw::Transform::Pad)) {
    return 0;
  }
  return port_cycles(dma.dst, padded_elements);
}

}  // namespace dlcc::sim
