// GraphEdit: see the header. Redirections are kept in a table and applied once, so that a pass is linear in the graph.
#include "frontend/rewrites/graph_edit.h"

namespace dlcc::frontend {

GraphEdit::GraphEdit(Graph& graph)
    : graph_(graph),
      producer_(graph.values.size(), -1),
      uses_(graph.values.size(), 0),
      is_output_(graph.values.size(), false),
      removed_(graph.nodes.size(), false),
      redirect_(graph.values.size(), kAbsent) {
  for (const Value& value : graph.values) {
    names_.reserve(value.name);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId input : graph.nodes[n].inputs) {
      if (input != kAbsent) {
        ++uses_[static_cast<size_t>(input)];
      }
    }
    for (const ValueId output : graph.nodes[n].outputs) {
      if (output != kAbsent) {
        producer_[static_cast<size_t>(output)] = static_cast<NodeId>(n);
      }
    }
  }
  for (const ValueId output : graph.outputs) {
    ++uses_[static_cast<size_t>(output)];
    is_output_[static_cast<size_t>(output)] = true;
  }
}

ValueId GraphEdit::resolve(ValueId value) const {
  while (value != kAbsent && redirect_[static_cast<size_t>(value)] != kAbsent) {
    value = redirect_[static_cast<size_t>(value)];
  }
  return value;
}

ValueId GraphEdit::input(NodeId node, size_t i) const {
  const std::vector<ValueId>& inputs = graph_.nodes[static_cast<size_t>(node)].inputs;
  return i < inputs.size() ? resolve(inputs[i]) : kAbsent;
}

void GraphEdit::set_input(NodeId node, size_t i, ValueId value) {
  std::vector<ValueId>& inputs = graph_.nodes[static_cast<size_t>(node)].inputs;
  if (i >= inputs.size()) {
    inputs.resize(i + 1, kAbsent);
  }
  if (inputs[i] != kAbsent) {
    --uses_[static_cast<size_t>(resolve(inputs[i]))];
  }
  inputs[i] = value;
  ++uses_[static_cast<size_t>(resolve(value))];
}

bool GraphEdit::bypass(NodeId node, ValueId from, ValueId to) {
  from = resolve(from);
  const NodeId maker = producer(from);
  if (is_output(to) && (is_output(from) || maker < 0)) {
    return false;
  }
  --uses_[static_cast<size_t>(from)];
  if (is_output(to)) {
    for (ValueId& output : this->node(maker).outputs) {
      output = output == from ? to : output;
    }
    producer_[static_cast<size_t>(to)] = maker;
    producer_[static_cast<size_t>(from)] = -1;
    uses_[static_cast<size_t>(to)] += uses_[static_cast<size_t>(from)];
    uses_[static_cast<size_t>(from)] = 0;
    redirect_[static_cast<size_t>(from)] = to;
  } else {
    uses_[static_cast<size_t>(from)] += uses_[static_cast<size_t>(to)];
    uses_[static_cast<size_t>(to)] = 0;
    redirect_[static_cast<size_t>(to)] = from;
  }
  removed_[static_cast<size_t>(node)] = true;
  return true;
}

void GraphEdit::take_over(NodeId node, size_t output, ValueId value) {
  const NodeId replaced = producer(value);
  DLCC_CHECK(replaced >= 0) << "value '" << this->value(value).name << "' has no producer";
  for (const ValueId input : this->node(replaced).inputs) {
    if (input != kAbsent) {
      --uses_[static_cast<size_t>(resolve(input))];
    }
  }
  removed_[static_cast<size_t>(replaced)] = true;
  this->node(node).outputs[output] = value;
  producer_[static_cast<size_t>(value)] = node;
}

ValueId GraphEdit::add_constant(const std::string& wanted_name, te::Array array) {
  const auto kept = std::make_shared<const te::Array>(std::move(array));
  Value value;
  value.name = names_.make(wanted_name);
  value.type = kept->type;
  value.shape_known = true;
  for (const int64_t dim : kept->shape) {
    value.shape.push_back({dim, ""});
  }
  value.constant = ConstantData{kept, kept->data.data(), kept->data.size()};
  graph_.values.push_back(std::move(value));
  producer_.push_back(-1);
  uses_.push_back(0);
  is_output_.push_back(false);
  redirect_.push_back(kAbsent);
  return static_cast<ValueId>(graph_.values.size()) - 1;
}

void GraphEdit::commit() {
  std::vector<Node> nodes;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (removed_[n]) {
      continue;
    }
    for (ValueId& input : graph_.nodes[n].inputs) {
      input = resolve(input);
    }
    nodes.push_back(std::move(graph_.nodes[n]));
  }
  graph_.nodes = std::move(nodes);
  removed_.assign(graph_.nodes.size(), false);
}

}  // namespace dlcc::frontend
