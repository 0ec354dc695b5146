// Graph -> te::Module: one tensor a value, the statements of every node in the graph's order.
#include "frontend/define.h"

#include <algorithm>

#include "frontend/unique_names.h"

namespace dlcc::frontend {

int ModuleBuilder::tensor_of(ValueId value, te::TensorKind kind) {
  int& id = tensors_[static_cast<size_t>(value)];
  if (id >= 0) {
    return id;
  }
  const Value& source = graph_.values[static_cast<size_t>(value)];
  te::Tensor tensor;
  tensor.name = source.name;
  tensor.type = source.type;
  tensor.shape = concrete_shape(source);
  tensor.kind = source.constant ? te::TensorKind::Constant : kind;
  tensor.data = source.constant ? source.constant->data : nullptr;
  id = static_cast<int>(definition_.module.tensors.size());
  definition_.module.tensors.push_back(std::move(tensor));
  return id;
}

Status ModuleBuilder::add(const Node& node) {
  const OpDef* op = find_op(node.domain, node.op, node.version);
  DLCC_CHECK(op != nullptr) << "node '" << node.name << "' has no operator";
  te::Module& module = definition_.module;
  std::vector<int> inputs, outputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input == kAbsent ? -1 : tensor_of(input, te::TensorKind::Intermediate));
  }
  for (const ValueId output : node.outputs) {
    outputs.push_back(output == kAbsent ? -1 : tensor_of(output, te::TensorKind::Intermediate));
  }
  const int number = static_cast<int>(module.node_names.size());
  const size_t first_stmt = module.stmts.size();
  module.node_names.push_back(node.name);
  OpContext context(graph_, node);
  StmtBuilder builder(module, number, std::move(inputs), outputs);
  DLCC_RETURN_IF_ERROR(op->define(context, builder));
  for (auto& owned : builder.take_owned()) {
    definition_.owned.push_back(std::move(owned));
  }
  check_defined(node, outputs, first_stmt);
  return ok_status();
}

void ModuleBuilder::check_defined(const Node& node, const std::vector<int>& outputs, size_t first_stmt) const {
  const te::Module& module = definition_.module;
  for (const int output : outputs) {
    if (output < 0) {
      continue;
    }
    const te::Tensor& tensor = module.tensors[static_cast<size_t>(output)];
    const bool written = std::any_of(module.stmts.begin() + static_cast<std::ptrdiff_t>(first_stmt), module.stmts.end(),
                                     [&](const te::Stmt& stmt) { return stmt.write.tensor == output; });
    DLCC_CHECK(written || tensor.storage >= 0 || te::element_count(tensor.shape) == 0)
        << "node '" << node.name << "' (" << node.op << ") does not define its output '" << tensor.name << "'";
  }
}

int ModuleBuilder::add_output_copy(ValueId value) {
  te::Module& module = definition_.module;
  const int source = tensor_of(value, te::TensorKind::Intermediate);
  te::Tensor tensor = module.tensors[static_cast<size_t>(source)];
  tensor.kind = te::TensorKind::Output;
  tensor.data = nullptr;
  const int output = static_cast<int>(module.tensors.size());
  module.tensors.push_back(tensor);
  const int number = static_cast<int>(module.node_names.size());
  module.node_names.push_back("output " + tensor.name);
  StmtBuilder builder(module, number, {source}, {output});
  builder.alias(output, source);
  return output;
}

Definition ModuleBuilder::take() {
  te::Module& module = definition_.module;
  UniqueNames tensor_names, stmt_names;
  std::vector<bool> named(module.tensors.size(), false);
  const auto name = [&](int id) {
    if (!named[static_cast<size_t>(id)]) {
      named[static_cast<size_t>(id)] = true;
      module.tensors[static_cast<size_t>(id)].name = tensor_names.make(module.tensors[static_cast<size_t>(id)].name);
    }
  };
  std::for_each(module.inputs.begin(), module.inputs.end(), name);
  std::for_each(module.outputs.begin(), module.outputs.end(), name);
  for (size_t id = 0; id < module.tensors.size(); ++id) {
    name(static_cast<int>(id));
  }
  for (te::Stmt& stmt : module.stmts) {
    stmt.name = stmt_names.make(stmt.name);
  }
  return std::move(definition_);
}

Result<Definition> define(const Graph& graph) {
  ModuleBuilder builder(graph);
  te::Module& module = builder.definition().module;
  for (const ValueId input : graph.inputs) {
    module.inputs.push_back(builder.tensor_of(input, te::TensorKind::Input));
  }
  const auto is_given = [&](ValueId value) {
    return graph.values[static_cast<size_t>(value)].constant.has_value() ||
           std::find(graph.inputs.begin(), graph.inputs.end(), value) != graph.inputs.end();
  };
  for (const ValueId output : graph.outputs) {
    if (!is_given(output)) {
      builder.tensor_of(output, te::TensorKind::Output);
    }
  }
  Diags diags;
  for (const Node& node : graph.nodes) {
    const auto status = builder.add(node);
    diags.insert(diags.end(), status.diags().begin(), status.diags().end());
  }
  if (!diags.empty()) {
    return diags;
  }
  for (const ValueId output : graph.outputs) {
    module.outputs.push_back(is_given(output) ? builder.add_output_copy(output)
                                              : builder.tensor_of(output, te::TensorKind::Output));
  }
  return builder.take();
}

}  // namespace dlcc::frontend
