// StmtBuilder: statements of one node, brought into canonical form as they are added.
#include <algorithm>

#include "frontend/ops.h"

namespace dlcc::frontend {

namespace {

/// Dims of extent 1 say nothing: their variable is 0 everywhere. A reduction over one point is the point itself.
void drop_unit_dims(te::Stmt& stmt) {
  std::vector<te::VarId> renamed(stmt.dims.size(), -1);
  std::vector<te::Dim> kept;
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    if (stmt.dims[d].extent != 1) {
      renamed[d] = static_cast<te::VarId>(kept.size());
      kept.push_back(stmt.dims[d]);
    }
  }
  const auto rewrite = [&](te::Access& access) {
    for (te::Affine& index : access.index) {
      te::Affine without = index;
      for (const te::Term& term : index.terms()) {
        if (renamed[static_cast<size_t>(term.var)] < 0) {
          without = without.substitute(term.var, 0);
        }
      }
      index = without.rename([&](te::VarId var) { return renamed[static_cast<size_t>(var)]; });
    }
  };
  rewrite(stmt.write);
  std::for_each(stmt.reads.begin(), stmt.reads.end(), rewrite);
  for (te::ScalarNode& node : stmt.body) {
    if (node.op == te::Op::Index) {
      const te::VarId var = renamed[static_cast<size_t>(node.integer)];
      node.op = var < 0 ? te::Op::Const : te::Op::Index;
      node.integer = std::max(var, 0);
    }
  }
  stmt.dims = std::move(kept);
  const bool reduces =
      std::any_of(stmt.dims.begin(), stmt.dims.end(), [](const te::Dim& d) { return d.kind == te::DimKind::Red; });
  if (stmt.kind == te::StmtKind::Reduce && !reduces) {
    stmt.kind = te::StmtKind::Map;
    stmt.monoid = te::Monoid::Sum;
  }
}

}  // namespace

StmtBuilder::StmtBuilder(te::Module& module, int node, std::vector<int> inputs, std::vector<int> outputs)
    : module_(module), node_(node), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

int StmtBuilder::temporary(const std::string& suffix, DType type, std::vector<int64_t> shape) {
  te::Tensor tensor;
  tensor.name = module_.node_names[static_cast<size_t>(node_)] + "." + suffix;
  tensor.type = type;
  tensor.shape = std::move(shape);
  module_.tensors.push_back(std::move(tensor));
  return static_cast<int>(module_.tensors.size()) - 1;
}

int StmtBuilder::constant(const std::string& suffix, te::Array value) {
  const int id = temporary(suffix, value.type, value.shape);
  const auto kept = std::make_shared<const te::Array>(std::move(value));
  te::Tensor& tensor = module_.tensors[static_cast<size_t>(id)];
  tensor.kind = te::TensorKind::Constant;
  tensor.data = kept->data.data();
  owned_.push_back(kept);
  return id;
}

void StmtBuilder::alias(int output, int source) {
  const te::Tensor to = tensor(output);
  DLCC_CHECK(to.type == tensor(source).type && te::element_count(to.shape) == te::element_count(tensor(source).shape))
      << "'" << to.name << "' is no view of '" << tensor(source).name << "'";
  if (to.kind != te::TensorKind::Output) {
    module_.tensors[static_cast<size_t>(output)].storage = source;
    return;
  }
  // Outputs of the model own their memory: they get a copy of the view.
  const int view = temporary("view", to.type, to.shape);
  module_.tensors[static_cast<size_t>(view)].storage = source;
  te::Stmt copy;
  te::Access read;
  read.tensor = view;
  for (const int64_t extent : to.shape) {
    read.index.push_back(te::Affine::var(static_cast<te::VarId>(copy.dims.size())));
    copy.dims.push_back({"d" + std::to_string(copy.dims.size()), extent, te::DimKind::Par});
  }
  copy.write = read;
  copy.write.tensor = output;
  copy.reads = {read};
  te::ScalarBuilder body;
  copy.body = body.finish(body.load(to.type, 0));
  add(std::move(copy));
}

void StmtBuilder::add(te::Stmt stmt) {
  const std::string& node = module_.node_names[static_cast<size_t>(node_)];
  stmt.name = stmt.name.empty() ? node : node + "." + stmt.name;
  stmt.node = node_;
  drop_unit_dims(stmt);
  module_.stmts.push_back(std::move(stmt));
}

}  // namespace dlcc::frontend
