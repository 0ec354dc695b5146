// Analysis of one Compute leaf for kernel generation.
#include "lowering/kernelize_leaf.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace dlcc::lowering {

using te::Affine;
using te::Op;

std::string operation_text(std::string_view op, DType type) {
  return fmt::format("{} of {}", op, name_of(type));
}

LeafForm::LeafForm(const hw::Compute& leaf, const hw::Group& group, const hw::Machine& machine)
    : leaf_(leaf), machine_(machine) {
  DLCC_CHECK(dim_count() <= kMaxKernelDims) << leaf.name << " has " << dim_count() << " dims";
  write_ = linearise(leaf.write, group);
  for (const hw::ComputeRead& read : leaf.reads) {
    reads_.push_back(linearise(read.view, group));
    if (read.indirect_dim != hw::kNone) {
      const hw::Buffer& buffer = group.buffers[static_cast<size_t>(read.view.object)];
      const std::vector<int64_t>& pitch = buffer.pitch.empty() ? buffer.shape : buffer.pitch;
      LeafAccess& access = reads_.back();
      access.index_read = read.indirect_read;
      access.index_extent = buffer.shape[static_cast<size_t>(read.indirect_dim)];
      access.index_stride = 1;
      for (size_t d = static_cast<size_t>(read.indirect_dim) + 1; d < pitch.size(); ++d) {
        access.index_stride *= pitch[d];
      }
    }
  }
  fma_ = te::accumulates_with_fma(leaf.accumulate ? te::StmtKind::Reduce : te::StmtKind::Map, leaf.monoid, leaf.body);
  find_deps();
}

LeafAccess LeafForm::linearise(const hw::View& view, const hw::Group& group) const {
  DLCC_CHECK(view.kind == hw::ObjectKind::Buffer) << leaf_.name << " works on a tensor in global memory";
  const hw::Buffer& buffer = group.buffers[static_cast<size_t>(view.object)];
  const std::vector<int64_t>& pitch = buffer.pitch.empty() ? buffer.shape : buffer.pitch;
  LeafAccess access;
  access.type = buffer.type;
  access.align =
      std::max<int64_t>(machine_.memories[static_cast<size_t>(buffer.memory)].align / bytes_of(buffer.type), 1);
  int64_t stride = 1;
  for (size_t d = view.index.size(); d-- > 0;) {
    access.offset += view.index[d] * stride;
    stride *= pitch[d];
  }
  access.dims = dims_of(access.offset);
  return access;
}

DimSet LeafForm::dims_of(const Affine& affine) const {
  DimSet dims = 0;
  for (int d = 0; d < dim_count(); ++d) {
    if (!is_unit(d) && affine.depends_on(dim(d).var)) {
      dims |= dim_bit(d);
    }
  }
  return dims;
}

void LeafForm::find_deps() {
  std::vector<bool> used(leaf_.body.size(), false);
  used.back() = true;
  for (size_t n = leaf_.body.size(); n-- > 0;) {
    const te::ScalarNode& node = leaf_.body[n];
    for (const int operand : {node.a, node.b, node.c}) {
      if (used[n] && operand >= 0) {
        used[static_cast<size_t>(operand)] = true;
      }
    }
  }
  for (int n = 0; n <= root(); ++n) {
    const te::ScalarNode& node = this->node(n);
    DimSet dims = 0;
    if (node.op == Op::Load) {
      const LeafAccess& access = read(static_cast<int>(node.integer));
      dims = access.dims | (access.index_read >= 0 ? read(access.index_read).dims : 0);
    } else if (node.op == Op::Index) {
      const int d = static_cast<int>(node.integer);
      dims = is_unit(d) ? 0 : dim_bit(d);
    }
    for (const int operand : {node.a, node.b, node.c}) {
      dims |= operand >= 0 ? deps_[static_cast<size_t>(operand)] : 0;
    }
    deps_.push_back(dims);
    if (used[static_cast<size_t>(n)] && !(fma_ && n == root())) {
      nodes_.push_back(n);
    }
  }
}

Op LeafForm::combine() const {
  switch (leaf_.monoid) {
    case te::Monoid::Sum:
      return Op::Add;
    case te::Monoid::Prod:
      return Op::Mul;
    case te::Monoid::Min:
      return Op::Min;
    case te::Monoid::Max:
      return Op::Max;
    case te::Monoid::And:
      return Op::And;
    case te::Monoid::Or:
      return Op::Or;
  }
  DLCC_CHECK(false) << "monoid " << static_cast<int>(leaf_.monoid);
  return Op::Add;
}

bool LeafForm::aligned(const LeafAccess& access, int row, int lanes) const {
  if (lanes == 1) {
    return true;
  }
  if (access.index_read >= 0 || access.align % lanes != 0 || access.offset.constant() % lanes != 0) {
    return false;
  }
  const te::VarId row_var = dim(row).var;
  return std::all_of(access.offset.terms().begin(), access.offset.terms().end(),
                     [&](const te::Term& term) { return term.var == row_var || term.coef % lanes == 0; });
}

const hw::VectorOp* LeafForm::operation(int n, int lanes) const {
  const te::ScalarNode& node = this->node(n);
  const bool tests = (node.op >= Op::Lt && node.op <= Op::Ne) || node.op == Op::IsNan || node.op == Op::IsInf;
  return find(te::name_of(node.op), tests ? this->node(node.a).type : node.type, lanes);
}

const hw::VectorOp* LeafForm::combination(int lanes) const {
  return find(te::name_of(fma_ ? Op::Fma : combine()), write_.type, lanes);
}

/// A load whose value changes along the row.
std::string LeafForm::access_obstacle(int n, int row, int lanes) const {
  const LeafAccess& access = read(static_cast<int>(node(n).integer));
  if (access.index_read >= 0 && (read(access.index_read).dims & dim_bit(row)) != 0) {
    return fmt::format("read {} looks its position up for every element", node(n).integer);
  }
  if (stride(access, row) != 1) {
    return fmt::format("read {} has stride {} along {}", node(n).integer, stride(access, row), row);
  }
  const char* form = aligned(access, row, lanes) ? "load" : "loadu";
  return find(form, access.type, lanes) != nullptr
             ? ""
             : fmt::format("no {} with {} lanes", operation_text(form, access.type), lanes);
}

/// A value that is the same for the whole row but is needed in every lane.
std::string LeafForm::uniform_obstacle(int n, int lanes) const {
  const te::ScalarNode& node = this->node(n);
  const char* direct = node.op == Op::Load ? "load_splat" : node.op == Op::Const ? "const" : "splat";
  if (find(direct, node.type, lanes) != nullptr || find("splat", node.type, lanes) != nullptr) {
    return "";
  }
  return fmt::format("no {} to {} lanes", operation_text("splat", node.type), lanes);
}

std::string LeafForm::vector_obstacle(int row, int lanes) const {
  const auto varies = [&](int n) { return (deps(n) & dim_bit(row)) != 0; };
  const auto lacks = [&](std::string_view op, DType type) {
    return fmt::format("no {} with {} lanes", operation_text(op, type), lanes);
  };
  if (stride(write_, row) != 1) {
    return fmt::format("the write has stride {}", stride(write_, row));
  }
  const bool aligned_write = aligned(write_, row, lanes);
  if (find(aligned_write ? "store" : "storeu", write_.type, lanes) == nullptr) {
    return lacks(aligned_write ? "store" : "storeu", write_.type);
  }
  if (leaf_.accumulate &&
      (find(aligned_write ? "load" : "loadu", write_.type, lanes) == nullptr || combination(lanes) == nullptr)) {
    return lacks(te::name_of(fma_ ? Op::Fma : combine()), write_.type);
  }
  std::vector<int> in_lanes = {node(root()).a, node(root()).b};
  if (!fma_) {
    in_lanes = {root()};
  }
  for (const int n : nodes_) {
    const te::ScalarNode& node = this->node(n);
    if (!varies(n)) {
      continue;
    }
    std::string obstacle;
    if (node.op == Op::Load) {
      obstacle = access_obstacle(n, row, lanes);
    } else if (node.op == Op::Index) {
      obstacle = "the value is the position itself";
    } else if (operation(n, lanes) == nullptr) {
      obstacle = lacks(te::name_of(node.op), node.type);
    }
    if (!obstacle.empty()) {
      return obstacle;
    }
    in_lanes.insert(in_lanes.end(), {node.a, node.b, node.c});
  }
  for (const int n : in_lanes) {
    if (n >= 0 && !varies(n)) {
      if (const std::string obstacle = uniform_obstacle(n, lanes); !obstacle.empty()) {
        return obstacle;
      }
    }
  }
  return "";
}

}  // namespace dlcc::lowering
