// One operator -> its statements and values: a graph of one node built by hand, without an ONNX file.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/te/evaluate.h"
#include "frontend/ops.h"

namespace dlcc::frontend::testing {

struct Operand {
  te::Array value;
  bool constant = false;
  bool absent = false;
};

template <class T>
te::Array array(DType type, std::vector<int64_t> shape, const std::vector<T>& elements) {
  te::Array result = te::Array::zeros(type, std::move(shape));
  EXPECT_EQ(result.data.size(), elements.size() * sizeof(T));
  std::copy(elements.begin(), elements.end(), result.as<T>());
  return result;
}
inline Operand floats(std::vector<int64_t> shape, const std::vector<float>& elements) {
  return {array(DType::F32, std::move(shape), elements)};
}
/// 0, 1, 2, ...
inline Operand iota(std::vector<int64_t> shape) {
  std::vector<float> elements(static_cast<size_t>(te::element_count(shape)));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<float>(i);
  }
  return floats(std::move(shape), elements);
}
inline Operand ints(std::vector<int64_t> shape, const std::vector<int64_t>& elements) {
  return {array(DType::I64, std::move(shape), elements)};
}
inline Operand constant(Operand operand) {
  operand.constant = true;
  return operand;
}
inline Operand absent() {
  return {{}, false, true};
}

struct OpCase {
  std::string op;
  int version = 13;
  std::vector<Operand> inputs;
  std::map<std::string, Attribute> attributes;
  int outputs = 1;
};

inline Graph graph_of(const OpCase& test) {
  Graph graph;
  Node node;
  node.name = "node";
  node.op = test.op;
  node.version = test.version;
  node.attributes = test.attributes;
  for (const Operand& operand : test.inputs) {
    if (operand.absent) {
      node.inputs.push_back(kAbsent);
      continue;
    }
    Value value;
    value.name = "in" + std::to_string(graph.values.size());
    value.type = operand.value.type;
    for (int64_t extent : operand.value.shape) {
      value.shape.push_back({extent, ""});
    }
    value.shape_known = true;
    ValueId id = static_cast<ValueId>(graph.values.size());
    if (operand.constant) {
      auto kept = std::make_shared<const te::Array>(operand.value);
      value.constant = ConstantData{kept, kept->data.data(), kept->data.size()};
    } else {
      graph.inputs.push_back(id);
    }
    node.inputs.push_back(id);
    graph.values.push_back(std::move(value));
  }
  for (int i = 0; i < test.outputs; ++i) {
    Value value;
    value.name = "out" + std::to_string(i);
    node.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.outputs.push_back(static_cast<ValueId>(graph.values.size()));
    graph.values.push_back(std::move(value));
  }
  graph.nodes.push_back(std::move(node));
  return graph;
}

inline Result<Definition> define_case(const OpCase& test) {
  Graph graph = graph_of(test);
  DLCC_RETURN_IF_ERROR(infer_and_fold(graph));
  auto definition = define(graph);
  if (definition) {
    // The graph's constants must outlive the module.
    definition->owned.push_back(std::make_shared<const Graph>(std::move(graph)));
  }
  return definition;
}

inline Result<std::vector<te::Array>> run_case(const OpCase& test) {
  DLCC_TRY(Definition definition, define_case(test));
  std::vector<te::Array> inputs;
  for (const Operand& operand : test.inputs) {
    if (!operand.absent && !operand.constant) {
      inputs.push_back(operand.value);
    }
  }
  return te::evaluate(definition.module, inputs);
}

/// The message of the refusal, or "accepted".
inline std::string refusal(const OpCase& test) {
  auto definition = define_case(test);
  return definition ? "accepted" : to_string(definition.diags());
}

inline void expect_floats(const te::Array& got, const std::vector<int64_t>& shape, const std::vector<float>& want) {
  ASSERT_EQ(got.type, DType::F32);
  ASSERT_EQ(got.shape, shape);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got.as<float>()[i], want[i], 2e-6F * std::max(1.0F, std::abs(want[i]))) << "element " << i;
  }
}

inline void expect_case(const OpCase& test, const std::vector<int64_t>& shape, const std::vector<float>& want) {
  SCOPED_TRACE(test.op + " " + std::to_string(test.version));
  auto outputs = run_case(test);
  ASSERT_TRUE(outputs.ok()) << to_string(outputs.diags());
  expect_floats((*outputs)[0], shape, want);
}

}  // namespace dlcc::frontend::testing
