// The statement form that the rest of lowering relies on: no dims of extent 1, no transcendentals, no reduction without Red dims.
#include "base/te/scalar.h"
#include "lowering/fuse.h"

namespace dlcc::lowering {

using te::Affine;
using te::Stmt;

static Affine drop_dims(const Affine& index, const std::vector<int>& new_number) {
  Affine out(index.constant());
  for (const te::Term& term : index.terms()) {
    const int to = new_number[static_cast<size_t>(term.var)];
    if (to >= 0) {
      out += Affine::var(to, term.coef);
    }
  }
  return out;
}

static Stmt drop_unit_dims(Stmt stmt) {
  std::vector<int> new_number(stmt.dims.size(), -1);
  std::vector<te::Dim> kept;
  bool has_red = false;
  for (size_t d = 0; d < stmt.dims.size(); ++d) {
    if (stmt.dims[d].extent != 1) {
      new_number[d] = static_cast<int>(kept.size());
      kept.push_back(stmt.dims[d]);
      has_red |= stmt.dims[d].kind == te::DimKind::Red;
    }
  }
  const auto rewrite = [&](te::Access& access) {
    for (Affine& index : access.index) {
      index = drop_dims(index, new_number);
    }
  };
  rewrite(stmt.write);
  for (te::Access& read : stmt.reads) {
    rewrite(read);
  }
  for (te::ScalarNode& node : stmt.body) {
    if (node.op == te::Op::Index) {
      const int to = new_number[static_cast<size_t>(node.integer)];
      node.integer = to >= 0 ? to : 0;
      node.op = to >= 0 ? te::Op::Index : te::Op::Const;
    }
  }
  stmt.dims = std::move(kept);
  if (stmt.kind == te::StmtKind::Reduce && !has_red) {
    stmt.kind = te::StmtKind::Map;
  }
  return stmt;
}

te::Module canonicalise(const te::Module& module) {
  te::Module out = module;
  for (Stmt& stmt : out.stmts) {
    stmt = drop_unit_dims(std::move(stmt));
    stmt.body = te::expand_transcendentals(stmt.body);
  }
  return out;
}

}  // namespace dlcc::lowering
