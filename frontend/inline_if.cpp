// inline_branch: values of the branch are renamed into the graph, captures in deeper subgraphs follow.
#include "frontend/inline_if.h"

#include <fmt/format.h>

#include "frontend/unique_names.h"

namespace dlcc::frontend {

namespace {

/// Values that some node makes, or that are inputs or constants; the others are captured.
std::vector<bool> own_values(const Graph& graph) {
  std::vector<bool> own(graph.values.size(), false);
  for (size_t v = 0; v < own.size(); ++v) {
    own[v] = graph.values[v].constant.has_value();
  }
  for (const ValueId input : graph.inputs) {
    own[static_cast<size_t>(input)] = true;
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId output : node.outputs) {
      if (output != kAbsent) {
        own[static_cast<size_t>(output)] = true;
      }
    }
  }
  return own;
}

using Renames = std::map<std::string, std::string>;

void rename_captures(Node& node, const Renames& renames);

std::shared_ptr<const Graph> renamed(const Graph& graph, const Renames& renames) {
  auto copy = std::make_shared<Graph>(graph);
  const std::vector<bool> own = own_values(graph);
  Renames inner = renames;
  for (size_t v = 0; v < own.size(); ++v) {
    Value& value = copy->values[v];
    if (own[v]) {
      inner.erase(value.name);  // what deeper subgraphs call so is this value
    } else if (const auto to = renames.find(value.name); to != renames.end()) {
      value.name = to->second;
    }
  }
  for (Node& node : copy->nodes) {
    rename_captures(node, inner);
  }
  return copy;
}

void rename_captures(Node& node, const Renames& renames) {
  for (auto& [name, attribute] : node.attributes) {
    if (auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&attribute)) {
      *subgraph = renamed(**subgraph, renames);
    }
  }
}

class Inliner {
 public:
  Inliner(Graph& graph, const Node& node, const Graph& branch) : graph_(graph), node_(node), branch_(branch) {}

  Result<std::vector<Node>> run() {
    for (const Value& value : graph_.values) {
      names_.reserve(value.name);
    }
    const std::vector<bool> own = own_values(branch_);
    to_.assign(branch_.values.size(), kAbsent);
    map_outputs(own);
    for (size_t v = 0; v < own.size(); ++v) {
      if (to_[v] == kAbsent) {
        DLCC_RETURN_IF_ERROR(own[v] ? add_value(v) : find_captured(v));
      }
      renames_[branch_.values[v].name] = graph_.values[static_cast<size_t>(to_[v])].name;
    }
    std::vector<Node> nodes;
    for (Node node : branch_.nodes) {
      move_node(node);
      nodes.push_back(std::move(node));
    }
    connect_outputs(nodes);
    return nodes;
  }

 private:
  /// A value made by a node of the branch can be the If's output itself; others (captured, constant, given twice) are
  /// copied to it.
  void map_outputs(const std::vector<bool>& own) {
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const auto from = static_cast<size_t>(branch_.outputs[i]);
      if (node_.outputs[i] != kAbsent && own[from] && !branch_.values[from].constant && to_[from] == kAbsent) {
        to_[from] = node_.outputs[i];
      }
    }
  }

  Status add_value(size_t v) {
    Value value = branch_.values[v];
    value.name = names_.make(value.name);
    to_[v] = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(std::move(value));
    return ok_status();
  }

  Status find_captured(size_t v) {
    for (size_t g = 0; g < graph_.values.size(); ++g) {
      if (graph_.values[g].name == branch_.values[v].name) {
        to_[v] = static_cast<ValueId>(g);
        return ok_status();
      }
    }
    return error("node '" + node_.name + "' (If)",
                 "its branch uses '" + branch_.values[v].name + "', which is not defined");
  }

  void move_node(Node& node) {
    node.name = node_.name + "/" + node.name;
    for (std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
      for (ValueId& id : *ids) {
        id = id == kAbsent ? kAbsent : to_[static_cast<size_t>(id)];
      }
    }
    rename_captures(node, renames_);
  }

  void connect_outputs(std::vector<Node>& nodes) {
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const ValueId output = node_.outputs[i];
      const ValueId source = to_[static_cast<size_t>(branch_.outputs[i])];
      if (output != kAbsent && source != output) {
        nodes.push_back(
            {fmt::format("{}/output_{}", node_.name, i), "", "Identity", node_.version, {source}, {output}, {}});
      }
    }
  }

  Graph& graph_;
  const Node& node_;
  const Graph& branch_;
  UniqueNames names_;
  std::vector<ValueId> to_;  // by value of the branch
  Renames renames_;
};

}  // namespace

std::shared_ptr<const Graph> taken_branch(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.op != "If" || node.inputs.size() != 1 || node.inputs[0] == kAbsent) {
    return nullptr;
  }
  const Value& condition = graph.values[static_cast<size_t>(node.inputs[0])];
  if (!condition.constant || condition.type != DType::Bool || condition.constant->bytes != 1) {
    return nullptr;
  }
  const bool taken = condition.constant->data[0] != std::byte{0};
  const auto attribute = node.attributes.find(taken ? "then_branch" : "else_branch");
  const auto* branch =
      attribute == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&attribute->second);
  return branch == nullptr ? nullptr : *branch;
}

Result<std::vector<Node>> inline_branch(Graph& graph, const Node& node, const Graph& branch) {
  if (branch.outputs.size() < node.outputs.size() || !branch.inputs.empty()) {
    return error("node '" + node.name + "' (If)",
                 fmt::format("{} outputs, but its branch has {} and {} inputs", node.outputs.size(),
                             branch.outputs.size(), branch.inputs.size()));
  }
  return Inliner(graph, node, branch).run();
}

}  // namespace dlcc::frontend
