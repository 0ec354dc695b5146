#include "lowering/stmt_traits.h"

#include <algorithm>

namespace dlcc::lowering {

int dim_of_write_axis(const te::Stmt& stmt, size_t axis) {
  const te::Affine& index = stmt.write.index[axis];
  return index.terms().size() == 1 ? index.terms().front().var : -1;
}

bool writes_by_identity(const te::Stmt& stmt) {
  std::vector<int> uses(stmt.dims.size(), 0);
  for (const te::Affine& index : stmt.write.index) {
    if (index.is_constant()) {
      continue;
    }
    if (index.terms().size() != 1 || index.terms().front().coef != 1) {
      return false;
    }
    ++uses[static_cast<size_t>(index.terms().front().var)];
  }
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    if (uses[d] != (stmt.dims[d].kind == te::DimKind::Par ? 1 : 0)) {
      return false;
    }
  }
  return true;
}

bool is_contraction(const te::Stmt& stmt) {
  if (stmt.kind != te::StmtKind::Reduce || stmt.body.empty() || stmt.body.back().op != te::Op::Mul) {
    return false;
  }
  const te::ScalarNode& root = stmt.body.back();
  const te::ScalarNode& a = stmt.body[static_cast<size_t>(root.a)];
  const te::ScalarNode& b = stmt.body[static_cast<size_t>(root.b)];
  return a.op == te::Op::Load && b.op == te::Op::Load && a.integer != b.integer;
}

static int64_t points(const te::Stmt& stmt, te::DimKind kind) {
  int64_t n = 1;
  for (const te::Dim& dim : stmt.dims) {
    n *= dim.kind == kind ? dim.extent : 1;
  }
  return n;
}
int64_t par_points(const te::Stmt& stmt) { return points(stmt, te::DimKind::Par); }
int64_t red_points(const te::Stmt& stmt) { return points(stmt, te::DimKind::Red); }

int64_t flops_of(const te::Stmt& stmt) {
  const int per_point = te::flops_of(stmt.body) + (stmt.kind == te::StmtKind::Reduce ? 1 : 0);
  return per_point * par_points(stmt) * red_points(stmt);
}

std::string dim_name(const te::Stmt& stmt, int dim) {
  const std::string& name = stmt.dims[static_cast<size_t>(dim)].name;
  return name.empty() ? "d" + std::to_string(dim) : name;
}

}  // namespace dlcc::lowering
