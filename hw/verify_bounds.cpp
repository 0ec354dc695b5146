// Bounds by substitution: the variable bound last is replaced by the expressions that bound it, until a constant is
// left. A minimum offers two upper bounds, each correlated with the loops outside it, which is what proves boxes of
// partial tiles.
#include "hw/verify_bounds.h"

#include <algorithm>

#include "base/integer.h"

namespace dlcc::hw {
namespace {

/// Evaluations that one query may take before it falls back on constant bounds.
constexpr int kBudget = 64;

}  // namespace

void VarBounds::bind(VarId var, std::vector<Affine> below, std::vector<Affine> above, int64_t low, int64_t high) {
  Var& entry = at(var);
  entry = {next_order_++, std::move(above), std::move(below), low, high};
}

void VarBounds::bind_range(VarId var, int64_t low, int64_t high) {
  bind(var, {Affine(low)}, {Affine(high)}, low, high);
}

void VarBounds::bind_loop(const For& loop) {
  bind_loop(loop.var, loop.begin, loop.end - Affine(1), loop.step);
}

void VarBounds::bind_loop(VarId var, const Affine& begin, const Affine& last, int64_t step) {
  Affine top = last;
  if (begin.is_constant() && last.is_constant() && step > 0) {
    top = begin + Affine(floor_div(last.constant() - begin.constant(), step) * step);
  }
  bind(var, {begin}, {top}, lower(begin), upper(top));
}

void VarBounds::bind_let(const Let& let) {
  const int64_t a_low = lower(let.a), a_high = upper(let.a);
  switch (let.op) {
    case LetOp::Assign:
      return bind(let.var, {let.a}, {let.a}, a_low, a_high);
    case LetOp::FloorDiv: {
      const int64_t k = let.b.constant();
      return bind_range(let.var, floor_div(a_low, k), floor_div(a_high, k));
    }
    case LetOp::Mod: {
      const int64_t k = let.b.constant();
      if (a_low >= 0 && a_high < k) {
        return bind(let.var, {let.a}, {let.a}, a_low, a_high);
      }
      return bind_range(let.var, 0, k - 1);
    }
    case LetOp::Min: {
      const int64_t low = std::min(a_low, lower(let.b)), high = std::min(a_high, upper(let.b));
      return bind(let.var, {Affine(low)}, {let.a, let.b}, low, high);
    }
    case LetOp::Max: {
      const int64_t low = std::max(a_low, lower(let.b)), high = std::max(a_high, upper(let.b));
      return bind(let.var, {let.a, let.b}, {Affine(high)}, low, high);
    }
  }
}

int64_t VarBounds::upper(const Affine& value) const {
  int budget = kBudget;
  return upper(value, budget);
}

int64_t VarBounds::upper(const Affine& value, int& budget) const {
  if (value.is_constant()) {
    return value.constant();
  }
  const te::Term* last = &value.terms().front();
  for (const te::Term& term : value.terms()) {
    if (vars_[static_cast<size_t>(term.var)].order > vars_[static_cast<size_t>(last->var)].order) {
      last = &term;
    }
  }
  const Var& var = vars_[static_cast<size_t>(last->var)];
  const std::vector<Affine>& options = last->coef > 0 ? var.above : var.below;
  if (--budget < 0) {
    return upper(value.substitute(last->var, Affine(last->coef > 0 ? var.high : var.low)), budget);
  }
  int64_t best = upper(value.substitute(last->var, options.front()), budget);
  for (size_t i = 1; i < options.size(); ++i) {
    best = std::min(best, upper(value.substitute(last->var, options[i]), budget));
  }
  return best;
}

}  // namespace dlcc::hw
