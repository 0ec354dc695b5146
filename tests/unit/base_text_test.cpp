// The text form of modules: what is printed parses to the same, what is wrong is refused with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/te/evaluate.h"
#include "base/te/text.h"

namespace dlcc::te {
namespace {

using testing::HasSubstr;

constexpr std::string_view kConv = R"(tensor X f32[1,8,28,28] input
tensor "W/0" f32[8,8,3,3] constant
tensor Y f32[1,8,28,28] intermediate
tensor Z f32[6272] output view Y
inputs X
outputs Z
stmt conv_1 : reduce sum from Conv_0
  par n:1 co:8 oh:28 ow:28
  red ci:8 kh:3 kw:3
  Y[n, co, oh, ow] += X[n, ci, oh + kh - 1, ow + kw - 1 | 0] * "W/0"[co, ci, kh, kw]
)";

TEST(text, canonical_text_is_a_fixed_point) {
  const auto module = parse_module(kConv, "conv.te");
  ASSERT_TRUE(module.ok()) << to_string(module.diags());
  EXPECT_EQ(print(*module), kConv);
  EXPECT_EQ(module->stmts[0].node, 0);
  EXPECT_EQ(module->node_names[0], "Conv_0");
  EXPECT_EQ(module->tensors[3].storage, 2);
  EXPECT_EQ(module->stmts[0].dims.size(), 7u);
  EXPECT_EQ(module->stmts[0].reads[0].fill, 0.0);
  EXPECT_EQ(module->stmts[0].reads[0].index[2], Affine::var(2) + Affine::var(5) - 1);
  EXPECT_TRUE(accumulates_with_fma(module->stmts[0].kind, module->stmts[0].monoid, module->stmts[0].body));
}

TEST(text, spelling_variants_parse_to_the_same) {
  const auto a = parse_module(
      "tensor A f32[4] input\ntensor B f32[4] output\ninputs A\noutputs B\nstmt s : map\n par i:4\n "
      "B[i]=max(A[3-i],0)*2\n",
      "a");
  const auto b = parse_module(
      "# comment\ntensor A f32[4] input\ntensor B f32[4] output\n\ninputs A\noutputs B\nstmt s : map\n par i:4\n"
      "   B[ i ] = (max(A[3 + -1*i], 0.0)) * 2:f32   # comment\n",
      "b");
  ASSERT_TRUE(a.ok() && b.ok()) << to_string(a.diags()) << to_string(b.diags());
  EXPECT_EQ(print(*a), print(*b));
  EXPECT_EQ(a->stmts, b->stmts);
}

TEST(text, precedence) {
  const auto value = [](const std::string& expression) {
    const auto module =
        parse_module("tensor B f32[] output\ninputs\noutputs B\nstmt s : map\n  B[] = " + expression + "\n", "t");
    EXPECT_TRUE(module.ok()) << to_string(module.diags());
    const auto printed = parse_module(print(*module), "printed");
    EXPECT_TRUE(printed.ok()) << print(*module) << to_string(printed.diags());
    const float first = evaluate(*module, {}).value()[0].as<float>()[0];
    EXPECT_EQ(evaluate(*printed, {}).value()[0].as<float>()[0], first) << print(*module);
    return first;
  };
  EXPECT_EQ(value("2 + 3 * 4"), 14);
  EXPECT_EQ(value("(2 + 3) * 4"), 20);
  EXPECT_EQ(value("8 - 3 - 2"), 3);
  EXPECT_EQ(value("8 - (3 - 2)"), 7);
  EXPECT_EQ(value("16 / 4 / 2"), 2);
  EXPECT_EQ(value("-2 * -(3)"), 6);
  EXPECT_EQ(value("1 < 2 && 3 < 2 || 1 == 1 ? 5 : 6"), 5);
  EXPECT_EQ(value("1 < 2 && (3 < 2 || 1 == 2) ? 5 : 6"), 6);
  EXPECT_EQ(value("false ? 1 : true ? 2 : 3"), 2);
  EXPECT_EQ(value("select(1 > 2, 1, f32(7:i64 % -4))"), -1);
  EXPECT_EQ(value("f32(5:i8 + 6)"), 11);
  EXPECT_EQ(value("!(1 > 2) ? -7 : 0"), -7);
  EXPECT_EQ(value("fma(2, 3, 4)"), 10);
  EXPECT_EQ(value("f32(1.5:f64 * 2)"), 3);
  EXPECT_EQ(value("max(-inf, 3)"), 3);
  EXPECT_EQ(value("isnan(nan) ? 1 : 0"), 1);
}

/// A random expression over two tensors, an index and constants, with sharing.
ScalarExpr random_body(std::mt19937& engine, ScalarBuilder& b) {
  const auto pick = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  std::vector<int> pool = {b.load(DType::F32, 0), b.load(DType::F32, 1), b.cast(DType::F32, b.index(0)),
                           b.constant(DType::F32, 0.1), b.constant(DType::F32, -3)};
  constexpr Op kUnary[] = {Op::Neg, Op::Abs, Op::Floor, Op::Sqrt, Op::Tanh, Op::Exp};
  constexpr Op kBinary[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Mod, Op::Rem};
  constexpr Op kCompare[] = {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne};
  for (int step = 0; step < 40; ++step) {
    const int x = pool[static_cast<size_t>(pick(static_cast<int>(pool.size())))];
    const int y = pool[pool.size() - 1 - static_cast<size_t>(pick(std::min<int>(4, static_cast<int>(pool.size()))))];
    switch (pick(5)) {
      case 0:
        pool.push_back(b.unary(kUnary[pick(6)], y));
        break;
      case 1:
        pool.push_back(b.fma(x, y, pool[0]));
        break;
      case 2: {
        const int c = b.binary(kCompare[pick(6)], x, y);
        const int d = b.binary(pick(2) ? Op::And : Op::Or, c, b.unary(Op::Not, c));
        pool.push_back(b.select(pick(2) ? c : d, x, y));
        break;
      }
      default:
        pool.push_back(b.binary(kBinary[pick(8)], x, y));
    }
  }
  return b.finish(pool.back());
}

TEST(text, random_bodies_round_trip) {
  std::mt19937 engine(7);
  for (int round = 0; round < 300; ++round) {
    auto module = parse_module(
        "tensor A f32[5] input\ntensor C f32[7] input\ntensor B f32[5] output\ninputs A C\noutputs B\n"
        "stmt s : map\n  par i:5\n  B[i] = A[4 - i] + C[i + 2]\n",
        "t");
    ASSERT_TRUE(module.ok());
    ScalarBuilder b;
    module->stmts[0].body = random_body(engine, b);
    const std::string text = print(*module);
    const auto back = parse_module(text, "printed");
    ASSERT_TRUE(back.ok()) << text << to_string(back.diags());
    // The same nodes in some order, and the same text again.
    EXPECT_EQ(back->stmts[0].body.size(), module->stmts[0].body.size()) << text;
    EXPECT_EQ(print(*back), text);
  }
}

TEST(text, expanded_bodies_stay_small_and_round_trip) {
  auto module = parse_module(
      "tensor A f32[5] input\ntensor B f32[5] output\ninputs A\noutputs B\nstmt s : map\n  par i:5\n"
      "  B[i] = pow(A[i], tanh(A[i]) + 0.5)\n",
      "t");
  ASSERT_TRUE(module.ok());
  module->stmts[0].body = expand_transcendentals(module->stmts[0].body);
  const std::string text = print(*module);
  EXPECT_LT(text.size(), 8000u);
  const auto back = parse_module(text, "printed");
  ASSERT_TRUE(back.ok()) << text << to_string(back.diags());
  EXPECT_EQ(print(*back), text);
  EXPECT_EQ(back->stmts[0].body.size(), module->stmts[0].body.size());
}

TEST(text, odd_names_are_kept_apart) {
  Module module;
  module.tensors = {
      {.name = "a/b", .shape = {2}, .kind = TensorKind::Input},
      {.name = "a/b", .shape = {2}, .kind = TensorKind::Output},
  };
  module.inputs = {0};
  module.outputs = {1};
  Stmt stmt;
  stmt.name = "";
  stmt.dims = {{"inf", 2, DimKind::Par}};
  stmt.write = {.tensor = 1, .index = {Affine::var(0)}};
  stmt.reads = {{.tensor = 0, .index = {Affine::var(0)}}};
  ScalarBuilder b;
  const int loaded = b.load(DType::F32, 0);
  stmt.body = b.finish(b.binary(Op::Min, loaded, b.constant(DType::F32, std::numeric_limits<double>::infinity())));
  module.stmts = {stmt};
  const std::string text = print(module);
  const auto back = parse_module(text, "t");
  ASSERT_TRUE(back.ok()) << text << to_string(back.diags());
  EXPECT_EQ(back->stmts[0].body, stmt.body);
  EXPECT_EQ(print(*back), text);
}

TEST(text, indirect_and_interleaved_dims_round_trip) {
  constexpr std::string_view kText = R"(tensor D f32[9,4] input
tensor I i32[3,2] input
tensor Y f32[3,4] output
inputs D I
outputs Y
stmt g : reduce max
  par i:3
  red k:2
  par j:4
  Y[i, j] = D[i + @I[i, k], j]
)";
  const auto module = parse_module(kText, "t");
  ASSERT_TRUE(module.ok()) << to_string(module.diags());
  EXPECT_EQ(print(*module), kText);
  EXPECT_EQ(module->stmts[0].reads[1].indirect_axis, 0);
  EXPECT_EQ(module->stmts[0].reads[1].indirect_read, 0);
}

TEST(text, errors_have_a_place_and_a_reason) {
  const auto message = [](const std::string& body) {
    const auto module = parse_module(
        "tensor A f32[4] input\ntensor I i64[4] input\ntensor B f32[4] output\ninputs A I\noutputs B\nstmt s : map\n  "
        "par i:4\n  " +
            body + "\n",
        "x.te");
    return module.ok() ? "" : to_string(module.diags());
  };
  EXPECT_EQ(message("B[i] = A[i]"), "");
  EXPECT_THAT(message("B[i] = A[j]"), HasSubstr("x.te:8:12: error: 'j' is not an axis"));
  EXPECT_THAT(message("B[i] = Q[i]"), HasSubstr("x.te:8:10: error: 'Q' is not declared"));
  EXPECT_THAT(message("B[i] = A[i] + I[i]"), HasSubstr("operands of types f32 and i64"));
  EXPECT_THAT(message("B[i] = foo(A[i])"), HasSubstr("unknown function 'foo'"));
  EXPECT_THAT(message("B[i] = max(A[i])"), HasSubstr("max takes 2 arguments, 1 given"));
  EXPECT_THAT(message("B[i] = A[i, i]"), HasSubstr("'A' has rank 1, 2 indices given"));
  EXPECT_THAT(message("B[i] = A[i*i]"), HasSubstr("multiplies two axes"));
  EXPECT_THAT(message("B[i] = A[i + 1]"), HasSubstr("covers [1, 4], the extent is 4"));
  EXPECT_THAT(message("B[i] = I[i]"), HasSubstr("the body is i64, the written tensor f32"));
  EXPECT_THAT(message("B[i] = f32(I[i] + 1.5)"), HasSubstr("not a whole number"));
  EXPECT_THAT(message("B[i] = A[i] ? 1 : 2"), HasSubstr("bool is needed"));
  EXPECT_THAT(message("B[i] = sqrt(I[i])"), HasSubstr("sqrt of i64"));
  EXPECT_THAT(message("B[i] = A[i] A[i]"), HasSubstr("expected the end of the line"));
  EXPECT_THAT(message("B[i] = f32(300:u8)"), HasSubstr("literal 300 does not fit u8"));
  EXPECT_THAT(message("B[i] += A[i]"), HasSubstr("expected '='"));
  EXPECT_THAT(message("B[i] = " + std::string(100000, '(')), HasSubstr("nested more than"));
  EXPECT_THAT(message("B[i] = " + std::string(100000, '-') + "A[i]"), HasSubstr("nested more than"));
  EXPECT_THAT(message("B[i] = A[" + std::string(100000, '(')), HasSubstr("nested more than"));
  EXPECT_THAT(message("B[i] = A[i"), HasSubstr("expected"));
}

/// Every prefix of a valid text, and texts with one byte changed: a module or an error, never a crash.
TEST(text, damaged_input_is_survived) {
  for (size_t length = 0; length < kConv.size(); ++length) {
    (void)parse_module(kConv.substr(0, length), "t");
  }
  std::mt19937 engine(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text(kConv);
    text[engine() % text.size()] = static_cast<char>(engine());
    const auto module = parse_module(text, "t");
    if (module.ok()) {
      EXPECT_EQ(print(*parse_module(print(*module), "t")), print(*module));
    }
  }
}

}  // namespace
}  // namespace dlcc::te
