// Semantics of intrinsics: the forms that are accepted, taken apart, and the errors of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/te/text.h"

namespace dlcc::te {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<SemanticsOperand> kMatrix = {{"a", DType::F16, 2}, {"b", DType::F16, 2}, {"c", DType::F32, 2}};
const std::vector<SemanticsOperand> kVector = {
    {"a", DType::F32, 1}, {"b", DType::F32, 1}, {"c", DType::F32, 1}, {"idx", DType::I32, 1}};
const std::vector<SemanticsParam> kParams = {{"m", false}, {"init", true}};

Semantics parsed(std::string_view text, const std::vector<SemanticsOperand>& operands) {
  auto result = parse_semantics(text, operands, kParams, "chip.yaml:9:5");
  EXPECT_TRUE(result.ok()) << text << ": " << to_string(result.diags());
  return result.ok() ? std::move(result).value() : Semantics{};
}

std::string message(std::string_view text, const std::vector<SemanticsOperand>& operands = kVector) {
  const auto result = parse_semantics(text, operands, kParams, "s");
  return result.ok() ? "" : to_string(result.diags());
}

TEST(semantics, matrix_product_with_accumulator) {
  const Semantics s = parsed("c[i,j] = (init ? 0 : c[i,j]) + sum(l, f32(a[i,l]) * f32(b[l,j]))", kMatrix);
  EXPECT_THAT(s.axes, ElementsAre("i", "j", "l"));
  EXPECT_THAT(s.axis_kinds, ElementsAre(DimKind::Par, DimKind::Par, DimKind::Red));
  EXPECT_EQ(s.output, 2);
  EXPECT_THAT(s.output_index, ElementsAre(Affine::var(0), Affine::var(1)));
  ASSERT_EQ(s.reads.size(), 2u);
  EXPECT_EQ(s.reads[0].tensor, 0);
  EXPECT_THAT(s.reads[0].index, ElementsAre(Affine::var(0), Affine::var(2)));
  EXPECT_EQ(s.reads[1].tensor, 1);
  EXPECT_THAT(s.reads[1].index, ElementsAre(Affine::var(2), Affine::var(1)));
  EXPECT_TRUE(s.reduces);
  EXPECT_EQ(s.monoid, Monoid::Sum);
  EXPECT_TRUE(s.reads_output);
  EXPECT_EQ(s.init_param, 1);
  // f32(a) * f32(b), and nothing else.
  ASSERT_EQ(s.update.size(), 5u);
  EXPECT_EQ(s.update.back().op, Op::Mul);
  EXPECT_TRUE(accumulates_with_fma(StmtKind::Reduce, s.monoid, s.update));
}

TEST(semantics, other_accumulations) {
  const Semantics plain = parsed("c[i,j] = sum(l, f32(a[i,l]) * f32(b[l,j]))", kMatrix);
  EXPECT_FALSE(plain.reads_output);
  EXPECT_EQ(plain.init_param, -1);
  const Semantics swapped = parsed("c[i] = sum(l in 0..4, a[4*i + l] * b[4*i + l]) + c[i]", kVector);
  EXPECT_TRUE(swapped.reads_output);
  EXPECT_THAT(swapped.axis_ends, ElementsAre("", "4"));
  EXPECT_THAT(swapped.reads[0].index, ElementsAre(Affine::var(0, 4) + Affine::var(1)));
  const Semantics maximum = parsed("c[i] = max(init ? -inf : c[i], max(l in 0..m, a[i + l]))", kVector);
  EXPECT_EQ(maximum.monoid, Monoid::Max);
  EXPECT_EQ(maximum.init_param, 1);
  EXPECT_THAT(maximum.axis_ends, ElementsAre("", "m"));
  const Semantics two = parsed("c[i] = sum(k, l, a[k] * b[i + l])", kVector);
  EXPECT_THAT(two.axes, ElementsAre("i", "k", "l"));
}

TEST(semantics, maps) {
  const Semantics add = parsed("c[i] = a[i] + b[i]", kVector);
  EXPECT_FALSE(add.reduces);
  EXPECT_FALSE(add.reads_output);
  EXPECT_EQ(add.update.back().op, Op::Add);
  const Semantics maximum = parsed("c[i] = max(c[i], a[i])", kVector);
  EXPECT_FALSE(maximum.reduces);
  EXPECT_TRUE(maximum.reads_output);
  ASSERT_EQ(maximum.reads.size(), 2u);
  EXPECT_EQ(maximum.reads[0].tensor, 2);
  const Semantics call = parsed("c[i] = init ? exp(a[i]) : fma(a[i], 2, f32(m))", kVector);
  EXPECT_EQ(call.update.back().op, Op::Select);
  const Semantics gather = parsed("c[j] = a[@idx[j]]", kVector);
  EXPECT_EQ(gather.reads.size(), 2u);
  EXPECT_EQ(gather.reads[gather.update.back().integer].indirect_read, 0);
}

TEST(semantics, errors) {
  EXPECT_THAT(message("c[i] = q[i]"), HasSubstr("s:1:8: error: 'q' is not declared"));
  EXPECT_THAT(message("d[i] = a[i]"), HasSubstr("'d' is not an operand"));
  EXPECT_THAT(message("c[j] = a[l]"), HasSubstr("'l' is not an axis"));
  EXPECT_THAT(message("c[j] = a[j*m]"), HasSubstr("'m' is not an axis"));
  EXPECT_THAT(message("c[j] = idx[j]"), HasSubstr("the value is i32, operand c is f32"));
  EXPECT_THAT(message("c[j] = sum(a[j])"), HasSubstr("sum needs a new axis first"));
  EXPECT_THAT(message("c[j] = sum(j, a[j])"), HasSubstr("sum needs a new axis first"));
  EXPECT_THAT(message("c[j] = sum(l, a[l]) * sum(k, b[k])"), HasSubstr("a second reduction"));
  EXPECT_THAT(message("c[j] = 2 * sum(l, a[l])"), HasSubstr("the old output is combined by mul"));
  EXPECT_THAT(message("c[j] = b[j] + sum(l, a[l])"), HasSubstr("combined only with the old c[...]"));
  EXPECT_THAT(message("c[j] = max(c[j], sum(l, a[l]))"), HasSubstr("combined by max, the reduction is a sum"));
  EXPECT_THAT(message("c[j] = (init ? 1 : c[j]) + sum(l, a[l])"), HasSubstr("starts from 1; its identity 0 is needed"));
  EXPECT_THAT(message("c[j] = exp(sum(l, a[l]))"), HasSubstr("stands alone or is combined"));
  EXPECT_THAT(message("c[j] = c[j + 1] + a[j]"), HasSubstr("other than the one that it writes"));
  EXPECT_THAT(message("c[j] = sum(l, c[j] * a[l])"), HasSubstr("body reads the output"));
  EXPECT_THAT(message("c[j] = sum(l in 1..4, a[l])"), HasSubstr("a range starts at 0"));
  EXPECT_THAT(message("c[j] = sum(l in 0..x, a[l])"), HasSubstr("neither an integer nor a parameter"));
  EXPECT_THAT(message("c[init] = a[0]"), HasSubstr("has the name of another"));
  EXPECT_THAT(message("c[j] = a[j] extra"), HasSubstr("s:1:13: error: text after the statement"));
  EXPECT_THAT(message("c[j] ="), HasSubstr("expected a name, found the end of the text"));
  EXPECT_THAT(message("c[j]"), HasSubstr("expected '='"));
  EXPECT_THAT(message(""), HasSubstr("expected a name"));
  EXPECT_THAT(message("c[j|0] = a[j]"), HasSubstr("fill value where something is written"));
}

}  // namespace
}  // namespace dlcc::te
