// remove_dead_code: from the outputs backwards; values are renumbered, so that the data of unused constants is
// released.
#include "frontend/rewrites/passes.h"

namespace dlcc::frontend {

namespace {

void renumber(std::vector<ValueId>& ids, const std::vector<ValueId>& to) {
  for (ValueId& id : ids) {
    id = id == kAbsent ? kAbsent : to[static_cast<size_t>(id)];
  }
}

}  // namespace

Status remove_dead_code(Graph& graph) {
  std::vector<bool> used(graph.values.size(), false);
  const auto use = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kAbsent) {
        used[static_cast<size_t>(id)] = true;
      }
    }
  };
  use(graph.inputs);
  use(graph.outputs);
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool needed = false;
    for (ValueId& output : node->outputs) {
      needed = needed || (output != kAbsent && used[static_cast<size_t>(output)]);
    }
    if (needed) {
      use(node->inputs);
      use(node->outputs);
      kept.push_back(std::move(*node));
    }
  }
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  std::vector<ValueId> to(graph.values.size(), kAbsent);
  std::vector<Value> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (used[v]) {
      to[v] = static_cast<ValueId>(values.size());
      values.push_back(std::move(graph.values[v]));
    }
  }
  graph.values = std::move(values);
  renumber(graph.inputs, to);
  renumber(graph.outputs, to);
  for (Node& node : graph.nodes) {
    renumber(node.inputs, to);
    renumber(node.outputs, to);
  }
  return ok_status();
}

}  // namespace dlcc::frontend
