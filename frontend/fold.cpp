// fold_node: define -> what the outputs need -> evaluate -> constants.
#include "frontend/fold.h"

#include <algorithm>

#include "frontend/define.h"

namespace dlcc::frontend {

namespace {

double bytes_of_tensor(const te::Tensor& tensor) {
  return static_cast<double>(te::element_count(tensor.shape)) * bytes_of(tensor.type);
}

/// Tensors that the outputs need, views and what they view included.
std::vector<bool> needed_tensors(const te::Module& module) {
  std::vector<bool> needed(module.tensors.size(), false);
  const auto need = [&](int tensor) {
    for (; tensor >= 0; tensor = module.tensors[static_cast<size_t>(tensor)].storage) {
      needed[static_cast<size_t>(tensor)] = true;
    }
  };
  std::for_each(module.outputs.begin(), module.outputs.end(), need);
  for (auto stmt = module.stmts.rbegin(); stmt != module.stmts.rend(); ++stmt) {
    if (needed[static_cast<size_t>(module.root_of(stmt->write.tensor))]) {
      need(stmt->write.tensor);
      for (const te::Access& read : stmt->reads) {
        need(read.tensor);
      }
    }
  }
  return needed;
}

/// The module without the tensors that nothing needs (inputs of a Shape node, which have no data).
te::Module without_unneeded(te::Module module, const std::vector<bool>& needed) {
  std::vector<int> renumbered(module.tensors.size(), -1);
  std::vector<te::Tensor> tensors;
  for (size_t t = 0; t < module.tensors.size(); ++t) {
    if (needed[t]) {
      renumbered[t] = static_cast<int>(tensors.size());
      tensors.push_back(std::move(module.tensors[t]));
    }
  }
  for (te::Tensor& tensor : tensors) {
    tensor.storage = tensor.storage < 0 ? -1 : renumbered[static_cast<size_t>(tensor.storage)];
  }
  module.tensors = std::move(tensors);
  std::erase_if(module.stmts,
                [&](const te::Stmt& stmt) { return renumbered[static_cast<size_t>(stmt.write.tensor)] < 0; });
  for (te::Stmt& stmt : module.stmts) {
    stmt.write.tensor = renumbered[static_cast<size_t>(stmt.write.tensor)];
    for (te::Access& read : stmt.reads) {
      read.tensor = renumbered[static_cast<size_t>(read.tensor)];
    }
  }
  for (int& output : module.outputs) {
    output = renumbered[static_cast<size_t>(output)];
  }
  module.inputs.clear();
  return module;
}

bool affordable(const te::Module& module, FoldBudget& budget) {
  double work = 0, bytes = 0, read = 0;
  for (const te::Stmt& stmt : module.stmts) {
    double points = 1;
    for (const te::Dim& dim : stmt.dims) {
      points *= static_cast<double>(dim.extent);
    }
    work += points * static_cast<double>(stmt.body.size());
  }
  for (const te::Tensor& tensor : module.tensors) {
    (tensor.kind == te::TensorKind::Constant ? read : bytes) += tensor.storage < 0 ? bytes_of_tensor(tensor) : 0;
  }
  const bool small = bytes <= budget.limits.node_bytes && budget.bytes + bytes <= budget.limits.total_bytes;
  if ((!small && bytes > 2 * read) || work > budget.limits.node_work || budget.work + work > budget.limits.total_work) {
    return false;
  }
  budget.work += work;
  budget.bytes += bytes;
  return true;
}

/// Data of an output that is a view of a constant: shared, not copied.
std::optional<ConstantData> shared_data(const Graph& graph, const Node& node, const Definition& definition,
                                        int output) {
  const te::Tensor& root = definition.module.tensors[static_cast<size_t>(definition.module.root_of(output))];
  if (root.kind != te::TensorKind::Constant) {
    return std::nullopt;
  }
  for (const ValueId input : node.inputs) {
    const auto* constant = input == kAbsent ? nullptr : &graph.values[static_cast<size_t>(input)].constant;
    if (constant != nullptr && constant->has_value() && (*constant)->data == root.data) {
      return *constant;
    }
  }
  auto kept = std::make_shared<const std::vector<std::shared_ptr<const void>>>(definition.owned);
  return ConstantData{kept, static_cast<const std::byte*>(root.data), static_cast<size_t>(bytes_of_tensor(root))};
}

ConstantData own_array(te::Array array) {
  const auto kept = std::make_shared<const te::Array>(std::move(array));
  return {kept, kept->data.data(), kept->data.size()};
}

/// The node alone: its inputs are the module's, as far as they are not constant.
Status define_alone(ModuleBuilder& builder, const Node& node, const std::vector<ValueId>& outputs) {
  for (const ValueId input : node.inputs) {
    if (input != kAbsent) {
      builder.tensor_of(input, te::TensorKind::Input);
    }
  }
  for (const ValueId output : outputs) {
    const int tensor = builder.tensor_of(output, te::TensorKind::Intermediate);
    builder.definition().module.outputs.push_back(tensor);
  }
  return builder.add(node);
}

bool needs_inputs(const te::Module& module, const std::vector<bool>& needed) {
  for (size_t t = 0; t < module.tensors.size(); ++t) {
    if (needed[t] && module.tensors[t].kind == te::TensorKind::Input) {
      return true;
    }
  }
  return false;
}

/// Values of the outputs; nullopt when they cost too much.
std::optional<std::vector<ConstantData>> output_data(const Graph& graph, const Node& node, const Definition& definition,
                                                     const std::vector<bool>& needed, FoldBudget& budget) {
  std::vector<std::optional<ConstantData>> shared;
  for (const int output : definition.module.outputs) {
    shared.push_back(shared_data(graph, node, definition, output));
  }
  std::vector<te::Array> values(shared.size());
  if (std::any_of(shared.begin(), shared.end(), [](const auto& data) { return !data; })) {
    const te::Module reduced = without_unneeded(definition.module, needed);
    if (!affordable(reduced, budget)) {
      return std::nullopt;
    }
    auto result = te::evaluate(reduced, {});
    DLCC_CHECK(result.ok()) << "folding node '" << node.name << "' (" << node.op << "): " << to_string(result.diags());
    values = std::move(result).value();
  }
  std::vector<ConstantData> data;
  for (size_t i = 0; i < shared.size(); ++i) {
    data.push_back(shared[i] ? *shared[i] : own_array(std::move(values[i])));
  }
  return data;
}

}  // namespace

Result<bool> fold_node(Graph& graph, const Node& node, FoldBudget& budget) {
  std::vector<ValueId> outputs;
  std::copy_if(node.outputs.begin(), node.outputs.end(), std::back_inserter(outputs),
               [](ValueId id) { return id != kAbsent; });
  ModuleBuilder builder(graph);
  DLCC_RETURN_IF_ERROR(define_alone(builder, node, outputs));
  const te::Module& module = builder.definition().module;
  const std::vector<bool> needed = needed_tensors(module);
  if (needs_inputs(module, needed)) {
    return false;
  }
  auto data = output_data(graph, node, builder.definition(), needed, budget);
  if (!data) {
    return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    graph.values[static_cast<size_t>(outputs[i])].constant = std::move((*data)[i]);
  }
  return true;
}

}  // namespace dlcc::frontend
