// Recursive-descent parser of scalar expressions and accesses over a scope that gives names their meaning. Private to
// base/te.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/te/stmt.h"
#include "base/text.h"

namespace dlcc::te {

/// A parsed operand: a node, or an untyped literal that takes the type of what it meets.
struct Operand {
  int node = -1;
  bool is_integer = false;  // literal without fraction
  double number = 0;
  int64_t integer = 0;
};

/// What an expression may refer to.
class Scope {
 public:
  virtual ~Scope() = default;
  /// Number and type of a tensor (or operand) by name.
  virtual std::optional<int> tensor(const std::string& name) const = 0;
  virtual DType tensor_type(int tensor) const = 0;
  virtual int tensor_rank(int tensor) const = 0;
  /// An axis that may appear in indices.
  virtual std::optional<VarId> axis(const std::string& name) const = 0;
  /// A name as a value: a dim, a let, a parameter.
  virtual std::optional<int> value(const std::string& name, ScalarBuilder& builder) const = 0;
};

class ExprParser {
 public:
  /// Called for `name(`, the parenthesis consumed; an operand, or nothing when the call is an ordinary one.
  using CallHook = std::function<Result<std::optional<int>>(const std::string& name)>;

  ExprParser(Lexer& lexer, ScalarBuilder& builder, const Scope& scope)
      : lexer_(lexer), builder_(builder), scope_(scope) {}
  void set_call_hook(CallHook hook) { hook_ = std::move(hook); }

  /// An expression; untyped literals become `wanted`, or f32 without it.
  Result<int> expression(std::optional<DType> wanted = std::nullopt);
  Result<Access> access(const Token& at, const std::string& name, bool may_fill);
  std::vector<Access>& reads() { return reads_; }

 private:
  Result<Operand> ternary();
  Result<Operand> binary(int level);
  Result<Operand> unary();
  Result<Operand> primary();
  Result<Operand> literal(bool negative);
  Result<Operand> named();
  Result<Operand> call(const Token& at, const std::string& name);
  Result<Operand> combine(const Token& at, Op op, Operand a, Operand b);
  Result<Affine> index(Access& access);
  Result<Affine> index_sum(Access& access);
  Result<Affine> index_factor(Access& access);
  Result<int> settle(const Token& at, const Operand& operand, DType type);
  Status unify(const Token& at, std::vector<Operand>& operands, std::vector<int>& nodes, std::optional<DType> wanted);
  int read_number(const Access& access);
  Status enter();

  Lexer& lexer_;
  ScalarBuilder& builder_;
  const Scope& scope_;
  CallHook hook_;
  std::vector<Access> reads_;
  int depth_ = 0;
};

}  // namespace dlcc::te
