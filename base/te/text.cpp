// print: modules and statements -> text. Values used more than once become `let` lines, so the text is as small as the
// DAG.
#include "base/te/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "base/text.h"

namespace dlcc::te {
namespace {

// Deeper expressions are cut by lets, well below the depth that the parser takes.
constexpr int kDepthLimit = 24;

/// Names that are unique in their scope, as the lexer reads them back.
class UniqueNames {
 public:
  explicit UniqueNames(std::set<std::string> reserved = {}) : used_(std::move(reserved)) {}
  std::string add(const std::string& wanted, const std::string& fallback) {
    const std::string base = wanted.empty() ? fallback : wanted;
    std::string name = base;
    for (int i = 1; !used_.insert(name).second; ++i) {
      name = base + "_" + std::to_string(i);
    }
    return quote_name(name);
  }

 private:
  std::set<std::string> used_;
};

std::vector<std::string> tensor_names(const Module& module) {
  UniqueNames names;
  std::vector<std::string> result;
  for (size_t i = 0; i < module.tensors.size(); ++i) {
    result.push_back(names.add(module.tensors[i].name, "t" + std::to_string(i)));
  }
  return result;
}

struct Shown {  // text of a subexpression
  std::string text;
  int level = 0;  // binding strength as in the parser: 0 ternary, 1.. binary, 7 unary, 8 primary
  int depth = 0;
};
constexpr int kTernary = 0, kUnary = 7, kPrimary = 8;

struct Infix {
  Op op;
  std::string_view text;
  int level;
};
constexpr Infix kInfix[] = {{Op::Lt, "<", 3},  {Op::Le, "<=", 3}, {Op::Gt, ">", 3},  {Op::Ge, ">=", 3},
                            {Op::Eq, "==", 3}, {Op::Ne, "!=", 3}, {Op::Add, "+", 4}, {Op::Sub, "-", 4},
                            {Op::Mul, "*", 5}, {Op::Div, "/", 5}, {Op::Mod, "%", 5}};

/// Shortest text that reads back to the same float: 0.1, where the double that it is would print 0.10000000149011612.
std::string print_single(double value) {
  std::array<char, 32> buffer;
  if (std::isfinite(value)) {
    const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(value));
    double back = 0;
    std::from_chars(buffer.data(), end, back);
    if (static_cast<float>(back) == static_cast<float>(value)) {
      return std::string(buffer.data(), end);
    }
  }
  return print_number(value);
}

class StmtPrinter {
 public:
  StmtPrinter(const Module& module, const Stmt& stmt, const std::vector<std::string>& tensors, Printer& out)
      : module_(module), stmt_(stmt), tensors_(tensors), out_(out), names_({"inf", "nan", "true", "false"}) {}
  void print();

 private:
  void print_header();
  void print_dims();
  std::string access(const Access& access) const;
  std::string constant(const ScalarNode& node) const;
  Shown show(const ScalarNode& node) const;
  Shown show_operator(const ScalarNode& node) const;
  const Shown& at(int node) const { return shown_[static_cast<size_t>(node)]; }
  std::string in_parens(int node, int least_level) const {
    return at(node).level < least_level ? "(" + at(node).text + ")" : at(node).text;
  }

  const Module& module_;
  const Stmt& stmt_;
  const std::vector<std::string>& tensors_;
  Printer& out_;
  UniqueNames names_;
  std::vector<std::string> dim_names_;
  std::vector<Shown> shown_;
};

std::string StmtPrinter::access(const Access& access) const {
  const auto name = [&](VarId var) { return dim_names_[static_cast<size_t>(var)]; };
  std::string text = tensors_[static_cast<size_t>(access.tensor)] + "[";
  for (size_t axis = 0; axis < access.index.size(); ++axis) {
    text += axis > 0 ? ", " : "";
    const bool indirect = static_cast<int>(axis) == access.indirect_axis;
    if (!indirect || !access.index[axis].is_zero()) {
      text += to_string(access.index[axis], name) + (indirect ? " + " : "");
    }
    if (indirect) {
      text += "@" + this->access(stmt_.reads[static_cast<size_t>(access.indirect_read)]);
    }
  }
  if (access.fill) {
    text += (access.index.empty() ? "| " : " | ") + print_number(*access.fill);
  }
  return text + "]";
}

std::string StmtPrinter::constant(const ScalarNode& node) const {
  if (node.type == DType::Bool) {
    return node.integer != 0 ? "true" : "false";
  }
  if (node.type == DType::F32) {
    return print_single(node.number);
  }
  const std::string text = is_float(node.type) ? print_number(node.number) : std::to_string(node.integer);
  return fmt::format("{}:{}", text, name_of(node.type));
}

Shown StmtPrinter::show_operator(const ScalarNode& node) const {
  for (const Infix& infix : kInfix) {
    if (infix.op == node.op) {
      return {fmt::format("{} {} {}", in_parens(node.a, infix.level), infix.text, in_parens(node.b, infix.level + 1)),
              infix.level};
    }
  }
  if (node.type == DType::Bool && (node.op == Op::And || node.op == Op::Or)) {
    const int level = node.op == Op::And ? 2 : 1;
    return {fmt::format("{} {} {}", in_parens(node.a, level), node.op == Op::And ? "&&" : "||",
                        in_parens(node.b, level + 1)),
            level};
  }
  if (node.op == Op::Select) {
    // A bare literal before the colon could read as one with a type.
    const bool literal = stmt_.body[static_cast<size_t>(node.b)].op == Op::Const;
    return {fmt::format("{} ? {} : {}", in_parens(node.a, 1), in_parens(node.b, literal ? kPrimary + 1 : 1),
                        in_parens(node.c, 1)),
            kTernary};
  }
  // The parenthesis keeps -(1.5) apart from the literal -1.5.
  if (node.op == Op::Neg || node.op == Op::Not) {
    return {fmt::format("{}({})", node.op == Op::Neg ? "-" : "!", at(node.a).text), kUnary};
  }
  std::string text = std::string(node.op == Op::Cast ? name_of(node.type) : name_of(node.op)) + "(" + at(node.a).text;
  for (const int operand : {node.b, node.c}) {
    text += operand >= 0 ? ", " + at(operand).text : "";
  }
  return {text + ")", kPrimary};
}

Shown StmtPrinter::show(const ScalarNode& node) const {
  switch (node.op) {
    case Op::Const: {
      const std::string text = constant(node);
      return {text, text.front() == '-' ? kUnary : kPrimary};
    }
    case Op::Load:
      return {access(stmt_.reads[static_cast<size_t>(node.integer)]), kPrimary};
    case Op::Index:
      return {dim_names_[static_cast<size_t>(node.integer)], kPrimary};
    case Op::Param:
      return {fmt::format("param{}", node.integer), kPrimary};
    default: {
      Shown shown = show_operator(node);
      for (const int operand : {node.a, node.b, node.c}) {
        shown.depth = operand >= 0 ? std::max(shown.depth, at(operand).depth + 1) : shown.depth;
      }
      return shown;
    }
  }
}

void StmtPrinter::print_header() {
  std::string line =
      fmt::format("stmt {} : {}", quote_name(stmt_.name.empty() ? "s" : stmt_.name),
                  stmt_.kind == StmtKind::Reduce ? "reduce " + std::string(name_of(stmt_.monoid)) : "map");
  if (stmt_.node >= 0 && static_cast<size_t>(stmt_.node) < module_.node_names.size()) {
    line += " from " + quote_name(module_.node_names[static_cast<size_t>(stmt_.node)]);
  }
  out_.line(line);
}

void StmtPrinter::print_dims() {
  std::string line;
  for (size_t d = 0; d < stmt_.dims.size(); ++d) {
    dim_names_.push_back(names_.add(stmt_.dims[d].name, "d" + std::to_string(d)));
    if (d == 0 || stmt_.dims[d].kind != stmt_.dims[d - 1].kind) {
      if (d > 0) {
        out_.line(line);
      }
      line = stmt_.dims[d].kind == DimKind::Par ? "par" : "red";
    }
    line += fmt::format(" {}:{}", dim_names_.back(), stmt_.dims[d].extent);
  }
  if (!line.empty()) {
    out_.line(line);
  }
}

void StmtPrinter::print() {
  print_header();
  out_.indent();
  print_dims();
  std::vector<int> uses(stmt_.body.size(), 0);
  for (const ScalarNode& node : stmt_.body) {
    for (const int operand : {node.a, node.b, node.c}) {
      if (operand >= 0) {
        ++uses[static_cast<size_t>(operand)];
      }
    }
  }
  shown_.clear();
  int lets = 0;
  for (size_t i = 0; i < stmt_.body.size(); ++i) {
    Shown shown = show(stmt_.body[i]);
    const bool is_leaf = arity_of(stmt_.body[i].op) == 0;
    const bool is_root = i + 1 == stmt_.body.size();
    if (!is_root && !is_leaf && (uses[i] > 1 || shown.depth >= kDepthLimit)) {
      const std::string name = names_.add("t" + std::to_string(lets++), "t");
      out_.line(fmt::format("let {} = {}", name, shown.text));
      shown = {name, kPrimary, 0};
    }
    shown_.push_back(std::move(shown));
  }
  const bool is_sum = stmt_.kind == StmtKind::Reduce && stmt_.monoid == Monoid::Sum;
  out_.line(
      fmt::format("{} {} {}", access(stmt_.write), is_sum ? "+=" : "=", stmt_.body.empty() ? "" : shown_.back().text));
  out_.dedent();
}

std::string_view text_of(TensorKind kind) {
  constexpr std::string_view kNames[] = {"input", "constant", "intermediate", "output"};
  return kNames[static_cast<size_t>(kind)];
}

void print_tensor(const Tensor& tensor, const std::string& name, const std::vector<std::string>& names, Printer& out) {
  std::string line = fmt::format("tensor {} {}[{}] {}", name, name_of(tensor.type), fmt::join(tensor.shape, ","),
                                 text_of(tensor.kind));
  if (tensor.storage >= 0) {
    line += " view " + names[static_cast<size_t>(tensor.storage)];
  }
  out.line(line);
}

void print_list(std::string_view word, const std::vector<int>& ids, const std::vector<std::string>& names,
                Printer& out) {
  std::string line(word);
  for (const int id : ids) {
    line += " " + names[static_cast<size_t>(id)];
  }
  out.line(line);
}

}  // namespace

std::string print(const Module& module) {
  Printer out;
  const std::vector<std::string> names = tensor_names(module);
  for (size_t i = 0; i < module.tensors.size(); ++i) {
    print_tensor(module.tensors[i], names[i], names, out);
  }
  print_list("inputs", module.inputs, names, out);
  print_list("outputs", module.outputs, names, out);
  for (const Stmt& stmt : module.stmts) {
    StmtPrinter(module, stmt, names, out).print();
  }
  return out.take();
}

std::string print(const Module& module, const Stmt& stmt) {
  Printer out;
  StmtPrinter(module, stmt, tensor_names(module), out).print();
  return out.take();
}

}  // namespace dlcc::te
