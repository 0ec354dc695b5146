// Rewrites: what the graph looks like after them, and that its values are the same (evaluated before and after).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "frontend/rewrites/passes.h"
#include "tests/unit/frontend_onnx_support.h"

namespace dlcc::frontend::test {
namespace {

using testing::ElementsAre;

/// Runs all rewrites on the inferred model; the outputs for `inputs` must stay within `tolerance` (relative to 1),
/// names and order too.
Graph rewritten(const onnx::ModelProto& model, const std::vector<te::Array>& inputs, double tolerance = 0) {
  const auto names = [](const Graph& graph) {
    Strings result;
    for (const ValueId output : graph.outputs) {
      result.push_back(graph.values[static_cast<size_t>(output)].name);
    }
    return result;
  };
  Graph graph = inferred(model);
  const std::vector<te::Array> before = evaluate_graph(graph, inputs);
  const Strings names_before = names(graph);
  for (const GraphPass& pass : graph_passes()) {
    EXPECT_TRUE(pass.run(graph).ok()) << pass.name;
    const std::vector<te::Array> after = evaluate_graph(graph, inputs);
    EXPECT_EQ(names(graph), names_before) << pass.name;
    for (size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after[i].shape, before[i].shape) << pass.name;
      const auto a = to_floats(after[i]), b = to_floats(before[i]);
      for (size_t e = 0; e < a.size(); ++e) {
        EXPECT_LE(std::abs(a[e] - b[e]), tolerance * (1 + std::abs(b[e])))
            << pass.name << ", output " << i << " element " << e;
      }
    }
  }
  return graph;
}

te::Array some_input(std::vector<int64_t> shape) {
  const auto count = static_cast<size_t>(te::element_count(shape));
  return floats(std::move(shape), some_floats(count, 7));
}

void add_perm(onnx::GraphProto& graph, const std::string& from, const std::string& to,
              const std::vector<int64_t>& perm) {
  add_ints_attribute(add_node(graph, "Transpose", {from}, {to}), "perm", perm);
}

TEST(RemoveIdentity, InTheMiddleAndAtTheEnds) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {3});
  add_node(graph, "Identity", {"x"}, {"a"});
  add_node(graph, "Neg", {"a"}, {"b"});
  add_node(graph, "Dropout", {"b"}, {"c"});
  add_node(graph, "Exp", {"b"}, {"e"});
  add_node(graph, "Identity", {"c"}, {"y"});
  add_node(graph, "Identity", {"x"}, {"same"});
  for (const char* output : {"y", "e", "same"}) {
    add_output(graph, output);
  }
  const Graph result = rewritten(model, {some_input({3})});
  // An output that equals an input needs a node of its own.
  EXPECT_THAT(ops_of(result), ElementsAre("Neg", "Exp", "Identity"));
}

TEST(RemoveIdentity, TwoOutputsOfOneValue) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {3});
  add_node(graph, "Neg", {"x"}, {"n"});
  add_node(graph, "Identity", {"n"}, {"y"});
  add_node(graph, "Identity", {"n"}, {"z"});
  for (const char* output : {"z", "y"}) {
    add_output(graph, output);
  }
  EXPECT_THAT(ops_of(rewritten(model, {some_input({3})})), ElementsAre("Neg", "Identity"));
}

void add_norm(onnx::GraphProto& graph, const std::string& from, const std::string& to, int64_t channels) {
  const auto n = static_cast<size_t>(channels);
  std::vector<float> variance = some_floats(n, 13);
  for (float& value : variance) {
    value = 0.25F + value * value;
  }
  add_floats(graph, "scale", {channels}, some_floats(n, 10));
  add_floats(graph, "shift", {channels}, some_floats(n, 11));
  add_floats(graph, "mean", {channels}, some_floats(n, 12));
  add_floats(graph, "variance", {channels}, variance);
  add_attribute(add_node(graph, "BatchNormalization", {from, "scale", "shift", "mean", "variance"}, {to}, "norm"),
                "epsilon", onnx::AttributeProto::FLOAT)
      .set_f(0.01F);
}

TEST(FoldBatchNorm, IntoConvWithAndWithoutBias) {
  for (const bool bias : {false, true}) {
    onnx::ModelProto model = empty_model();
    onnx::GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", {1, 4, 5, 5});
    add_floats(graph, "w", {6, 2, 3, 3}, some_floats(108, 1));
    add_floats(graph, "b", {6}, some_floats(6, 2));
    onnx::NodeProto& conv = add_node(graph, "Conv", bias ? Strings{"x", "w", "b"} : Strings{"x", "w"}, {"t"}, "conv");
    add_attribute(conv, "group", onnx::AttributeProto::INT).set_i(2);
    add_norm(graph, "t", "y", 6);
    add_output(graph, "y");
    EXPECT_THAT(ops_of(rewritten(model, {some_input({1, 4, 5, 5})}, 1e-5)), ElementsAre("Conv"));
  }
}

TEST(FoldBatchNorm, IntoGroupedConvTranspose) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {1, 4, 3, 3});
  add_floats(graph, "w", {4, 3, 2, 2}, some_floats(48, 1));
  onnx::NodeProto& conv = add_node(graph, "ConvTranspose", {"x", "w"}, {"t"});
  add_attribute(conv, "group", onnx::AttributeProto::INT).set_i(2);
  add_norm(graph, "t", "y", 6);
  add_output(graph, "y");
  EXPECT_THAT(ops_of(rewritten(model, {some_input({1, 4, 3, 3})}, 1e-5)), ElementsAre("ConvTranspose"));
}

TEST(FoldBatchNorm, NotWhenTheConvHasOtherUses) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {1, 2, 3, 3});
  add_floats(graph, "w", {2, 2, 1, 1}, some_floats(4, 1));
  add_node(graph, "Conv", {"x", "w"}, {"t"});
  add_norm(graph, "t", "y", 2);
  add_output(graph, "y");
  add_output(graph, "t");
  EXPECT_THAT(ops_of(rewritten(model, {some_input({1, 2, 3, 3})})), ElementsAre("Conv", "BatchNormalization"));
}

TEST(MergeTransposes, ChainsBecomeOne) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2, 3, 4, 5});
  add_perm(graph, "x", "a", {0, 2, 3, 1});
  add_perm(graph, "a", "b", {3, 0, 1, 2});
  add_perm(graph, "b", "y", {1, 0, 3, 2});
  add_output(graph, "y");
  const Graph result = rewritten(model, {some_input({2, 3, 4, 5})});
  EXPECT_THAT(ops_of(result), ElementsAre("Transpose"));
  EXPECT_THAT(std::get<std::vector<int64_t>>(result.nodes[0].attributes.at("perm")), ElementsAre(0, 1, 3, 2));
}

TEST(MergeTransposes, ThereAndBackIsNothing) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2, 3, 4});
  add_node(graph, "Neg", {"x"}, {"n"});
  add_perm(graph, "n", "a", {0, 2, 1});
  add_perm(graph, "a", "b", {0, 2, 1});
  add_node(graph, "Exp", {"b"}, {"y"});
  add_node(graph, "Abs", {"a"}, {"z"});
  add_output(graph, "y");
  add_output(graph, "z");
  EXPECT_THAT(ops_of(rewritten(model, {some_input({2, 3, 4})})), ElementsAre("Neg", "Transpose", "Exp", "Abs"));
}

TEST(MergeTransposes, MovingUnitDimsIsAReshape) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {1, 3, 1, 4});
  add_perm(graph, "x", "a", {1, 2, 3, 0});
  add_node(graph, "Neg", {"a"}, {"y"});
  add_output(graph, "y");
  EXPECT_THAT(ops_of(rewritten(model, {some_input({1, 3, 1, 4})})), ElementsAre("Reshape", "Neg"));
}

TEST(MergeReshapes, ChainsBecomeOneOrNothing) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2, 3, 4});
  add_ints(graph, "one", {1});
  add_ints(graph, "shape", {2, 3, 4});
  add_node(graph, "Neg", {"x"}, {"n"});
  add_node(graph, "Flatten", {"n"}, {"f"});
  add_node(graph, "Unsqueeze", {"f", "one"}, {"u"});
  add_node(graph, "Exp", {"u"}, {"y"});
  add_node(graph, "Squeeze", {"u", "one"}, {"s"});
  add_node(graph, "Reshape", {"s", "shape"}, {"back"});
  add_node(graph, "Abs", {"back"}, {"z"});
  add_output(graph, "y");
  add_output(graph, "z");
  const Graph result = rewritten(model, {some_input({2, 3, 4})});
  EXPECT_THAT(ops_of(result), ElementsAre("Neg", "Reshape", "Exp", "Abs"));
}

TEST(MergeReshapes, AnOutputKeepsItsName) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2, 3});
  add_ints(graph, "flat", {6});
  add_ints(graph, "shape", {2, 3});
  add_node(graph, "Neg", {"x"}, {"n"});
  add_node(graph, "Reshape", {"n", "flat"}, {"f"});
  add_node(graph, "Reshape", {"f", "shape"}, {"y"});
  add_output(graph, "y");
  EXPECT_THAT(ops_of(rewritten(model, {some_input({2, 3})})), ElementsAre("Neg"));
}

TEST(RemoveDeadCode, UnusedNodesAndValuesGo) {
  onnx::ModelProto model = empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {2});
  add_input(graph, "unused", {2});
  add_floats(graph, "big", {2}, {1, 2});
  add_node(graph, "Add", {"x", "big"}, {"dead"});
  add_node(graph, "Neg", {"dead"}, {"deader"});
  add_node(graph, "Neg", {"x"}, {"y"});
  add_output(graph, "y");
  const Graph result = rewritten(model, {some_input({2}), some_input({2})});
  EXPECT_THAT(ops_of(result), ElementsAre("Neg"));
  EXPECT_EQ(result.values.size(), 3U);
  EXPECT_EQ(result.inputs.size(), 2U);
}

}  // namespace
}  // namespace dlcc::frontend::test
