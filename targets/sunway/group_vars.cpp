// Walks over the affine expressions of a group's nodes; see group_vars.h.
#include "targets/sunway/group_vars.h"

#include <vector>

namespace dlcc::targets::sunway {
namespace {

using hw::Affine;
using hw::VarId;

void add_vars(const Affine& affine, std::set<VarId>& vars) {
  for (const te::Term& term : affine.terms()) {
    vars.insert(term.var);
  }
}

void add_kernel(const std::vector<hw::KernelNode>& nodes, KernelUse& use) {
  for (const hw::KernelNode& node : nodes) {
    if (const auto* loop = std::get_if<hw::KernelLoop>(&node.v)) {
      use.loops.insert(loop->var);
      add_vars(loop->begin, use.outer);
      add_vars(loop->end, use.outer);
      add_kernel(loop->body, use);
      continue;
    }
    const auto& instr = std::get<hw::KernelInstr>(node.v);
    add_vars(instr.offset, use.outer);
    if (instr.kind == hw::KernelOp::Load || instr.kind == hw::KernelOp::LoadSplat || instr.kind == hw::KernelOp::Store) {
      use.accesses.insert(instr.access);
    }
  }
}

void add_view(const hw::View& view, std::set<VarId>& vars) {
  add_vars(view.slot, vars);
  for (const Affine& index : view.index) {
    add_vars(index, vars);
  }
}
void add_box(const std::vector<hw::BoxDim>& box, std::set<VarId>& vars) {
  for (const hw::BoxDim& dim : box) {
    add_vars(dim.extent, vars);
  }
}

struct Uses {
  std::set<VarId>& vars;
  void operator()(const hw::For& loop) const {
    add_vars(loop.begin, vars);
    add_vars(loop.end, vars);
  }
  void operator()(const hw::If& guard) const {
    for (const Affine& e : guard.non_negative) {
      add_vars(e, vars);
    }
  }
  void operator()(const hw::Dma& dma) const {
    add_box(dma.box, vars);
    add_view(dma.src, vars);
    add_view(dma.dst, vars);
    add_vars(dma.channel_slot, vars);
    if (dma.lookup.has_value()) {
      add_view(dma.lookup->index, vars);
      vars.insert(dma.lookup->var);
    }
  }
  void operator()(const hw::Fill& fill) const {
    add_box(fill.box, vars);
    add_view(fill.dst, vars);
  }
  void operator()(const hw::Compute& leaf) const { vars.merge(kernel_use(leaf).outer); }
  void operator()(const hw::Wait& wait) const { add_vars(wait.slot, vars); }
  void operator()(const hw::Let&) const {}
  void operator()(const hw::IntrinCall&) const {}
  void operator()(const hw::Signal&) const {}
  void operator()(const hw::Barrier&) const {}
};

}  // namespace

KernelUse kernel_use(const hw::Compute& leaf) {
  KernelUse use;
  add_kernel(leaf.kernel.body, use);
  for (const int access : use.accesses) {
    add_vars(access < 0 ? leaf.write.slot : leaf.reads.at(static_cast<size_t>(access)).view.slot, use.outer);
  }
  for (const VarId var : use.loops) {
    use.outer.erase(var);
  }
  return use;
}

std::set<VarId> used_vars(const hw::Group& group) {
  std::set<VarId> vars;
  hw::for_each_node(group.body, [&](const hw::Node& node) { std::visit(Uses{vars}, node.v); });
  // A Let counts when its own variable does; sources of Lets may be Lets in turn.
  for (size_t before = 0; before != vars.size();) {
    before = vars.size();
    hw::for_each_node(group.body, [&](const hw::Node& node) {
      if (const auto* let = std::get_if<hw::Let>(&node.v); let != nullptr && vars.contains(let->var)) {
        add_vars(let->a, vars);
        add_vars(let->b, vars);
      }
    });
  }
  return vars;
}

}  // namespace dlcc::targets::sunway
