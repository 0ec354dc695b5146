// Operators of two and more inputs: arithmetic, comparisons, logic, bits, Where, Clip.
#include <fmt/format.h>

#include "frontend/ops/elementwise.h"
#include "frontend/ops/families.h"

namespace dlcc::frontend::ops {

namespace {

using te::Op;
using te::ScalarBuilder;
using Operands = std::vector<int>;
constexpr int kMany = 1 << 20;

template <Op op>
Result<int> plain(OpContext&, ScalarBuilder& s, const Operands& x) {
  return s.binary(op, x[0], x[1]);
}

template <Op op>
Result<int> fold(OpContext&, ScalarBuilder& s, const Operands& x) {
  int result = x[0];
  for (size_t i = 1; i < x.size(); ++i) {
    result = s.binary(op, result, x[i]);
  }
  return result;
}

Result<int> mean(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  DLCC_TRY(int sum, fold<Op::Add>(ctx, s, x));
  return s.binary(Op::Div, sum, s.constant(s.type(sum), static_cast<double>(x.size())));
}

Result<int> modulo(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  bool c_sign = ctx.attr_int("fmod").value_or(0) != 0;
  if (is_float(s.type(x[0])) && !c_sign) {
    return ctx.error("floats need fmod = 1");
  }
  return s.binary(c_sign ? Op::Rem : Op::Mod, x[0], x[1]);
}

/// The powers that exporters write most need no logarithm; -1: not one of them.
int easy_power(ScalarBuilder& s, int x, double exponent) {
  if (exponent == 1) {
    return x;
  }
  if (exponent == 2) {
    return s.binary(Op::Mul, x, x);
  }
  if (exponent == 3) {
    return s.binary(Op::Mul, s.binary(Op::Mul, x, x), x);
  }
  if (exponent == 0.5 && is_float(s.type(x))) {
    return s.unary(Op::Sqrt, x);
  }
  if (exponent == -1 && is_float(s.type(x))) {
    return s.binary(Op::Div, s.constant(s.type(x), 1), x);
  }
  return -1;
}

Result<int> power(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kSigned));
  DLCC_RETURN_IF_ERROR(check_type(ctx, 1, kNumbers));
  if (ctx.version() < 12) {
    DLCC_RETURN_IF_ERROR(check_same_type(ctx, 0, 1));
  }
  if (te::element_count(ctx.input(1).shape) == 1) {
    if (auto exponent = ctx.constant_floats(1)) {
      int root = easy_power(s, x[0], exponent->at(0));
      if (root >= 0) {
        return root;
      }
    }
  }
  DType type = s.type(x[0]);
  if (is_float(type)) {
    return s.binary(Op::Pow, x[0], s.cast(type, x[1]));
  }
  // An integer base goes through f64, whose error is far below the half unit that Round forgives.
  int value = s.binary(Op::Pow, s.cast(DType::F64, x[0]), s.cast(DType::F64, x[1]));
  return s.cast(type, s.unary(Op::Round, value));
}

Result<int> bit_shift(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  auto direction = ctx.attr_string("direction");
  if (!direction || (*direction != "LEFT" && *direction != "RIGHT")) {
    return ctx.error("attribute direction must be 'LEFT' or 'RIGHT'");
  }
  return s.binary(*direction == "LEFT" ? Op::Shl : Op::Shr, x[0], x[1]);
}

Result<int> where(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  DLCC_RETURN_IF_ERROR(check_type(ctx, 0, kBool));
  DLCC_RETURN_IF_ERROR(check_same_type(ctx, 1, 2));
  return s.select(x[0], x[1], x[2]);
}

Result<int> clip_attributes(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int result = x[0];
  DType type = s.type(result);
  if (auto low = ctx.attr_float("min")) {
    result = s.binary(Op::Max, result, s.constant(type, static_cast<double>(*low)));
  }
  if (auto high = ctx.attr_float("max")) {
    result = s.binary(Op::Min, result, s.constant(type, static_cast<double>(*high)));
  }
  return result;
}

Result<int> clip_inputs(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int result = x[0];
  for (int i = 1; i < static_cast<int>(x.size()); ++i) {
    if (x[static_cast<size_t>(i)] < 0) {
      continue;
    }
    if (te::element_count(ctx.input(i).shape) != 1 || ctx.input(i).shape.size() > 1) {
      return ctx.error(fmt::format("input {} must be a scalar", i));
    }
    result = s.binary(i == 1 ? Op::Max : Op::Min, result, x[static_cast<size_t>(i)]);
  }
  return result;
}

constexpr OpDef kOps[] = {
    elementwise<plain<Op::Add>, 2, 2, kNumbers>("Add", 7, 22),
    elementwise<plain<Op::Sub>, 2, 2, kNumbers>("Sub", 7, 22),
    elementwise<plain<Op::Mul>, 2, 2, kNumbers>("Mul", 7, 22),
    elementwise<plain<Op::Div>, 2, 2, kNumbers>("Div", 7, 22),
    elementwise<power, 2, 2, kNumbers, false>("Pow", 7, 22),
    elementwise<modulo, 2, 2, kNumbers>("Mod", 10, 22),
    elementwise<fold<Op::Min>, 1, kMany, kNumbers>("Min", 7, 22),
    elementwise<fold<Op::Max>, 1, kMany, kNumbers>("Max", 7, 22),
    elementwise<fold<Op::Add>, 1, kMany, kFloats>("Sum", 7, 22),
    elementwise<mean, 1, kMany, kFloats>("Mean", 7, 22),
    elementwise<plain<Op::And>, 2, 2, kBool>("And", 7, 22),
    elementwise<plain<Op::Or>, 2, 2, kBool>("Or", 7, 22),
    elementwise<plain<Op::Xor>, 2, 2, kBool>("Xor", 7, 22),
    elementwise<plain<Op::Eq>, 2, 2, kAny>("Equal", 7, 22),
    elementwise<plain<Op::Gt>, 2, 2, kNumbers>("Greater", 7, 22),
    elementwise<plain<Op::Lt>, 2, 2, kNumbers>("Less", 7, 22),
    elementwise<plain<Op::Ge>, 2, 2, kNumbers>("GreaterOrEqual", 12, 22),
    elementwise<plain<Op::Le>, 2, 2, kNumbers>("LessOrEqual", 12, 22),
    elementwise<plain<Op::And>, 2, 2, kInts>("BitwiseAnd", 18, 22),
    elementwise<plain<Op::Or>, 2, 2, kInts>("BitwiseOr", 18, 22),
    elementwise<plain<Op::Xor>, 2, 2, kInts>("BitwiseXor", 18, 22),
    elementwise<bit_shift, 2, 2, kUnsignedInts>("BitShift", 11, 22),
    elementwise<where, 3, 3, kAny, false>("Where", 9, 22),
    elementwise<clip_attributes, 1, 1, kFloats>("Clip", 7, 10),
    elementwise<clip_inputs, 1, 3, kNumbers>("Clip", 11, 22),
};

}  // namespace

std::span<const OpDef> binary_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
