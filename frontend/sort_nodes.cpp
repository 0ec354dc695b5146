// Topological order of a draft's nodes: always the first ready node of the model's order, so an ordered model stays as
// it is.
#include <fmt/format.h>

#include <queue>

#include "frontend/onnx_import.h"

namespace dlcc::frontend {

namespace {

/// For each node the nodes that make what it uses.
std::vector<std::vector<NodeId>> find_producers(const GraphDraft& draft) {
  const Graph& graph = draft.graph;
  std::vector<NodeId> producer(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId output : graph.nodes[n].outputs) {
      if (output != kAbsent) {
        producer[static_cast<size_t>(output)] = static_cast<NodeId>(n);
      }
    }
  }
  std::vector<std::vector<NodeId>> needs(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::vector<ValueId>* used : {&graph.nodes[n].inputs, &draft.extra[n]}) {
      for (const ValueId value : *used) {
        if (value != kAbsent && producer[static_cast<size_t>(value)] >= 0) {
          needs[n].push_back(producer[static_cast<size_t>(value)]);
        }
      }
    }
  }
  return needs;
}

/// Some node on a cycle: from a node that was never ready, back along producers that were not either.
NodeId find_on_cycle(const std::vector<std::vector<NodeId>>& needs, const std::vector<bool>& done) {
  NodeId at = 0;
  while (done[static_cast<size_t>(at)]) {
    ++at;
  }
  std::vector<bool> seen(needs.size(), false);
  while (!seen[static_cast<size_t>(at)]) {
    seen[static_cast<size_t>(at)] = true;
    for (const NodeId producer : needs[static_cast<size_t>(at)]) {
      if (!done[static_cast<size_t>(producer)]) {
        at = producer;
        break;
      }
    }
  }
  return at;
}

}  // namespace

Status sort_nodes(GraphDraft& draft, const std::string& where) {
  std::vector<Node>& nodes = draft.graph.nodes;
  const std::vector<std::vector<NodeId>> needs = find_producers(draft);
  std::vector<std::vector<NodeId>> users(nodes.size());
  std::vector<size_t> missing(nodes.size());
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (size_t n = 0; n < nodes.size(); ++n) {
    missing[n] = needs[n].size();
    for (const NodeId producer : needs[n]) {
      users[static_cast<size_t>(producer)].push_back(static_cast<NodeId>(n));
    }
    if (missing[n] == 0) {
      ready.push(static_cast<NodeId>(n));
    }
  }
  std::vector<Node> sorted;
  std::vector<bool> done(nodes.size(), false);
  while (!ready.empty()) {
    const auto n = static_cast<size_t>(ready.top());
    ready.pop();
    done[n] = true;
    for (const NodeId user : users[n]) {
      if (--missing[static_cast<size_t>(user)] == 0) {
        ready.push(user);
      }
    }
    sorted.push_back(std::move(nodes[n]));
  }
  if (sorted.size() != nodes.size()) {
    const Node& node = nodes[static_cast<size_t>(find_on_cycle(needs, done))];
    return error(where,
                 describe_node(node.name, node.op) + ": its output is, over other nodes, its own input (a cycle)");
  }
  nodes = std::move(sorted);
  draft.extra.clear();
  return ok_status();
}

}  // namespace dlcc::frontend
