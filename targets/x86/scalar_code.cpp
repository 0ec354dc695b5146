// te::Op -> LLVM instructions. No fast-math flag anywhere, so LLVM neither contracts nor reorders.
#include "targets/x86/scalar_code.h"

#include "base/check.h"

namespace dlcc::targets::x86 {
namespace {

using te::Op;

int lanes_of(Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

/// Places of an IEEE format.
struct FloatFormat {
  int bits, mantissa, bias;
};
FloatFormat format_of(DType type) {
  return type == DType::F16   ? FloatFormat{16, 10, 15}
         : type == DType::F32 ? FloatFormat{32, 23, 127}
                              : FloatFormat{64, 52, 1023};
}
DType int_of_size(DType type) {
  return type == DType::F16 ? DType::I16 : type == DType::F32 ? DType::I32 : DType::I64;
}

Value* splat_int(Ir& ir, DType type, Value* like, int64_t value) {
  return ir.constant(type, lanes_of(like), 0, value);
}

Value* exp2i(Ir& ir, DType type, Value* x) {
  const FloatFormat f = format_of(type);
  const DType as_int = int_of_size(type);
  // A NaN makes the conversion poison; frozen, it is some number, and NaN times it is still NaN.
  Value* k = ir.b.CreateFreeze(ir.b.CreateFPToSI(x, ir.value_type(as_int, lanes_of(x))));
  Value* bits =
      ir.b.CreateShl(ir.b.CreateAdd(k, splat_int(ir, as_int, x, f.bias)), splat_int(ir, as_int, x, f.mantissa));
  return ir.b.CreateBitCast(bits, x->getType());
}

Value* exponent(Ir& ir, DType type, Value* x) {
  const FloatFormat f = format_of(type);
  const DType as_int = int_of_size(type);
  Value* bits = ir.b.CreateBitCast(x, ir.value_type(as_int, lanes_of(x)));
  Value* field = ir.b.CreateAnd(ir.b.CreateLShr(bits, splat_int(ir, as_int, x, f.mantissa)),
                                splat_int(ir, as_int, x, (int64_t{1} << (f.bits - 1 - f.mantissa)) - 1));
  return ir.b.CreateSIToFP(ir.b.CreateSub(field, splat_int(ir, as_int, x, f.bias)), x->getType());
}

Value* mantissa(Ir& ir, DType type, Value* x) {
  const FloatFormat f = format_of(type);
  const DType as_int = int_of_size(type);
  Value* bits = ir.b.CreateBitCast(x, ir.value_type(as_int, lanes_of(x)));
  Value* low = ir.b.CreateAnd(bits, splat_int(ir, as_int, x, (int64_t{1} << f.mantissa) - 1));
  Value* one = splat_int(ir, as_int, x, static_cast<int64_t>(f.bias) << f.mantissa);
  return ir.b.CreateBitCast(ir.b.CreateOr(low, one), x->getType());
}

/// Quotient or remainder of integers, defined for every operand: x / 0 and x % 0 are 0, lowest / -1 wraps.
Value* int_division(Ir& ir, Op op, DType type, Value* x, Value* y) {
  auto& b = ir.b;
  Value* zero = splat_int(ir, type, x, 0);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  if (!is_signed_int(type)) {
    Value* divisor = b.CreateSelect(by_zero, splat_int(ir, type, x, 1), y);
    return b.CreateSelect(by_zero, zero, op == Op::Div ? b.CreateUDiv(x, divisor) : b.CreateURem(x, divisor));
  }
  // LLVM leaves lowest / -1 undefined, so a divisor of -1 takes its own way: negation, remainder 0.
  Value* by_minus_one = b.CreateICmpEQ(y, splat_int(ir, type, x, -1));
  Value* divisor = b.CreateSelect(b.CreateOr(by_zero, by_minus_one), splat_int(ir, type, x, 1), y);
  if (op == Op::Div) {
    Value* quotient = b.CreateSelect(by_minus_one, b.CreateNeg(x), b.CreateSDiv(x, divisor));
    return b.CreateSelect(by_zero, zero, quotient);
  }
  Value* rest = b.CreateSRem(x, divisor);  // 0 for both special divisors
  if (op == Op::Rem) {
    return rest;
  }
  Value* other_sign = b.CreateICmpSLT(b.CreateXor(rest, divisor), zero);
  Value* adjust = b.CreateAnd(other_sign, b.CreateICmpNE(rest, zero));
  return b.CreateSelect(adjust, b.CreateAdd(rest, divisor), rest);
}

/// Shift counts outside [0, bits) give what shifting one bit at a time gives: 0, or the sign.
Value* shift(Ir& ir, Op op, DType type, Value* x, Value* y) {
  auto& b = ir.b;
  const int bits = 8 * bytes_of(type);
  Value* inside = b.CreateICmpULT(y, splat_int(ir, type, x, bits));
  if (op == Op::Shr && is_signed_int(type)) {
    return b.CreateAShr(x, b.CreateSelect(inside, y, splat_int(ir, type, x, bits - 1)));
  }
  Value* count = b.CreateSelect(inside, y, splat_int(ir, type, x, 0));
  return b.CreateSelect(inside, op == Op::Shl ? b.CreateShl(x, count) : b.CreateLShr(x, count),
                        splat_int(ir, type, x, 0));
}

Value* compare(Ir& ir, Op op, DType type, Value* x, Value* y) {
  using P = llvm::CmpInst;
  const bool is_signed = is_signed_int(type);
  if (is_float(type)) {
    const auto p = op == Op::Lt   ? P::FCMP_OLT
                   : op == Op::Le ? P::FCMP_OLE
                   : op == Op::Gt ? P::FCMP_OGT
                   : op == Op::Ge ? P::FCMP_OGE
                   : op == Op::Eq ? P::FCMP_OEQ
                                  : P::FCMP_UNE;
    return ir.b.CreateFCmp(p, x, y);
  }
  const auto p = op == Op::Lt   ? (is_signed ? P::ICMP_SLT : P::ICMP_ULT)
                 : op == Op::Le ? (is_signed ? P::ICMP_SLE : P::ICMP_ULE)
                 : op == Op::Gt ? (is_signed ? P::ICMP_SGT : P::ICMP_UGT)
                 : op == Op::Ge ? (is_signed ? P::ICMP_SGE : P::ICMP_UGE)
                 : op == Op::Eq ? P::ICMP_EQ
                                : P::ICMP_NE;
  return ir.b.CreateICmp(p, x, y);
}

Value* unary_float(Ir& ir, Op op, DType type, Value* x) {
  auto& b = ir.b;
  using llvm::Intrinsic::ID;
  const auto call = [&](ID id) -> Value* { return b.CreateUnaryIntrinsic(id, x); };
  switch (op) {
    case Op::Neg:
      return b.CreateFNeg(x);
    case Op::Abs:
      return call(llvm::Intrinsic::fabs);
    case Op::Floor:
      return call(llvm::Intrinsic::floor);
    case Op::Ceil:
      return call(llvm::Intrinsic::ceil);
    case Op::Round:
      return call(llvm::Intrinsic::roundeven);
    case Op::Trunc:
      return call(llvm::Intrinsic::trunc);
    case Op::Sqrt:
      return call(llvm::Intrinsic::sqrt);
    case Op::Exp2i:
      return exp2i(ir, type, x);
    case Op::Exponent:
      return exponent(ir, type, x);
    case Op::Mantissa:
      return mantissa(ir, type, x);
    case Op::IsNan:
      return b.CreateFCmpUNO(x, x);
    case Op::IsInf:
      return b.CreateFCmpOEQ(call(llvm::Intrinsic::fabs), llvm::ConstantFP::getInfinity(x->getType()));
    default:
      return nullptr;
  }
}

Value* unary_int(Ir& ir, Op op, DType type, Value* x) {
  auto& b = ir.b;
  switch (op) {
    case Op::Neg:
      return b.CreateNeg(x);
    case Op::Abs:
      return is_signed_int(type) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse()) : x;
    case Op::Not:
      return type == DType::Bool ? b.CreateNot(x) : b.CreateICmpEQ(x, splat_int(ir, type, x, 0));
    case Op::BitNot:
      return b.CreateNot(x);
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return x;
    case Op::IsNan:
    case Op::IsInf:
      return ir.constant(DType::Bool, lanes_of(x), 0, 0);
    default:
      return nullptr;
  }
}

Value* binary_float(Ir& ir, Op op, Value* x, Value* y) {
  auto& b = ir.b;
  switch (op) {
    case Op::Add:
      return b.CreateFAdd(x, y);
    case Op::Sub:
      return b.CreateFSub(x, y);
    case Op::Mul:
      return b.CreateFMul(x, y);
    case Op::Div:
      return b.CreateFDiv(x, y);
    case Op::Rem:
      return b.CreateFRem(x, y);
    case Op::Min:
      return b.CreateSelect(b.CreateFCmpOLT(x, y), x, y);
    case Op::Max:
      return b.CreateSelect(b.CreateFCmpOGT(x, y), x, y);
    case Op::Mod: {
      // the remainder, moved to the divisor's side of zero
      Value* rest = b.CreateFRem(x, y);
      Value* zero = llvm::ConstantFP::getZero(x->getType());
      Value* other_sign = b.CreateICmpNE(b.CreateFCmpOLT(rest, zero), b.CreateFCmpOLT(y, zero));
      return b.CreateSelect(b.CreateAnd(other_sign, b.CreateFCmpUNE(rest, zero)), b.CreateFAdd(rest, y), rest);
    }
    default:
      return nullptr;
  }
}

Value* binary_int(Ir& ir, Op op, DType type, Value* x, Value* y) {
  auto& b = ir.b;
  switch (op) {
    case Op::Add:
      return b.CreateAdd(x, y);
    case Op::Sub:
      return b.CreateSub(x, y);
    case Op::Mul:
      return b.CreateMul(x, y);
    case Op::Div:
    case Op::Mod:
    case Op::Rem:
      return int_division(ir, op, type, x, y);
    case Op::Min:
      return b.CreateSelect(compare(ir, Op::Lt, type, x, y), x, y);
    case Op::Max:
      return b.CreateSelect(compare(ir, Op::Gt, type, x, y), x, y);
    case Op::And:
      return b.CreateAnd(x, y);
    case Op::Or:
      return b.CreateOr(x, y);
    case Op::Xor:
      return b.CreateXor(x, y);
    case Op::Shl:
    case Op::Shr:
      return shift(ir, op, type, x, y);
    default:
      return nullptr;
  }
}

Value* to_bool(Ir& ir, DType from, Value* x) {
  return is_float(from) ? ir.b.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType()))
                        : ir.b.CreateICmpNE(x, splat_int(ir, from, x, 0));
}

Value* fma(Ir& ir, DType type, const std::array<Value*, 3>& x) {
  if (!is_float(type)) {
    return ir.b.CreateAdd(ir.b.CreateMul(x[0], x[1]), x[2]);
  }
  std::array<Value*, 3> y = x;
  if (type == DType::F16) {
    // In f32, as LLVM would do it, the sum is rounded twice; in f64 the first rounding does not show.
    for (Value*& v : y) {
      v = ir.b.CreateFPExt(v, ir.value_type(DType::F64, lanes_of(v)));
    }
  }
  Value* sum = ir.b.CreateIntrinsic(llvm::Intrinsic::fma, {y[0]->getType()}, {y[0], y[1], y[2]});
  return type == DType::F16 ? ir.b.CreateFPTrunc(sum, x[0]->getType()) : sum;
}

}  // namespace

Value* cast_value(Ir& ir, DType from, DType to, Value* x) {
  auto& b = ir.b;
  if (from == to) {
    return x;
  }
  if (to == DType::Bool) {
    return to_bool(ir, from, x);
  }
  llvm::Type* const type = ir.value_type(to, lanes_of(x));
  if (is_float(from) && is_float(to)) {
    return bytes_of(to) > bytes_of(from) ? b.CreateFPExt(x, type) : b.CreateFPTrunc(x, type);
  }
  if (is_float(from)) {
    const auto id = is_signed_int(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  if (is_float(to)) {
    return is_signed_int(from) ? b.CreateSIToFP(x, type) : b.CreateUIToFP(x, type);
  }
  return b.CreateIntCast(x, type, is_signed_int(from));
}

Value* scalar_op(Ir& ir, te::Op op, DType result, DType operand, const std::array<Value*, 3>& x) {
  switch (op) {
    case Op::Cast:
      return cast_value(ir, operand, result, x[0]);
    case Op::Select:
      return ir.b.CreateSelect(x[0], x[1], x[2]);
    case Op::Fma:
      return fma(ir, operand, x);
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne:
      return compare(ir, op, operand, x[0], x[1]);
    default:
      break;
  }
  if (te::arity_of(op) == 1) {
    return is_float(operand) ? unary_float(ir, op, operand, x[0]) : unary_int(ir, op, operand, x[0]);
  }
  if (te::arity_of(op) == 2) {
    return is_float(operand) ? binary_float(ir, op, x[0], x[1]) : binary_int(ir, op, operand, x[0], x[1]);
  }
  return nullptr;
}

}  // namespace dlcc::targets::x86
