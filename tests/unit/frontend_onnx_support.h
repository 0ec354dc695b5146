// Small ONNX models for tests, built message by message.
#pragma once

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "frontend/ops.h"

namespace dlcc::frontend::test {

using Strings = std::vector<std::string>;

inline onnx::ModelProto empty_model(int opset = 17, int ir = 8) {
  onnx::ModelProto model;
  model.set_ir_version(ir);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("test");
  return model;
}

inline onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op, const Strings& inputs,
                                 const Strings& outputs, const std::string& name = "") {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) {
    node.add_input(input);
  }
  for (const std::string& output : outputs) {
    node.add_output(output);
  }
  return node;
}

inline void add_input(onnx::GraphProto& graph, const std::string& name, const std::vector<int64_t>& shape,
                      int type = onnx::TensorProto::FLOAT) {
  onnx::ValueInfoProto& value = *graph.add_input();
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  auto* dims = value.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const int64_t dim : shape) {
    dims->add_dim()->set_dim_value(dim);
  }
}

inline void add_output(onnx::GraphProto& graph, const std::string& name) {
  graph.add_output()->set_name(name);
}

inline onnx::TensorProto& add_floats(onnx::GraphProto& graph, const std::string& name,
                                     const std::vector<int64_t>& shape, const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.mutable_float_data()->Add(values.begin(), values.end());
  return tensor;
}

inline onnx::TensorProto& add_ints(onnx::GraphProto& graph, const std::string& name,
                                   const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.mutable_int64_data()->Add(values.begin(), values.end());
  return tensor;
}

inline onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name,
                                           onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

inline void add_ints_attribute(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  add_attribute(node, name, onnx::AttributeProto::INTS).mutable_ints()->Add(values.begin(), values.end());
}

inline Result<Graph> import_model(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return import_onnx_bytes(std::as_bytes(std::span(bytes)), "test.onnx");
}

/// What went wrong, or "" for success.
template <class T>
std::string text_of(const Result<T>& result) {
  return result.ok() ? "" : to_string(result.diags());
}

inline te::Array floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  te::Array array = te::Array::zeros(DType::F32, std::move(shape));
  std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

/// Element i is a fixed, irregular number in [-1, 1].
inline std::vector<float> some_floats(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(static_cast<double>(seed >> 8) / double{1 << 23} - 1);
  }
  return values;
}

inline std::vector<float> to_floats(const te::Array& array) {
  return {array.as<float>(), array.as<float>() + array.count()};
}

/// Values of the outputs, through statements and the naive evaluator.
inline std::vector<te::Array> evaluate_graph(const Graph& graph, const std::vector<te::Array>& inputs) {
  const auto definition = define(graph);
  EXPECT_TRUE(definition.ok()) << text_of(definition);
  const auto findings = te::verify(definition->module);
  EXPECT_TRUE(findings.empty()) << findings.front();
  auto outputs = te::evaluate(definition->module, inputs);
  EXPECT_TRUE(outputs.ok()) << text_of(outputs);
  return std::move(outputs).value();
}

/// Operators of the nodes, in order.
inline Strings ops_of(const Graph& graph) {
  Strings ops;
  for (const Node& node : graph.nodes) {
    ops.push_back(node.op);
  }
  return ops;
}

/// Imported, with shapes and constants; dims are numbers.
inline Graph inferred(const onnx::ModelProto& model, const FoldLimits& limits = {}) {
  auto graph = import_model(model);
  EXPECT_TRUE(graph.ok()) << text_of(graph);
  EXPECT_TRUE(bind_dims(*graph, {}, nullptr).ok());
  const auto status = infer_and_fold(*graph, limits);
  EXPECT_TRUE(status.ok()) << text_of(status);
  return std::move(graph).value();
}

/// The folder of shared models and data; empty when there is none.
inline std::filesystem::path shared_folder() {
  const char* set = std::getenv("DLCC_SHARED");
  const std::filesystem::path folder =
      set != nullptr ? std::filesystem::path(set) : std::filesystem::path(DLCC_SOURCE_DIR) / ".." / "shared";
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

}  // namespace dlcc::frontend::test
