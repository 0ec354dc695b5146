// Proven bounds of affine expressions over the loop and let variables of a group: from how each variable is bound to
// the least and greatest value of an expression. Sound but not exact: what it cannot prove, verify() tries on real
// values.
#pragma once

#include <cstdint>
#include <vector>

#include "hw/program.h"

namespace dlcc::hw {

class VarBounds {
 public:
  explicit VarBounds(size_t var_count) : vars_(var_count) {}

  void bind_range(VarId var, int64_t low, int64_t high);
  void bind_loop(const For& loop);
  void bind_loop(VarId var, const Affine& begin, const Affine& last, int64_t step);
  void bind_let(const Let& let);
  void unbind(VarId var) { at(var).order = 0; }
  bool is_bound(VarId var) const { return in_range(var) && vars_[static_cast<size_t>(var)].order > 0; }
  bool in_range(VarId var) const { return var >= 0 && static_cast<size_t>(var) < vars_.size(); }

  /// Variables of the expression must be bound.
  int64_t upper(const Affine& value) const;
  int64_t lower(const Affine& value) const { return -upper(value * -1); }

 private:
  /// Every expression of `above` is >= the variable, every one of `below` is <= it.
  struct Var {
    int order = 0;  // position in the order of binding; 0: unbound
    std::vector<Affine> above, below;
    int64_t low = 0, high = 0;
  };
  Var& at(VarId var) { return vars_[static_cast<size_t>(var)]; }
  void bind(VarId var, std::vector<Affine> below, std::vector<Affine> above, int64_t low, int64_t high);
  int64_t upper(const Affine& value, int& budget) const;

  std::vector<Var> vars_;
  int next_order_ = 1;
};

}  // namespace dlcc::hw
