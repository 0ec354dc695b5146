// Structure of a kernel: registers exist, have the type and lanes of the instruction and are written before they are
// read; loops bind their variables; accesses name a read or the write and do not start outside it for certain.
#include <algorithm>

#include "hw/verify_bounds.h"
#include "hw/verify_group.h"

namespace dlcc::hw {
namespace {

class KernelVerifier {
 public:
  KernelVerifier(const Compute& leaf, const Program& program, const Group& group, VarBounds& bounds,
                 const std::string& where, Diags& diags)
      : leaf_(leaf),
        program_(program),
        group_(group),
        bounds_(bounds),
        where_(where + ", kernel"),
        diags_(diags),
        written_(leaf.kernel.registers.size(), false) {}

  void run() { visit(leaf_.kernel.body); }

 private:
  void fail(const std::string& message) { diags_.push_back({DiagKind::Error, where_, message}); }

  bool is_bound(const Affine& value) {
    for (const te::Term& term : value.terms()) {
      if (!bounds_.is_bound(term.var)) {
        fail("variable " + std::to_string(term.var) + " is used where it has no value");
        return false;
      }
    }
    return true;
  }

  void visit(const std::vector<KernelNode>& nodes) {
    std::vector<std::pair<VarId, Affine>> begins;
    for (const KernelNode& node : nodes) {
      if (const auto* loop = std::get_if<KernelLoop>(&node.v)) {
        visit_loop(*loop, begins);
      } else {
        visit_instr(std::get<KernelInstr>(node.v));
      }
    }
  }

  /// begins: where the first loop over each variable started in this body.
  void visit_loop(const KernelLoop& loop, std::vector<std::pair<VarId, Affine>>& begins) {
    if (!bounds_.in_range(loop.var) || loop.var == 0 || bounds_.is_bound(loop.var)) {
      return fail("a loop cannot use variable " + std::to_string(loop.var));
    }
    if (loop.step < 1) {
      return fail("step " + std::to_string(loop.step) + " is not positive");
    }
    Affine begin = loop.begin;
    if (loop.resume) {
      const auto at =
          std::find_if(begins.begin(), begins.end(), [&](const auto& entry) { return entry.first == loop.var; });
      if (at == begins.end()) {
        return fail("a loop resumes a variable that no loop before it had");
      }
      begin = at->second;
    } else {
      begins.insert(begins.begin(), {loop.var, begin});
    }
    if (is_bound(begin) && is_bound(loop.end)) {
      bounds_.bind_loop(loop.var, begin, loop.end - Affine(loop.step), 1);
      visit(loop.body);
      bounds_.unbind(loop.var);
    }
  }

  bool has_register(int reg) const { return reg >= 0 && static_cast<size_t>(reg) < written_.size(); }
  const KernelRegister& register_at(int reg) const { return leaf_.kernel.registers[static_cast<size_t>(reg)]; }

  void read_register(int reg) {
    if (!has_register(reg)) {
      fail("register " + std::to_string(reg) + " does not exist");
    } else if (!written_[static_cast<size_t>(reg)]) {
      fail("register " + std::to_string(reg) + " is read before it is written");
    }
  }

  void visit_instr(const KernelInstr& instr) {
    const bool memory =
        instr.kind == KernelOp::Load || instr.kind == KernelOp::LoadSplat || instr.kind == KernelOp::Store;
    if (memory) {
      check_access(instr);
    } else if (instr.kind == KernelOp::Index) {
      is_bound(instr.offset);
    }
    const int operands =
        instr.kind == KernelOp::Compute ? te::arity_of(instr.op)
        : instr.kind == KernelOp::Store || instr.kind == KernelOp::Splat || instr.kind == KernelOp::Move ? 1
                                                                                                         : 0;
    for (int k = 0; k < operands; ++k) {
      read_register(instr.src[static_cast<size_t>(k)]);
    }
    if (instr.index_register >= 0) {
      read_register(instr.index_register);
    }
    if (instr.kind == KernelOp::Store) {
      return;
    }
    if (!has_register(instr.dst)) {
      return fail("register " + std::to_string(instr.dst) + " does not exist");
    }
    if (register_at(instr.dst).type != instr.type || register_at(instr.dst).lanes != instr.lanes) {
      fail("register " + std::to_string(instr.dst) + " has another type or number of lanes than the value put into it");
    }
    written_[static_cast<size_t>(instr.dst)] = true;
  }

  void check_access(const KernelInstr& instr) {
    if (instr.access < -1 || instr.access >= static_cast<int>(leaf_.reads.size())) {
      return fail("read " + std::to_string(instr.access) + " does not exist");
    }
    if (instr.kind == KernelOp::Store && instr.access != -1) {
      return fail("stores to read " + std::to_string(instr.access));
    }
    const View& view = instr.access == -1 ? leaf_.write : leaf_.reads[static_cast<size_t>(instr.access)].view;
    const auto object = static_cast<size_t>(view.object);
    const bool tensor = view.kind == ObjectKind::Tensor;
    const DType type = tensor ? program_.tensors[object].type : group_.buffers[object].type;
    const int64_t elements =
        tensor ? te::element_count(program_.tensors[object].shape) : group_.buffers[object].storage_elements();
    if (instr.type != type) {
      fail("accesses " + std::string(name_of(type)) + " as " + std::string(name_of(instr.type)));
    }
    const int64_t width = instr.kind == KernelOp::LoadSplat ? 1 : instr.lanes;
    if (is_bound(instr.offset) && bounds_.lower(instr.offset) + width > elements) {
      fail("an access at element " + std::to_string(bounds_.lower(instr.offset)) + " or later, of " +
           std::to_string(elements));
    }
  }

  const Compute& leaf_;
  const Program& program_;
  const Group& group_;
  VarBounds& bounds_;
  std::string where_;
  Diags& diags_;
  std::vector<bool> written_;
};

}  // namespace

void verify_kernel(const Compute& leaf, const Program& program, const Group& group, VarBounds& bounds,
                   const std::string& where, Diags& diags) {
  KernelVerifier(leaf, program, group, bounds, where, diags).run();
}

}  // namespace dlcc::hw
