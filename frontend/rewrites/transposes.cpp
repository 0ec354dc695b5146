// merge_transposes: perm over perm, identity permutations, and those that move only dims of extent 1.
#include <algorithm>

#include "frontend/rewrites/graph_edit.h"
#include "frontend/rewrites/passes.h"
#include "frontend/rewrites/reshape_node.h"

namespace dlcc::frontend {

namespace {

bool is_transpose(const Node& node) {
  return node.domain.empty() && node.op == "Transpose" && node.inputs.size() == 1 && node.outputs.size() == 1;
}

std::vector<int64_t> perm_of(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  const auto found = node.attributes.find("perm");
  if (found != node.attributes.end()) {
    return std::get<std::vector<int64_t>>(found->second);
  }
  std::vector<int64_t> perm(edit.value(node.outputs[0]).shape.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    perm[i] = static_cast<int64_t>(perm.size() - 1 - i);
  }
  return perm;
}

/// Axes of more than one element stay in their order: the elements do too.
bool keeps_elements(const std::vector<int64_t>& perm, const std::vector<int64_t>& input_shape) {
  std::vector<int64_t> moved;
  std::copy_if(perm.begin(), perm.end(), std::back_inserter(moved),
               [&](int64_t axis) { return input_shape[static_cast<size_t>(axis)] != 1; });
  return std::is_sorted(moved.begin(), moved.end());
}

/// This transpose reads what the transpose before it reads.
void merge_with_producer(GraphEdit& edit, NodeId id) {
  const NodeId before = edit.producer(edit.input(id, 0));
  if (before < 0 || !is_transpose(edit.node(before))) {
    return;
  }
  const std::vector<int64_t> first = perm_of(edit, before), second = perm_of(edit, id);
  std::vector<int64_t> both;
  for (const int64_t axis : second) {
    both.push_back(first[static_cast<size_t>(axis)]);
  }
  edit.set_input(id, 0, edit.input(before, 0));
  edit.node(id).attributes["perm"] = both;
}

}  // namespace

Status merge_transposes(Graph& graph) {
  GraphEdit edit(graph);
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const auto id = static_cast<NodeId>(n);
    if (!is_transpose(edit.node(id))) {
      continue;
    }
    merge_with_producer(edit, id);
    const ValueId input = edit.input(id, 0), output = edit.node(id).outputs[0];
    const std::vector<int64_t> perm = perm_of(edit, id);
    const bool gone = std::is_sorted(perm.begin(), perm.end()) && edit.bypass(id, input, output);
    if (!gone && keeps_elements(perm, concrete_shape(edit.value(input)))) {
      make_reshape(edit, id, input);
    }
  }
  edit.commit();
  return ok_status();
}

}  // namespace dlcc::frontend
