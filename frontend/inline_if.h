// An If whose condition is constant -> the nodes of the branch taken.
#pragma once

#include "frontend/graph.h"

namespace dlcc::frontend {

/// The branch that the constant condition selects; null when the node is no If, the condition is not constant or a
/// branch is missing.
std::shared_ptr<const Graph> taken_branch(const Graph& graph, const Node& node);

/// Nodes of the branch over values of `graph` (new ones are added). Captured values are found by name; the branch's
/// outputs become the node's outputs.
Result<std::vector<Node>> inline_branch(Graph& graph, const Node& node, const Graph& branch);

}  // namespace dlcc::frontend
