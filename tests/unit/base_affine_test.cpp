// Affine: canonical form, and agreement of every operation with evaluation on random expressions (fixed seed).
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/check.h"
#include "base/te/affine.h"

namespace dlcc::te {
namespace {

constexpr int kVars = 5;

class Random {
 public:
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  Affine affine() {
    Affine result(integer(-9, 9));
    for (int64_t terms = integer(0, 5); terms > 0; --terms) {
      result += Affine::var(static_cast<VarId>(integer(0, kVars - 1)), integer(-3, 3));
    }
    return result;
  }
  std::vector<int64_t> point() {
    std::vector<int64_t> values;
    for (int i = 0; i < kVars; ++i) {
      values.push_back(integer(-20, 20));
    }
    return values;
  }

 private:
  std::mt19937_64 engine_{20240611};
};

void expect_canonical(const Affine& a) {
  for (size_t i = 0; i < a.terms().size(); ++i) {
    EXPECT_NE(a.terms()[i].coef, 0);
    if (i > 0) {
      EXPECT_LT(a.terms()[i - 1].var, a.terms()[i].var);
    }
  }
}

TEST(affine, operations_agree_with_evaluation) {
  Random random;
  for (int round = 0; round < 3000; ++round) {
    const Affine a = random.affine(), b = random.affine();
    const std::vector<int64_t> at = random.point();
    const int64_t k = random.integer(-4, 4);
    EXPECT_EQ((a + b).eval(at), a.eval(at) + b.eval(at));
    EXPECT_EQ((a - b).eval(at), a.eval(at) - b.eval(at));
    EXPECT_EQ((a * k).eval(at), a.eval(at) * k);
    for (const Affine& c : {a + b, a - b, a * k}) {
      expect_canonical(c);
    }
    EXPECT_EQ(a + b, b + a);
    EXPECT_TRUE((a - a).is_zero());
    EXPECT_EQ((a + b) - b, a);
  }
}

TEST(affine, substitution_agrees_with_evaluation) {
  Random random;
  for (int round = 0; round < 2000; ++round) {
    const Affine a = random.affine(), by = random.affine();
    const auto var = static_cast<VarId>(random.integer(0, kVars - 1));
    std::vector<int64_t> at = random.point();
    const Affine substituted = a.substitute(var, by);
    const int64_t got = substituted.eval(at);
    expect_canonical(substituted);
    at[static_cast<size_t>(var)] = by.eval(at);
    EXPECT_EQ(got, a.eval(at));
  }
}

TEST(affine, renaming_merges_variables_that_meet) {
  const Affine a = Affine::var(0, 2) + Affine::var(1, -2) + Affine::var(2, 5) + 7;
  EXPECT_EQ(a.rename([](VarId v) { return v == 1 ? 0 : v; }), Affine::var(2, 5) + 7);
  EXPECT_EQ(a.rename([](VarId v) { return 2 - v; }), Affine::var(2, 2) + Affine::var(1, -2) + Affine::var(0, 5) + 7);
}

TEST(affine, text) {
  const auto name = [](VarId v) { return std::string(1, static_cast<char>('a' + v)); };
  EXPECT_EQ(to_string(Affine(0), name), "0");
  EXPECT_EQ(to_string(Affine(-3), name), "-3");
  EXPECT_EQ(to_string(Affine::var(0, 4) + Affine::var(1) - 1, name), "4*a + b - 1");
  EXPECT_EQ(to_string(Affine::var(0, -1) - Affine::var(2, 2) + 5, name), "-a - 2*c + 5");
  EXPECT_EQ(to_string(Affine(std::numeric_limits<int64_t>::min()), name), "-9223372036854775808");
}

TEST(affine, unbound_variables_are_caught) {
  const std::vector<int64_t> env = {1, 2};
  EXPECT_EQ((Affine::var(1, 3) + 1).eval(env), 7);
  EXPECT_THROW(Affine::var(2).eval(env), InternalError);
}

}  // namespace
}  // namespace dlcc::te
