// Arithmetic and transcendental functions of one input.
#include "frontend/ops/elementwise.h"
#include "frontend/ops/families.h"

namespace dlcc::frontend::ops {

namespace {

using te::Op;
using te::ScalarBuilder;
using Operands = std::vector<int>;

template <Op op>
Result<int> plain(OpContext&, ScalarBuilder& s, const Operands& x) {
  return s.unary(op, x[0]);
}

Result<int> absolute(OpContext&, ScalarBuilder& s, const Operands& x) {
  DType type = s.type(x[0]);
  bool is_unsigned = !is_float(type) && !is_signed_int(type);
  return is_unsigned ? x[0] : s.unary(Op::Abs, x[0]);
}

Result<int> sign(OpContext&, ScalarBuilder& s, const Operands& x) {
  DType type = s.type(x[0]);
  int zero = literal(s, type, 0);
  int positive = s.binary(Op::Gt, x[0], zero);
  if (!is_float(type) && !is_signed_int(type)) {
    return s.select(positive, literal(s, type, 1), zero);
  }
  // Zero and NaN come back as they are.
  int below = s.select(s.binary(Op::Lt, x[0], zero), literal(s, type, -1), x[0]);
  return s.select(positive, literal(s, type, 1), below);
}

Result<int> reciprocal(OpContext&, ScalarBuilder& s, const Operands& x) {
  return s.binary(Op::Div, s.constant(s.type(x[0]), 1), x[0]);
}

Result<int> is_inf(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  bool positive = ctx.attr_int("detect_positive").value_or(1) != 0;
  bool negative = ctx.attr_int("detect_negative").value_or(1) != 0;
  int infinite = s.unary(Op::IsInf, x[0]);
  if (positive && negative) {
    return infinite;
  }
  if (!positive && !negative) {
    return s.integer(DType::Bool, 0);
  }
  Op side = positive ? Op::Gt : Op::Lt;
  return s.binary(Op::And, infinite, s.binary(side, x[0], s.constant(s.type(x[0]), 0)));
}

constexpr OpDef kOps[] = {
    unary<absolute, kNumbers>("Abs", 7, 22),
    unary<plain<Op::Neg>, kSigned>("Neg", 7, 22),
    unary<sign, kNumbers>("Sign", 9, 22),
    unary<plain<Op::Ceil>, kFloats>("Ceil", 7, 22),
    unary<plain<Op::Floor>, kFloats>("Floor", 7, 22),
    unary<plain<Op::Round>, kFloats>("Round", 11, 22),
    unary<reciprocal, kFloats>("Reciprocal", 7, 22),
    unary<plain<Op::Sqrt>, kFloats>("Sqrt", 7, 22),
    unary<plain<Op::Exp>, kFloats>("Exp", 7, 22),
    unary<plain<Op::Log>, kFloats>("Log", 7, 22),
    unary<plain<Op::Erf>, kFloats>("Erf", 9, 22),
    unary<plain<Op::Sigmoid>, kFloats>("Sigmoid", 7, 22),
    unary<plain<Op::Tanh>, kFloats>("Tanh", 7, 22),
    unary<plain<Op::Sin>, kFloats>("Sin", 7, 22),
    unary<plain<Op::Cos>, kFloats>("Cos", 7, 22),
    unary<plain<Op::Tan>, kFloats>("Tan", 7, 22),
    unary<plain<Op::Asin>, kFloats>("Asin", 7, 22),
    unary<plain<Op::Acos>, kFloats>("Acos", 7, 22),
    unary<plain<Op::Atan>, kFloats>("Atan", 7, 22),
    unary<plain<Op::Sinh>, kFloats>("Sinh", 9, 22),
    unary<plain<Op::Cosh>, kFloats>("Cosh", 9, 22),
    unary<plain<Op::Asinh>, kFloats>("Asinh", 9, 22),
    unary<plain<Op::Acosh>, kFloats>("Acosh", 9, 22),
    unary<plain<Op::Atanh>, kFloats>("Atanh", 9, 22),
    unary<plain<Op::IsNan>, kFloats>("IsNaN", 9, 22),
    unary<is_inf, kFloats>("IsInf", 10, 22),
    unary<plain<Op::Not>, kBool>("Not", 7, 22),
    unary<plain<Op::BitNot>, kInts>("BitwiseNot", 18, 22),
};

}  // namespace

std::span<const OpDef> math_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
