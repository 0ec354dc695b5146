// Expressions: text -> nodes of a ScalarBuilder and reads. Nesting is limited, types are checked where operands meet.
#include "base/te/parse_expr.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/dtype.h"

namespace dlcc::te {
namespace {

constexpr int kDepthLimit = 200;
constexpr int kRankLimit = 64;

struct BinaryName {
  std::string_view text;
  Op op;
  int level;
};
constexpr std::array<BinaryName, 13> kBinary = {{{"||", Op::Or, 0},
                                                 {"&&", Op::And, 1},
                                                 {"<", Op::Lt, 2},
                                                 {"<=", Op::Le, 2},
                                                 {">", Op::Gt, 2},
                                                 {">=", Op::Ge, 2},
                                                 {"==", Op::Eq, 2},
                                                 {"!=", Op::Ne, 2},
                                                 {"+", Op::Add, 3},
                                                 {"-", Op::Sub, 3},
                                                 {"*", Op::Mul, 4},
                                                 {"/", Op::Div, 4},
                                                 {"%", Op::Mod, 4}}};
constexpr int kUnaryLevel = 5;

std::optional<Op> binary_at(const Token& token, int level) {
  for (const BinaryName& name : kBinary) {
    if (name.level == level && token.kind == TokenKind::Punct && token.text == name.text) {
      return name.op;
    }
  }
  return std::nullopt;
}

class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(++depth) {}
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

bool fits(DType type, int64_t value) {
  if (type == DType::Bool) {
    return value == 0 || value == 1;
  }
  const int bits = bytes_of(type) * 8;
  if (bits == 64) {
    return true;
  }
  const int64_t span = int64_t{1} << bits;
  return is_signed_int(type) ? value >= -span / 2 && value < span / 2 : value >= 0 && value < span;
}

}  // namespace

Status ExprParser::enter() {
  if (depth_ > kDepthLimit) {
    return lexer_.fail(fmt::format("expression nested more than {} deep", kDepthLimit));
  }
  return ok_status();
}

/// The node of an operand; a literal becomes a constant of that type.
Result<int> ExprParser::settle(const Token& at, const Operand& operand, DType type) {
  if (operand.node >= 0) {
    return operand.node;
  }
  if (is_float(type)) {
    return builder_.constant(type, operand.number);
  }
  if (!operand.is_integer) {
    return lexer_.fail_at(
        at, fmt::format("literal {} is not a whole number, {} is needed", print_number(operand.number), name_of(type)));
  }
  if (!fits(type, operand.integer)) {
    return lexer_.fail_at(at, fmt::format("literal {} does not fit {}", operand.integer, name_of(type)));
  }
  return builder_.integer(type, operand.integer);
}

/// Gives all operands one type: that of the first typed one, else the wanted one, else f32.
Status ExprParser::unify(const Token& at, std::vector<Operand>& operands, std::vector<int>& nodes,
                         std::optional<DType> wanted) {
  std::optional<DType> type;
  for (const Operand& operand : operands) {
    if (operand.node >= 0 && !type) {
      type = builder_.type(operand.node);
    }
  }
  for (const Operand& operand : operands) {
    DLCC_TRY(const int node, settle(at, operand, type.value_or(wanted.value_or(DType::F32))));
    if (type && builder_.type(node) != *type) {
      return lexer_.fail_at(
          at, fmt::format("operands of types {} and {}, write a cast", name_of(*type), name_of(builder_.type(node))));
    }
    nodes.push_back(node);
  }
  return ok_status();
}

Result<int> ExprParser::expression(std::optional<DType> wanted) {
  const Token at = lexer_.peek();
  DLCC_TRY(const Operand operand, ternary());
  return settle(at, operand, wanted.value_or(DType::F32));
}

Result<Operand> ExprParser::ternary() {
  const DepthGuard guard(depth_);
  DLCC_RETURN_IF_ERROR(enter());
  const Token at = lexer_.peek();
  DLCC_TRY(const Operand condition, binary(0));
  const Token question = lexer_.peek();
  if (!lexer_.accept("?")) {
    return condition;
  }
  DLCC_TRY(const Operand yes, ternary());
  DLCC_RETURN_IF_ERROR(lexer_.expect(":"));
  DLCC_TRY(const Operand no, ternary());
  DLCC_TRY(const int chosen, settle(at, condition, DType::Bool));
  if (builder_.type(chosen) != DType::Bool) {
    return lexer_.fail_at(at, fmt::format("the condition is {}, bool is needed", name_of(builder_.type(chosen))));
  }
  std::vector<Operand> operands = {yes, no};
  std::vector<int> nodes;
  DLCC_RETURN_IF_ERROR(unify(question, operands, nodes, std::nullopt));
  return Operand{.node = builder_.select(chosen, nodes[0], nodes[1])};
}

Result<Operand> ExprParser::combine(const Token& at, Op op, Operand a, Operand b) {
  std::vector<Operand> operands = {a, b};
  std::vector<int> nodes;
  const bool is_logic = op == Op::And || op == Op::Or;
  DLCC_RETURN_IF_ERROR(unify(at, operands, nodes, is_logic ? std::optional(DType::Bool) : std::nullopt));
  if (!result_type(op, builder_.type(nodes[0]))) {
    return lexer_.fail_at(at, fmt::format("{} of {} operands", name_of(op), name_of(builder_.type(nodes[0]))));
  }
  return Operand{.node = builder_.binary(op, nodes[0], nodes[1])};
}

Result<Operand> ExprParser::binary(int level) {
  if (level == kUnaryLevel) {
    return unary();
  }
  DLCC_TRY(Operand left, binary(level + 1));
  while (true) {
    const Token at = lexer_.peek();
    const std::optional<Op> op = binary_at(at, level);
    if (!op) {
      return left;
    }
    lexer_.next();
    DLCC_TRY(const Operand right, binary(level + 1));
    DLCC_TRY(left, combine(at, *op, left, right));
  }
}

Result<Operand> ExprParser::unary() {
  const DepthGuard guard(depth_);
  DLCC_RETURN_IF_ERROR(enter());
  const Token at = lexer_.peek();
  const bool minus = lexer_.accept("-");
  if (!minus && !lexer_.accept("!")) {
    return primary();
  }
  const Token& next = lexer_.peek();
  const bool is_number = next.kind == TokenKind::Integer || next.kind == TokenKind::Float ||
                         (next.kind == TokenKind::Identifier && (next.text == "inf" || next.text == "nan"));
  if (minus && is_number) {
    return literal(true);
  }
  DLCC_TRY(const Operand operand, unary());
  DLCC_TRY(const int node, settle(at, operand, minus ? DType::F32 : DType::Bool));
  const Op op = minus ? Op::Neg : Op::Not;
  if (!result_type(op, builder_.type(node))) {
    return lexer_.fail_at(at, fmt::format("{} of {}", name_of(op), name_of(builder_.type(node))));
  }
  return Operand{.node = builder_.unary(op, node)};
}

Result<Operand> ExprParser::literal(bool negative) {
  const Token at = lexer_.peek();
  Operand operand;
  if (at.kind == TokenKind::Integer) {
    operand.is_integer = true;
    // The digits of the lowest int64 have no positive counterpart: read them with the sign.
    uint64_t magnitude = 0;
    for (const char c : at.text) {
      if (__builtin_mul_overflow(magnitude, uint64_t{10}, &magnitude) ||
          __builtin_add_overflow(magnitude, static_cast<uint64_t>(c - '0'), &magnitude)) {
        operand.is_integer = false;
        break;
      }
    }
    if (magnitude > (uint64_t{1} << 63) - (negative ? 0 : 1)) {
      operand.is_integer = false;
    }
    operand.integer = static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  }
  DLCC_TRY(operand.number, lexer_.number());
  operand.number = negative ? -operand.number : operand.number;
  // `c ? 1 : f32(x)` is no literal with a type: there a parenthesis follows.
  const auto type = dtype_from_name(lexer_.peek(1).text);
  if (lexer_.peek().text != ":" || !type || lexer_.peek(2).text == "(") {
    return operand;
  }
  lexer_.next();
  lexer_.next();
  DLCC_TRY(operand.node, settle(at, operand, *type));
  return operand;
}

Result<Operand> ExprParser::primary() {
  const Token& token = lexer_.peek();
  if (lexer_.accept("(")) {
    DLCC_TRY(const Operand operand, ternary());
    DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
    return operand;
  }
  if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float) {
    return literal(false);
  }
  return named();
}

Result<Operand> ExprParser::named() {
  const Token at = lexer_.peek();
  const bool is_special = at.kind == TokenKind::Identifier && (at.text == "inf" || at.text == "nan");
  if (is_special && lexer_.peek(1).text != "[" && !scope_.value(std::string(at.text), builder_)) {
    return literal(false);
  }
  DLCC_TRY(const std::string name, lexer_.name());
  if (lexer_.peek().text == "[" && lexer_.peek().kind == TokenKind::Punct) {
    DLCC_TRY(const Access read, access(at, name, true));
    return Operand{.node = builder_.load(scope_.tensor_type(read.tensor), read_number(read))};
  }
  if (at.kind == TokenKind::Identifier && lexer_.peek().text == "(") {
    return call(at, name);
  }
  if (const auto node = scope_.value(name, builder_)) {
    return Operand{.node = *node};
  }
  if (at.kind == TokenKind::Identifier && (name == "true" || name == "false")) {
    return Operand{.node = builder_.integer(DType::Bool, name == "true")};
  }
  return lexer_.fail_at(at, fmt::format("unknown name '{}'", name));
}

Result<Operand> ExprParser::call(const Token& at, const std::string& name) {
  lexer_.next();
  if (hook_) {
    DLCC_TRY(const std::optional<int> node, hook_(name));
    if (node) {
      return Operand{.node = *node};
    }
  }
  std::vector<Operand> arguments;
  do {
    DLCC_TRY(Operand argument, ternary());
    arguments.push_back(argument);
  } while (lexer_.accept(",") && arguments.size() < 4);
  DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
  const auto type = dtype_from_name(name);
  const auto op = op_from_name(name);
  const bool callable = op && arity_of(*op) > 0 && *op != Op::Cast;
  if (!type && !callable) {
    return lexer_.fail_at(at, fmt::format("unknown function '{}'", name));
  }
  const size_t arity = type ? 1 : static_cast<size_t>(arity_of(*op));
  if (arguments.size() != arity) {
    return lexer_.fail_at(at, fmt::format("{} takes {} arguments, {} given", name, arity, arguments.size()));
  }
  if (type) {
    DLCC_TRY(const int node, settle(at, arguments[0], DType::F32));
    return Operand{.node = builder_.cast(*type, node)};
  }
  std::vector<int> nodes;
  if (*op == Op::Select) {
    DLCC_TRY(const int condition, settle(at, arguments[0], DType::Bool));
    arguments.erase(arguments.begin());
    DLCC_RETURN_IF_ERROR(unify(at, arguments, nodes, std::nullopt));
    if (builder_.type(condition) != DType::Bool) {
      return lexer_.fail_at(at, "the condition of select is not a bool");
    }
    return Operand{.node = builder_.select(condition, nodes[0], nodes[1])};
  }
  DLCC_RETURN_IF_ERROR(unify(at, arguments, nodes, std::nullopt));
  if (!result_type(*op, builder_.type(nodes[0]))) {
    return lexer_.fail_at(at, fmt::format("{} of {}", name, name_of(builder_.type(nodes[0]))));
  }
  if (*op == Op::Fma) {
    return Operand{.node = builder_.fma(nodes[0], nodes[1], nodes[2])};
  }
  return Operand{.node = arity == 1 ? builder_.unary(*op, nodes[0]) : builder_.binary(*op, nodes[0], nodes[1])};
}

int ExprParser::read_number(const Access& access) {
  for (size_t i = 0; i < reads_.size(); ++i) {
    if (reads_[i] == access) {
      return static_cast<int>(i);
    }
  }
  reads_.push_back(access);
  return static_cast<int>(reads_.size()) - 1;
}

Result<Access> ExprParser::access(const Token& at, const std::string& name, bool may_fill) {
  const DepthGuard guard(depth_);
  DLCC_RETURN_IF_ERROR(enter());
  const auto tensor = scope_.tensor(name);
  if (!tensor) {
    return lexer_.fail_at(at, fmt::format("'{}' is not declared", name));
  }
  Access access;
  access.tensor = *tensor;
  DLCC_RETURN_IF_ERROR(lexer_.expect("["));
  while (lexer_.peek().text != "]" && lexer_.peek().text != "|") {
    if (access.index.size() == kRankLimit) {
      return lexer_.fail(fmt::format("more than {} indices", kRankLimit));
    }
    DLCC_TRY(Affine position, index(access));
    access.index.push_back(std::move(position));
    if (!lexer_.accept(",")) {
      break;
    }
  }
  const Token bar = lexer_.peek();
  if (lexer_.accept("|")) {
    if (!may_fill) {
      return lexer_.fail_at(bar, "a fill value where something is written");
    }
    DLCC_TRY(access.fill, lexer_.number());
  }
  DLCC_RETURN_IF_ERROR(lexer_.expect("]"));
  const int rank = scope_.tensor_rank(*tensor);
  if (static_cast<int>(access.index.size()) != rank) {
    return lexer_.fail_at(at, fmt::format("'{}' has rank {}, {} indices given", name, rank, access.index.size()));
  }
  return access;
}

/// One index: affine, plus at most one @read.
Result<Affine> ExprParser::index(Access& access) {
  const DepthGuard guard(depth_);
  DLCC_RETURN_IF_ERROR(enter());
  return index_sum(access);
}

Result<Affine> ExprParser::index_sum(Access& access) {
  Affine sum;
  int64_t sign = lexer_.accept("-") ? -1 : 1;
  while (true) {
    const Token at = lexer_.peek();
    if (lexer_.accept("@")) {
      if (access.indirect_axis >= 0 || sign < 0) {
        return lexer_.fail_at(at, "an access has at most one indirect position, and it is added");
      }
      const Token by = lexer_.peek();
      DLCC_TRY(const std::string name, lexer_.name());
      DLCC_TRY(const Access read, this->access(by, name, true));
      access.indirect_axis = static_cast<int>(access.index.size());
      access.indirect_read = read_number(read);
    } else {
      DLCC_TRY(Affine term, index_factor(access));
      while (lexer_.accept("*")) {
        const Token second = lexer_.peek();
        DLCC_TRY(Affine factor, index_factor(access));
        if (!factor.is_constant() && !term.is_constant()) {
          return lexer_.fail_at(second, "an index multiplies two axes; only sums of multiples are allowed");
        }
        term = factor.is_constant() ? term * factor.constant() : factor * term.constant();
      }
      sum += term * sign;
    }
    if (lexer_.accept("+")) {
      sign = 1;
    } else if (lexer_.accept("-")) {
      sign = -1;
    } else {
      return sum;
    }
  }
}

Result<Affine> ExprParser::index_factor(Access& access) {
  const DepthGuard guard(depth_);
  DLCC_RETURN_IF_ERROR(enter());
  const Token at = lexer_.peek();
  if (at.kind == TokenKind::Integer) {
    DLCC_TRY(const int64_t value, lexer_.integer());
    return Affine(value);
  }
  if (lexer_.accept("-")) {
    DLCC_TRY(const Affine inner, index_factor(access));
    return inner * -1;
  }
  if (lexer_.accept("(")) {
    const int before = access.indirect_axis;
    DLCC_TRY(Affine inner, index_sum(access));
    if (access.indirect_axis != before) {
      return lexer_.fail_at(at, "an indirect position inside parentheses");
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
    return inner;
  }
  DLCC_TRY(const std::string name, lexer_.name());
  const auto axis = scope_.axis(name);
  if (!axis) {
    return lexer_.fail_at(at, fmt::format("'{}' is not an axis", name));
  }
  return Affine::var(*axis);
}

}  // namespace dlcc::te
