// parse_semantics: the one-line meaning of an intrinsic -> axes, reads, the value per point, and how it combines with
// the old output.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/te/parse_expr.h"
#include "base/te/text.h"

namespace dlcc::te {
namespace {

// Stands for the reduction inside the expression around it, until that is taken apart.
constexpr int kReductionMark = -2;

class SemanticsScope : public Scope {
 public:
  SemanticsScope(const std::vector<SemanticsOperand>& operands, const std::vector<SemanticsParam>& params)
      : operands_(operands), params_(params) {}

  std::optional<int> tensor(const std::string& name) const override { return position(operands_, name); }
  DType tensor_type(int tensor) const override { return operands_[static_cast<size_t>(tensor)].type; }
  int tensor_rank(int tensor) const override { return operands_[static_cast<size_t>(tensor)].rank; }
  std::optional<VarId> axis(const std::string& name) const override {
    const auto found = std::find(axes.begin(), axes.end(), name);
    return found == axes.end() ? std::nullopt : std::optional(static_cast<VarId>(found - axes.begin()));
  }
  std::optional<int> value(const std::string& name, ScalarBuilder& builder) const override {
    if (const auto param = param_of(name)) {
      return builder.param(params_[static_cast<size_t>(*param)].is_bool ? DType::Bool : DType::I64, *param);
    }
    if (const auto found = axis(name)) {
      return builder.index(*found);
    }
    return std::nullopt;
  }
  std::optional<int> param_of(const std::string& name) const { return position(params_, name); }

  std::vector<std::string> axes;

 private:
  template <class T>
  static std::optional<int> position(const std::vector<T>& list, const std::string& name) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i].name == name) {
        return static_cast<int>(i);
      }
    }
    return std::nullopt;
  }
  const std::vector<SemanticsOperand>& operands_;
  const std::vector<SemanticsParam>& params_;
};

/// The monoid that combines with that operation.
std::optional<Monoid> monoid_of(Op op) {
  switch (op) {
    case Op::Add:
      return Monoid::Sum;
    case Op::Mul:
      return Monoid::Prod;
    case Op::Min:
      return Monoid::Min;
    case Op::Max:
      return Monoid::Max;
    default:
      return std::nullopt;
  }
}

class SemanticsParser {
 public:
  SemanticsParser(std::string_view text, const std::vector<SemanticsOperand>& operands,
                  const std::vector<SemanticsParam>& params, const std::string& where)
      : lexer_(text, where),
        operands_(operands),
        scope_(operands, params),
        parser_(lexer_, builder_, scope_) {
    parser_.set_call_hook([this](const std::string& name) { return call(name); });
  }
  Result<Semantics> run();

 private:
  Status left_side();
  Status declare_axes_of_left_side();
  Result<std::optional<int>> call(const std::string& name);
  bool at_axis_list() const;
  Status reduction_axes();
  Status reduction_range();
  Status declare_axis(const Token& at, const std::string& name, DimKind kind);
  Status finish(const Token& start, int root);
  Status finish_reduction(const Token& start, const ScalarExpr& whole);
  Status take_old(const Token& start, const ScalarExpr& whole, int node);
  bool is_mark(const ScalarNode& node) const { return node.op == Op::Param && node.integer == kReductionMark; }
  bool loads_output(const ScalarNode& node) const {
    return node.op == Op::Load && parser_reads_[static_cast<size_t>(node.integer)].tensor == result_.output;
  }
  Status check_output_reads(const Token& start) const;
  void drop_unused_reads();

  Lexer lexer_;
  const std::vector<SemanticsOperand>& operands_;
  SemanticsScope scope_;
  ScalarBuilder builder_;
  ExprParser parser_;
  Semantics result_;
  std::vector<Access> parser_reads_;
  int reduced_ = -1;  // body of the reduction
};

Status SemanticsParser::declare_axis(const Token& at, const std::string& name, DimKind kind) {
  if (scope_.axis(name) || scope_.param_of(name) || scope_.tensor(name) || scope_.axes.size() == 64) {
    return lexer_.fail_at(at, fmt::format("axis '{}' has the name of another axis, parameter or operand", name));
  }
  scope_.axes.push_back(name);
  result_.axis_kinds.push_back(kind);
  result_.axis_ends.emplace_back();
  return ok_status();
}

/// The identifiers between the brackets, before the access itself is parsed.
Status SemanticsParser::declare_axes_of_left_side() {
  for (int ahead = 1; lexer_.peek(ahead).kind != TokenKind::End && lexer_.peek(ahead).text != "]"; ++ahead) {
    const Token token = lexer_.peek(ahead);
    const std::string name(token.text);
    if (token.kind == TokenKind::Identifier && !scope_.axis(name)) {
      DLCC_RETURN_IF_ERROR(declare_axis(token, name, DimKind::Par));
    }
  }
  return ok_status();
}

Status SemanticsParser::left_side() {
  const Token at = lexer_.peek();
  DLCC_TRY(const std::string name, lexer_.name());
  if (!scope_.tensor(name)) {
    return lexer_.fail_at(at, fmt::format("'{}' is not an operand", name));
  }
  DLCC_RETURN_IF_ERROR(declare_axes_of_left_side());
  DLCC_TRY(const Access write, parser_.access(at, name, false));
  if (write.indirect_axis >= 0) {
    return lexer_.fail_at(at, "an indirect position on the left-hand side");
  }
  result_.output = write.tensor;
  result_.output_index = write.index;
  return lexer_.expect("=");
}

/// sum(l, ...) and sum(l in ...): an identifier that means nothing yet, followed by a comma or `in`.
bool SemanticsParser::at_axis_list() const {
  const Token& token = lexer_.peek();
  const Token& after = lexer_.peek(1);
  const std::string name(token.text);
  return token.kind == TokenKind::Identifier && (after.text == "," || after.text == "in") && !scope_.param_of(name) &&
         !scope_.axis(name) && name != "inf" && name != "nan" && name != "true" && name != "false";
}

Status SemanticsParser::reduction_range() {
  const Token at = lexer_.peek();
  DLCC_TRY(const int64_t begin, lexer_.integer());
  if (begin != 0) {
    return lexer_.fail_at(at, fmt::format("a range starts at 0, this one at {}", begin));
  }
  DLCC_RETURN_IF_ERROR(lexer_.expect(".."));
  const Token end = lexer_.next();
  const bool is_param = end.kind == TokenKind::Identifier && scope_.param_of(std::string(end.text)).has_value();
  if (end.kind != TokenKind::Integer && !is_param) {
    return lexer_.fail_at(end, fmt::format("'{}' is neither an integer nor a parameter", end.text));
  }
  result_.axis_ends.back() = std::string(end.text);
  return ok_status();
}

Status SemanticsParser::reduction_axes() {
  while (at_axis_list()) {
    const Token at = lexer_.next();
    DLCC_RETURN_IF_ERROR(declare_axis(at, std::string(at.text), DimKind::Red));
    if (lexer_.accept("in")) {
      DLCC_RETURN_IF_ERROR(reduction_range());
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect(","));
  }
  return ok_status();
}

/// A call hook: parses the rest of a reduction, leaves ordinary calls alone.
Result<std::optional<int>> SemanticsParser::call(const std::string& name) {
  static const std::map<std::string, Monoid> kReductions = {
      {"sum", Monoid::Sum}, {"prod", Monoid::Prod}, {"min", Monoid::Min}, {"max", Monoid::Max}};
  const auto found = kReductions.find(name);
  const bool only_reduces = name == "sum" || name == "prod";
  if (found == kReductions.end() || (!only_reduces && !at_axis_list())) {
    return std::optional<int>();
  }
  const Token at = lexer_.peek();
  if (!at_axis_list()) {
    return lexer_.fail_at(at, fmt::format("{} needs a new axis first, as in {}(l, ...)", name, name));
  }
  if (result_.reduces) {
    return lexer_.fail_at(at, "a second reduction");
  }
  result_.reduces = true;
  result_.monoid = found->second;
  DLCC_RETURN_IF_ERROR(reduction_axes());
  DLCC_TRY(reduced_, parser_.expression(operands_[static_cast<size_t>(result_.output)].type));
  DLCC_RETURN_IF_ERROR(lexer_.expect(")"));
  const DType type = builder_.type(reduced_);
  const bool arithmetic = result_.monoid == Monoid::Sum || result_.monoid == Monoid::Prod;
  if (type == DType::Bool && arithmetic) {
    return lexer_.fail_at(at, fmt::format("{} of bool values", name));
  }
  return std::optional<int>(builder_.param(type, kReductionMark));
}

/// old: the output's element, or (init ? identity : element).
Status SemanticsParser::take_old(const Token& start, const ScalarExpr& whole, int node) {
  const auto at = [&](int i) -> const ScalarNode& { return whole[static_cast<size_t>(i)]; };
  const ScalarNode* old = &at(node);
  if (old->op == Op::Select && at(old->a).op == Op::Param && at(old->b).op == Op::Const) {
    const ScalarNode& zero = at(old->b);
    const double value = is_float(zero.type) ? zero.number : static_cast<double>(zero.integer);
    if (value != identity_of(result_.monoid, zero.type)) {
      return lexer_.fail_at(start, fmt::format("with the parameter set, {} starts from {}; its identity {} is needed",
                                               name_of(result_.monoid), print_number(value),
                                               print_number(identity_of(result_.monoid, zero.type))));
    }
    result_.init_param = static_cast<int>(at(old->a).integer);
    old = &at(old->c);
  }
  if (!loads_output(*old)) {
    return lexer_.fail_at(
        start, fmt::format("a reduction is combined only with the old {}[...], or with (p ? identity : {}[...])",
                           operands_[static_cast<size_t>(result_.output)].name,
                           operands_[static_cast<size_t>(result_.output)].name));
  }
  result_.reads_output = true;
  return ok_status();
}

Status SemanticsParser::finish_reduction(const Token& start, const ScalarExpr& whole) {
  const ScalarNode& root = whole.back();
  result_.update = builder_.finish(reduced_);
  if (is_mark(root)) {
    return ok_status();
  }
  const auto monoid = monoid_of(root.op);
  const bool left = root.a >= 0 && is_mark(whole[static_cast<size_t>(root.a)]);
  const bool right = root.b >= 0 && is_mark(whole[static_cast<size_t>(root.b)]);
  if (!monoid || left == right) {
    return lexer_.fail_at(start, "a reduction stands alone or is combined with the old output");
  }
  if (*monoid != result_.monoid) {
    return lexer_.fail_at(start, fmt::format("the old output is combined by {}, the reduction is a {}",
                                             name_of(root.op), name_of(result_.monoid)));
  }
  return take_old(start, whole, left ? root.b : root.a);
}

/// Reads of the output must be of the element that is written; anything else would depend on an order.
Status SemanticsParser::check_output_reads(const Token& start) const {
  for (const Access& read : parser_reads_) {
    if (read.tensor == result_.output && (read.index != result_.output_index || read.fill || read.indirect_axis >= 0)) {
      return lexer_.fail_at(start, fmt::format("reads an element of {} other than the one that it writes",
                                               operands_[static_cast<size_t>(result_.output)].name));
    }
  }
  return ok_status();
}

/// The reads that `update` loads (and those that deliver positions to them), renumbered.
void SemanticsParser::drop_unused_reads() {
  std::vector<bool> used(parser_reads_.size(), false);
  for (const ScalarNode& node : result_.update) {
    if (node.op == Op::Load) {
      const Access& read = parser_reads_[static_cast<size_t>(node.integer)];
      used[static_cast<size_t>(node.integer)] = true;
      if (read.indirect_read >= 0) {
        used[static_cast<size_t>(read.indirect_read)] = true;
      }
    }
  }
  std::vector<int> renumbered(parser_reads_.size(), -1);
  for (size_t i = 0; i < parser_reads_.size(); ++i) {
    if (used[i]) {
      renumbered[i] = static_cast<int>(result_.reads.size());
      result_.reads.push_back(parser_reads_[i]);
    }
  }
  for (Access& read : result_.reads) {
    read.indirect_read = read.indirect_read >= 0 ? renumbered[static_cast<size_t>(read.indirect_read)] : -1;
  }
  for (ScalarNode& node : result_.update) {
    if (node.op == Op::Load) {
      node.integer = renumbered[static_cast<size_t>(node.integer)];
    }
  }
}

Status SemanticsParser::finish(const Token& start, int root) {
  const SemanticsOperand& output = operands_[static_cast<size_t>(result_.output)];
  if (builder_.type(root) != output.type) {
    return lexer_.fail_at(start, fmt::format("the value is {}, operand {} is {}", name_of(builder_.type(root)),
                                             output.name, name_of(output.type)));
  }
  parser_reads_ = parser_.reads();
  DLCC_RETURN_IF_ERROR(check_output_reads(start));
  const ScalarExpr whole = builder_.finish(root);
  if (result_.reduces) {
    DLCC_RETURN_IF_ERROR(finish_reduction(start, whole));
    if (std::any_of(result_.update.begin(), result_.update.end(),
                    [&](const ScalarNode& n) { return loads_output(n); })) {
      return lexer_.fail_at(start, fmt::format("the reduction's body reads the output {}", output.name));
    }
  } else {
    result_.update = whole;
    result_.reads_output =
        std::any_of(whole.begin(), whole.end(), [&](const ScalarNode& n) { return loads_output(n); });
  }
  drop_unused_reads();
  return ok_status();
}

Result<Semantics> SemanticsParser::run() {
  DLCC_RETURN_IF_ERROR(left_side());
  const Token start = lexer_.peek();
  DLCC_TRY(const int root, parser_.expression(operands_[static_cast<size_t>(result_.output)].type));
  if (!lexer_.at_end()) {
    return lexer_.fail("text after the statement");
  }
  DLCC_RETURN_IF_ERROR(finish(start, root));
  result_.axes = scope_.axes;
  return std::move(result_);
}

}  // namespace

Result<Semantics> parse_semantics(std::string_view text, const std::vector<SemanticsOperand>& operands,
                                  const std::vector<SemanticsParam>& params, const std::string& where) {
  return SemanticsParser(text, operands, params, where).run();
}

}  // namespace dlcc::te
