// Sweeps of the expanded transcendentals against the host's double-precision libm: the bounds that base/te/expand.cpp
// states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/te/evaluate.h"

namespace dlcc::te {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// y[i] = op(x[i]) or op(x[i], z[i]) over one type.
template <class T>
std::vector<T> run(Op op, DType type, const std::vector<T>& x, const std::vector<T>& z = {}) {
  Module module;
  const auto n = static_cast<int64_t>(x.size());
  module.tensors = {{.name = "x", .type = type, .shape = {n}, .kind = TensorKind::Input},
                    {.name = "z", .type = type, .shape = {n}, .kind = TensorKind::Input},
                    {.name = "y", .type = type, .shape = {n}, .kind = TensorKind::Output}};
  module.inputs = {0, 1};
  module.outputs = {2};
  Stmt stmt;
  stmt.name = "f";
  stmt.dims = {{"i", n, DimKind::Par}};
  stmt.write = {.tensor = 2, .index = {Affine::var(0)}};
  stmt.reads = {{.tensor = 0, .index = {Affine::var(0)}}, {.tensor = 1, .index = {Affine::var(0)}}};
  ScalarBuilder b;
  const int a = b.load(type, 0);
  stmt.body = b.finish(arity_of(op) == 2 ? b.binary(op, a, b.load(type, 1)) : b.unary(op, a));
  module.stmts = {stmt};
  const auto array = [&](const std::vector<T>& values) {
    Array result = Array::zeros(type, {n});
    std::copy(values.begin(), values.end(), result.as<T>());
    return result;
  };
  const auto outputs = evaluate(module, {array(x), array(z.empty() ? x : z)});
  EXPECT_TRUE(outputs.ok()) << to_string(outputs.diags());
  const T* data = outputs.value()[0].template as<T>();
  return std::vector<T>(data, data + n);
}

float one(Op op, float x, float z = 0) {
  return run<float>(op, DType::F32, {x}, {z})[0];
}

double ulps(float got, double expected) {
  const auto nearest = static_cast<float>(expected);
  if (std::isnan(expected) || std::isinf(nearest)) {
    return std::isnan(expected) ? (std::isnan(got) ? 0 : 1e30) : (got == nearest ? 0 : 1e30);
  }
  const float magnitude = std::max(std::fabs(nearest), std::numeric_limits<float>::min());
  const double ulp = static_cast<double>(std::nextafter(magnitude, kInf)) - magnitude;
  return std::isnan(got) ? 1e30 : std::fabs(got - expected) / ulp;
}

/// Evenly spaced points, and points over all magnitudes between, of both signs where the range has them.
std::vector<float> sweep(double low, double high) {
  std::vector<float> points;
  constexpr int kCount = 200000;
  for (int i = 0; i <= kCount; ++i) {
    points.push_back(static_cast<float>(low + (high - low) * i / kCount));
  }
  for (double magnitude = 1e-37; magnitude < std::max(std::fabs(low), std::fabs(high)); magnitude *= 1.0007) {
    for (const double x : {magnitude, -magnitude}) {
      if (x >= low && x <= high) {
        points.push_back(static_cast<float>(x));
      }
    }
  }
  return points;
}

struct Case {
  const char* name;
  Op op;
  double low, high;
  double limit;     // ulps
  double absolute;  // also accepted
  std::function<double(double)> reference;
};

class Sweep : public testing::TestWithParam<Case> {};

TEST_P(Sweep, stays_within_its_bound) {
  const Case& c = GetParam();
  const std::vector<float> x = sweep(c.low, c.high);
  const std::vector<float> y = run<float>(c.op, DType::F32, x);
  double worst = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = c.reference(x[i]);
    const double error = std::fabs(y[i] - expected) <= c.absolute ? 0 : ulps(y[i], expected);
    if (error > worst) {
      worst = error;
      at = x[i];
    }
  }
  RecordProperty("worst_ulps", std::to_string(worst));
  EXPECT_LE(worst, c.limit) << "at " << at;
  EXPECT_TRUE(std::isnan(one(c.op, kNan)));
}

INSTANTIATE_TEST_SUITE_P(
    f32, Sweep,
    testing::Values(Case{"exp", Op::Exp, -86.59, 88.7, 1.5, 0, [](double x) { return std::exp(x); }},
                    Case{"log", Op::Log, 1e-45, 3.4e38, 1, 0, [](double x) { return std::log(x); }},
                    Case{"log_near_1", Op::Log, 0.4, 2.5, 1, 0, [](double x) { return std::log(x); }},
                    Case{"log_denormal", Op::Log, 1e-44, 2e-38, 1, 0, [](double x) { return std::log(x); }},
                    Case{"tanh", Op::Tanh, -20, 20, 5, 0, [](double x) { return std::tanh(x); }},
                    Case{"sigmoid", Op::Sigmoid, -87, 87, 4, 0, [](double x) { return 1 / (1 + std::exp(-x)); }},
                    Case{"erf", Op::Erf, -8, 8, 3, 0, [](double x) { return std::erf(x); }},
                    Case{"sin", Op::Sin, -65536, 65536, 2, 1e-7, [](double x) { return std::sin(x); }},
                    Case{"sin_small", Op::Sin, -7, 7, 2, 0, [](double x) { return std::sin(x); }},
                    Case{"cos", Op::Cos, -65536, 65536, 2, 1e-7, [](double x) { return std::cos(x); }},
                    Case{"cos_small", Op::Cos, -7, 7, 2, 1e-7, [](double x) { return std::cos(x); }},
                    Case{"tan", Op::Tan, -1.57, 1.57, 5, 0, [](double x) { return std::tan(x); }},
                    Case{"asin", Op::Asin, -1, 1, 4, 0, [](double x) { return std::asin(x); }},
                    Case{"acos", Op::Acos, -1, 1, 4, 0, [](double x) { return std::acos(x); }},
                    Case{"atan", Op::Atan, -1e6, 1e6, 4, 0, [](double x) { return std::atan(x); }},
                    Case{"atan_small", Op::Atan, -5, 5, 4, 0, [](double x) { return std::atan(x); }},
                    Case{"sinh", Op::Sinh, -89, 89, 5, 0, [](double x) { return std::sinh(x); }},
                    Case{"cosh", Op::Cosh, -89, 89, 5, 0, [](double x) { return std::cosh(x); }},
                    Case{"asinh", Op::Asinh, -1e38, 1e38, 4, 0, [](double x) { return std::asinh(x); }},
                    Case{"asinh_small", Op::Asinh, -3, 3, 4, 0, [](double x) { return std::asinh(x); }},
                    Case{"acosh", Op::Acosh, 1, 1e38, 4, 0, [](double x) { return std::acosh(x); }},
                    Case{"acosh_small", Op::Acosh, 1, 3, 4, 0, [](double x) { return std::acosh(x); }},
                    Case{"atanh", Op::Atanh, -0.99999, 0.99999, 4, 0, [](double x) { return std::atanh(x); }}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

TEST(expand, edges_of_exp_and_log) {
  EXPECT_EQ(one(Op::Exp, 0), 1);
  EXPECT_EQ(one(Op::Exp, 88.8f), kInf);
  EXPECT_EQ(one(Op::Exp, kInf), kInf);
  EXPECT_EQ(one(Op::Exp, -86.7f), 0);
  EXPECT_EQ(one(Op::Exp, -1e30f), 0);
  EXPECT_EQ(one(Op::Exp, -kInf), 0);
  EXPECT_EQ(one(Op::Log, 1), 0);
  EXPECT_EQ(one(Op::Log, 0), -kInf);
  EXPECT_EQ(one(Op::Log, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(Op::Log, -1)));
  EXPECT_TRUE(std::isnan(one(Op::Log, -kInf)));
}

TEST(expand, saturation) {
  EXPECT_NEAR(one(Op::Tanh, 50), 1, 3e-7);
  EXPECT_NEAR(one(Op::Tanh, -kInf), -1, 3e-7);
  EXPECT_LE(one(Op::Tanh, 9), 1);
  EXPECT_EQ(one(Op::Sigmoid, 200), 1);
  EXPECT_EQ(one(Op::Sigmoid, -200), 0);
  EXPECT_EQ(one(Op::Sigmoid, 0), 0.5f);
  EXPECT_EQ(one(Op::Erf, 5), 1);
  EXPECT_EQ(one(Op::Erf, -kInf), -1);
  EXPECT_TRUE(std::isnan(one(Op::Sin, kInf)));
  EXPECT_LE(std::fabs(one(Op::Sin, 3e30f)), 1);
  EXPECT_TRUE(std::isnan(one(Op::Asin, 1.5f)));
  EXPECT_TRUE(std::isnan(one(Op::Acosh, 0.5f)));
  EXPECT_TRUE(std::isnan(one(Op::Acosh, -3)));
  EXPECT_EQ(one(Op::Atanh, 1), kInf);
  EXPECT_TRUE(std::isnan(one(Op::Atanh, 2)));
  EXPECT_FLOAT_EQ(one(Op::Atan, kInf), 1.57079633f);
  EXPECT_EQ(one(Op::Sinh, 100), kInf);
  EXPECT_EQ(one(Op::Sinh, -100), -kInf);
}

TEST(expand, pow_is_within_its_relative_bound) {
  std::vector<float> x, y;
  for (double base = 1e-30; base < 1e30; base *= 1.37) {
    for (double exponent = -40; exponent <= 40; exponent += 0.173) {
      if (std::fabs(std::log2(base) * exponent) < 124) {
        x.push_back(static_cast<float>(base));
        y.push_back(static_cast<float>(exponent));
      }
    }
  }
  for (double base = 0.9; base < 1.1; base += 0.00037) {
    for (double exponent = -500; exponent < 500; exponent += 13.7) {
      x.push_back(static_cast<float>(base));
      y.push_back(static_cast<float>(exponent));
    }
  }
  const std::vector<float> z = run<float>(Op::Pow, DType::F32, x, y);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::pow(static_cast<double>(x[i]), static_cast<double>(y[i]));
    worst = std::max(worst, std::fabs(z[i] - expected) / expected);
  }
  RecordProperty("worst_relative", std::to_string(worst));
  EXPECT_LE(worst, 5e-6);
}

TEST(expand, pow_edges) {
  struct Edge {
    float x, y, expected;
  };
  const Edge edges[] = {{-2, 3, -8},     {-2, 2, 4},          {-2, -1, -0.5f}, {-2, 0.5f, kNan}, {0, 2, 0},
                        {0, -1, kInf},   {0, 0, 1},           {kNan, 0, 1},    {kNan, 2, kNan},  {2, kNan, kNan},
                        {kInf, 2, kInf}, {kInf, -2, 0},       {kInf, 0, 1},    {2, kInf, kInf},  {2, -kInf, 0},
                        {0.5f, kInf, 0}, {0.5f, -kInf, kInf}, {1, 1e30f, 1},   {10, 39, kInf},   {10, -39, 0},
                        {-1, 1e10f, 1},  {-kInf, 3, -kInf},   {1, kInf, 1},    {0, 1e-12f, 0}};
  for (const Edge& e : edges) {
    const float got = one(Op::Pow, e.x, e.y);
    if (std::isnan(e.expected)) {
      EXPECT_TRUE(std::isnan(got)) << e.x << "^" << e.y;
    } else if (std::isinf(e.expected) || e.expected == 0) {
      EXPECT_EQ(got, e.expected) << e.x << "^" << e.y;
    } else {
      EXPECT_NEAR(got, e.expected, 5e-6 * std::fabs(e.expected)) << e.x << "^" << e.y;
    }
  }
}

TEST(expand, pow_with_small_constant_exponents_is_exact) {
  const auto power = [](float base, double exponent) {
    ScalarBuilder b;
    const ScalarExpr body = expand_transcendentals(
        b.finish(b.binary(Op::Pow, b.constant(DType::F32, base), b.constant(DType::F32, exponent))));
    std::vector<Value> values;
    for (const ScalarNode& n : body) {
      const auto at = [&](int i) { return i >= 0 ? values[static_cast<size_t>(i)] : Value{}; };
      values.push_back(apply(n, DType::F32, at(n.a), at(n.b), at(n.c)));
    }
    return static_cast<float>(values.back().f);
  };
  const float x = 1.1f;
  EXPECT_EQ(power(x, 0), 1);
  EXPECT_EQ(power(x, 1), x);
  EXPECT_EQ(power(x, 2), x * x);
  EXPECT_EQ(power(x, 3), x * x * x);
  EXPECT_EQ(power(x, 4), (x * x) * (x * x));
  EXPECT_EQ(power(x, 0.5), std::sqrt(x));
  EXPECT_EQ(power(x, -1), 1 / x);
  EXPECT_EQ(power(x, -2), 1 / (x * x));
  EXPECT_EQ(power(x, -0.5), 1 / std::sqrt(x));
  EXPECT_EQ(power(-3, 3), -27);
}

TEST(expand, double_precision) {
  struct Case64 {
    Op op;
    double low, high;
    double (*reference)(double);
  };
  const Case64 cases[] = {{Op::Exp, -700, 709, [](double x) { return std::exp(x); }},
                          {Op::Log, 1e-300, 10, [](double x) { return std::log(x); }},
                          {Op::Tanh, -20, 20, [](double x) { return std::tanh(x); }},
                          {Op::Erf, -6, 6, [](double x) { return std::erf(x); }},
                          {Op::Sin, 0.1, 3, [](double x) { return std::sin(x); }},
                          {Op::Cos, -1.5, 1.5, [](double x) { return std::cos(x); }},
                          {Op::Tan, -1.5, 1.5, [](double x) { return std::tan(x); }},
                          {Op::Asin, -1, 1, [](double x) { return std::asin(x); }},
                          {Op::Acos, -1, 0.999, [](double x) { return std::acos(x); }},
                          {Op::Atan, -50, 50, [](double x) { return std::atan(x); }},
                          {Op::Sinh, -700, 700, [](double x) { return std::sinh(x); }},
                          {Op::Cosh, -700, 700, [](double x) { return std::cosh(x); }},
                          {Op::Asinh, -1e5, 1e5, [](double x) { return std::asinh(x); }},
                          {Op::Acosh, 1.001, 1e5, [](double x) { return std::acosh(x); }},
                          {Op::Atanh, -0.999, 0.999, [](double x) { return std::atanh(x); }}};
  for (const Case64& c : cases) {
    std::vector<double> x;
    for (int i = 0; i <= 20001; ++i) {
      x.push_back(c.low + (c.high - c.low) * i / 20001);
    }
    const std::vector<double> y = run<double>(c.op, DType::F64, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double expected = c.reference(x[i]);
      worst = std::max(worst, std::fabs(y[i] - expected) / std::max(std::fabs(expected), 1e-300));
    }
    EXPECT_LE(worst, 1e-12) << name_of(c.op);
  }
  const std::vector<double> base = {2, 10, 0.3, 1.0001, -3}, exponent = {0.7, -30.5, 12.25, 20000, 5};
  const std::vector<double> power = run<double>(Op::Pow, DType::F64, base, exponent);
  for (size_t i = 0; i < base.size(); ++i) {
    const double expected = std::pow(base[i], exponent[i]);
    EXPECT_NEAR(power[i], expected, 1e-12 * std::fabs(expected));
  }
}

TEST(expand, half_goes_through_single) {
  std::vector<uint16_t> x;
  for (float v = -8; v < 8; v += 0.01f) {
    x.push_back(float_to_half(v));
  }
  const std::vector<uint16_t> y = run<uint16_t>(Op::Exp, DType::F16, x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(half_to_float(y[i]), std::exp(half_to_float(x[i])), std::exp(half_to_float(x[i])) * 0x1p-11 * 1.01);
  }
}

TEST(expand, leaves_other_operations_alone_and_removes_all_transcendentals) {
  ScalarBuilder b;
  const int x = b.load(DType::F32, 0);
  const ScalarExpr plain = b.finish(b.binary(Op::Add, x, b.constant(DType::F32, 1)));
  EXPECT_EQ(expand_transcendentals(plain), plain);
  for (int op = static_cast<int>(Op::Exp); op <= static_cast<int>(Op::Atanh); ++op) {
    for (const DType type : {DType::F16, DType::F32, DType::F64}) {
      ScalarBuilder c;
      const int a = c.load(type, 0);
      const auto which = static_cast<Op>(op);
      const ScalarExpr body =
          expand_transcendentals(c.finish(arity_of(which) == 2 ? c.binary(which, a, a) : c.unary(which, a)));
      EXPECT_EQ(body.back().type, type);
      for (const ScalarNode& node : body) {
        EXPECT_FALSE(is_transcendental(node.op));
      }
      if (type == DType::F32) {
        RecordProperty(std::string("ops_of_") + std::string(name_of(which)), std::to_string(flops_of(body)));
      }
    }
  }
}

}  // namespace
}  // namespace dlcc::te
