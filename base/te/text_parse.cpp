// parse_module: the text that `print` writes -> Module, checked by `verify`.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/te/parse_expr.h"
#include "base/te/text.h"

namespace dlcc::te {
namespace {

constexpr size_t kListLimit = 1 << 20;

/// Names of one statement: dims, lets, and the module's tensors.
class StmtScope : public Scope {
 public:
  StmtScope(const Module& module, const std::map<std::string, int>& tensors, const Stmt& stmt)
      : module_(module), tensors_(tensors), stmt_(stmt) {}

  std::optional<int> tensor(const std::string& name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? std::nullopt : std::optional(found->second);
  }
  DType tensor_type(int tensor) const override { return module_.tensors[static_cast<size_t>(tensor)].type; }
  int tensor_rank(int tensor) const override {
    return static_cast<int>(module_.tensors[static_cast<size_t>(tensor)].shape.size());
  }
  std::optional<VarId> axis(const std::string& name) const override {
    for (size_t d = 0; d < stmt_.dims.size(); ++d) {
      if (stmt_.dims[d].name == name) {
        return static_cast<VarId>(d);
      }
    }
    return std::nullopt;
  }
  std::optional<int> value(const std::string& name, ScalarBuilder& builder) const override {
    if (const auto let = lets.find(name); let != lets.end()) {
      return let->second;
    }
    if (const auto dim = axis(name)) {
      return builder.index(*dim);
    }
    return std::nullopt;
  }

  std::map<std::string, int> lets;

 private:
  const Module& module_;
  const std::map<std::string, int>& tensors_;
  const Stmt& stmt_;
};

class ModuleParser {
 public:
  ModuleParser(std::string_view text, const std::string& where) : where_(where), lexer_(text, where, true) {}
  Result<Module> run();

 private:
  Status line();
  Status tensor();
  Status list(std::vector<int>& into);
  Status stmt();
  Status header(Stmt& stmt);
  Status dims(Stmt& stmt, DimKind kind);
  Status assignment(Stmt& stmt, StmtScope& scope, ScalarBuilder& builder, ExprParser& parser);
  Result<std::vector<int64_t>> shape();
  Result<int> tensor_reference();
  Status end_of_line();
  /// Whether the next line, of the current statement, starts with that word.
  bool starts(std::string_view word) const {
    return lexer_.peek().kind == TokenKind::Identifier && lexer_.peek().text == word && lexer_.peek(1).text != "[";
  }

  std::string where_;
  Lexer lexer_;
  Module module_;
  std::map<std::string, int> tensors_, nodes_;
  struct View {  // resolved at the end: the storage may be declared later
    int tensor;
    std::string of;
    Token at;
  };
  std::vector<View> views_;
};

Status ModuleParser::end_of_line() {
  if (lexer_.at_end()) {
    return ok_status();
  }
  if (lexer_.peek().kind != TokenKind::Newline) {
    return lexer_.fail("expected the end of the line");
  }
  lexer_.next();
  return ok_status();
}

Result<std::vector<int64_t>> ModuleParser::shape() {
  std::vector<int64_t> extents;
  DLCC_RETURN_IF_ERROR(lexer_.expect("["));
  while (!lexer_.accept("]")) {
    const Token at = lexer_.peek();
    DLCC_TRY(const int64_t extent, lexer_.integer());
    if (extent < 0 || extents.size() == 64) {
      return lexer_.fail_at(at, "a shape has at most 64 extents, none negative");
    }
    extents.push_back(extent);
    if (!lexer_.accept(",") && lexer_.peek().text != "]") {
      return lexer_.fail("expected ',' or ']'");
    }
  }
  return extents;
}

Result<int> ModuleParser::tensor_reference() {
  const Token at = lexer_.peek();
  DLCC_TRY(const std::string name, lexer_.name());
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return lexer_.fail_at(at, fmt::format("tensor '{}' is not declared", name));
  }
  return found->second;
}

Status ModuleParser::tensor() {
  Tensor tensor;
  const Token at = lexer_.peek();
  DLCC_TRY(tensor.name, lexer_.name());
  const Token type_at = lexer_.peek();
  DLCC_TRY(const std::string type_name, lexer_.name());
  const auto type = dtype_from_name(type_name);
  if (!type) {
    return lexer_.fail_at(type_at, fmt::format("'{}' is not an element type", type_name));
  }
  tensor.type = *type;
  DLCC_TRY(tensor.shape, shape());
  static constexpr std::pair<std::string_view, TensorKind> kKinds[] = {{"input", TensorKind::Input},
                                                                       {"constant", TensorKind::Constant},
                                                                       {"intermediate", TensorKind::Intermediate},
                                                                       {"output", TensorKind::Output}};
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return lexer_.accept(k.first); });
  if (kind == std::end(kKinds)) {
    return lexer_.fail("expected input, constant, intermediate or output");
  }
  tensor.kind = kind->second;
  if (lexer_.accept("view")) {
    const Token of = lexer_.peek();
    DLCC_TRY(std::string name, lexer_.name());
    views_.push_back({static_cast<int>(module_.tensors.size()), std::move(name), of});
  }
  if (!tensors_.emplace(tensor.name, static_cast<int>(module_.tensors.size())).second) {
    return lexer_.fail_at(at, fmt::format("tensor '{}' is declared twice", tensor.name));
  }
  module_.tensors.push_back(std::move(tensor));
  return end_of_line();
}

Status ModuleParser::list(std::vector<int>& into) {
  while (lexer_.peek().kind != TokenKind::Newline && !lexer_.at_end()) {
    DLCC_TRY(const int id, tensor_reference());
    into.push_back(id);
    if (into.size() > kListLimit) {
      return lexer_.fail("too many tensors listed");
    }
  }
  return end_of_line();
}

Status ModuleParser::header(Stmt& stmt) {
  DLCC_TRY(stmt.name, lexer_.name());
  DLCC_RETURN_IF_ERROR(lexer_.expect(":"));
  if (lexer_.accept("reduce")) {
    stmt.kind = StmtKind::Reduce;
    bool found = false;
    for (int m = 0; m <= static_cast<int>(Monoid::Or) && !found; ++m) {
      found = lexer_.accept(name_of(static_cast<Monoid>(m)));
      stmt.monoid = found ? static_cast<Monoid>(m) : stmt.monoid;
    }
    if (!found) {
      return lexer_.fail("expected sum, prod, min, max, and or or");
    }
  } else if (!lexer_.accept("map")) {
    return lexer_.fail("expected map or reduce");
  }
  if (lexer_.accept("from")) {
    DLCC_TRY(const std::string node, lexer_.name());
    const auto [entry, fresh] = nodes_.emplace(node, static_cast<int>(module_.node_names.size()));
    if (fresh) {
      module_.node_names.push_back(node);
    }
    stmt.node = entry->second;
  }
  return end_of_line();
}

Status ModuleParser::dims(Stmt& stmt, DimKind kind) {
  lexer_.next();
  while (lexer_.peek().kind != TokenKind::Newline && !lexer_.at_end()) {
    const Token at = lexer_.peek();
    Dim dim;
    dim.kind = kind;
    DLCC_TRY(dim.name, lexer_.name());
    DLCC_RETURN_IF_ERROR(lexer_.expect(":"));
    DLCC_TRY(dim.extent, lexer_.integer());
    const bool known =
        std::any_of(stmt.dims.begin(), stmt.dims.end(), [&](const Dim& d) { return d.name == dim.name; });
    if (known || stmt.dims.size() == 64) {
      return lexer_.fail_at(at, fmt::format("dim '{}' is declared twice, or is the 65th", dim.name));
    }
    stmt.dims.push_back(std::move(dim));
  }
  return end_of_line();
}

Status ModuleParser::assignment(Stmt& stmt, StmtScope& scope, ScalarBuilder& builder, ExprParser& parser) {
  const Token at = lexer_.peek();
  DLCC_TRY(const std::string name, lexer_.name());
  DLCC_TRY(stmt.write, parser.access(at, name, false));
  if (stmt.write.indirect_axis >= 0) {
    return lexer_.fail_at(at, "an indirect position where something is written");
  }
  const bool is_sum = stmt.kind == StmtKind::Reduce && stmt.monoid == Monoid::Sum;
  DLCC_RETURN_IF_ERROR(lexer_.expect(is_sum ? "+=" : "="));
  DLCC_TRY(const int root, parser.expression(scope.tensor_type(stmt.write.tensor)));
  stmt.body = builder.finish(root);
  stmt.reads = std::move(parser.reads());
  return end_of_line();
}

Status ModuleParser::stmt() {
  Stmt stmt;
  DLCC_RETURN_IF_ERROR(header(stmt));
  while (starts("par") || starts("red")) {
    DLCC_RETURN_IF_ERROR(dims(stmt, starts("par") ? DimKind::Par : DimKind::Red));
  }
  ScalarBuilder builder;
  StmtScope scope(module_, tensors_, stmt);
  ExprParser parser(lexer_, builder, scope);
  while (starts("let")) {
    lexer_.next();
    const Token at = lexer_.peek();
    DLCC_TRY(const std::string name, lexer_.name());
    DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    DLCC_TRY(const int value, parser.expression());
    if (scope.axis(name) || !scope.lets.emplace(name, value).second) {
      return lexer_.fail_at(at, fmt::format("'{}' is declared twice", name));
    }
    DLCC_RETURN_IF_ERROR(end_of_line());
  }
  DLCC_RETURN_IF_ERROR(assignment(stmt, scope, builder, parser));
  module_.stmts.push_back(std::move(stmt));
  return ok_status();
}

Status ModuleParser::line() {
  if (lexer_.accept("tensor")) {
    return tensor();
  }
  if (lexer_.accept("inputs")) {
    return list(module_.inputs);
  }
  if (lexer_.accept("outputs")) {
    return list(module_.outputs);
  }
  if (lexer_.accept("stmt")) {
    return stmt();
  }
  return lexer_.fail("expected tensor, inputs, outputs or stmt");
}

Result<Module> ModuleParser::run() {
  while (!lexer_.at_end()) {
    DLCC_RETURN_IF_ERROR(line());
  }
  for (const View& view : views_) {
    const auto found = tensors_.find(view.of);
    if (found == tensors_.end()) {
      return lexer_.fail_at(view.at, fmt::format("tensor '{}' is not declared", view.of));
    }
    module_.tensors[static_cast<size_t>(view.tensor)].storage = found->second;
  }
  Diags findings;
  for (const std::string& finding : verify(module_)) {
    findings.push_back({DiagKind::Error, where_, finding});
  }
  if (!findings.empty()) {
    return findings;
  }
  return std::move(module_);
}

}  // namespace

Result<Module> parse_module(std::string_view text, const std::string& where) {
  return ModuleParser(text, where).run();
}

}  // namespace dlcc::te
