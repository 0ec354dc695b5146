// Matching by structure: the right-hand sides must be the same expression, then each axis takes a dim that occurs in the same operands.
#include "lowering/intrinsic_match.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "hw/cost_expr.h"

namespace dlcc::lowering {

using te::Op;
using te::ScalarExpr;
using te::Stmt;

int param_of_axis(const hw::Intrinsic& intrinsic, int axis) {
  const auto param_named = [&](const std::string& name) {
    for (size_t p = 0; p < intrinsic.params.size(); ++p) {
      if (intrinsic.params[p].name == name) {
        return static_cast<int>(p);
      }
    }
    return -1;
  };
  const auto in_index = [&](int operand, const std::vector<te::Affine>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      if (index[d] == te::Affine::var(axis)) {
        return param_named(intrinsic.operands[static_cast<size_t>(operand)].shape[d]);
      }
    }
    return -1;
  };
  for (const te::Access& read : intrinsic.semantics.reads) {
    if (const int p = in_index(read.tensor, read.index); p >= 0) {
      return p;
    }
  }
  return in_index(intrinsic.semantics.output, intrinsic.semantics.output_index);
}

int64_t max_extent_of_axis(const hw::Intrinsic& intrinsic, int axis) {
  if (const int p = param_of_axis(intrinsic, axis); p >= 0) {
    return intrinsic.params[static_cast<size_t>(p)].max;
  }
  for (const te::Access& read : intrinsic.semantics.reads) {
    for (size_t d = 0; d < read.index.size(); ++d) {
      const std::string& size = intrinsic.operands[static_cast<size_t>(read.tensor)].shape[d];
      int64_t value = 0;
      if (read.index[d] == te::Affine::var(axis) &&
          std::from_chars(size.data(), size.data() + size.size(), value).ec == std::errc()) {
        return value;
      }
    }
  }
  return 1;
}

int64_t cycles_of(const hw::Intrinsic& intrinsic, const std::vector<int64_t>& axis_extents) {
  std::vector<int64_t> values(intrinsic.params.size(), 0);
  for (size_t a = 0; a < axis_extents.size(); ++a) {
    if (const int p = param_of_axis(intrinsic, static_cast<int>(a)); p >= 0) {
      values[static_cast<size_t>(p)] = axis_extents[a];
    }
  }
  const auto value = [&](std::string_view name) -> const int64_t* {
    for (size_t p = 0; p < intrinsic.params.size(); ++p) {
      if (intrinsic.params[p].name == name) {
        return &values[p];
      }
    }
    return nullptr;
  };
  const Result<int64_t> cycles = hw::evaluate_cost(intrinsic.cycles, value, intrinsic.id);
  return std::max<int64_t>(cycles.value(), 1);
}

namespace {

class Matcher {
 public:
  Matcher(const te::Module& module, const Stmt& stmt, const hw::Intrinsic& intrinsic) : module_(module), stmt_(stmt), intrinsic_(intrinsic) {
    operand_to_read_.assign(intrinsic.operands.size(), -2);
    operand_to_read_[static_cast<size_t>(intrinsic.semantics.output)] = -1;
  }

  /// Empty string: matched. Otherwise why not.
  std::string unify() {
    const te::Semantics& s = intrinsic_.semantics;
    if (!s.reduces || stmt_.kind != te::StmtKind::Reduce) {
      return "only one of the two is a reduction";
    }
    if (s.monoid != stmt_.monoid) {
      return "the reductions combine differently";
    }
    if (!s.reads_output) {
      return "the intrinsic does not accumulate, so a reduction cannot be split over calls";
    }
    if (intrinsic_.operands[static_cast<size_t>(s.output)].type != type_of(stmt_.write.tensor)) {
      return "the results have different types";
    }
    if (!same(stmt_.body, static_cast<int>(stmt_.body.size()) - 1, s.update, static_cast<int>(s.update.size()) - 1)) {
      return "the expressions differ";
    }
    return "";
  }

  std::vector<IntrinsicMatch> assignments(int intrinsic_id) {
    std::vector<IntrinsicMatch> found;
    std::vector<int> chosen;
    assign(intrinsic_id, chosen, found);
    return found;
  }

 private:
  DType type_of(int tensor) const { return module_.tensors[static_cast<size_t>(tensor)].type; }

  bool same(const ScalarExpr& a, int i, const ScalarExpr& b, int j) {
    const te::ScalarNode& x = a[static_cast<size_t>(i)];
    const te::ScalarNode& y = b[static_cast<size_t>(j)];
    if (x.op != y.op || x.type != y.type) {
      return false;
    }
    if (x.op == Op::Load) {
      return bind(static_cast<int>(x.integer), intrinsic_.semantics.reads[static_cast<size_t>(y.integer)].tensor);
    }
    if (te::arity_of(x.op) == 0) {
      return x.number == y.number && x.integer == y.integer;
    }
    const int n = te::arity_of(x.op);
    return same(a, x.a, b, y.a) && (n < 2 || same(a, x.b, b, y.b)) && (n < 3 || same(a, x.c, b, y.c));
  }

  bool bind(int read, int operand) {
    int& bound = operand_to_read_[static_cast<size_t>(operand)];
    const bool types_match = type_of(stmt_.reads[static_cast<size_t>(read)].tensor) == intrinsic_.operands[static_cast<size_t>(operand)].type;
    if (bound == -2 && types_match && stmt_.reads[static_cast<size_t>(read)].indirect_axis < 0) {
      bound = read;
    }
    return bound == read;
  }

  const std::vector<te::Affine>& stmt_index(int operand) const {
    const int read = operand_to_read_[static_cast<size_t>(operand)];
    return read < 0 ? stmt_.write.index : stmt_.reads[static_cast<size_t>(read)].index;
  }
  const std::vector<te::Affine>& intrinsic_index(int operand) const {
    const te::Semantics& s = intrinsic_.semantics;
    if (operand == s.output) {
      return s.output_index;
    }
    const auto at = std::find_if(s.reads.begin(), s.reads.end(), [&](const te::Access& read) { return read.tensor == operand; });
    return at->index;
  }
  static bool occurs(const std::vector<te::Affine>& index, int var) {
    return std::any_of(index.begin(), index.end(), [&](const te::Affine& e) { return e.depends_on(var); });
  }

  bool compatible(int axis, int dim) const {
    if (stmt_.dims[static_cast<size_t>(dim)].kind != intrinsic_.semantics.axis_kinds[static_cast<size_t>(axis)]) {
      return false;
    }
    for (size_t o = 0; o < intrinsic_.operands.size(); ++o) {
      const bool in_semantics = occurs(intrinsic_index(static_cast<int>(o)), axis);
      if (in_semantics != occurs(stmt_index(static_cast<int>(o)), dim)) {
        return false;
      }
    }
    return true;
  }

  void assign(int intrinsic_id, std::vector<int>& chosen, std::vector<IntrinsicMatch>& found) {
    const size_t axis = chosen.size();
    if (axis == intrinsic_.semantics.axes.size()) {
      if (axes_are_separate(chosen)) {
        found.push_back({intrinsic_id, chosen, operand_to_read_});
      }
      return;
    }
    bool any = false;
    for (size_t d = 0; d < stmt_.dims.size(); ++d) {
      if (std::find(chosen.begin(), chosen.end(), static_cast<int>(d)) == chosen.end() &&
          compatible(static_cast<int>(axis), static_cast<int>(d))) {
        chosen.push_back(static_cast<int>(d));
        assign(intrinsic_id, chosen, found);
        chosen.pop_back();
        any = true;
      }
    }
    if (!any && intrinsic_.semantics.axis_kinds[axis] == te::DimKind::Par && smallest_extent(axis) <= 1) {
      chosen.push_back(-1);
      assign(intrinsic_id, chosen, found);
      chosen.pop_back();
    }
  }

  /// No index of an operand runs along two axes at once (a window over itself): no transfer could cut such a box.
  bool axes_are_separate(const std::vector<int>& chosen) const {
    for (size_t o = 0; o < intrinsic_.operands.size(); ++o) {
      for (const te::Affine& index : stmt_index(static_cast<int>(o))) {
        const auto along = [&](int dim) { return dim >= 0 && index.depends_on(dim); };
        if (std::count_if(chosen.begin(), chosen.end(), along) > 1) {
          return false;
        }
      }
    }
    return true;
  }

  int64_t smallest_extent(size_t axis) const {
    const int p = param_of_axis(intrinsic_, static_cast<int>(axis));
    return p >= 0 ? intrinsic_.params[static_cast<size_t>(p)].min : max_extent_of_axis(intrinsic_, static_cast<int>(axis));
  }

  const te::Module& module_;
  const Stmt& stmt_;
  const hw::Intrinsic& intrinsic_;
  std::vector<int> operand_to_read_;
};

double coverage(const IntrinsicMatch& match, const Stmt& stmt, const hw::Machine& machine) {
  const hw::Intrinsic& intrinsic = machine.intrinsics[static_cast<size_t>(match.intrinsic)];
  double product = 1;
  for (size_t a = 0; a < match.axis_to_dim.size(); ++a) {
    const int64_t extent = match.axis_to_dim[a] < 0 ? 1 : stmt.dims[static_cast<size_t>(match.axis_to_dim[a])].extent;
    product *= static_cast<double>(std::min(extent, max_extent_of_axis(intrinsic, static_cast<int>(a))));
  }
  return product;
}

}  // namespace

std::vector<IntrinsicMatch> match_intrinsics(const te::Module& module, const Stmt& stmt, const Context& context) {
  std::vector<IntrinsicMatch> all;
  for (size_t i = 0; i < context.machine.intrinsics.size(); ++i) {
    const hw::Intrinsic& intrinsic = context.machine.intrinsics[i];
    Matcher matcher(module, stmt, intrinsic);
    const std::string refusal = matcher.unify();
    if (!refusal.empty()) {
      context.explain.add(stmt.name, fmt::format("intrinsic {} refused: {}", intrinsic.id, refusal));
      continue;
    }
    const std::vector<IntrinsicMatch> found = matcher.assignments(static_cast<int>(i));
    if (found.empty()) {
      context.explain.add(stmt.name, fmt::format("intrinsic {} refused: no assignment of its axes to the statement's dims", intrinsic.id));
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  std::stable_sort(all.begin(), all.end(), [&](const IntrinsicMatch& a, const IntrinsicMatch& b) {
    return coverage(a, stmt, context.machine) > coverage(b, stmt, context.machine);
  });
  return all;
}

}  // namespace dlcc::lowering
