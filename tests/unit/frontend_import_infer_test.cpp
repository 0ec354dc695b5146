// Shapes, folding, branches and statements of whole graphs; what is refused, and that all of it is listed at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/frontend_onnx_support.h"

namespace dlcc::frontend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const onnx::ModelProto& model) {
  auto graph = import_model(model);
  EXPECT_TRUE(graph.ok()) << text_of(graph);
  EXPECT_TRUE(bind_dims(*graph, {}, nullptr).ok());
  return text_of(infer_and_fold(*graph));
}

TEST(Infer, AllUnknownOperatorsAreListed) {
  onnx::ModelProto model = empty_model();
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain("com.example");
  import.set_version(3);
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2});
  std::string last = "x";
  for (const std::string op : {"Foo", "Bar", "Baz", "Qux"}) {
    add_node(graph, op, {last}, {op + "_out"}, "n_" + op);
    last = "x";
  }
  add_node(graph, "Fancy", {"Foo_out"}, {"y"}, "n_Fancy").set_domain("com.example");
  add_output(graph, "y");
  const std::string text = refusal(model);
  for (const std::string op : {"Foo", "Bar", "Baz", "Qux"}) {
    EXPECT_THAT(text, HasSubstr("node 'n_" + op + "' (" + op + "): unsupported: operator " + op +
                                " of domain ai.onnx, opset 17"));
  }
  EXPECT_THAT(text, HasSubstr("operator Fancy of domain com.example, opset 3"));
}

TEST(Infer, UnreadAttributesAreNamed) {
  onnx::ModelProto model = empty_model();
  add_input(*model.mutable_graph(), "x", {2});
  onnx::NodeProto& node = add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"}, "act");
  add_attribute(node, "slope", onnx::AttributeProto::FLOAT);
  add_node(*model.mutable_graph(), "Mystery", {"x"}, {"z"}, "other");
  add_output(*model.mutable_graph(), "y");
  const std::string text = refusal(model);
  EXPECT_THAT(text, HasSubstr("node 'act' (Relu): unsupported: attribute 'slope'"));
  EXPECT_THAT(text, HasSubstr("node 'other' (Mystery)"));
}

TEST(Infer, InputsNeedAShape) {
  onnx::ModelProto model = empty_model();
  add_input(*model.mutable_graph(), "x", {2});
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  add_output(*model.mutable_graph(), "y");
  EXPECT_THAT(refusal(model), HasSubstr("input 'x' has no shape"));
}

TEST(Fold, ShapeArithmeticVanishes) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2, 3, 4});
  add_ints(graph, "zero", {0});
  add_ints(graph, "rest", {-1});
  add_node(graph, "Shape", {"x"}, {"s"});
  add_attribute(add_node(graph, "Gather", {"s", "zero"}, {"n"}), "axis", onnx::AttributeProto::INT).set_i(0);
  add_attribute(add_node(graph, "Concat", {"n", "rest"}, {"target"}), "axis", onnx::AttributeProto::INT).set_i(0);
  add_node(graph, "Reshape", {"x", "target"}, {"y"});
  add_output(graph, "y");
  const Graph result = inferred(model);
  EXPECT_THAT(ops_of(result), ElementsAre("Reshape"));
  EXPECT_THAT(concrete_shape(result.values[static_cast<size_t>(result.outputs[0])]), ElementsAre(2, 12));
}

onnx::ModelProto constant_sum(int64_t count) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_floats(graph, "a", {count}, some_floats(static_cast<size_t>(count), 1));
  add_floats(graph, "b", {count}, some_floats(static_cast<size_t>(count), 2));
  add_node(graph, "Add", {"a", "b"}, {"y"});
  add_output(graph, "y");
  return model;
}

TEST(Fold, ConstantsAreComputedAndGivenOut) {
  const Graph graph = inferred(constant_sum(3));
  EXPECT_TRUE(graph.nodes.empty());
  const auto a = some_floats(3, 1), b = some_floats(3, 2);
  EXPECT_THAT(to_floats(evaluate_graph(graph, {}).at(0)), ElementsAre(a[0] + b[0], a[1] + b[1], a[2] + b[2]));
}

TEST(Fold, LimitsKeepNodesAsTheyAre) {
  FoldLimits limits;
  limits.node_work = 100;
  const Graph graph = inferred(constant_sum(1000), limits);
  EXPECT_THAT(ops_of(graph), ElementsAre("Add"));
  EXPECT_EQ(to_floats(evaluate_graph(graph, {}).at(0))[999], some_floats(1000, 1)[999] + some_floats(1000, 2)[999]);
}

TEST(Fold, ViewsOfConstantsShareTheirData) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_floats(graph, "a", {6}, {0, 1, 2, 3, 4, 5});
  add_ints(graph, "shape", {2, 3});
  add_node(graph, "Reshape", {"a", "shape"}, {"y"});
  add_output(graph, "y");
  const Graph result = inferred(model);
  ASSERT_TRUE(result.nodes.empty());
  const Value& y = result.values[static_cast<size_t>(result.outputs[0])];
  ASSERT_TRUE(y.constant.has_value());
  for (const Value& value : result.values) {
    if (value.name == "a") {
      EXPECT_EQ(value.constant->data, y.constant->data);
    }
  }
}

TEST(Define, TensorsStayValidWhileTheTableGrows) {
  te::Module module;
  module.node_names = {"node"};
  module.tensors.push_back({"x", DType::F32, {2, 3}, te::TensorKind::Input, -1, nullptr});
  StmtBuilder builder(module, 0, {0}, {});
  const std::vector<int64_t>& shape = builder.tensor(0).shape;
  for (int i = 0; i < 100; ++i) {
    builder.temporary("t", DType::F32, {1});
  }
  EXPECT_THAT(shape, ElementsAre(2, 3));
}

TEST(Define, InputsAndConstantsCanBeOutputs) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2});
  add_floats(graph, "c", {2}, {7, 8});
  add_output(graph, "c");
  add_output(graph, "x");
  const auto outputs = evaluate_graph(inferred(model), {floats({2}, {1, 2})});
  EXPECT_THAT(to_floats(outputs.at(0)), ElementsAre(7, 8));
  EXPECT_THAT(to_floats(outputs.at(1)), ElementsAre(1, 2));
}

/// y = If(flag) { x + c, twice negated } else { x itself }; z = -y.
onnx::ModelProto branch_model(bool flag) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2});
  add_floats(graph, "c", {2}, {10, 20});
  onnx::TensorProto& condition = *graph.add_initializer();
  condition.set_name("flag");
  condition.set_data_type(onnx::TensorProto::BOOL);
  condition.add_int32_data(flag ? 1 : 0);
  onnx::NodeProto& node = add_node(graph, "If", {"flag"}, {"y"}, "choose");
  onnx::GraphProto& taken = *add_attribute(node, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  onnx::GraphProto& other = *add_attribute(node, "else_branch", onnx::AttributeProto::GRAPH).mutable_g();
  add_node(taken, "Add", {"x", "c"}, {"sum"}, "add");
  onnx::NodeProto& inner = add_node(taken, "If", {"flag"}, {"out"}, "inner");
  onnx::GraphProto& deep = *add_attribute(inner, "then_branch", onnx::AttributeProto::GRAPH).mutable_g();
  add_node(deep, "Neg", {"sum"}, {"minus"}, "neg");
  add_output(deep, "minus");
  *add_attribute(inner, "else_branch", onnx::AttributeProto::GRAPH).mutable_g() = deep;
  add_output(taken, "out");
  add_node(other, "Identity", {"x"}, {"same"}, "id");
  add_output(other, "same");
  add_node(graph, "Neg", {"y"}, {"z"}, "last");
  add_output(graph, "z");
  return model;
}

TEST(If, ConstantConditionsAreWrittenOut) {
  const Graph taken = inferred(branch_model(true));
  EXPECT_THAT(ops_of(taken), ElementsAre("Add", "Neg", "Neg"));
  EXPECT_THAT(to_floats(evaluate_graph(taken, {floats({2}, {1, 2})}).at(0)), ElementsAre(11, 22));
  const Graph other = inferred(branch_model(false));
  EXPECT_THAT(to_floats(evaluate_graph(other, {floats({2}, {1, 2})}).at(0)), ElementsAre(-1, -2));
}

TEST(If, RunTimeConditionsAreRefused) {
  onnx::ModelProto model = branch_model(true);
  model.mutable_graph()->mutable_initializer()->RemoveLast();
  add_input(*model.mutable_graph(), "flag", {}, onnx::TensorProto::BOOL);
  EXPECT_THAT(
      refusal(model),
      HasSubstr("node 'choose' (If): unsupported: operator If of domain ai.onnx, opset 17: its condition is not"));
}

TEST(If, CapturedValuesOrderTheNodes) {
  onnx::ModelProto model = branch_model(true);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_initializer()->DeleteSubrange(0, 1);
  add_node(graph, "Relu", {"x"}, {"c"}, "late");  // after the If that captures c
  EXPECT_THAT(to_floats(evaluate_graph(inferred(model), {floats({2}, {1, 2})}).at(0)), ElementsAre(2, 4));
}

}  // namespace
}  // namespace dlcc::frontend::test
