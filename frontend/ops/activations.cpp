// Activation functions: one input, attributes for their constants.
#include <cmath>
#include <numbers>

#include "frontend/ops/elementwise.h"
#include "frontend/ops/families.h"

namespace dlcc::frontend::ops {

namespace {

using te::Op;
using te::ScalarBuilder;
using Operands = std::vector<int>;

/// A literal of x's type.
int same(ScalarBuilder& s, int x, double value) {
  return literal(s, s.type(x), value);
}

double number(OpContext& ctx, const char* attribute, float otherwise) {
  return static_cast<double>(ctx.attr_float(attribute).value_or(otherwise));
}

int clamp_unit(ScalarBuilder& s, int x) {
  return s.binary(Op::Max, s.binary(Op::Min, x, same(s, x, 1)), same(s, x, 0));
}

int softplus_of(ScalarBuilder& s, int x) {
  // max(x, 0) + log(1 + exp(-|x|)): exp never overflows
  int small = s.unary(Op::Exp, s.unary(Op::Neg, s.unary(Op::Abs, x)));
  int log = s.unary(Op::Log, s.binary(Op::Add, same(s, x, 1), small));
  return s.binary(Op::Add, s.binary(Op::Max, x, same(s, x, 0)), log);
}

int exp_minus_one(ScalarBuilder& s, int x) {
  return s.binary(Op::Sub, s.unary(Op::Exp, x), same(s, x, 1));
}

Result<int> relu(OpContext&, ScalarBuilder& s, const Operands& x) {
  return s.binary(Op::Max, x[0], same(s, x[0], 0));
}

Result<int> leaky_relu(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int scaled = s.binary(Op::Mul, x[0], same(s, x[0], number(ctx, "alpha", 0.01F)));
  return s.select(s.binary(Op::Lt, x[0], same(s, x[0], 0)), scaled, x[0]);
}

Result<int> prelu(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  const Shape& shape = ctx.input(0).shape;
  DLCC_TRY(Shape both, broadcast(ctx, {shape, ctx.input(1).shape}));
  if (both != shape) {
    return ctx.error("the slope does not broadcast to the input's shape");
  }
  return s.select(s.binary(Op::Lt, x[0], same(s, x[0], 0)), s.binary(Op::Mul, x[0], x[1]), x[0]);
}

Result<int> thresholded_relu(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int above = s.binary(Op::Gt, x[0], same(s, x[0], number(ctx, "alpha", 1.0F)));
  return s.select(above, x[0], same(s, x[0], 0));
}

Result<int> elu(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int below = s.binary(Op::Mul, same(s, x[0], number(ctx, "alpha", 1.0F)), exp_minus_one(s, x[0]));
  return s.select(s.binary(Op::Lt, x[0], same(s, x[0], 0)), below, x[0]);
}

Result<int> selu(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int alpha = same(s, x[0], number(ctx, "alpha", 1.67326319217681884765625F));
  int gamma = same(s, x[0], number(ctx, "gamma", 1.05070102214813232421875F));
  int below = s.binary(Op::Mul, alpha, exp_minus_one(s, x[0]));
  return s.binary(Op::Mul, gamma, s.select(s.binary(Op::Gt, x[0], same(s, x[0], 0)), x[0], below));
}

Result<int> celu(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  double value = number(ctx, "alpha", 1.0F);
  if (value == 0) {
    return ctx.error("alpha is 0");
  }
  int alpha = same(s, x[0], value);
  int below = s.binary(Op::Mul, alpha, exp_minus_one(s, s.binary(Op::Div, x[0], alpha)));
  int zero = same(s, x[0], 0);
  return s.binary(Op::Add, s.binary(Op::Max, x[0], zero), s.binary(Op::Min, below, zero));
}

Result<int> hard_sigmoid(OpContext& ctx, ScalarBuilder& s, const Operands& x) {
  int scaled = s.binary(Op::Mul, x[0], same(s, x[0], number(ctx, "alpha", 0.2F)));
  return clamp_unit(s, s.binary(Op::Add, scaled, same(s, x[0], number(ctx, "beta", 0.5F))));
}

Result<int> hard_swish(OpContext&, ScalarBuilder& s, const Operands& x) {
  int scaled = s.binary(Op::Mul, x[0], same(s, x[0], static_cast<double>(1.0F / 6.0F)));
  return s.binary(Op::Mul, x[0], clamp_unit(s, s.binary(Op::Add, scaled, same(s, x[0], 0.5))));
}

Result<int> softplus(OpContext&, ScalarBuilder& s, const Operands& x) {
  return softplus_of(s, x[0]);
}

Result<int> softsign(OpContext&, ScalarBuilder& s, const Operands& x) {
  return s.binary(Op::Div, x[0], s.binary(Op::Add, same(s, x[0], 1), s.unary(Op::Abs, x[0])));
}

Result<int> mish(OpContext&, ScalarBuilder& s, const Operands& x) {
  return s.binary(Op::Mul, x[0], s.unary(Op::Tanh, softplus_of(s, x[0])));
}

Result<int> gelu(OpContext& ctx, ScalarBuilder& s, const Operands& operands) {
  std::string form = ctx.attr_string("approximate").value_or("none");
  int x = operands[0];
  int inner = 0;
  if (form == "none") {
    inner = s.unary(Op::Erf, s.binary(Op::Mul, x, same(s, x, std::numbers::sqrt2 / 2)));
  } else if (form == "tanh") {
    int cube = s.binary(Op::Mul, s.binary(Op::Mul, x, x), x);
    int sum = s.binary(Op::Add, x, s.binary(Op::Mul, same(s, x, 0.044715), cube));
    inner = s.unary(Op::Tanh, s.binary(Op::Mul, same(s, x, std::sqrt(2 / std::numbers::pi)), sum));
  } else {
    return ctx.error("attribute approximate is '" + form + "', allowed are 'none' and 'tanh'");
  }
  int half = s.binary(Op::Mul, same(s, x, 0.5), x);
  return s.binary(Op::Mul, half, s.binary(Op::Add, same(s, x, 1), inner));
}

Result<int> shrink(OpContext& ctx, ScalarBuilder& s, const Operands& operands) {
  int x = operands[0];
  double bias = number(ctx, "bias", 0.0F), lambda = number(ctx, "lambd", 0.5F);
  if (!is_float(s.type(x))) {
    return ctx.unsupported("integers are not supported");
  }
  int zero = same(s, x, 0);
  int above = s.select(s.binary(Op::Gt, x, same(s, x, lambda)), s.binary(Op::Sub, x, same(s, x, bias)), zero);
  return s.select(s.binary(Op::Lt, x, same(s, x, -lambda)), s.binary(Op::Add, x, same(s, x, bias)), above);
}

constexpr OpDef kOps[] = {
    unary<relu, kSigned>("Relu", 7, 22),
    unary<leaky_relu, kFloats>("LeakyRelu", 7, 22),
    elementwise<prelu, 2, 2, kNumbers>("PRelu", 7, 22),
    unary<thresholded_relu, kFloats>("ThresholdedRelu", 10, 22),
    unary<elu, kFloats>("Elu", 7, 22),
    unary<selu, kFloats>("Selu", 7, 22),
    unary<celu, kFloats>("Celu", 12, 22),
    unary<hard_sigmoid, kFloats>("HardSigmoid", 7, 22),
    unary<hard_swish, kFloats>("HardSwish", 14, 22),
    unary<softplus, kFloats>("Softplus", 7, 22),
    unary<softsign, kFloats>("Softsign", 7, 22),
    unary<mish, kFloats>("Mish", 18, 22),
    unary<gelu, kFloats>("Gelu", 20, 22),
    unary<shrink, kNumbers>("Shrink", 9, 22),
};

}  // namespace

std::span<const OpDef> activation_ops() {
  return kOps;
}

}  // namespace dlcc::frontend::ops
