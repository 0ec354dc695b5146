// Transcendental operations -> portable ones. Every function is a fixed sequence of IEEE operations, so its bits are
// the same wherever it runs. Bounds for f32 over all finite arguments unless said; f16 goes through f32, f64 is within
// 1e-12 relative. NaN arguments give NaN.
//   exp           1.5 ulp; above 88.72 inf; results below 2^-125 (x < -86.6) are 0
//   log           1 ulp, denormal arguments included; 0 -> -inf, negative -> NaN
//   tanh          5 ulp
//   sigmoid       4 ulp; results below 2^-126 are 0
//   erf           3 ulp (1.5e-7 absolute)
//   pow           5e-6 relative; results below 2^-125 are 0; constant exponents 0, +-0.5, +-1, +-2, 3, 4 become
//                 multiplications, square roots and reciprocals; a negative base gives the right sign with an integral
//                 exponent and NaN with others; x^0 = 1 even for NaN; a base of -0 counts as +0
//   sin, cos      2 ulp or 1e-7 absolute for |x| <= 2^16; larger ones lose digits but stay within [-1, 1]
//   tan           5 ulp for |x| <= pi/2
//   asin, acos, atan, asinh, acosh, atanh  4 ulp
//   sinh, cosh    5 ulp
#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"
#include "base/te/expand_tables.h"
#include "base/te/scalar.h"

namespace dlcc::te {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Expands functions of one float type; every method appends nodes and returns the result's number.
class Expander {
 public:
  Expander(ScalarBuilder& builder, DType type)
      : b_(builder), type_(type), single_(type == DType::F32), t_(single_ ? kTablesF32 : kTablesF64) {}

  int expand(Op op, int x);
  int pow(int x, int y);
  /// pow for an exponent known now, or -1 when it has no short form.
  int pow_constant(int x, double y);

 private:
  struct Parts {  // x = 2^exponent * (1 + f), log1p(f) = f + tail
    int exponent, f, tail;
  };
  struct Turn {  // sin and cos of the reduced angle, and the quarter turns (a float)
    int sine, cosine, quarters;
  };
  int exp(int x);
  int log(int x);
  int log1p(int x);
  int tanh(int x);
  int erf(int x);
  int sine_or_cosine(int x, bool cosine);
  int tan(int x);
  int asin(int x);
  int acos(int x);
  int atan(int x);
  int sinh_or_cosh(int x, bool cosine);
  int asinh(int x);
  int acosh(int x);
  int atanh(int x);
  Parts log_parts(int x);
  Turn reduce(int x);
  int arc_core(int magnitude, int is_big);
  int scale(int value, int exponent);
  double high(double value) const { return single_ ? static_cast<float>(value) : value; }

  int k(double number) { return b_.constant(type_, number); }
  int neg(int a) { return b_.unary(Op::Neg, a); }
  int abs(int a) { return b_.unary(Op::Abs, a); }
  int floor(int a) { return b_.unary(Op::Floor, a); }
  int round(int a) { return b_.unary(Op::Round, a); }
  int sqrt(int a) { return b_.unary(Op::Sqrt, a); }
  int add(int a, int b) { return b_.binary(Op::Add, a, b); }
  int sub(int a, int b) { return b_.binary(Op::Sub, a, b); }
  int mul(int a, int b) { return b_.binary(Op::Mul, a, b); }
  int div(int a, int b) { return b_.binary(Op::Div, a, b); }
  int fma(int a, int b, int c) { return b_.fma(a, b, c); }
  int lt(int a, int b) { return b_.binary(Op::Lt, a, b); }
  int gt(int a, int b) { return b_.binary(Op::Gt, a, b); }
  int ne(int a, int b) { return b_.binary(Op::Ne, a, b); }
  int select(int c, int a, int b) { return b_.select(c, a, b); }
  // The constants come first: Min and Max return their second operand when it is a NaN.
  int clamp(int x, double low, double high) { return b_.binary(Op::Min, k(high), b_.binary(Op::Max, k(low), x)); }
  int with_sign_of(int x, int magnitude) { return select(lt(x, k(0)), neg(magnitude), magnitude); }
  int is_fraction(int x) { return ne(floor(x), x); }
  int polynomial(std::span<const double> coefficients, int x);

  ScalarBuilder& b_;
  DType type_;
  bool single_;
  const Tables& t_;
};

int Expander::polynomial(std::span<const double> coefficients, int x) {
  int value = k(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) {
    value = fma(value, x, k(coefficients[i]));
  }
  return value;
}

/// value * 2^exponent for exponents from -125 (-1021) to 128 (1024): one less, then doubled, so that the highest does
/// not overflow early.
int Expander::scale(int value, int exponent) {
  return mul(mul(value, b_.unary(Op::Exp2i, sub(exponent, k(1)))), k(2));
}

int Expander::exp(int x) {
  const double low = single_ ? -86.6 : -707.7, highest = single_ ? 89.0 : 710.0;
  const double ln2_high = high(std::numbers::ln2);
  const double ln2_low = single_ ? -1.9046542999577680e-09 : 2.3190468138462996e-17;
  const int clamped = clamp(x, low, highest);
  const int n = round(mul(clamped, k(std::numbers::log2e)));
  const int r = fma(n, k(-ln2_low), fma(n, k(-ln2_high), clamped));
  const int value = add(fma(polynomial(t_.exp, r), mul(r, r), r), k(1));
  return select(lt(x, k(low)), k(0), scale(value, n));
}

/// For positive finite x.
Expander::Parts Expander::log_parts(int x) {
  const double smallest = single_ ? 0x1p-126 : 0x1p-1022;
  const int is_denormal = lt(x, k(smallest));
  const int normal = select(is_denormal, mul(x, k(single_ ? 0x1p24 : 0x1p53)), x);
  const int shift = select(is_denormal, k(single_ ? -24 : -53), k(0));
  const int m = b_.unary(Op::Mantissa, normal);
  const int e = add(b_.unary(Op::Exponent, normal), shift);
  const int is_high = gt(m, k(std::numbers::sqrt2));
  const int f = sub(select(is_high, mul(m, k(0.5)), m), k(1));
  const int z = mul(f, f);
  const int tail = fma(mul(f, z), polynomial(t_.log, f), mul(z, k(-0.5)));
  return {select(is_high, add(e, k(1)), e), f, tail};
}

int Expander::log(int x) {
  const Parts p = log_parts(x);
  const double ln2_high = single_ ? 0.693359375 : 0.69314718036912381649;
  const double ln2_low = single_ ? -2.12194440054690583e-04 : 1.90821492927058770002e-10;
  const int value = fma(p.exponent, k(ln2_high), add(p.f, fma(p.exponent, k(ln2_low), p.tail)));
  // Neither inf nor NaN is below inf: both are their own logarithm.
  const int finite = select(lt(x, k(kInf)), value, x);
  const int at_most_0 = b_.binary(Op::Le, x, k(0));
  return select(at_most_0, select(lt(x, k(0)), k(kNan), k(-kInf)), finite);
}

/// log(1 + x), corrected by what the addition lost.
int Expander::log1p(int x) {
  const int w = add(k(1), x);
  const int lost = sub(x, sub(w, k(1)));
  const int value = add(log(w), div(lost, w));
  return select(lt(x, k(kInf)), value, x);
}

int Expander::tanh(int x) {
  if (single_) {
    const int c = clamp(x, -7.90531110763549805, 7.90531110763549805);
    const int z = mul(c, c);
    const int value = div(mul(c, polynomial(t_.tanh, z)), polynomial(t_.tanh_denominator, z));
    return select(lt(abs(x), k(0.0004)), x, value);
  }
  const int a = abs(x);
  const int z = mul(x, x);
  const int small = fma(mul(x, z), polynomial(t_.tanh, z), x);
  const int large = sub(k(1), div(k(2), add(exp(add(a, a)), k(1))));
  return select(lt(a, k(0.625)), small, with_sign_of(x, large));
}

int Expander::erf(int x) {
  const int a = abs(x);
  const int z = mul(x, x);
  const int small = fma(polynomial(t_.erf, z), x, x);
  int large = -1;
  if (single_) {
    const int rest = polynomial(t_.erfc, sub(a, k(2.45)));
    large = select(gt(a, k(3.9)), k(1), sub(k(1), rest));
  } else {
    const int c = clamp(a, 0, 6);
    large = sub(k(1), mul(exp(neg(mul(c, c))), polynomial(t_.erfc, div(sub(c, k(3.75)), add(c, k(3.75))))));
  }
  return select(lt(a, k(1)), small, with_sign_of(x, large));
}

int Expander::pow_constant(int x, double y) {
  if (y == 0) {
    return k(1);
  }
  if (y == 1) {
    return x;
  }
  if (y == 2) {
    return mul(x, x);
  }
  if (y == 3) {
    return mul(mul(x, x), x);
  }
  if (y == 4) {
    const int square = mul(x, x);
    return mul(square, square);
  }
  if (y == 0.5) {
    return sqrt(x);
  }
  if (y == -0.5 || y == -1 || y == -2) {
    return div(k(1), pow_constant(x, -y));
  }
  return -1;
}

int Expander::pow(int x, int y) {
  const int a = abs(x);
  const Parts p = log_parts(a);
  // 0 and inf take the way of huge finite exponents.
  const int infinite = b_.binary(Op::Eq, a, k(kInf));
  const int zero = b_.binary(Op::Eq, x, k(0));
  const int e = select(zero, k(-kInf), select(infinite, k(kInf), p.exponent));
  // An infinite exponent would make 0 * inf; 2^100 decides the same way for every base.
  const int yc = clamp(y, -0x1p100, 0x1p100);
  // log2 of the mantissa in two parts, times y in two parts.
  const double log2e_high = high(std::numbers::log2e);
  const double log2e_low = single_ ? 1.9259629911266174e-08 : 2.0355273740931033e-17;
  const int f_high = add(p.f, p.tail);
  const int f_low = sub(p.tail, sub(f_high, p.f));
  const int l_high = mul(f_high, k(log2e_high));
  const int l_low = add(fma(f_high, k(log2e_high), neg(l_high)), fma(f_high, k(log2e_low), mul(f_low, k(log2e_high))));
  const int whole = mul(yc, e);
  const int part = mul(yc, l_high);
  const int low = add(fma(yc, e, neg(whole)), fma(yc, l_low, fma(yc, l_high, neg(part))));
  const int t = add(whole, part);
  const double lowest = single_ ? -125 : -1021, highest = single_ ? 128 : 1024;
  const int n = round(clamp(t, lowest, highest));
  const int r = add(add(sub(whole, n), part), low);
  const int scaled = scale(fma(polynomial(t_.exp2, r), r, k(1)), n);
  const int bounded = select(gt(t, k(highest)), k(kInf), select(lt(t, k(lowest)), k(0), scaled));
  const int half = mul(yc, k(0.5));
  const int with_parity = select(is_fraction(half), neg(bounded), bounded);
  const int negative = select(is_fraction(yc), k(kNan), with_parity);
  const int value = select(ne(x, x), x, select(lt(x, k(0)), negative, bounded));
  return select(b_.binary(Op::Eq, y, k(0)), k(1), value);
}

Expander::Turn Expander::reduce(int x) {
  const double c1 = high(std::numbers::pi / 2);
  const double c2 = single_ ? -4.3711388286737929e-08 : 6.1232339957367658e-17;
  const double c3 = single_ ? -1.7151244994428829e-15 : -1.4973849048591698e-33;
  const int n = round(mul(x, k(2 / std::numbers::pi)));
  const int reduced = fma(n, k(-c3), fma(n, k(-c2), fma(n, k(-c1), x)));
  const int r = clamp(reduced, -0.8, 0.8);
  const int z = mul(r, r);
  const int sine = fma(mul(r, z), polynomial(t_.sin, z), r);
  const int cosine = fma(mul(z, z), polynomial(t_.cos, z), fma(z, k(-0.5), k(1)));
  return {sine, cosine, n};
}

int Expander::sine_or_cosine(int x, bool cosine) {
  const Turn turn = reduce(x);
  // cos(x) = sin(x + a quarter turn).
  const int n = cosine ? add(turn.quarters, k(1)) : turn.quarters;
  const int half = mul(n, k(0.5));
  const int value = select(is_fraction(half), turn.cosine, turn.sine);
  const int is_lower_half = is_fraction(mul(floor(half), k(0.5)));
  return select(is_lower_half, neg(value), value);
}

int Expander::tan(int x) {
  const Turn turn = reduce(x);
  const int is_odd = is_fraction(mul(turn.quarters, k(0.5)));
  return div(select(is_odd, neg(turn.cosine), turn.sine), select(is_odd, turn.sine, turn.cosine));
}

/// asin(s): s is the magnitude, or sqrt((1 - magnitude)/2) where that is above 1/2.
int Expander::arc_core(int magnitude, int is_big) {
  const int z = select(is_big, mul(sub(k(1), magnitude), k(0.5)), mul(magnitude, magnitude));
  const int s = select(is_big, sqrt(z), magnitude);
  return fma(mul(s, z), polynomial(t_.asin, z), s);
}

int Expander::asin(int x) {
  const int a = abs(x);
  const int is_big = gt(a, k(0.5));
  const int core = arc_core(a, is_big);
  return with_sign_of(x, select(is_big, sub(k(std::numbers::pi / 2), add(core, core)), core));
}

int Expander::acos(int x) {
  const int a = abs(x);
  const int is_big = gt(a, k(0.5));
  const int core = arc_core(a, is_big);
  const int twice = add(core, core);
  const int big = select(lt(x, k(0)), sub(k(std::numbers::pi), twice), twice);
  return select(is_big, big, sub(k(std::numbers::pi / 2), with_sign_of(x, core)));
}

int Expander::atan(int x) {
  const int a = abs(x);
  const int is_big = gt(a, k(1));
  const int t = select(is_big, div(k(1), a), a);
  const int is_upper = gt(t, k(0.41421356237309505));
  const int u = select(is_upper, div(sub(t, k(1)), add(t, k(1))), t);
  const int z = mul(u, u);
  const int core = fma(mul(u, z), polynomial(t_.atan, z), u);
  const int value = add(core, select(is_upper, k(std::numbers::pi / 4), k(0)));
  return with_sign_of(x, select(is_big, sub(k(std::numbers::pi / 2), value), value));
}

int Expander::sinh_or_cosh(int x, bool cosine) {
  const int a = abs(x);
  // Half the argument, squared: e^a itself overflows before the result does.
  const int e = exp(mul(a, k(0.5)));
  const int h = mul(mul(e, k(0.5)), e);
  const int rest = div(k(0.25), h);
  if (cosine) {
    return add(h, rest);
  }
  const int z = mul(x, x);
  const int small = fma(mul(x, z), polynomial(t_.sinh, z), x);
  return select(lt(a, k(1)), small, with_sign_of(x, sub(h, rest)));
}

int Expander::asinh(int x) {
  const int a = abs(x);
  const int z = mul(a, a);
  const int near = log1p(add(a, div(z, add(k(1), sqrt(add(z, k(1)))))));
  const int far = add(log(a), k(std::numbers::ln2));
  return with_sign_of(x, select(gt(a, k(single_ ? 0x1p30 : 0x1p60)), far, near));
}

int Expander::acosh(int x) {
  const int t = sub(x, k(1));
  const int near = log1p(add(t, sqrt(mul(t, add(t, k(2))))));
  const int far = add(log(x), k(std::numbers::ln2));
  const int value = select(gt(x, k(single_ ? 0x1p30 : 0x1p60)), far, near);
  return select(lt(x, k(1)), k(kNan), value);
}

int Expander::atanh(int x) {
  const int a = abs(x);
  return with_sign_of(x, mul(k(0.5), log1p(div(add(a, a), sub(k(1), a)))));
}

int Expander::expand(Op op, int x) {
  switch (op) {
    case Op::Exp:
      return exp(x);
    case Op::Log:
      return log(x);
    case Op::Tanh:
      return tanh(x);
    case Op::Sigmoid:
      return div(k(1), add(k(1), exp(neg(x))));
    case Op::Erf:
      return erf(x);
    case Op::Sin:
      return sine_or_cosine(x, false);
    case Op::Cos:
      return sine_or_cosine(x, true);
    case Op::Tan:
      return tan(x);
    case Op::Asin:
      return asin(x);
    case Op::Acos:
      return acos(x);
    case Op::Atan:
      return atan(x);
    case Op::Sinh:
      return sinh_or_cosh(x, false);
    case Op::Cosh:
      return sinh_or_cosh(x, true);
    case Op::Asinh:
      return asinh(x);
    case Op::Acosh:
      return acosh(x);
    case Op::Atanh:
      return atanh(x);
    default:
      break;
  }
  DLCC_CHECK(false) << name_of(op) << " is not transcendental";
  return -1;
}

/// The value of a constant, also behind casts; nothing otherwise.
std::optional<double> constant_value(const ScalarExpr& body, int node) {
  while (body[static_cast<size_t>(node)].op == Op::Cast) {
    node = body[static_cast<size_t>(node)].a;
  }
  const ScalarNode& n = body[static_cast<size_t>(node)];
  if (n.op != Op::Const) {
    return std::nullopt;
  }
  return is_float(n.type) ? n.number : static_cast<double>(n.integer);
}

/// Copies a node that stays as it is.
int copy_node(ScalarBuilder& builder, const ScalarNode& node, const std::vector<int>& at) {
  const auto operand = [&](int32_t i) { return at[static_cast<size_t>(i)]; };
  switch (node.op) {
    case Op::Const:
      return is_float(node.type) ? builder.constant(node.type, node.number) : builder.integer(node.type, node.integer);
    case Op::Load:
      return builder.load(node.type, static_cast<int>(node.integer));
    case Op::Index:
      return builder.index(static_cast<int>(node.integer));
    case Op::Param:
      return builder.param(node.type, static_cast<int>(node.integer));
    case Op::Cast:
      return builder.cast(node.type, operand(node.a));
    case Op::Fma:
      return builder.fma(operand(node.a), operand(node.b), operand(node.c));
    case Op::Select:
      return builder.select(operand(node.a), operand(node.b), operand(node.c));
    default:
      return arity_of(node.op) == 1 ? builder.unary(node.op, operand(node.a))
                                    : builder.binary(node.op, operand(node.a), operand(node.b));
  }
}

int expand_node(ScalarBuilder& builder, const ScalarExpr& body, const ScalarNode& node, const std::vector<int>& at) {
  const DType work = node.type == DType::F16 ? DType::F32 : node.type;
  Expander expander(builder, work);
  const int x = builder.cast(work, at[static_cast<size_t>(node.a)]);
  int value = -1;
  if (node.op == Op::Pow) {
    if (const auto exponent = constant_value(body, node.b)) {
      value = expander.pow_constant(x, *exponent);
    }
    if (value < 0) {
      value = expander.pow(x, builder.cast(work, at[static_cast<size_t>(node.b)]));
    }
  } else {
    value = expander.expand(node.op, x);
  }
  return builder.cast(node.type, value);
}

}  // namespace

ScalarExpr expand_transcendentals(const ScalarExpr& body) {
  bool any = false;
  for (const ScalarNode& node : body) {
    any = any || is_transcendental(node.op);
  }
  if (!any) {
    return body;
  }
  ScalarBuilder builder;
  std::vector<int> at;
  for (const ScalarNode& node : body) {
    at.push_back(is_transcendental(node.op) ? expand_node(builder, body, node, at) : copy_node(builder, node, at));
  }
  return builder.finish(at.back());
}

}  // namespace dlcc::te
