// Kernel, scalar bodies and affine expressions <-> text. The grammar is in hw/program_print.cpp.
#include "hw/kernel_text.h"

#include <algorithm>
#include <cmath>

namespace dlcc::hw {
namespace {

constexpr std::string_view kKernelOps[] = {"const", "index", "load", "loadsplat", "store", "splat", "op", "move"};

bool is_set(double number) {
  return number != 0 || std::signbit(number);
}

std::string vector_type(DType type, int lanes) {
  return std::string(name_of(type)) + (lanes == 1 ? "" : "x" + std::to_string(lanes));
}

Result<KernelRegister> read_vector_type(Lexer& lexer) {
  constexpr const char* kExpected = "expected a register type such as f32x8";
  const std::string text = peek_name(lexer);
  const size_t x = text.find('x');
  const auto type = dtype_from_name(std::string_view(text).substr(0, x));
  if (!type.has_value()) {
    return lexer.fail(kExpected);
  }
  KernelRegister out{*type, 1};
  if (x == std::string::npos) {
    lexer.next();
    return out;
  }
  const std::string digits = text.substr(x + 1);
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) {
    return lexer.fail(kExpected);
  }
  lexer.next();
  out.lanes = std::stoi(digits);
  return out;
}

bool is_memory_op(KernelOp op) {
  return op == KernelOp::Load || op == KernelOp::LoadSplat || op == KernelOp::Store;
}

std::string instr_text(const KernelInstr& instr, const Names& vars) {
  std::string out = instr.dst < 0 ? "" : "r" + std::to_string(instr.dst) + " = ";
  out += instr.kind == KernelOp::Compute ? "op " + std::string(te::name_of(instr.op))
                                         : std::string(kKernelOps[static_cast<size_t>(instr.kind)]);
  out += " " + vector_type(instr.type, instr.lanes);
  if (is_memory_op(instr.kind)) {
    out += instr.access < 0 ? " write" : " read " + std::to_string(instr.access);
  }
  if (is_memory_op(instr.kind) || instr.kind == KernelOp::Index) {
    out += " [" + affine_text(instr.offset, vars) + "]";
  }
  out += instr.aligned ? " aligned" : "";
  for (const int reg : instr.src) {
    if (reg >= 0) {
      out += " r" + std::to_string(reg);
    }
  }
  if (instr.index_register >= 0) {
    out += " gather r" + std::to_string(instr.index_register) + " " + std::to_string(instr.index_extent) + " " +
           std::to_string(instr.index_stride);
  }
  if (is_set(instr.number)) {
    out += " number " + print_number(instr.number);
  }
  if (instr.integer != 0) {
    out += " integer " + std::to_string(instr.integer);
  }
  return out;
}

void print_nodes(const std::vector<KernelNode>& nodes, const Names& vars, Printer& out) {
  for (const KernelNode& node : nodes) {
    if (const auto* instr = std::get_if<KernelInstr>(&node.v)) {
      out.line(instr_text(*instr, vars));
      continue;
    }
    const auto& loop = std::get<KernelLoop>(node.v);
    out.line("for " + vars.spell(loop.var) + " = " + (loop.resume ? "resume" : affine_text(loop.begin, vars)) + " to " +
             affine_text(loop.end, vars) + " step " + std::to_string(loop.step) + " {");
    out.indent();
    print_nodes(loop.body, vars, out);
    out.dedent();
    out.line("}");
  }
}

Result<te::Op> read_op(Lexer& lexer) {
  const std::optional<te::Op> op = te::op_from_name(peek_name(lexer));
  if (!op.has_value()) {
    return lexer.fail("expected a scalar operation");
  }
  lexer.next();
  return *op;
}

/// "r12"
bool is_register(const Token& token) {
  return token.kind == TokenKind::Identifier && token.text.size() > 1 && token.text.size() < 9 &&
         token.text[0] == 'r' && token.text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

Result<int> read_register(Lexer& lexer) {
  if (!is_register(lexer.peek())) {
    return lexer.fail("expected a register such as r3");
  }
  return std::stoi(std::string(lexer.next().text.substr(1)));
}

class KernelReader {
 public:
  KernelReader(Lexer& lexer, const Names& vars) : lexer_(lexer), vars_(vars) {}

  Result<std::vector<KernelNode>> nodes(int depth) {
    if (depth > kMaxNesting) {
      return lexer_.fail("loops are nested deeper than " + std::to_string(kMaxNesting));
    }
    std::vector<KernelNode> out;
    DLCC_RETURN_IF_ERROR(lexer_.expect("{"));
    while (!lexer_.accept("}")) {
      if (lexer_.accept("for")) {
        DLCC_TRY(KernelLoop read, loop(depth));
        out.push_back({std::move(read)});
      } else {
        DLCC_TRY(KernelInstr read, instr());
        out.push_back({std::move(read)});
      }
    }
    return out;
  }

 private:
  Result<KernelLoop> loop(int depth) {
    KernelLoop out;
    DLCC_TRY(out.var, vars_.read(lexer_, "variable"));
    DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    if (lexer_.peek().text == "resume" && lexer_.peek(1).text == "to") {
      lexer_.next();
      out.resume = true;
    } else {
      DLCC_TRY(out.begin, read_affine(lexer_, vars_));
    }
    DLCC_RETURN_IF_ERROR(lexer_.expect("to"));
    DLCC_TRY(out.end, read_affine(lexer_, vars_));
    DLCC_RETURN_IF_ERROR(lexer_.expect("step"));
    DLCC_TRY(out.step, lexer_.integer());
    DLCC_TRY(out.body, nodes(depth + 1));
    return out;
  }

  Status opcode(KernelInstr& out) {
    const auto* at = std::find(std::begin(kKernelOps), std::end(kKernelOps), peek_name(lexer_));
    if (at == std::end(kKernelOps)) {
      return lexer_.fail("expected a kernel operation");
    }
    lexer_.next();
    out.kind = static_cast<KernelOp>(at - std::begin(kKernelOps));
    if (out.kind == KernelOp::Compute) {
      DLCC_TRY(out.op, read_op(lexer_));
    }
    return ok_status();
  }

  Result<KernelInstr> instr() {
    KernelInstr out;
    if (is_register(lexer_.peek())) {
      DLCC_TRY(out.dst, read_register(lexer_));
      DLCC_RETURN_IF_ERROR(lexer_.expect("="));
    }
    DLCC_RETURN_IF_ERROR(opcode(out));
    DLCC_TRY(const KernelRegister type, read_vector_type(lexer_));
    out.type = type.type;
    out.lanes = type.lanes;
    DLCC_RETURN_IF_ERROR(address(out));
    for (size_t k = 0; k < out.src.size() && is_register(lexer_.peek()) && lexer_.peek(1).text != "="; ++k) {
      DLCC_TRY(out.src[k], read_register(lexer_));
    }
    DLCC_RETURN_IF_ERROR(options(out));
    return out;
  }

  Status address(KernelInstr& out) {
    if (is_memory_op(out.kind)) {
      if (!lexer_.accept("write")) {
        DLCC_RETURN_IF_ERROR(lexer_.expect("read"));
        DLCC_TRY(const int64_t access, lexer_.integer());
        out.access = static_cast<int>(std::min<int64_t>(access, 1 << 30));
      }
    }
    if (is_memory_op(out.kind) || out.kind == KernelOp::Index) {
      DLCC_RETURN_IF_ERROR(lexer_.expect("["));
      DLCC_TRY(out.offset, read_affine(lexer_, vars_));
      DLCC_RETURN_IF_ERROR(lexer_.expect("]"));
    }
    out.aligned = lexer_.accept("aligned");
    return ok_status();
  }

  Status options(KernelInstr& out) {
    if (lexer_.accept("gather")) {
      DLCC_TRY(out.index_register, read_register(lexer_));
      DLCC_TRY(out.index_extent, lexer_.integer());
      DLCC_TRY(out.index_stride, lexer_.integer());
    }
    if (lexer_.accept("number")) {
      DLCC_TRY(out.number, lexer_.number());
    }
    if (lexer_.accept("integer")) {
      DLCC_TRY(out.integer, lexer_.integer());
    }
    return ok_status();
  }

  Lexer& lexer_;
  const Names& vars_;
};

}  // namespace

std::string affine_text(const Affine& affine, const Names& vars) {
  std::string out;
  for (const te::Term& term : affine.terms()) {
    const bool minus = term.coef < 0;
    out += out.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ");
    const uint64_t size = minus ? 0 - static_cast<uint64_t>(term.coef) : static_cast<uint64_t>(term.coef);
    if (size != 1) {
      out += std::to_string(size) + "*";
    }
    out += vars.spell(term.var);
  }
  if (out.empty()) {
    return std::to_string(affine.constant());
  }
  if (affine.constant() != 0) {
    out += (affine.constant() < 0 ? " - " : " + ") + std::to_string(std::abs(affine.constant()));
  }
  return out;
}

Result<Affine> read_affine(Lexer& lexer, const Names& vars) {
  Affine out;
  bool minus = lexer.accept("-");
  while (true) {
    int64_t factor = 1;
    bool is_number = lexer.peek().kind == TokenKind::Integer;
    if (is_number) {
      DLCC_TRY(factor, lexer.integer());
    }
    if (!is_number || lexer.accept("*")) {
      DLCC_TRY(const int var, vars.read(lexer, "variable"));
      out += Affine::var(var, minus ? -factor : factor);
    } else {
      out += Affine(minus ? -factor : factor);
    }
    minus = lexer.accept("-");
    if (!minus && !lexer.accept("+")) {
      return out;
    }
  }
}

std::string scalar_text(const te::ScalarNode& node) {
  std::string out = std::string(name_of(node.type)) + " " + std::string(te::name_of(node.op));
  for (const int operand : {node.a, node.b, node.c}) {
    if (operand >= 0) {
      out += " " + std::to_string(operand);
    }
  }
  if (node.op == te::Op::Const) {
    return out + " " + (is_float(node.type) ? print_number(node.number) : std::to_string(node.integer));
  }
  return te::arity_of(node.op) == 0 ? out + " " + std::to_string(node.integer) : out;
}

Result<DType> read_dtype(Lexer& lexer) {
  const auto type = dtype_from_name(peek_name(lexer));
  if (!type.has_value()) {
    return lexer.fail("expected an element type such as f32");
  }
  lexer.next();
  return *type;
}

namespace {

Result<te::ScalarNode> read_scalar(Lexer& lexer, size_t position) {
  te::ScalarNode node;
  DLCC_TRY(node.type, read_dtype(lexer));
  DLCC_TRY(node.op, read_op(lexer));
  int32_t* const operands[] = {&node.a, &node.b, &node.c};
  for (int k = 0; k < te::arity_of(node.op); ++k) {
    DLCC_TRY(const int64_t operand, lexer.integer());
    if (operand < 0 || operand >= static_cast<int64_t>(position)) {
      return lexer.fail("operand " + std::to_string(operand) + " of " + std::string(te::name_of(node.op)) +
                        " is not an earlier node");
    }
    *operands[k] = static_cast<int32_t>(operand);
  }
  if (node.op == te::Op::Const && is_float(node.type)) {
    DLCC_TRY(node.number, lexer.number());
  } else if (te::arity_of(node.op) == 0) {
    DLCC_TRY(node.integer, lexer.integer());
  }
  return node;
}

}  // namespace

Result<te::ScalarExpr> read_scalar_body(Lexer& lexer) {
  te::ScalarExpr body;
  DLCC_RETURN_IF_ERROR(lexer.expect("["));
  while (!lexer.accept("]")) {
    if (!body.empty()) {
      DLCC_RETURN_IF_ERROR(lexer.expect(","));
    }
    DLCC_TRY(const te::ScalarNode node, read_scalar(lexer, body.size()));
    body.push_back(node);
  }
  return body;
}

void print_kernel(const Kernel& kernel, const Names& vars, Printer& out) {
  std::string registers;
  for (size_t i = 0; i < kernel.registers.size();) {
    size_t end = i + 1;
    const KernelRegister& reg = kernel.registers[i];
    while (end < kernel.registers.size() && kernel.registers[end].type == reg.type &&
           kernel.registers[end].lanes == reg.lanes) {
      ++end;
    }
    registers += registers.empty() ? "" : ", ";
    registers += (end - i > 1 ? std::to_string(end - i) + " " : "") + vector_type(reg.type, reg.lanes);
    i = end;
  }
  out.line("kernel [" + registers + "] {");
  out.indent();
  print_nodes(kernel.body, vars, out);
  out.dedent();
  out.line("}");
}

Result<Kernel> read_kernel(Lexer& lexer, const Names& vars) {
  constexpr int64_t kMaxRegisters = 1 << 16;
  Kernel kernel;
  DLCC_RETURN_IF_ERROR(lexer.expect("["));
  while (!lexer.accept("]")) {
    if (!kernel.registers.empty()) {
      DLCC_RETURN_IF_ERROR(lexer.expect(","));
    }
    int64_t count = 1;
    if (lexer.peek().kind == TokenKind::Integer) {
      DLCC_TRY(count, lexer.integer());
    }
    DLCC_TRY(const KernelRegister reg, read_vector_type(lexer));
    if (count < 1 || count + static_cast<int64_t>(kernel.registers.size()) > kMaxRegisters) {
      return lexer.fail("a kernel has 1 to " + std::to_string(kMaxRegisters) + " registers");
    }
    kernel.registers.insert(kernel.registers.end(), static_cast<size_t>(count), reg);
  }
  DLCC_TRY(kernel.body, KernelReader(lexer, vars).nodes(0));
  return kernel;
}

}  // namespace dlcc::hw
