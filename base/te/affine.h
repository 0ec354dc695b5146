// Affine: an integer expression  constant + sum coef * var  over variables that the context numbers
// (dims of a Stmt, loop and let variables of a Program group). The only index language of dlcc:
// floor, mod, min and max appear as Let nodes of a Program, never inside an index.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dlcc::te {

using VarId = int32_t;

struct Term {
  VarId var = 0;
  int64_t coef = 0;
  friend bool operator==(const Term&, const Term&) = default;
};

/// Value type; terms are sorted by variable and have non-zero coefficients, so equal expressions compare equal.
class Affine {
 public:
  Affine() = default;
  Affine(int64_t constant) : constant_(constant) {}  // implicit: an integer is an affine expression
  static Affine var(VarId var, int64_t coef = 1);

  int64_t constant() const { return constant_; }
  const std::vector<Term>& terms() const { return terms_; }
  bool is_constant() const { return terms_.empty(); }
  bool is_zero() const { return terms_.empty() && constant_ == 0; }
  int64_t coef(VarId var) const;
  bool depends_on(VarId var) const { return coef(var) != 0; }

  Affine& operator+=(const Affine& other);
  Affine& operator-=(const Affine& other);
  Affine& operator*=(int64_t factor);
  friend Affine operator+(Affine a, const Affine& b) { return a += b; }
  friend Affine operator-(Affine a, const Affine& b) { return a -= b; }
  friend Affine operator*(Affine a, int64_t k) { return a *= k; }
  friend bool operator==(const Affine&, const Affine&) = default;

  /// Value with env[var] for each variable. Every variable used must be inside env.
  int64_t eval(std::span<const int64_t> env) const;
  /// Replaces var by an expression.
  Affine substitute(VarId var, const Affine& by) const;
  /// Renumbers variables.
  Affine rename(const std::function<VarId(VarId)>& to) const;

 private:
  int64_t constant_ = 0;
  std::vector<Term> terms_;
};

/// "4*oh + kh - 1"; name(var) gives the spelling.
std::string to_string(const Affine& affine, const std::function<std::string(VarId)>& name);

}  // namespace dlcc::te
