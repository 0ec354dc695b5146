// GraphEdit: what rewrites do to a graph - redirect uses, remove nodes, add constants - with names and order of the
// outputs kept.
#pragma once

#include <string>
#include <vector>

#include "frontend/graph.h"
#include "frontend/unique_names.h"

namespace dlcc::frontend {

class GraphEdit {
 public:
  explicit GraphEdit(Graph& graph);
  Graph& graph() { return graph_; }
  Value& value(ValueId id) { return graph_.values[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return graph_.nodes[static_cast<size_t>(id)]; }
  bool is_output(ValueId value) const { return is_output_[static_cast<size_t>(value)]; }
  /// Uses as node inputs, redirected ones counted at the new value; being an output of the graph counts as one.
  int uses(ValueId value) const { return uses_[static_cast<size_t>(value)]; }
  /// The node that makes a value; -1 for inputs and constants.
  NodeId producer(ValueId value) const { return producer_[static_cast<size_t>(value)]; }
  /// What an input id of a node stands for after the redirections so far.
  ValueId resolve(ValueId value) const;
  /// Input i of a node, resolved; kAbsent when there is none.
  ValueId input(NodeId node, size_t i) const;
  void set_input(NodeId node, size_t i, ValueId value);
  /// Removes a node whose only output `to` equals `from`. False, and nothing done, when `to` is an output of the graph
  /// that no node could make instead.
  bool bypass(NodeId node, ValueId from, ValueId to);
  /// `node` makes `value` from now on, in place of its producer, which is removed. All of the node's own outputs but
  /// that are unused.
  void take_over(NodeId node, size_t output, ValueId value);
  ValueId add_constant(const std::string& wanted_name, te::Array array);
  /// Applies redirections and removals to the graph.
  void commit();

 private:
  Graph& graph_;
  UniqueNames names_;
  std::vector<NodeId> producer_;
  std::vector<int> uses_;
  std::vector<bool> is_output_, removed_;
  std::vector<ValueId> redirect_;  // kAbsent: itself
};

}  // namespace dlcc::frontend
