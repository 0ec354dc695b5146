// GraphProto -> Graph: names become value ids, nodes are imported one by one, subgraphs see the values around them.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend/onnx_import.h"

namespace dlcc::frontend {

namespace {

ValueId add_value(GraphDraft& draft, const std::string& name) {
  draft.graph.values.push_back({});
  draft.graph.values.back().name = name;
  return static_cast<ValueId>(draft.graph.values.size()) - 1;
}

void set_constant(Value& value, ConstantTensor tensor) {
  value.type = tensor.type;
  value.shape_known = true;
  value.shape.clear();
  for (const int64_t dim : tensor.shape) {
    value.shape.push_back({dim, ""});
  }
  value.constant = std::move(tensor.data);
}

/// Gives the value its data; a tensor of an unsupported type leaves the value unknown, and is reported at the end.
Status accept_constant(ImportState& state, Value& value, Result<ConstantTensor> tensor) {
  if (!tensor.ok()) {
    return collect_unsupported(state, tensor.diags());
  }
  set_constant(value, std::move(tensor).value());
  return ok_status();
}

Status import_initializers(ImportState& state, Scope& scope, onnx::GraphProto& proto) {
  for (onnx::TensorProto& tensor : *proto.mutable_initializer()) {
    const std::string what = "initializer '" + tensor.name() + "'";
    if (tensor.name().empty()) {
      return error(state.where, what + " has no name");
    }
    DLCC_TRY(const ValueId id, declare_value(state, scope, tensor.name()));
    auto constant = read_tensor(tensor, state.where, what, state.files, !scope.shared_protos);
    DLCC_RETURN_IF_ERROR(
        accept_constant(state, scope.draft->graph.values[static_cast<size_t>(id)], std::move(constant)));
  }
  for (const onnx::SparseTensorProto& tensor : proto.sparse_initializer()) {
    state.unsupported.push_back(
        {DiagKind::Unsupported, state.where, "initializer '" + tensor.values().name() + "': a sparse tensor"});
    DLCC_RETURN_IF_ERROR(declare_value(state, scope, tensor.values().name()));
  }
  return ok_status();
}

/// Up to IR 3 initializers are inputs too; later they may be, as defaults that a caller could replace. Both are
/// constants here.
Status import_inputs(ImportState& state, Scope& scope, const onnx::GraphProto& proto) {
  const std::map<std::string, ValueId> initializers = scope.names;
  std::set<std::string> seen;
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (!seen.insert(input.name()).second) {
      return error(state.where, "input '" + input.name() + "' is listed twice");
    }
    if (initializers.contains(input.name())) {
      continue;
    }
    if (input.name().empty()) {
      return error(state.where, "an input has no name");
    }
    DLCC_TRY(const ValueId id, declare_value(state, scope, input.name()));
    Graph& graph = scope.draft->graph;
    graph.inputs.push_back(id);
    if (scope.parent == nullptr || input.has_type()) {
      auto status =
          import_type(state, input.type(), "input '" + input.name() + "'", graph.values[static_cast<size_t>(id)]);
      if (!status.ok()) {
        DLCC_RETURN_IF_ERROR(collect_unsupported(state, status.diags()));
      }
    }
  }
  return ok_status();
}

Status import_outputs(ImportState& state, Scope& scope, const onnx::GraphProto& proto) {
  std::set<std::string> seen;
  for (const onnx::ValueInfoProto& output : proto.output()) {
    const std::optional<ValueId> id = find_value(scope, output.name());
    if (!id || *id == kAbsent) {
      return error(state.where, "output '" + output.name() + "' is not produced by any node");
    }
    if (!seen.insert(output.name()).second && scope.parent == nullptr) {
      return error(state.where, "output '" + output.name() + "' is listed twice");
    }
    scope.draft->graph.outputs.push_back(*id);
  }
  return ok_status();
}

/// What all passes need to know of one node before its operator is looked at.
struct NodeHead {
  std::string name, domain, what;
  std::vector<ValueId> inputs, outputs;
};

Result<std::vector<ValueId>> declare_outputs(ImportState& state, Scope& scope, const onnx::NodeProto& proto) {
  std::vector<ValueId> ids;
  for (const std::string& output : proto.output()) {
    if (output.empty()) {
      ids.push_back(kAbsent);
      continue;
    }
    DLCC_TRY(const ValueId id, declare_value(state, scope, output));
    ids.push_back(id);
  }
  return ids;
}

Result<NodeHead> import_head(ImportState& state, Scope& scope, const onnx::NodeProto& proto,
                             std::vector<ValueId> outputs) {
  NodeHead head;
  const std::string first = proto.output_size() > 0 ? proto.output(0) : std::string();
  const std::string wanted = proto.name().empty() ? proto.op_type() + "_" + first : proto.name();
  head.name = scope.draft->node_names.make(scope.prefix + wanted);
  head.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  head.what = describe_node(head.name, proto.op_type());
  head.outputs = std::move(outputs);
  if (proto.op_type().empty()) {
    return error(state.where, head.what + ": no operator");
  }
  for (const std::string& input : proto.input()) {
    if (input.empty()) {
      head.inputs.push_back(kAbsent);
      continue;
    }
    const std::optional<ValueId> id = find_value(scope, input);
    if (!id) {
      return error(state.where, fmt::format("{}: input '{}' is not defined", head.what, input));
    }
    head.inputs.push_back(*id);
  }
  return head;
}

onnx::FunctionProto* find_function(const ImportState& state, const onnx::NodeProto& proto, const std::string& domain) {
  if (state.functions.empty()) {
    return nullptr;
  }
  const std::vector<std::string> overload = unknown_strings(proto, 8);
  const auto found = state.functions.find({domain, proto.op_type(), overload.empty() ? "" : overload.back()});
  return found == state.functions.end() ? nullptr : found->second;
}

Status import_node(ImportState& state, Scope& scope, onnx::NodeProto& proto, std::vector<ValueId> outputs) {
  if (++state.nodes > kMaxNodes) {
    return unsupported(state.where, fmt::format("more than {} nodes, functions written out", kMaxNodes));
  }
  scope.captured.clear();
  DLCC_TRY(NodeHead head, import_head(state, scope, proto, std::move(outputs)));
  if (onnx::FunctionProto* function = find_function(state, proto, head.domain)) {
    return inline_function(state, scope, proto, head.name, *function, head.inputs, head.outputs);
  }
  const auto opset = scope.opsets->find(head.domain);
  if (opset == scope.opsets->end()) {
    return error(state.where, fmt::format("{}: the model does not import the domain '{}'", head.what,
                                          head.domain.empty() ? "ai.onnx" : head.domain));
  }
  if (head.domain.empty() && proto.op_type() == "Constant") {
    if (!head.inputs.empty() || head.outputs.size() != 1 || head.outputs[0] == kAbsent) {
      return error(state.where, head.what + ": a constant has no inputs and one output");
    }
    auto constant = import_constant(state, scope, proto, head.what);
    return accept_constant(state, scope.draft->graph.values[static_cast<size_t>(head.outputs[0])], std::move(constant));
  }
  DLCC_TRY(auto attributes, import_attributes(state, scope, proto, head.what));
  scope.draft->graph.nodes.push_back(
      {head.name, head.domain, proto.op_type(), opset->second, head.inputs, head.outputs, std::move(attributes)});
  scope.draft->extra.push_back(std::move(scope.captured));
  scope.captured.clear();
  return ok_status();
}

}  // namespace

std::string describe_node(const std::string& name, const std::string& op) {
  return "node '" + name + "' (" + op + ")";
}

std::optional<ValueId> find_value(Scope& scope, const std::string& name) {
  const auto found = scope.names.find(name);
  if (found != scope.names.end()) {
    return found->second;
  }
  if (scope.parent == nullptr) {
    return std::nullopt;
  }
  const std::optional<ValueId> outer = find_value(*scope.parent, name);
  if (!outer) {
    return std::nullopt;
  }
  ValueId id = kAbsent;
  if (*outer != kAbsent) {
    scope.parent->captured.push_back(*outer);
    const std::string& outer_name = scope.parent->draft->graph.values[static_cast<size_t>(*outer)].name;
    scope.draft->value_names.reserve(outer_name);
    id = add_value(*scope.draft, outer_name);
  }
  scope.names[name] = id;
  return id;
}

Result<ValueId> declare_value(const ImportState& state, Scope& scope, const std::string& name) {
  if (const auto reserved = scope.reserved.find(name);
      reserved != scope.reserved.end() && !scope.names.contains(name)) {
    scope.names[name] = reserved->second;
    return reserved->second;
  }
  if (scope.names.contains(name)) {
    return error(state.where, fmt::format("value '{}{}' is defined twice", scope.prefix, name));
  }
  const ValueId id = add_value(*scope.draft, scope.draft->value_names.make(scope.prefix + name));
  scope.names[name] = id;
  return id;
}

Status import_nodes(ImportState& state, Scope& scope, const std::vector<onnx::NodeProto*>& nodes) {
  std::vector<std::vector<ValueId>> outputs;
  for (const onnx::NodeProto* node : nodes) {
    DLCC_TRY(std::vector<ValueId> ids, declare_outputs(state, scope, *node));
    outputs.push_back(std::move(ids));
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    DLCC_RETURN_IF_ERROR(import_node(state, scope, *nodes[i], std::move(outputs[i])));
  }
  return ok_status();
}

Result<Graph> import_graph(ImportState& state, onnx::GraphProto& proto, Scope* parent, const Opsets& opsets,
                           bool shared_protos, int depth) {
  GraphDraft draft;
  draft.graph.name = proto.name();
  Scope scope;
  scope.draft = &draft;
  scope.parent = parent;
  scope.opsets = &opsets;
  scope.bindings = parent != nullptr ? parent->bindings : nullptr;
  scope.prefix = parent != nullptr ? parent->prefix : "";
  scope.shared_protos = shared_protos;
  scope.depth = depth;
  DLCC_RETURN_IF_ERROR(import_initializers(state, scope, proto));
  DLCC_RETURN_IF_ERROR(import_inputs(state, scope, proto));
  std::vector<onnx::NodeProto*> nodes;
  for (onnx::NodeProto& node : *proto.mutable_node()) {
    nodes.push_back(&node);
  }
  DLCC_RETURN_IF_ERROR(import_nodes(state, scope, nodes));
  DLCC_RETURN_IF_ERROR(import_outputs(state, scope, proto));
  DLCC_RETURN_IF_ERROR(sort_nodes(draft, state.where));
  return std::move(draft.graph);
}

}  // namespace dlcc::frontend
