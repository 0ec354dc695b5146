// The executor of iteration boxes against plain nested loops, on random shapes, strides and bodies.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <random>

#include "sim/compute_exec.h"

namespace dlcc::sim {
namespace {

using te::DimKind;
using te::Op;

struct Case {
  std::vector<int64_t> extents;
  std::vector<DimKind> kinds;
  std::vector<int64_t> w, a, b;  // strides
};

int64_t span_of(const Case& c, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    last += strides[d] * (c.extents[d] - 1);
  }
  return last + 1;
}

/// Row-major strides over a random order of a subset of the dims, with gaps.
std::vector<int64_t> random_strides(const Case& c, std::mt19937& random, bool all_par) {
  std::vector<size_t> order(c.extents.size());
  for (size_t d = 0; d < order.size(); ++d) {
    order[d] = d;
  }
  std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> strides(c.extents.size(), 0);
  int64_t step = random() % 3 == 0 ? 2 : 1;
  for (const size_t d : order) {
    const bool par = c.kinds[d] == DimKind::Par;
    if (all_par ? !par : random() % 3 == 0) {
      continue;
    }
    strides[d] = step;
    step *= c.extents[d] + static_cast<int64_t>(random() % 2);
  }
  return strides;
}

Case random_case(std::mt19937& random) {
  Case c;
  const size_t dims = 1 + random() % 5;
  int64_t points = 1;
  for (size_t d = 0; d < dims; ++d) {
    c.extents.push_back(1 + static_cast<int64_t>(random() % (points > 2000 ? 3 : 21)));
    points *= c.extents.back();
    c.kinds.push_back(random() % 2 == 0 ? DimKind::Par : DimKind::Red);
  }
  c.w = random_strides(c, random, true);
  c.a = random_strides(c, random, false);
  c.b = random_strides(c, random, false);
  return c;
}

std::vector<float> random_floats(int64_t count, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) {
    v = static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 777.0F;
  }
  return values;
}

/// Points in lexicographic order of all dims: Red dims ascend for each element.
template <class F>
void for_points(const Case& c, F f) {
  std::vector<int64_t> point(c.extents.size(), 0);
  while (true) {
    int64_t w = 0, a = 0, b = 0;
    for (size_t d = 0; d < point.size(); ++d) {
      w += point[d] * c.w[d];
      a += point[d] * c.a[d];
      b += point[d] * c.b[d];
    }
    f(static_cast<size_t>(w), static_cast<size_t>(a), static_cast<size_t>(b), point);
    size_t d = point.size();
    while (d > 0 && ++point[d - 1] == c.extents[d - 1]) {
      point[--d] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

void run(const ComputeCode& code, const Case& c, std::vector<float>& w, std::vector<float>& a, std::vector<float>& b,
         const int64_t* base = nullptr) {
  code.run(c.extents, {reinterpret_cast<std::byte*>(w.data()), c.w.data()},
           {{reinterpret_cast<std::byte*>(a.data()), c.a.data()}, {reinterpret_cast<std::byte*>(b.data()), c.b.data()}},
           base);
}

/// w + s, s being the leaf's fused sum from zero.
std::vector<float> summed(const Case& c, const std::vector<float>& w, const std::vector<float>& a,
                          const std::vector<float>& b) {
  std::vector<float> sums(w.size(), 0.0F), result = w;
  std::vector<char> written(w.size(), 0);
  for_points(c, [&](size_t iw, size_t ia, size_t ib, const auto&) {
    sums[iw] = std::fma(a[ia], b[ib], sums[iw]);
    written[iw] = 1;
  });
  for (size_t i = 0; i < w.size(); ++i) {
    result[i] = written[i] != 0 ? w[i] + sums[i] : w[i];
  }
  return result;
}

te::ScalarExpr product() {
  te::ScalarBuilder builder;
  const int a = builder.load(DType::F32, 0), b = builder.load(DType::F32, 1);
  return builder.finish(builder.binary(Op::Mul, a, b));
}

TEST(SimCompute, MultiplyAccumulateEqualsPlainLoopsBitForBit) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    const Case c = random_case(random);
    std::vector<float> a = random_floats(span_of(c, c.a), random), b = random_floats(span_of(c, c.b), random);
    std::vector<float> w = random_floats(span_of(c, c.w), random);
    const std::vector<float> expected = summed(c, w, a, b);
    run(ComputeCode(product(), c.kinds, DType::F32, {DType::F32, DType::F32}, true, te::Monoid::Sum, {}), c, w, a, b);
    ASSERT_EQ(w, expected) << "round " << round;
  }
}

TEST(SimCompute, LongReductionsKeepTheirOrder) {
  std::mt19937 random(12);
  Case c{{3, 5000}, {DimKind::Par, DimKind::Red}, {1, 0}, {0, 1}, {1, 3}};
  std::vector<float> a = random_floats(span_of(c, c.a), random), b = random_floats(span_of(c, c.b), random), w(3, 0.5F);
  const std::vector<float> expected = summed(c, w, a, b);
  run(ComputeCode(product(), c.kinds, DType::F32, {DType::F32, DType::F32}, true, te::Monoid::Sum, {}), c, w, a, b);
  EXPECT_EQ(w, expected);
}

TEST(SimCompute, OtherMonoidsAndMaps) {
  std::mt19937 random(13);
  te::ScalarBuilder builder;
  const int a = builder.load(DType::F32, 0), b = builder.load(DType::F32, 1);
  const int greater = builder.binary(Op::Gt, a, b);
  const te::ScalarExpr body = builder.finish(
      builder.select(greater, builder.binary(Op::Sub, a, b), builder.fma(a, b, builder.constant(DType::F32, 0.25))));
  const auto value = [](float x, float y) { return x > y ? x - y : std::fma(x, y, 0.25F); };
  for (int round = 0; round < 200; ++round) {
    Case c = random_case(random);
    std::vector<float> x = random_floats(span_of(c, c.a), random), y = random_floats(span_of(c, c.b), random);
    const std::vector<float> start = random_floats(span_of(c, c.w), random);
    for (const te::Monoid monoid : {te::Monoid::Sum, te::Monoid::Max, te::Monoid::Min}) {
      std::vector<float> w = start, expected = start;
      for_points(c, [&](size_t iw, size_t ia, size_t ib, const auto&) {
        const float v = value(x[ia], y[ib]);
        float& e = expected[iw];
        e = monoid == te::Monoid::Sum ? e + v : (monoid == te::Monoid::Max ? (e > v ? e : v) : (e < v ? e : v));
      });
      run(ComputeCode(body, c.kinds, DType::F32, {DType::F32, DType::F32}, true, monoid, {}), c, w, x, y);
      ASSERT_EQ(w, expected) << "round " << round;
    }
    for (DimKind& kind : c.kinds) {
      kind = DimKind::Par;
    }
    c.w = random_strides(c, random, true);
    std::vector<float> w(static_cast<size_t>(span_of(c, c.w)), -1), expected = w;
    for_points(c, [&](size_t iw, size_t ia, size_t ib, const auto&) { expected[iw] = value(x[ia], y[ib]); });
    run(ComputeCode(body, c.kinds, DType::F32, {DType::F32, DType::F32}, false, te::Monoid::Sum, {}), c, w, x, y);
    ASSERT_EQ(w, expected) << "round " << round;
  }
}

TEST(SimCompute, IndexTypesAndGather) {
  // w[i, j] = f32(i64 position of i + base) + table[clamp(idx[j])]
  te::ScalarBuilder builder;
  const int where = builder.cast(DType::F32, builder.index(0));
  const te::ScalarExpr body = builder.finish(builder.binary(Op::Add, where, builder.load(DType::F32, 1)));
  std::vector<int64_t> index = {0, 2, -1, 7, -9};
  std::vector<float> table = {10, 20, 30, 40}, w(3 * 5, 0);
  const ComputeCode code(body, {DimKind::Par, DimKind::Par}, DType::F32, {DType::I64, DType::F32}, false,
                         te::Monoid::Sum, {{1, 0, 4, 1}});
  const std::vector<int64_t> sw = {5, 1}, si = {0, 1}, st = {0, 0};
  const int64_t base[2] = {100, 0};
  code.run({3, 5}, {reinterpret_cast<std::byte*>(w.data()), sw.data()},
           {{reinterpret_cast<std::byte*>(index.data()), si.data()},
            {reinterpret_cast<std::byte*>(table.data()), st.data()}},
           base);
  const float row[5] = {10, 30, 40, 40, 10};  // -1 is the last, 7 is clamped, -9 + 4 is clamped to the first
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) {
      EXPECT_EQ(w[static_cast<size_t>(i * 5 + j)], static_cast<float>(100 + i) + row[j]);
    }
  }
}

TEST(SimCompute, IntegerAndHalfReductions) {
  te::ScalarBuilder builder;
  const te::ScalarExpr ints = builder.finish(builder.load(DType::I32, 0));
  std::vector<int32_t> values = {2000000000, 2000000000, 5, -7};
  int32_t sum = 1;
  const std::vector<int64_t> none = {0}, unit = {1};
  const ComputeCode add(ints, {DimKind::Red}, DType::I32, {DType::I32}, true, te::Monoid::Sum, {});
  add.run({4}, {reinterpret_cast<std::byte*>(&sum), none.data()},
          {{reinterpret_cast<std::byte*>(values.data()), unit.data()}}, nullptr);
  EXPECT_EQ(sum, static_cast<int32_t>(4000000000U - 1U));  // wraps

  te::ScalarBuilder half;
  const int h = half.load(DType::F16, 0);
  const te::ScalarExpr squares = half.finish(half.binary(Op::Mul, h, h));
  std::vector<uint16_t> halves = {float_to_half(1.5F), float_to_half(300.0F), float_to_half(0.125F)};
  uint16_t total = float_to_half(0);
  const ComputeCode dot(squares, {DimKind::Red}, DType::F16, {DType::F16}, true, te::Monoid::Sum, {});
  dot.run({3}, {reinterpret_cast<std::byte*>(&total), none.data()},
          {{reinterpret_cast<std::byte*>(halves.data()), unit.data()}}, nullptr);
  EXPECT_EQ(half_to_float(total), std::numeric_limits<float>::infinity());  // 90000 is over 65504
}

/// Printed, not judged: hosts differ.
TEST(SimCompute, Speed) {
  std::mt19937 random(14);
  const auto measure = [&](const char* what, const Case& c) {
    std::vector<float> a = random_floats(span_of(c, c.a), random), b = random_floats(span_of(c, c.b), random);
    std::vector<float> w(static_cast<size_t>(span_of(c, c.w)), 0.0F);
    const ComputeCode code(product(), c.kinds, DType::F32, {DType::F32, DType::F32}, true, te::Monoid::Sum, {});
    double macs = 1;
    for (const int64_t e : c.extents) {
      macs *= static_cast<double>(e);
    }
    const std::clock_t start = std::clock();
    int rounds = 0;
    double seconds = 0;
    while (seconds < 0.05) {
      run(code, c, w, a, b);
      ++rounds;
      seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    }
    std::printf("[  speed   ] %-28s %6.2f GMAC/s\n", what, macs * rounds / seconds / 1e9);
  };
  const auto P = DimKind::Par, R = DimKind::Red;
  measure(
      "conv 16x8x28 ci8 3x3",
      {{16, 8, 28, 8, 3, 3}, {P, P, P, R, R, R}, {224, 28, 1, 0, 0, 0}, {0, 30, 1, 300, 30, 1}, {72, 0, 0, 9, 3, 1}});
  measure("conv 32x7x7 ci16 3x3",
          {{32, 7, 7, 16, 3, 3}, {P, P, P, R, R, R}, {49, 7, 1, 0, 0, 0}, {0, 9, 1, 81, 9, 1}, {144, 0, 0, 9, 3, 1}});
  measure(
      "conv stride 2",
      {{16, 8, 14, 8, 3, 3}, {P, P, P, R, R, R}, {112, 14, 1, 0, 0, 0}, {0, 58, 2, 500, 29, 1}, {72, 0, 0, 9, 3, 1}});
  measure("depthwise 16x8x28 3x3",
          {{16, 8, 28, 3, 3}, {P, P, P, R, R}, {224, 28, 1, 0, 0}, {300, 30, 1, 30, 1}, {9, 0, 0, 3, 1}});
  measure("gemm 32x32x32", {{32, 32, 32}, {P, P, R}, {32, 1, 0}, {32, 0, 1}, {0, 1, 32}});
  measure("gemm transposed b", {{32, 32, 64}, {P, P, R}, {32, 1, 0}, {64, 0, 1}, {0, 64, 1}});
  measure("matrix x vector", {{1, 64, 256}, {P, P, R}, {64, 1, 0}, {256, 0, 1}, {0, 256, 1}});
}

}  // namespace
}  // namespace dlcc::sim
