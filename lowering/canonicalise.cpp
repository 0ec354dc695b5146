// The statement form that the rest of lowering relies on: no dims of extent 1, no transcendentals, no reduction without Red dims.
#include <algorithm>

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

/// The extents of an index that counts in mixed radix over a whole axis (g * K + k), most significant first; empty: it does not.
static std::vector<int64_t> radices(const Affine& index, const Stmt& stmt, int64_t axis_extent) {
  std::vector<te::Term> terms = index.terms();
  std::sort(terms.begin(), terms.end(), [](const te::Term& a, const te::Term& b) { return a.coef > b.coef; });
  std::vector<int64_t> extents;
  int64_t expected = 1;
  for (size_t i = terms.size(); i-- > 0;) {
    if (terms[i].coef != expected) {
      return {};
    }
    extents.insert(extents.begin(), stmt.dims[static_cast<size_t>(terms[i].var)].extent);
    expected *= extents.front();
  }
  return index.constant() == 0 && expected == axis_extent ? extents : std::vector<int64_t>();
}

/// A statement that writes an axis by two dims at once writes a finer tensor instead, of which the old one is a view: every box is then a product of ranges.
static void split_written_axes(te::Module& module, Stmt& stmt) {
  const int old = stmt.write.tensor;
  te::Tensor fine = module.tensors[static_cast<size_t>(old)];
  te::Access write{static_cast<int>(module.tensors.size()), {}, {}, -1, -1};
  std::vector<int64_t> shape;
  bool split = false;
  for (size_t axis = 0; axis < stmt.write.index.size(); ++axis) {
    const Affine& index = stmt.write.index[axis];
    const std::vector<int64_t> extents = index.terms().size() > 1 ? radices(index, stmt, fine.shape[axis]) : std::vector<int64_t>();
    if (extents.empty()) {
      shape.push_back(fine.shape[axis]);
      write.index.push_back(index);
      continue;
    }
    split = true;
    std::vector<te::Term> terms = index.terms();
    std::sort(terms.begin(), terms.end(), [](const te::Term& a, const te::Term& b) { return a.coef > b.coef; });
    for (size_t i = 0; i < terms.size(); ++i) {
      shape.push_back(extents[i]);
      write.index.push_back(Affine::var(terms[i].var));
    }
  }
  if (!split) {
    return;
  }
  fine.name += ".split";
  fine.shape = std::move(shape);
  module.tensors.push_back(fine);
  module.tensors[static_cast<size_t>(old)].storage = write.tensor;
  stmt.write = std::move(write);
}

te::Module canonicalise(const te::Module& module) {
  te::Module out = module;
  for (Stmt& stmt : out.stmts) {
    stmt = drop_unit_dims(std::move(stmt));
    stmt.body = te::expand_transcendentals(stmt.body);
  }
  std::vector<int> writers(out.tensors.size(), 0);
  for (const Stmt& stmt : out.stmts) {
    ++writers[static_cast<size_t>(stmt.write.tensor)];
  }
  for (Stmt& stmt : out.stmts) {
    if (writers[static_cast<size_t>(stmt.write.tensor)] == 1 && out.tensors[static_cast<size_t>(stmt.write.tensor)].storage < 0) {
      split_written_axes(out, stmt);
    }
  }
  return out;
}

}  // namespace dlcc::lowering
