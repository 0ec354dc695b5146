// The scalar operations one by one (rules in base/te/scalar.h), and the builder.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "base/te/evaluate.h"

namespace dlcc::te {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double f1(Op op, double a, DType type = DType::F32) {
  return apply({.op = op, .type = type}, type, {.f = a}, {}, {}).f;
}
double f2(Op op, double a, double b, DType type = DType::F32) {
  return apply({.op = op, .type = type}, type, {.f = a}, {.f = b}, {}).f;
}
int64_t i1(Op op, DType type, int64_t a) {
  return apply({.op = op, .type = type}, type, {.i = a}, {}, {}).i;
}
int64_t i2(Op op, DType type, int64_t a, int64_t b) {
  const auto result = result_type(op, type);
  return apply({.op = op, .type = *result}, type, {.i = a}, {.i = b}, {}).i;
}
int64_t to_int(DType type, double a) {
  return apply({.op = Op::Cast, .type = type}, DType::F64, {.f = a}, {}, {}).i;
}

TEST(scalar, float_rounding_modes) {
  EXPECT_EQ(f1(Op::Round, 0.5), 0);
  EXPECT_EQ(f1(Op::Round, 1.5), 2);
  EXPECT_EQ(f1(Op::Round, -2.5), -2);
  EXPECT_EQ(f1(Op::Floor, -0.5), -1);
  EXPECT_EQ(f1(Op::Ceil, 1.25), 2);
  EXPECT_EQ(f1(Op::Trunc, -1.75), -1);
}

TEST(scalar, floats_round_in_their_own_type) {
  EXPECT_EQ(f2(Op::Add, 1, 0x1p-24), 1);  // f32: halfway, to even
  EXPECT_EQ(f2(Op::Add, 1, 0x1p-24, DType::F64), 1 + 0x1p-24);
  EXPECT_EQ(f2(Op::Add, 1, 0x1p-11, DType::F16), 1);
  EXPECT_EQ(f2(Op::Mul, 60000, 2, DType::F16), kInf);
  EXPECT_EQ(f2(Op::Div, 1, 3), static_cast<double>(1.0f / 3.0f));
}

TEST(scalar, fma_rounds_once) {
  const ScalarNode node{.op = Op::Fma, .type = DType::F32};
  const double x = 1 + 0x1p-23;
  // x*x = 1 + 2^-22 + 2^-46: minus (1 + 2^-22) only one rounding keeps the last term.
  EXPECT_EQ(apply(node, DType::F32, {.f = x}, {.f = x}, {.f = -(1 + 0x1p-22)}).f, 0x1p-46);
  EXPECT_EQ(f2(Op::Add, f2(Op::Mul, x, x), -(1 + 0x1p-22)), 0);
}

TEST(scalar, min_and_max_return_the_second_operand_on_nan) {
  EXPECT_TRUE(std::isnan(f2(Op::Min, 1, kNan)));
  EXPECT_EQ(f2(Op::Min, kNan, 1), 1);
  EXPECT_TRUE(std::isnan(f2(Op::Max, 1, kNan)));
  EXPECT_EQ(f2(Op::Max, kNan, 1), 1);
}

TEST(scalar, modulo_follows_the_divisor_and_remainder_the_dividend) {
  EXPECT_EQ(i2(Op::Mod, DType::I32, -7, 3), 2);
  EXPECT_EQ(i2(Op::Mod, DType::I32, 7, -3), -2);
  EXPECT_EQ(i2(Op::Rem, DType::I32, -7, 3), -1);
  EXPECT_EQ(f2(Op::Mod, -7.5, 2), 0.5);
  EXPECT_EQ(f2(Op::Rem, -7.5, 2), -1.5);
}

TEST(scalar, integer_edges) {
  EXPECT_EQ(i2(Op::Div, DType::I32, -7, 2), -3);
  for (const Op op : {Op::Div, Op::Mod, Op::Rem}) {
    EXPECT_EQ(i2(op, DType::I32, 5, 0), 0);
    EXPECT_EQ(i2(op, DType::U64, 5, 0), 0);
  }
  const int64_t low32 = std::numeric_limits<int32_t>::min(), low64 = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(i2(Op::Div, DType::I32, low32, -1), low32);
  EXPECT_EQ(i2(Op::Div, DType::I64, low64, -1), low64);
  EXPECT_EQ(i2(Op::Rem, DType::I64, low64, -1), 0);
  EXPECT_EQ(i1(Op::Abs, DType::I8, -128), -128);
  EXPECT_EQ(i1(Op::Neg, DType::I64, low64), low64);
  EXPECT_EQ(i2(Op::Add, DType::I8, 127, 1), -128);
  EXPECT_EQ(i2(Op::Mul, DType::U8, 16, 17), 16);
  EXPECT_EQ(i2(Op::Sub, DType::U32, 0, 1), 4294967295);
  EXPECT_EQ(i2(Op::Lt, DType::U64, -1, 1), 0);  // the bits of 2^64 - 1
  EXPECT_EQ(i2(Op::Div, DType::U64, -1, 2), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(i2(Op::Max, DType::U64, -1, 1), -1);
  EXPECT_EQ(i1(Op::BitNot, DType::U8, 1), 254);
}

TEST(scalar, shifts) {
  EXPECT_EQ(i2(Op::Shl, DType::U8, 3, 7), 128);
  EXPECT_EQ(i2(Op::Shl, DType::U8, 3, 8), 0);
  EXPECT_EQ(i2(Op::Shr, DType::I32, -8, 1), -4);
  EXPECT_EQ(i2(Op::Shr, DType::I32, -8, 99), -1);
  EXPECT_EQ(i2(Op::Shr, DType::U64, -1, 63), 1);
  EXPECT_EQ(i2(Op::Shl, DType::I32, 1, -1), 0);
}

TEST(scalar, casts_to_integers_saturate) {
  EXPECT_EQ(to_int(DType::I8, 300), 127);
  EXPECT_EQ(to_int(DType::I8, -300), -128);
  EXPECT_EQ(to_int(DType::U8, -1), 0);
  EXPECT_EQ(to_int(DType::U8, 255.9), 255);
  EXPECT_EQ(to_int(DType::I32, 2147483648.0), 2147483647);
  EXPECT_EQ(to_int(DType::I64, 1e30), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to_int(DType::I64, -kInf), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(to_int(DType::U64, 0x1p63), std::numeric_limits<int64_t>::min());  // the bits of 2^63
  EXPECT_EQ(to_int(DType::U64, 1e30), -1);
  EXPECT_EQ(to_int(DType::I16, kNan), 0);
  EXPECT_EQ(to_int(DType::I16, -1.9), -1);
  EXPECT_EQ(to_int(DType::Bool, 0.5), 1);
  EXPECT_EQ(to_int(DType::Bool, kNan), 1);
  EXPECT_EQ(to_int(DType::Bool, -0.0), 0);
}

TEST(scalar, numbers_as_elements_in_memory) {
  const std::tuple<double, DType, uint64_t> cases[] = {
      {0x1p63, DType::I64, 0x7fffffffffffffff}, {-kInf, DType::I64, 0x8000000000000000}, {0x1p64, DType::U64, ~uint64_t{0}},
      {kInf, DType::I32, 0x7fffffff},           {-kInf, DType::I32, 0x80000000},         {-1, DType::I8, 0xff},
      {1e300, DType::U8, 0xff},                 {-3, DType::U16, 0},                     {kNan, DType::I16, 0},
      {1, DType::F32, 0x3f800000},              {-kInf, DType::F32, 0xff800000},         {65520, DType::F16, 0x7c00},
      {-2, DType::F64, 0xc000000000000000},     {0.5, DType::Bool, 1}};
  for (const auto& [number, type, bits] : cases) {
    EXPECT_EQ(element_bits(number, type), bits) << number << " as " << name_of(type);
  }
  EXPECT_EQ(value_of(identity_of(Monoid::Min, DType::U64), DType::U64).i, -1);
}

TEST(scalar, casts_to_floats_round_once) {
  const int64_t big = (int64_t{1} << 54) + (int64_t{1} << 30) + 1;  // through double it would be a tie
  EXPECT_EQ(apply({.op = Op::Cast, .type = DType::F32}, DType::I64, {.i = big}, {}, {}).f,
            static_cast<double>(0x1p54f + 0x1p31f));
  EXPECT_EQ(apply({.op = Op::Cast, .type = DType::F64}, DType::U64, {.i = -1}, {}, {}).f, 0x1p64);
  EXPECT_EQ(apply({.op = Op::Cast, .type = DType::I8}, DType::I32, {.i = 200}, {}, {}).i, -56);
}

TEST(scalar, powers_of_two_and_parts_of_floats) {
  EXPECT_EQ(f1(Op::Exp2i, -126), 0x1p-126);
  EXPECT_EQ(f1(Op::Exp2i, 127), 0x1p127);
  EXPECT_EQ(f1(Op::Exp2i, -1022, DType::F64), 0x1p-1022);
  EXPECT_EQ(f1(Op::Exponent, 12), 3);
  EXPECT_EQ(f1(Op::Mantissa, 12), 1.5);
  EXPECT_EQ(f1(Op::Exponent, 0x1p-126), -126);
  EXPECT_EQ(f1(Op::Mantissa, 0.75, DType::F64), 1.5);
  EXPECT_EQ(f1(Op::Exponent, 1, DType::F16), 0);
}

TEST(scalar, tests_and_select) {
  EXPECT_EQ(apply({.op = Op::IsNan, .type = DType::Bool}, DType::F32, {.f = kNan}, {}, {}).i, 1);
  EXPECT_EQ(apply({.op = Op::IsInf, .type = DType::Bool}, DType::F64, {.f = -kInf}, {}, {}).i, 1);
  EXPECT_EQ(apply({.op = Op::Eq, .type = DType::Bool}, DType::F32, {.f = kNan}, {.f = kNan}, {}).i, 0);
  EXPECT_EQ(apply({.op = Op::Select, .type = DType::F32}, DType::F32, {.i = 0}, {.f = 1}, {.f = 2}).f, 2);
  EXPECT_EQ(i1(Op::Not, DType::Bool, 1), 0);
  EXPECT_EQ(i2(Op::Xor, DType::Bool, 1, 1), 0);
}

TEST(scalar, every_type_stores_and_loads) {
  std::byte bytes[16] = {};
  for (const DType type : {DType::I8, DType::I16, DType::I32, DType::I64}) {
    store_element(type, bytes, 1, {.i = -5});
    EXPECT_EQ(load_element(type, bytes, 1).i, -5);
  }
  for (const DType type : {DType::U8, DType::U16, DType::U32}) {
    store_element(type, bytes, 1, {.i = 200});
    EXPECT_EQ(load_element(type, bytes, 1).i, 200);
  }
  for (const DType type : {DType::F16, DType::F32, DType::F64}) {
    store_element(type, bytes, 1, {.f = -1.5});
    EXPECT_EQ(load_element(type, bytes, 1).f, -1.5);
  }
}

TEST(builder, shares_equal_nodes_and_drops_unused_ones) {
  ScalarBuilder b;
  const int x = b.load(DType::F32, 0);
  b.constant(DType::F32, 99);
  const int y = b.load(DType::F32, 0);
  const ScalarExpr body = b.finish(b.binary(Op::Mul, x, y));
  ASSERT_EQ(body.size(), 2u);
  EXPECT_EQ(body[1].a, 0);
  EXPECT_EQ(body[1].b, 0);
}

TEST(builder, keeps_zeros_of_both_signs_and_rounds_constants) {
  ScalarBuilder b;
  const ScalarExpr body = b.finish(b.binary(Op::Add, b.constant(DType::F32, 0.0), b.constant(DType::F32, -0.0)));
  EXPECT_EQ(body.size(), 3u);
  ScalarBuilder c;
  EXPECT_EQ(c.finish(c.constant(DType::F32, 0.1))[0].number, static_cast<double>(0.1f));
}

TEST(builder, refuses_mixed_types) {
  ScalarBuilder b;
  const int x = b.load(DType::F32, 0), i = b.index(0);
  EXPECT_THROW(b.binary(Op::Add, x, i), InternalError);
  EXPECT_THROW(b.unary(Op::Sqrt, i), InternalError);
  EXPECT_THROW(b.select(x, x, x), InternalError);
  EXPECT_THROW(b.binary(Op::And, x, x), InternalError);
  EXPECT_EQ(b.type(b.binary(Op::Lt, x, x)), DType::Bool);
}

TEST(builder, counts_flops) {
  ScalarBuilder b;
  const int x = b.load(DType::F32, 0);
  const int y = b.fma(x, x, b.constant(DType::F32, 1));
  EXPECT_EQ(flops_of(b.finish(b.cast(DType::F64, b.unary(Op::Sqrt, y)))), 3);
}

}  // namespace
}  // namespace dlcc::te
