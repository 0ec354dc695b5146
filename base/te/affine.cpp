// Affine expressions: sorted sparse terms. Arithmetic wraps on overflow (never undefined); `verify` refuses indices
// near the limits.
#include "base/te/affine.h"

#include <algorithm>

#include "base/check.h"

namespace dlcc::te {
namespace {

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

Affine Affine::var(VarId var, int64_t coef) {
  Affine result;
  if (coef != 0) {
    result.terms_.push_back({var, coef});
  }
  return result;
}

int64_t Affine::coef(VarId var) const {
  for (const Term& term : terms_) {
    if (term.var == var) {
      return term.coef;
    }
  }
  return 0;
}

Affine& Affine::operator+=(const Affine& other) {
  constant_ = wrap_add(constant_, other.constant_);
  if (other.terms_.empty()) {
    return *this;
  }
  std::vector<Term> merged;
  merged.reserve(terms_.size() + other.terms_.size());
  size_t i = 0, j = 0;
  while (i < terms_.size() || j < other.terms_.size()) {
    if (j == other.terms_.size() || (i < terms_.size() && terms_[i].var < other.terms_[j].var)) {
      merged.push_back(terms_[i++]);
    } else if (i == terms_.size() || other.terms_[j].var < terms_[i].var) {
      merged.push_back(other.terms_[j++]);
    } else {
      const int64_t sum = wrap_add(terms_[i].coef, other.terms_[j].coef);
      if (sum != 0) {
        merged.push_back({terms_[i].var, sum});
      }
      ++i, ++j;
    }
  }
  terms_ = std::move(merged);
  return *this;
}

Affine& Affine::operator-=(const Affine& other) {
  return *this += other * -1;
}

Affine& Affine::operator*=(int64_t factor) {
  constant_ = wrap_mul(constant_, factor);
  for (Term& term : terms_) {
    term.coef = wrap_mul(term.coef, factor);
  }
  std::erase_if(terms_, [](const Term& term) { return term.coef == 0; });
  return *this;
}

int64_t Affine::eval(std::span<const int64_t> env) const {
  int64_t value = constant_;
  for (const Term& term : terms_) {
    DLCC_CHECK(term.var >= 0 && static_cast<size_t>(term.var) < env.size()) << "unbound variable " << term.var;
    value = wrap_add(value, wrap_mul(term.coef, env[static_cast<size_t>(term.var)]));
  }
  return value;
}

Affine Affine::substitute(VarId var, const Affine& by) const {
  const int64_t factor = coef(var);
  if (factor == 0) {
    return *this;
  }
  Affine rest = *this;
  std::erase_if(rest.terms_, [var](const Term& term) { return term.var == var; });
  return rest + by * factor;
}

Affine Affine::rename(const std::function<VarId(VarId)>& to) const {
  Affine result(constant_);
  result.terms_.reserve(terms_.size());
  for (const Term& term : terms_) {
    result.terms_.push_back({to(term.var), term.coef});
  }
  const auto by_var = [](const Term& a, const Term& b) { return a.var < b.var; };
  if (!std::is_sorted(result.terms_.begin(), result.terms_.end(), by_var)) {
    std::sort(result.terms_.begin(), result.terms_.end(), by_var);
  }
  // Two variables may have become one.
  std::vector<Term> merged;
  for (const Term& term : result.terms_) {
    if (!merged.empty() && merged.back().var == term.var) {
      merged.back().coef = wrap_add(merged.back().coef, term.coef);
    } else {
      merged.push_back(term);
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coef == 0; });
  result.terms_ = std::move(merged);
  return result;
}

std::string to_string(const Affine& affine, const std::function<std::string(VarId)>& name) {
  std::string text;
  for (const Term& term : affine.terms()) {
    // The magnitude is taken in unsigned arithmetic: the lowest int64 has no positive counterpart.
    const uint64_t magnitude = term.coef < 0 ? 0 - static_cast<uint64_t>(term.coef) : static_cast<uint64_t>(term.coef);
    if (text.empty()) {
      text += term.coef < 0 ? "-" : "";
    } else {
      text += term.coef < 0 ? " - " : " + ";
    }
    if (magnitude != 1) {
      text += std::to_string(magnitude) + "*";
    }
    text += name(term.var);
  }
  const int64_t constant = affine.constant();
  if (text.empty()) {
    return std::to_string(constant);
  }
  if (constant != 0) {
    const uint64_t magnitude = constant < 0 ? 0 - static_cast<uint64_t>(constant) : static_cast<uint64_t>(constant);
    text += (constant < 0 ? " - " : " + ") + std::to_string(magnitude);
  }
  return text;
}

}  // namespace dlcc::te
