// Cost expressions: values by hand arithmetic, and every way to be wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hw/cost_expr.h"

namespace dlcc::hw {
namespace {

using testing::HasSubstr;

Result<int64_t> cost(const std::string& text) {
  static const int64_t m = 13, n = 20;
  return evaluate_cost(
      text, [](std::string_view name) { return name == "m"   ? &m
                                               : name == "n" ? &n
                                                             : nullptr; }, "cycles");
}

TEST(CostExpression, Values) {
  EXPECT_EQ(*cost("20 + ceil(m,4)*ceil(n,16)"), 20 + 4 * 2);
  EXPECT_EQ(*cost("2*m - 3*(n - 1)"), 26 - 57);
  EXPECT_EQ(*cost("min(m, n) + max(m, n)*2"), 13 + 40);
  EXPECT_EQ(*cost("-m + 1"), -12);
  EXPECT_EQ(*cost("ceil(0 - m, 4)"), -3);  // rounded up: -13/4 = -3.25
  EXPECT_EQ(*cost("ceil(12,4)"), 3);
  EXPECT_EQ(*cost("10 - 2 - 3"), 5);
}

std::string refusal(const std::string& text) {
  const auto value = cost(text);
  return value.ok() ? "accepted" : to_string(value.diags());
}

TEST(CostExpression, Mistakes) {
  EXPECT_THAT(refusal("m + q"), HasSubstr("cycles:1:6: error: no parameter is named 'q'"));
  EXPECT_THAT(refusal("floor(m,2)"), HasSubstr("no function is named 'floor'; there are: min, max, ceil"));
  EXPECT_THAT(refusal("ceil(m,0)"), HasSubstr("ceil divides by 0"));
  EXPECT_THAT(refusal("m n"), HasSubstr("unexpected 'n'"));
  EXPECT_THAT(refusal("m / 2"), HasSubstr("unexpected '/'"));
  EXPECT_THAT(refusal(""), HasSubstr("error"));
  EXPECT_THAT(refusal("(m"), HasSubstr("error"));
  EXPECT_THAT(refusal("4611686018427387904 * 4"), HasSubstr("beyond 64 bits"));
  EXPECT_THAT(refusal(std::string(10000, '(')), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(refusal(std::string(10000, '-') + "m"), HasSubstr("nested deeper than 64"));
}

}  // namespace
}  // namespace dlcc::hw
