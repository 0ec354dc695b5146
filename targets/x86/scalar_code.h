// One te::Op over registers -> LLVM values with exactly the meaning of base/te/scalar.h. Internal to targets/x86.
#pragma once

#include <array>

#include "base/te/scalar.h"
#include "targets/x86/ir.h"

namespace dlcc::targets::x86 {

/// x: as many operands as the operation has, each of `operand` type, except that Select's first is Bool. `result`: the
/// type of the result. Null: not an operation of a kernel (a leaf or a transcendental).
Value* scalar_op(Ir& ir, te::Op op, DType result, DType operand, const std::array<Value*, 3>& x);

Value* cast_value(Ir& ir, DType from, DType to, Value* x);

}  // namespace dlcc::targets::x86
