// Recursive descent over the shared lexer; every operation is checked for overflow, nesting is bounded.
#include "hw/cost_expr.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dlcc::hw {
namespace {

constexpr int kMaxDepth = 64;

using Param = std::function<const int64_t*(std::string_view)>;

class Evaluator {
 public:
  Evaluator(const std::string& text, const Param& param, const std::string& where)
      : lexer_(text, where), param_(param) {}

  Result<int64_t> run() {
    DLCC_TRY(const int64_t value, sum());
    if (!lexer_.at_end()) {
      return lexer_.fail(fmt::format("unexpected '{}' in a cost expression", std::string(lexer_.peek().text)));
    }
    return value;
  }

 private:
  Diags overflow() { return lexer_.fail("the value of the cost expression is beyond 64 bits"); }

  Result<int64_t> sum() {
    DLCC_TRY(int64_t value, product());
    while (true) {
      const bool plus = lexer_.accept("+");
      if (!plus && !lexer_.accept("-")) {
        return value;
      }
      DLCC_TRY(const int64_t right, product());
      if (plus ? __builtin_add_overflow(value, right, &value) : __builtin_sub_overflow(value, right, &value)) {
        return overflow();
      }
    }
  }

  Result<int64_t> product() {
    DLCC_TRY(int64_t value, factor());
    while (lexer_.accept("*")) {
      DLCC_TRY(const int64_t right, factor());
      if (__builtin_mul_overflow(value, right, &value)) {
        return overflow();
      }
    }
    return value;
  }

  Result<int64_t> factor() {
    if (++depth_ > kMaxDepth) {
      return lexer_.fail(fmt::format("a cost expression is nested deeper than {} levels", kMaxDepth));
    }
    Result<int64_t> value = atom();
    --depth_;
    return value;
  }

  Result<int64_t> atom() {
    if (lexer_.accept("(")) {
      DLCC_TRY(const int64_t value, sum());
      DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
      return value;
    }
    if (lexer_.accept("-")) {
      DLCC_TRY(const int64_t value, factor());
      int64_t negated = 0;
      return __builtin_sub_overflow(int64_t{0}, value, &negated) ? Result<int64_t>(overflow())
                                                                 : Result<int64_t>(negated);
    }
    if (lexer_.peek().kind == TokenKind::Integer) {
      return lexer_.integer();
    }
    if (lexer_.peek().kind != TokenKind::Identifier) {
      return lexer_.fail("a cost expression has parameters, integers, + - * ( ) min max ceil");
    }
    const Token name = lexer_.next();
    if (lexer_.accept("(")) {
      return call(std::string(name.text));
    }
    const int64_t* value = param_(name.text);
    if (value == nullptr) {
      return lexer_.fail(fmt::format("no parameter is named '{}'", std::string(name.text)));
    }
    return *value;
  }

  Result<int64_t> call(const std::string& name) {
    if (name != "min" && name != "max" && name != "ceil") {
      return lexer_.fail(fmt::format("no function is named '{}'; there are: min, max, ceil", name));
    }
    DLCC_TRY(const int64_t a, sum());
    DLCC_RETURN_IF_ERROR(lexer_.expect(","));
    DLCC_TRY(const int64_t b, sum());
    DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
    if (name != "ceil") {
      return name == "min" ? std::min(a, b) : std::max(a, b);
    }
    if (b <= 0) {
      return lexer_.fail(fmt::format("ceil divides by {}, which is not above zero", b));
    }
    return a / b + (a % b > 0 ? 1 : 0);
  }

  Lexer lexer_;
  const Param& param_;
  int depth_ = 0;
};

}  // namespace

Result<int64_t> evaluate_cost(const std::string& expression, const Param& param, const std::string& where) {
  return Evaluator(expression, param, where).run();
}

}  // namespace dlcc::hw
