// Functions that the model carries: a call is replaced by the nodes of the body, with the call's values and attributes
// put in.
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend/onnx_import.h"

namespace dlcc::frontend {

namespace {

/// Defaults of the function's attributes. The field is newer than the installed definition of the format.
Status read_defaults(ImportState& state, const onnx::FunctionProto& function, const std::string& what) {
  if (state.defaults.contains(&function)) {
    return ok_status();
  }
  auto& defaults = state.defaults[&function];
  for (const std::string& bytes : unknown_strings(function, 11)) {
    defaults.push_back(std::make_shared<onnx::AttributeProto>());
    if (!defaults.back()->ParseFromString(bytes)) {
      return error(state.where, what + ": an attribute of the function is damaged");
    }
  }
  return ok_status();
}

Result<AttributeBindings> bind_attributes(ImportState& state, const Scope& caller, onnx::NodeProto& call,
                                          const onnx::FunctionProto& function, const std::string& what) {
  DLCC_RETURN_IF_ERROR(read_defaults(state, function, what));
  AttributeBindings bindings;
  std::set<std::string> known(function.attribute().begin(), function.attribute().end());
  for (const auto& value : state.defaults[&function]) {
    bindings[value->name()] = value.get();
    known.insert(value->name());
  }
  for (onnx::AttributeProto& written : *call.mutable_attribute()) {
    if (!known.contains(written.name())) {
      return error(state.where, fmt::format("{}: the function has no attribute '{}'", what, written.name()));
    }
    if (onnx::AttributeProto* attribute = resolve_attribute(caller, written)) {
      bindings[written.name()] = attribute;
    }
  }
  return bindings;
}

/// Values of the caller under the body's names.
Status bind_values(const ImportState& state, Scope& body, const onnx::FunctionProto& function, const std::string& what,
                   const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs) {
  const auto inputs_of_function = static_cast<size_t>(function.input_size());
  const auto outputs_of_function = static_cast<size_t>(function.output_size());
  if (inputs.size() > inputs_of_function || outputs.size() > outputs_of_function) {
    return error(state.where, fmt::format("{}: {} inputs and {} outputs; the function has {} and {}", what,
                                          inputs.size(), outputs.size(), inputs_of_function, outputs_of_function));
  }
  for (size_t i = 0; i < inputs_of_function; ++i) {
    body.names[function.input(static_cast<int>(i))] = i < inputs.size() ? inputs[i] : kAbsent;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] != kAbsent) {
      body.reserved[function.output(static_cast<int>(i))] = outputs[i];
    }
  }
  return ok_status();
}

/// Outputs of the body that are inputs of it become Identity nodes.
Status connect_outputs(const ImportState& state, Scope& body, const onnx::FunctionProto& function,
                       const std::string& what, const std::vector<ValueId>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = function.output(static_cast<int>(i));
    const auto found = body.names.find(name);
    if (outputs[i] == kAbsent || (found != body.names.end() && found->second == outputs[i])) {
      continue;
    }
    if (found == body.names.end() || found->second == kAbsent) {
      return error(state.where, fmt::format("{}: the function's output '{}' is not produced", what, name));
    }
    const std::string node = body.draft->node_names.make(body.prefix + "Identity_" + name);
    body.draft->graph.nodes.push_back({node, "", "Identity", state.opset, {found->second}, {outputs[i]}, {}});
    body.draft->extra.emplace_back();
  }
  return ok_status();
}

}  // namespace

Status inline_function(ImportState& state, Scope& caller, onnx::NodeProto& call, const std::string& call_name,
                       onnx::FunctionProto& function, const std::vector<ValueId>& inputs,
                       const std::vector<ValueId>& outputs) {
  const std::string what = describe_node(call_name, call.op_type());
  if (caller.depth + 1 > kMaxNesting) {
    return unsupported(state.where, fmt::format("{}: functions nested more than {} deep", what, kMaxNesting));
  }
  DLCC_TRY(const AttributeBindings bindings, bind_attributes(state, caller, call, function, what));
  std::vector<const onnx::OperatorSetIdProto*> imports;
  for (const onnx::OperatorSetIdProto& import : function.opset_import()) {
    imports.push_back(&import);
  }
  DLCC_TRY(const Opsets opsets, import_opsets(state, imports, "function '" + function.name() + "'"));
  Scope body;
  body.draft = caller.draft;
  body.opsets = &opsets;
  body.bindings = &bindings;
  body.prefix = call_name + "/";
  body.shared_protos = true;
  body.depth = caller.depth + 1;
  DLCC_RETURN_IF_ERROR(bind_values(state, body, function, what, inputs, outputs));
  std::vector<onnx::NodeProto*> nodes;
  for (onnx::NodeProto& node : *function.mutable_node()) {
    nodes.push_back(&node);
  }
  DLCC_RETURN_IF_ERROR(import_nodes(state, body, nodes));
  return connect_outputs(state, body, function, what, outputs);
}

}  // namespace dlcc::frontend
