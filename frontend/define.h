// ModuleBuilder: nodes of a graph -> statements over one table of tensors. Used for whole graphs and, in folding, for
// single nodes.
#pragma once

#include <vector>

#include "frontend/ops.h"

namespace dlcc::frontend {

class ModuleBuilder {
 public:
  explicit ModuleBuilder(const Graph& graph) : graph_(graph), tensors_(graph.values.size(), -1) {}
  /// The tensor of a value, made on first use: of that kind, or a Constant that points at the value's data.
  int tensor_of(ValueId value, te::TensorKind kind);
  /// Adds a node's statements. The node's operator is in the table and its values have shapes.
  Status add(const Node& node);
  /// An output of its own for a value that is an input or constant of the graph.
  int add_output_copy(ValueId value);
  Definition& definition() { return definition_; }
  /// The result; names of tensors and statements made unique, inputs and outputs first.
  Definition take();

 private:
  void check_defined(const Node& node, const std::vector<int>& outputs, size_t first_stmt) const;
  const Graph& graph_;
  std::vector<int> tensors_;  // by value
  Definition definition_;
};

}  // namespace dlcc::frontend
