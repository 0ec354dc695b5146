// hw::Kernel of a Compute leaf -> vector instructions. Internal to targets/x86.
#pragma once

#include <vector>

#include "base/result.h"
#include "hw/program.h"
#include "targets/x86/ir.h"

namespace dlcc::targets::x86 {

/// Values of a group's variables (by VarId) where code is being written; null: not bound there.
class Variables {
 public:
  Variables(Ir& ir, size_t count) : ir_(ir), values_(count, nullptr) {}
  void set(hw::VarId var, Value* value) { values_.at(static_cast<size_t>(var)) = value; }
  Value* get(hw::VarId var) const;
  /// The variable part is built term by term, outer variables first, so that each prefix is invariant in the inner
  /// loops.
  Value* eval(const hw::Affine& affine) const;
  /// base + affine * scale bytes, in the same order, the constant last.
  Value* address(Value* base, const hw::Affine& affine, int64_t scale) const;

 private:
  Ir& ir_;
  std::vector<Value*> values_;
};

/// Where an access of the leaf starts: its slot of a buffer, or the tensor.
struct AccessBase {
  Value* pointer = nullptr;
  DType type = DType::F32;
};

/// bases[0] is the write, bases[1 + n] read n.
Status emit_kernel(Ir& ir, const hw::Compute& leaf, const std::vector<AccessBase>& bases, Variables& variables);

}  // namespace dlcc::targets::x86
