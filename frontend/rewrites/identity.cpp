// remove_identity: y = Identity(x), y = Dropout(x) at inference.
#include "frontend/rewrites/graph_edit.h"
#include "frontend/rewrites/passes.h"

namespace dlcc::frontend {

namespace {

bool is_false(GraphEdit& edit, ValueId id) {
  const Value& value = edit.value(id);
  return value.constant && value.type == DType::Bool && value.constant->bytes == 1 &&
         value.constant->data[0] == std::byte{0};
}

bool is_zero(GraphEdit& edit, ValueId id) {
  const Value& value = edit.value(id);
  return value.constant && is_float(value.type) && te::element_count(concrete_shape(value)) == 1 &&
         te::load_element(value.type, value.constant->data, 0).f == 0;
}

bool is_identity(GraphEdit& edit, NodeId id) {
  const Node& node = edit.node(id);
  if (!node.domain.empty() || node.outputs.empty() || node.outputs[0] == kAbsent || edit.input(id, 0) == kAbsent) {
    return false;
  }
  if (node.op == "Identity") {
    return true;
  }
  if (node.op != "Dropout" ||
      (node.outputs.size() > 1 && node.outputs[1] != kAbsent && edit.uses(node.outputs[1]) > 0)) {
    return false;
  }
  const ValueId ratio = edit.input(id, 1), training = edit.input(id, 2);
  // A ratio of 0 drops nothing, in training too: exporters of transformers write it.
  return training == kAbsent || is_false(edit, training) || (ratio != kAbsent && is_zero(edit, ratio));
}

}  // namespace

Status remove_identity(Graph& graph) {
  GraphEdit edit(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto id = static_cast<NodeId>(n);
    if (is_identity(edit, id)) {
      edit.bypass(id, edit.input(id, 0), graph.nodes[n].outputs[0]);
    }
  }
  edit.commit();
  return ok_status();
}

}  // namespace dlcc::frontend
