// merge_reshapes: nodes that only rename positions become one Reshape of the first one's input.
#include <algorithm>
#include <cstring>

#include "frontend/rewrites/graph_edit.h"
#include "frontend/rewrites/passes.h"
#include "frontend/rewrites/reshape_node.h"

namespace dlcc::frontend {

namespace {

bool is_reshape(const Node& node) {
  const bool known = node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze";
  return known && node.domain.empty() && !node.inputs.empty() && node.inputs[0] != kAbsent && node.outputs.size() == 1;
}

}  // namespace

bool make_reshape(GraphEdit& edit, NodeId id, ValueId input) {
  Node& node = edit.node(id);
  const std::vector<int64_t> shape = concrete_shape(edit.value(node.outputs[0]));
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return false;
  }
  te::Array array = te::Array::zeros(DType::I64, {static_cast<int64_t>(shape.size())});
  if (!shape.empty()) {
    std::memcpy(array.data.data(), shape.data(), shape.size() * sizeof(int64_t));
  }
  const ValueId constant = edit.add_constant(edit.value(node.outputs[0]).name + ".shape", std::move(array));
  node.op = "Reshape";
  node.attributes.clear();
  edit.set_input(id, 0, input);
  edit.set_input(id, 1, constant);
  return true;
}

Status merge_reshapes(Graph& graph) {
  GraphEdit edit(graph);
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const auto id = static_cast<NodeId>(n);
    if (!is_reshape(edit.node(id))) {
      continue;
    }
    const ValueId input = edit.input(id, 0), output = edit.node(id).outputs[0];
    const NodeId before = edit.producer(input);
    const bool chain = before >= 0 && is_reshape(edit.node(before));
    const ValueId source = chain ? edit.input(before, 0) : input;
    if (concrete_shape(edit.value(source)) == concrete_shape(edit.value(output))) {
      if (chain && !make_reshape(edit, id, source)) {
        continue;
      }
      edit.bypass(id, source, output);
    } else if (chain) {
      make_reshape(edit, id, source);
    }
  }
  edit.commit();
  return ok_status();
}

}  // namespace dlcc::frontend
