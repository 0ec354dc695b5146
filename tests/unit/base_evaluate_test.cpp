// The naive evaluator against hand numbers and plain loops written here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "base/te/evaluate.h"
#include "base/te/text.h"

namespace dlcc::te {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Module parsed(std::string_view text) {
  auto module = parse_module(text, "test");
  EXPECT_TRUE(module.ok()) << to_string(module.diags());
  return std::move(module).value();
}

template <class T>
Array array(DType type, std::vector<int64_t> shape, const std::vector<T>& values) {
  Array result = Array::zeros(type, std::move(shape));
  EXPECT_EQ(result.data.size(), values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), result.as<T>());
  return result;
}

template <class T = float>
std::vector<T> values_of(const Array& a) {
  return std::vector<T>(a.as<T>(), a.as<T>() + a.count());
}

std::vector<float> random_values(int64_t count, int seed) {
  std::mt19937 engine(static_cast<unsigned>(seed));
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) {
    v = distribution(engine);
  }
  return values;
}

template <class T = float>
std::vector<T> run(const Module& module, const std::vector<Array>& inputs) {
  auto outputs = evaluate(module, inputs);
  EXPECT_TRUE(outputs.ok()) << to_string(outputs.diags());
  return values_of<T>(outputs.value().at(0));
}

TEST(evaluate, matrix_product_by_hand) {
  const Module module = parsed(R"(
tensor A f32[2,3] input
tensor B f32[3,2] input
tensor C f32[2,2] output
inputs A B
outputs C
stmt m : reduce sum
  par i:2 j:2
  red k:3
  C[i, j] += A[i, k] * B[k, j]
)");
  EXPECT_THAT(run(module, {array<float>(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                           array<float>(DType::F32, {3, 2}, {7, 8, 9, 10, 11, 12})}),
              ElementsAre(58, 64, 139, 154));
}

TEST(evaluate, padded_convolution_by_hand) {
  const Module module = parsed(R"(
tensor X f32[3,3] input
tensor Y f32[3,3] output
inputs X
outputs Y
stmt c : reduce sum
  par y:3 x:3
  red u:3 v:3
  Y[y, x] += X[y + u - 1, x + v - 1 | 0]
)");
  EXPECT_THAT(run(module, {array<float>(DType::F32, {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}),
              ElementsAre(12, 21, 16, 27, 45, 33, 24, 39, 28));
}

/// Grouped, strided, padded and dilated convolution: the same bits as loops in the stated order with one rounding a
/// step.
TEST(evaluate, grouped_convolution_is_bit_equal_to_plain_loops) {
  constexpr int kGroups = 2, kIn = 3, kOut = 4, kSize = 13, kStride = 2, kPad = 2, kDilation = 2;
  constexpr int kSpan = (kSize + 2 * kPad - 2 * kDilation - 1) / kStride + 1;
  const Module module = parsed(R"(
tensor X f32[2,6,13,13] input
tensor W f32[8,3,3,3] input
tensor Y f32[2,8,7,7] output
inputs X W
outputs Y
stmt conv : reduce sum
  par n:2 g:2 o:4 y:7 x:7
  red c:3 u:3 v:3
  Y[n, 4*g + o, y, x] += X[n, 3*g + c, 2*y + 2*u - 2, 2*x + 2*v - 2 | 0] * W[4*g + o, c, u, v]
)");
  static_assert(kSpan == 7);
  const std::vector<float> x = random_values(2 * 6 * 13 * 13, 1), w = random_values(8 * 3 * 3 * 3, 2);
  const std::vector<float> y = run(module, {array(DType::F32, {2, 6, 13, 13}, x), array(DType::F32, {8, 3, 3, 3}, w)});
  for (int n = 0; n < 2; ++n) {
    for (int channel = 0; channel < kGroups * kOut; ++channel) {
      for (int oy = 0; oy < kSpan; ++oy) {
        for (int ox = 0; ox < kSpan; ++ox) {
          float sum = 0;
          for (int c = 0; c < kIn; ++c) {
            for (int u = 0; u < 3; ++u) {
              for (int v = 0; v < 3; ++v) {
                const int iy = oy * kStride + u * kDilation - kPad, ix = ox * kStride + v * kDilation - kPad;
                const bool inside = iy >= 0 && iy < kSize && ix >= 0 && ix < kSize;
                const int in_channel = channel / kOut * kIn + c;
                const float value =
                    inside ? x[static_cast<size_t>(((n * 6 + in_channel) * kSize + iy) * kSize + ix)] : 0.0f;
                sum = std::fma(value, w[static_cast<size_t>(((channel * kIn + c) * 3 + u) * 3 + v)], sum);
              }
            }
          }
          ASSERT_EQ(y[static_cast<size_t>(((n * 8 + channel) * kSpan + oy) * kSpan + ox)], sum);
        }
      }
    }
  }
}

TEST(evaluate, softmax_chain) {
  const Module module = parsed(R"(
tensor X f32[2,300] input
tensor M f32[2] intermediate
tensor E f32[2,300] intermediate
tensor S f32[2] intermediate
tensor Y f32[2,300] output
inputs X
outputs Y
stmt m : reduce max
  par i:2
  red j:300
  M[i] = X[i, j]
stmt e : map
  par i:2 j:300
  E[i, j] = exp(X[i, j] - M[i])
stmt s : reduce sum
  par i:2
  red j:300
  S[i] += E[i, j]
stmt y : map
  par i:2 j:300
  Y[i, j] = E[i, j] / S[i]
)");
  const std::vector<float> x = random_values(600, 3);
  const std::vector<float> y = run(module, {array(DType::F32, {2, 300}, x)});
  for (size_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (size_t j = 0; j < 300; ++j) {
      sum += std::exp(static_cast<double>(x[row * 300 + j]));
    }
    for (size_t j = 0; j < 300; ++j) {
      EXPECT_NEAR(y[row * 300 + j], std::exp(static_cast<double>(x[row * 300 + j])) / sum, 1e-8);
    }
  }
}

TEST(evaluate, a_sum_of_other_bodies_rounds_products_and_sums_apart) {
  const char* const text = R"(
tensor A f32[2] input
tensor B f32[2] input
tensor C f32[] output
inputs A B
outputs C
stmt m : reduce sum
  red k:2
  C[] += BODY
)";
  const auto with = [&](const std::string& body) {
    std::string copy = text;
    copy.replace(copy.find("BODY"), 4, body);
    // 1 + 2^-23 squared, after the first point has left -(1 + 2^-22) in the accumulator.
    return run(parsed(copy), {array<float>(DType::F32, {2}, {-(1 + 0x1p-22f), 1 + 0x1p-23f}),
                              array<float>(DType::F32, {2}, {1, 1 + 0x1p-23f})})[0];
  };
  EXPECT_EQ(with("A[k] * B[k]"), 0x1p-46f);
  EXPECT_EQ(with("(A[k] * B[k]) + 0"), 0);
}

TEST(evaluate, reductions_run_in_ascending_order) {
  const Module module = parsed(R"(
tensor A f32[3] input
tensor C f32[] output
inputs A
outputs C
stmt m : reduce sum
  red k:3
  C[] += A[k]
)");
  EXPECT_EQ(run(module, {array<float>(DType::F32, {3}, {1e8f, 1, -1e8f})})[0], 0);  // (1e8 + 1) - 1e8 loses the 1
  EXPECT_EQ(run(module, {array<float>(DType::F32, {3}, {1e8f, -1e8f, 1})})[0], 1);
}

TEST(evaluate, every_monoid_and_empty_reductions) {
  const auto reduced = [](const std::string& monoid, const std::string& type, int64_t extent) {
    return parsed("tensor A " + type + "[" + std::to_string(extent) + "] input\ntensor C " + type +
                  "[] output\ninputs A\noutputs C\nstmt m : reduce " + monoid + "\n  red k:" + std::to_string(extent) +
                  "\n  C[] " + (monoid == "sum" ? "+=" : "=") + " A[k]\n");
  };
  const Array ints = array<int32_t>(DType::I32, {4}, {6, -3, 5, 12});
  EXPECT_EQ(run<int32_t>(reduced("sum", "i32", 4), {ints})[0], 20);
  EXPECT_EQ(run<int32_t>(reduced("prod", "i32", 4), {ints})[0], -1080);
  EXPECT_EQ(run<int32_t>(reduced("min", "i32", 4), {ints})[0], -3);
  EXPECT_EQ(run<int32_t>(reduced("max", "i32", 4), {ints})[0], 12);
  EXPECT_EQ(run<int32_t>(reduced("and", "i32", 4), {ints})[0], 6 & -3 & 5 & 12);
  EXPECT_EQ(run<int32_t>(reduced("or", "i32", 4), {ints})[0], 6 | -3 | 5 | 12);
  const Array none = Array::zeros(DType::I64, {0});
  EXPECT_EQ(run<int64_t>(reduced("max", "i64", 0), {none})[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(run<int64_t>(reduced("min", "i64", 0), {none})[0], std::numeric_limits<int64_t>::max());
  EXPECT_EQ(run<float>(reduced("max", "f32", 0), {Array::zeros(DType::F32, {0})})[0],
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(run<uint8_t>(reduced("and", "bool", 3), {array<uint8_t>(DType::Bool, {3}, {1, 1, 0})})[0], 0);
  EXPECT_EQ(run<uint8_t>(reduced("or", "bool", 3), {array<uint8_t>(DType::Bool, {3}, {0, 1, 0})})[0], 1);
}

TEST(evaluate, gather_counts_from_the_end_and_clamps) {
  const Module module = parsed(R"(
tensor D f32[3,2] input
tensor I i64[4] input
tensor Y f32[4,2] output
inputs D I
outputs Y
stmt g : map
  par i:4 j:2
  Y[i, j] = D[@I[i], j]
)");
  EXPECT_THAT(run(module, {array<float>(DType::F32, {3, 2}, {0, 1, 10, 11, 20, 21}),
                           array<int64_t>(DType::I64, {4}, {-1, 1, 99, INT64_MIN})}),
              ElementsAre(20, 21, 10, 11, 20, 21, 0, 1));
}

TEST(evaluate, indices_casts_selects_and_integer_types) {
  const Module module = parsed(R"(
tensor X i8[5] input
tensor Y u8[5] output
inputs X
outputs Y
stmt f : map
  par i:5
  Y[i] = i % 2 == 0 ? u8(X[i]) : u8(f32(i) * 100)
)");
  EXPECT_THAT(run<uint8_t>(module, {array<int8_t>(DType::I8, {5}, {-1, 2, 3, 4, 5})}),
              ElementsAre(255, 100, 3, 255, 5));
}

TEST(evaluate, half_precision_rounds_after_every_operation) {
  const Module module = parsed(R"(
tensor X f16[2] input
tensor Y f16[2] output
inputs X
outputs Y
stmt f : map
  par i:2
  Y[i] = (X[i] + 1) - 1
)");
  const std::vector<uint16_t> y =
      run<uint16_t>(module, {array<uint16_t>(DType::F16, {2}, {float_to_half(0x1p-11f), float_to_half(0x1.8p-10f)})});
  EXPECT_EQ(half_to_float(y[0]), 0);
  EXPECT_EQ(half_to_float(y[1]), 0x1p-9f);
}

TEST(evaluate, views_concat_and_outputs_that_are_inputs) {
  const Module module = parsed(R"(
tensor A f32[2,3] input
tensor V f32[6] intermediate view A
tensor C f32[8] output
inputs A
outputs C V
stmt a : map
  par i:6
  C[i] = V[i] * 2
stmt b : map
  par i:2
  C[i + 6] = -(V[i])
)");
  const auto outputs = evaluate(module, {array<float>(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(outputs.ok()) << to_string(outputs.diags());
  EXPECT_THAT(values_of(outputs.value()[0]), ElementsAre(2, 4, 6, 8, 10, 12, -1, -2));
  EXPECT_THAT(outputs.value()[1].shape, ElementsAre(6));
  EXPECT_THAT(values_of(outputs.value()[1]), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(evaluate, transposed_writes_and_padding_of_ints) {
  const Module module = parsed(R"(
tensor A i64[2,3] input
tensor B i64[5,2] output
inputs A
outputs B
stmt t : map
  par i:2 j:5
  B[j, i] = A[i, j - 1 | -7]
)");
  EXPECT_THAT(run<int64_t>(module, {array<int64_t>(DType::I64, {2, 3}, {1, 2, 3, 4, 5, 6})}),
              ElementsAre(-7, -7, 1, 4, 2, 5, 3, 6, -7, -7));
}

TEST(evaluate, constants_may_lie_at_odd_addresses) {
  Module module = parsed(R"(
tensor A f32[2] constant
tensor B f32[2] output
inputs
outputs B
stmt t : map
  par i:2
  B[i] = A[1 - i]
)");
  EXPECT_THAT(to_string(evaluate(module, {}).diags()), HasSubstr("has no data"));
  const float values[] = {1.5f, 2.5f};
  std::vector<std::byte> bytes(9);
  std::memcpy(bytes.data() + 1, values, 8);
  module.tensors[0].data = bytes.data() + 1;
  EXPECT_THAT(run(module, {}), ElementsAre(2.5f, 1.5f));
}

TEST(evaluate, wrong_inputs_are_errors) {
  const Module module = parsed(
      "tensor A f32[2,3] input\ntensor B f32[2,3] output\ninputs A\noutputs B\nstmt t : map\n  par i:2 j:3\n  B[i, j] "
      "= A[i, j]\n");
  EXPECT_THAT(to_string(evaluate(module, {}).diags()), HasSubstr("0 given, the model takes 1"));
  EXPECT_THAT(to_string(evaluate(module, {Array::zeros(DType::F32, {3, 2})}).diags()),
              HasSubstr("is f32[3,2], the model takes f32[2,3]"));
  EXPECT_THAT(to_string(evaluate(module, {Array::zeros(DType::F64, {2, 3})}).diags()), HasSubstr("f64[2,3]"));
  Array truncated = Array::zeros(DType::F32, {2, 3});
  truncated.data.resize(5);
  EXPECT_THAT(to_string(evaluate(module, {truncated}).diags()), HasSubstr("has 5 bytes, its shape needs 24"));
}

TEST(evaluate, too_large_modules_are_refused) {
  const Module big = parsed(
      "tensor B f32[100000,100000] output\ninputs\noutputs B\nstmt t : map\n  par i:100000 j:100000\n  B[i, j] = 1\n");
  EXPECT_THAT(to_string(evaluate(big, {}).diags()), HasSubstr("the limit is"));
  const Module slow =
      parsed("tensor B f32[] output\ninputs\noutputs B\nstmt t : reduce sum\n  red i:10000000 j:1000000\n  B[] += 1\n");
  EXPECT_THAT(to_string(evaluate(slow, {}).diags()), HasSubstr("points"));
}

TEST(evaluate, a_hundred_million_products_take_seconds) {
  const Module module = parsed(R"(
tensor X f32[1,64,56,56] input
tensor W f32[64,64,3,3] input
tensor Y f32[1,64,56,56] output
inputs X W
outputs Y
stmt conv : reduce sum
  par n:1 o:64 y:56 x:56
  red c:64 u:3 v:3
  Y[n, o, y, x] += X[n, c, y + u - 1, x + v - 1 | 0] * W[o, c, u, v]
)");
  const auto start = std::chrono::steady_clock::now();
  run(module, {array(DType::F32, {1, 64, 56, 56}, random_values(64 * 56 * 56, 4)),
               array(DType::F32, {64, 64, 3, 3}, random_values(64 * 64 * 9, 5))});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 30);  // 116 million; wide margin for sanitizers and busy machines
}

}  // namespace
}  // namespace dlcc::te
