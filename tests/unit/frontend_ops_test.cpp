// Operators one by one: the forms of old opsets and the corner cases that the official suite (run by onnx_suite) does
// not have. Expected values: ONNX Runtime 1.x on the same node, or hand arithmetic where a comment says so.
#include <fstream>
#include <limits>
#include <set>
#include <tuple>

#include "tests/unit/frontend_ops_fixture.h"

namespace dlcc::frontend::testing {

namespace {

using Ints = std::vector<int64_t>;
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

TEST(FrontendOps, SoftmaxBefore13FlattensFromAxis) {
  expect_case({"Softmax", 11, {iota({2, 2, 2})}, {{"axis", int64_t{1}}}}, {2, 2, 2},
              {0.0320586F, 0.08714432F, 0.23688284F, 0.6439143F, 0.0320586F, 0.08714432F, 0.23688284F, 0.6439143F});
  expect_case({"LogSoftmax", 11, {iota({2, 2, 2})}, {{"axis", int64_t{1}}}}, {2, 2, 2},
              {-3.4401896F, -2.4401896F, -1.4401897F, -0.4401897F, -3.4401896F, -2.4401896F, -1.4401897F, -0.4401897F});
  expect_case({"Softmax", 11, {iota({2, 2})}, {}}, {2, 2}, {0.26894143F, 0.7310586F, 0.26894143F, 0.7310586F});
}

TEST(FrontendOps, ClipWithAttributesAndWithInputs) {
  Operand x = floats({5}, {-2, -1, 0, 1, 2});
  expect_case({"Clip", 10, {x}, {{"min", -1.0F}, {"max", 1.0F}}}, {5}, {-1, -1, 0, 1, 1});
  expect_case({"Clip", 13, {x, absent(), constant(floats({}, {0.5F}))}, {}}, {5}, {-2, -1, 0, 0.5F, 0.5F});
  expect_case({"Clip", 13, {x, floats({}, {-0.5F})}, {}}, {5}, {-0.5F, -0.5F, 0, 1, 2});
}

TEST(FrontendOps, SliceWithAttributes) {
  expect_case({"Slice", 9, {iota({3, 4})}, {{"axes", Ints{0, 1}}, {"starts", Ints{1, -3}}, {"ends", Ints{kMax64, -1}}}},
              {2, 2}, {5, 6, 9, 10});
}

TEST(FrontendOps, SliceBackwards) {  // hand: 3, 1 of 0..3
  expect_case(
      {"Slice",
       13,
       {iota({4}), constant(ints({1}, {-1})), constant(ints({1}, {-kMax64})), absent(), constant(ints({1}, {-2}))},
       {}},
      {2}, {3, 1});
}

TEST(FrontendOps, PadModes) {
  Operand x = iota({2, 3});
  expect_case({"Pad", 10, {x}, {{"pads", Ints{0, 1, 0, 2}}, {"mode", std::string("reflect")}}}, {2, 6},
              {1, 0, 1, 2, 1, 0, 4, 3, 4, 5, 4, 3});
  expect_case({"Pad", 10, {x}, {{"pads", Ints{1, -1, 0, 1}}, {"value", 9.0F}}}, {3, 3}, {9, 9, 9, 1, 2, 9, 4, 5, 9});
  // hand: edge repeats the border in both axes
  expect_case({"Pad", 13, {x, constant(ints({4}, {1, 0, 0, 2}))}, {{"mode", std::string("edge")}}}, {3, 5},
              {0, 1, 2, 2, 2, 0, 1, 2, 2, 2, 3, 4, 5, 5, 5});
}

TEST(FrontendOps, UpsampleAndOldResize) {
  Operand x = iota({1, 1, 2, 2});
  expect_case({"Upsample", 9, {x, constant(floats({4}, {1, 1, 2, 3}))}, {{"mode", std::string("nearest")}}},
              {1, 1, 4, 6}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3});
  expect_case({"Upsample", 7, {x}, {{"scales", std::vector<float>{1, 1, 2, 2}}, {"mode", std::string("linear")}}},
              {1, 1, 4, 4}, {0, 0.5F, 1, 1, 1, 1.5F, 2, 2, 2, 2.5F, 3, 3, 2, 2.5F, 3, 3});
  expect_case({"Resize", 10, {iota({1, 1, 4, 4}), constant(floats({4}, {1, 1, 0.5F, 0.5F}))}, {}}, {1, 1, 2, 2},
              {0, 2, 8, 10});
}

TEST(FrontendOps, ConvTransposeForms) {
  Operand x = iota({1, 1, 3});
  expect_case({"ConvTranspose", 11, {x, floats({1, 1, 4}, {1, 2, 4, 8})}, {{"strides", Ints{2}}}}, {1, 1, 8},
              {0, 0, 1, 2, 6, 12, 8, 16});
  expect_case({"ConvTranspose",
               11,
               {x, floats({1, 1, 4}, {1, 2, 4, 8}), floats({1}, {100})},
               {{"strides", Ints{3}}, {"dilations", Ints{2}}, {"pads", Ints{1, 2}}, {"output_padding", Ints{1}}}},
              {1, 1, 11}, {100, 100, 101, 100, 102, 102, 104, 104, 108, 108, 100});
  expect_case({"ConvTranspose",
               11,
               {iota({1, 2, 2}), floats({2, 1, 2}, {1, 2, 4, 8})},
               {{"strides", Ints{2}}, {"group", int64_t{2}}}},
              {1, 2, 4}, {0, 0, 1, 2, 8, 16, 12, 24});
  expect_case(
      {"ConvTranspose", 11, {iota({1, 1, 2, 2}), floats({1, 1, 2, 2}, {1, 2, 3, 4})}, {{"strides", Ints{1, 3}}}},
      {1, 1, 3, 5}, {0, 0, 0, 1, 2, 2, 4, 0, 6, 10, 6, 8, 0, 9, 12});
}

TEST(FrontendOps, ConvTransposeOutputShape) {
  OpCase test{"ConvTranspose",
              11,
              {iota({1, 1, 3}), floats({1, 1, 3}, {1, 2, 4})},
              {{"strides", Ints{2}}, {"output_shape", Ints{6}}}};
  expect_case(test, {1, 1, 6}, {0, 1, 2, 6, 4, 8});
  test.attributes["auto_pad"] = std::string("SAME_UPPER");
  expect_case(test, {1, 1, 6}, {0, 0, 1, 2, 6, 4});
}

TEST(FrontendOps, ConvGroupsAndSameLower) {
  expect_case({"Conv",
               11,
               {iota({1, 4, 3}), floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
               {{"group", int64_t{2}}, {"auto_pad", std::string("SAME_LOWER")}}},
              {1, 2, 3}, {12, 27, 37, 108, 215, 241});
}

TEST(FrontendOps, Pools) {
  Operand x = floats({1, 1, 4}, {1, 2, 3, 4});
  std::map<std::string, Attribute> window{{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}};
  auto with = [&](const char* name) {
    auto attributes = window;
    attributes[name] = int64_t{1};
    return attributes;
  };
  expect_case({"AveragePool", 11, {x}, with("ceil_mode")}, {1, 1, 3}, {1.5F, 3, 4});
  expect_case({"AveragePool", 11, {x}, with("count_include_pad")}, {1, 1, 2}, {1, 3});
  expect_case({"MaxPool",
               12,
               {floats({1, 1, 5}, {-9, -8, -7, -6, -5})},
               {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"dilations", Ints{2}}, {"pads", Ints{1, 1}}}},
              {1, 1, 3}, {-8, -6, -6});
}

TEST(FrontendOps, GemmScalesAndTransposes) {
  expect_case({"Gemm", 9, {iota({2, 3}), iota({3, 2}), floats({2}, {10, 20})}, {{"alpha", 0.5F}, {"beta", 2.0F}}},
              {2, 2}, {25, 46.5F, 34, 60});
  expect_case({"Gemm",
               11,
               {iota({3, 2}), iota({2, 3}), floats({2, 1}, {1, 2})},
               {{"transA", int64_t{1}}, {"transB", int64_t{1}}}},
              {2, 2}, {11, 29, 15, 42});
}

TEST(FrontendOps, BatchNormalizationWithRuntimeAndConstantFactors) {
  std::vector<Operand> inputs{iota({1, 2, 2}), floats({2}, {1, 2}), floats({2}, {10, 20}), floats({2}, {0.5F, 2.5F}),
                              floats({2}, {4, 0.25F})};
  OpCase test{"BatchNormalization", 8, inputs, {{"epsilon", 0.0F}}};
  expect_case(test, {1, 2, 2}, {9.75F, 10.25F, 18, 22});
  for (size_t i = 1; i < 5; ++i) {
    test.inputs[i].constant = true;
  }
  expect_case(test, {1, 2, 2}, {9.75F, 10.25F, 18, 22});
  EXPECT_EQ(define_case(test)->module.stmts.size(), 1U) << "factor and offset are computed at compile time";
}

TEST(FrontendOps, LrnWithEvenSize) {
  // hand: size 2 looks at c and c + 1; x = 1, 2, 3; sums of squares 5, 13, 9; x / (1 + s / 2)
  expect_case({"LRN",
               11,
               {floats({1, 3, 1, 1}, {1, 2, 3})},
               {{"size", int64_t{2}}, {"alpha", 1.0F}, {"beta", 1.0F}, {"bias", 1.0F}}},
              {1, 3, 1, 1}, {1 / 3.5F, 2 / 7.5F, 3 / 5.5F});
}

TEST(FrontendOps, IntegerPowerAndDivision) {
  auto i32 = [](const std::vector<int32_t>& elements) {
    return Operand{array(DType::I32, {static_cast<int64_t>(elements.size())}, elements)};
  };
  auto power = run_case({"Pow", 13, {i32({-3, 2, 5}), i32({3, 2, 0})}, {}});
  ASSERT_TRUE(power.ok()) << to_string(power.diags());
  EXPECT_EQ((*power)[0].data, i32({-27, 4, 1}).value.data);
  auto quotient = run_case({"Div", 13, {i32({-7, 7, 9}), i32({2, -2, 4})}, {}});
  ASSERT_TRUE(quotient.ok()) << to_string(quotient.diags());
  EXPECT_EQ((*quotient)[0].data, i32({-3, -3, 2}).value.data);
}

TEST(FrontendOps, SplitForms) {
  auto attribute = run_case({"Split", 11, {iota({5})}, {{"split", Ints{2, 3}}}, 2});
  ASSERT_TRUE(attribute.ok()) << to_string(attribute.diags());
  expect_floats((*attribute)[0], {2}, {0, 1});
  expect_floats((*attribute)[1], {3}, {2, 3, 4});
  auto uneven = run_case({"Split", 18, {iota({5})}, {{"num_outputs", int64_t{2}}}, 2});
  ASSERT_TRUE(uneven.ok()) << to_string(uneven.diags());
  expect_floats((*uneven)[0], {3}, {0, 1, 2});
  expect_floats((*uneven)[1], {2}, {3, 4});
}

TEST(FrontendOps, OldAxesAttributes) {  // hand
  expect_case({"Squeeze", 11, {iota({1, 2, 1})}, {{"axes", Ints{-1}}}}, {1, 2}, {0, 1});
  expect_case({"Unsqueeze", 11, {iota({2})}, {{"axes", Ints{0, -1}}}}, {1, 2, 1}, {0, 1});
  expect_case({"ReduceMean", 11, {iota({2, 3})}, {{"axes", Ints{-1}}, {"keepdims", int64_t{0}}}}, {2}, {1, 4});
  expect_case({"Dropout", 7, {iota({2})}, {{"ratio", 0.5F}}}, {2}, {0, 1});
}

TEST(FrontendOps, LayerNormalizationBeforeItsOpset) {
  // hand: 0, 2: mean 1, variance 1
  expect_case({"LayerNormalization", 11, {floats({1, 2}, {0, 2}), floats({2}, {1, 3})}, {{"epsilon", 0.0F}}}, {1, 2},
              {-1, 3});
}

TEST(FrontendOps, GatherOfAnArithmeticSequenceIsAffine) {
  OpCase test{"Gather", 13, {iota({5}), constant(ints({2}, {1, -1}))}, {}};
  expect_case(test, {2}, {1, 4});
  auto affine = define_case(test);
  EXPECT_EQ(affine->module.stmts[0].reads[0].indirect_axis, -1);
  OpCase scattered{"Gather", 13, {iota({7}), constant(ints({6}, {0, 3, 1, 6, 2, 6}))}, {}};
  expect_case(scattered, {6}, {0, 3, 1, 6, 2, 6});
}

TEST(FrontendOps, GatherAtRunTimeIsIndirect) {
  OpCase test{"Gather", 13, {iota({3, 2}), ints({2}, {-1, 0})}, {}};
  expect_case(test, {2, 2}, {4, 5, 0, 1});
  bool indirect = false;
  const auto definition = define_case(test);
  for (const te::Access& read : definition->module.stmts[0].reads) {
    indirect = indirect || read.indirect_axis == 0;
  }
  EXPECT_TRUE(indirect);
}

TEST(FrontendOps, ConvIsOneReductionOfProducts) {
  auto definition =
      define_case({"Conv", 11, {iota({1, 2, 4, 4}), iota({3, 2, 3, 3}), iota({3})}, {{"pads", Ints{1, 1, 1, 1}}}});
  ASSERT_TRUE(definition.ok()) << to_string(definition.diags());
  const te::Module& module = definition->module;
  ASSERT_EQ(module.stmts.size(), 2U);
  EXPECT_TRUE(te::accumulates_with_fma(module.stmts[0].kind, module.stmts[0].monoid, module.stmts[0].body));
  std::vector<std::string> names;
  for (const te::Dim& dim : module.stmts[0].dims) {
    names.push_back(dim.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"co", "oh", "ow", "ci", "kh", "kw"}));
  EXPECT_EQ(module.stmts[1].kind, te::StmtKind::Map);
}

TEST(FrontendOps, ConvTransposeHasOneStatementAPhase) {
  auto definition =
      define_case({"ConvTranspose", 11, {iota({1, 1, 3, 3}), iota({1, 1, 2, 2})}, {{"strides", Ints{2, 3}}}});
  ASSERT_TRUE(definition.ok()) << to_string(definition.diags());
  EXPECT_EQ(definition->module.stmts.size(), 6U);
}

TEST(FrontendOps, HalfPrecisionIsComputedInSingle) {
  // hand: 2048 + 1 + 1 + 1 is 2051 in f32, 2052 as f16; adding in f16 would stay at 2048
  std::vector<uint16_t> halves;
  for (float value : {2048.0F, 1.0F, 1.0F, 1.0F}) {
    halves.push_back(float_to_half(value));
  }
  auto sum = run_case({"ReduceSum", 11, {{array(DType::F16, {4}, halves)}}, {{"keepdims", int64_t{0}}}});
  ASSERT_TRUE(sum.ok()) << to_string(sum.diags());
  EXPECT_EQ((*sum)[0].as<uint16_t>()[0], float_to_half(2052.0F));
}

TEST(FrontendOpsRefusals, NameNodeAndReason) {
  auto expect = [](const OpCase& test, const std::string& text) {
    EXPECT_NE(refusal(test).find(text), std::string::npos) << refusal(test);
  };
  expect({"Relu", 13, {iota({2})}, {{"slope", 1.0F}}}, "node 'node' (Relu)");
  expect({"Relu", 13, {iota({2})}, {{"slope", 1.0F}}}, "slope");
  expect({"MaxPool", 12, {iota({1, 1, 4})}, {{"kernel_shape", Ints{2}}}, 2}, "output 1 is not supported");
  expect({"Reshape", 13, {iota({4}), ints({2}, {2, 2})}, {}}, "input 1 (shape) is not a constant");
  expect({"Reshape", 13, {iota({4}), constant(ints({1}, {3}))}, {}}, "does not reshape");
  expect({"Conv", 11, {iota({1, 3, 4}), iota({2, 3, 2})}, {{"group", int64_t{2}}}}, "do not fit together");
  expect({"Conv", 11, {iota({1, 1, 2}), iota({1, 1, 3})}, {}}, "does not fit into");
  expect({"Conv", 11, {iota({1, 1, 4}), iota({1, 1, 3})}, {{"strides", Ints{0}}}}, "attribute strides has 0");
  expect({"Add", 13, {iota({2}), iota({3})}, {}}, "do not broadcast");
  expect({"Add", 13, {iota({2}), ints({2}, {1, 2})}, {}}, "differ in type");
  expect({"Add", 13, {iota({2})}, {}}, "input 1 is missing");
  expect({"BatchNormalization",
          15,
          {iota({1, 1}), iota({1}), iota({1}), iota({1}), iota({1})},
          {{"training_mode", int64_t{1}}}},
         "training_mode = 1");
  expect({"Gather", 13, {iota({3}), constant(ints({1}, {3}))}, {}}, "index 3 is outside [-3, 2]");
  expect({"Cast", 13, {iota({1})}, {{"to", int64_t{16}}}}, "BFLOAT16");
  expect({"Expand", 13, {iota({1}), constant(ints({2}, {1 << 30, 1 << 30}))}, {}}, "elements");
  expect({"Tile", 13, {iota({2}), constant(ints({1}, {kMax64}))}, {}}, "elements");
  expect({"Pad", 10, {iota({2})}, {{"pads", Ints{kMax64, 0}}}}, "beyond 2^30");
  expect({"ConvTranspose", 11, {iota({1, 1, 2}), iota({1, 1, 2})}, {{"strides", Ints{2000}}}}, "phases");
  expect({"Softmax", 13, {iota({2})}, {{"axis", int64_t{1}}}}, "axis 1 is outside [-1, 0]");
}

TEST(OperatorTable, IsSortedWithoutOverlaps) {
  std::span<const OpDef> table = op_table();
  ASSERT_GT(table.size(), 100U);
  for (size_t i = 0; i < table.size(); ++i) {
    EXPECT_LE(table[i].since, table[i].until) << table[i].name;
    EXPECT_EQ(find_op(table[i].domain, table[i].name, table[i].since), &table[i]) << table[i].name;
    if (i > 0) {
      auto key = [](const OpDef& op) { return std::tuple(std::string(op.domain), std::string(op.name), op.since); };
      EXPECT_LT(key(table[i - 1]), key(table[i]));
      bool same = std::string(table[i - 1].name) == table[i].name;
      EXPECT_TRUE(!same || table[i - 1].until < table[i].since) << table[i].name;
    }
  }
  EXPECT_EQ(find_op("", "Resize", 9), nullptr);
  EXPECT_EQ(find_op("com.example", "Relu", 13), nullptr);
}

/// docs/operators.md lists exactly the operators and opsets of the table: rows "| Name | 7-22 | ...".
TEST(OperatorTable, IsDocumented) {
  std::ifstream file(std::string(DLCC_SOURCE_DIR) + "/docs/operators.md");
  ASSERT_TRUE(file.good());
  std::set<std::string> documented, known;
  for (std::string line; std::getline(file, line);) {
    size_t name_end = line.find(" | ", 2);
    size_t opset_end = name_end == std::string::npos ? name_end : line.find(" | ", name_end + 3);
    if (line.starts_with("| ") && opset_end != std::string::npos &&
        line.find_first_of("0123456789", name_end) < opset_end) {
      documented.insert(line.substr(2, opset_end - 2));
    }
  }
  for (const OpDef& op : op_table()) {
    known.insert(std::string(op.name) + " | " + std::to_string(op.since) + "-" + std::to_string(op.until));
  }
  EXPECT_EQ(documented, known);
}

}  // namespace

}  // namespace dlcc::frontend::testing
