// Bodies -> register programs: what changes with the Red dims is separated from what does not, and registers are
// reused.
#include "base/te/strip.h"

#include "base/check.h"

namespace dlcc::te {
namespace {

bool uses_red(const Affine& affine, const Stmt& stmt) {
  for (const Term& term : affine.terms()) {
    if (stmt.dims[static_cast<size_t>(term.var)].kind == DimKind::Red) {
      return true;
    }
  }
  return false;
}

bool uses_red(const Access& access, const Stmt& stmt) {
  for (const Affine& index : access.index) {
    if (uses_red(index, stmt)) {
      return true;
    }
  }
  return access.indirect_axis >= 0 && uses_red(stmt.reads[static_cast<size_t>(access.indirect_read)], stmt);
}

/// Whether a node's value changes inside the loop over the Red dims. A Map has only that loop's single point:
/// everything belongs to it.
std::vector<bool> varying(const Stmt& stmt) {
  const size_t count = stmt.body.size();
  std::vector<bool> result(count, false);
  for (size_t i = 0; i < count; ++i) {
    const ScalarNode& node = stmt.body[i];
    bool varies = stmt.kind == StmtKind::Map;
    if (node.op == Op::Load) {
      varies = varies || uses_red(stmt.reads[static_cast<size_t>(node.integer)], stmt);
    } else if (node.op == Op::Index) {
      varies = varies || stmt.dims[static_cast<size_t>(node.integer)].kind == DimKind::Red;
    }
    for (const int operand : {node.a, node.b, node.c}) {
      varies = varies || (operand >= 0 && result[static_cast<size_t>(operand)]);
    }
    result[i] = varies && node.op != Op::Const;
  }
  return result;
}

std::vector<size_t> last_uses(const ScalarExpr& body) {
  std::vector<size_t> last(body.size(), 0);
  for (size_t i = 0; i < body.size(); ++i) {
    for (const int operand : {body[i].a, body[i].b, body[i].c}) {
      if (operand >= 0) {
        last[static_cast<size_t>(operand)] = i;
      }
    }
  }
  return last;
}

}  // namespace

StripProgram compile_strip(const Stmt& stmt) {
  const ScalarExpr& body = stmt.body;
  DLCC_CHECK(!body.empty()) << "stmt " << stmt.name << " has no body";
  const std::vector<bool> varies = varying(stmt);
  std::vector<size_t> last = last_uses(body);
  const bool fused = accumulates_with_fma(stmt.kind, stmt.monoid, body);
  const size_t root = body.size() - 1;
  last[root] = body.size();
  if (fused) {
    last[static_cast<size_t>(body[root].a)] = last[static_cast<size_t>(body[root].b)] = body.size();
  }
  StripProgram program;
  std::vector<int> where(body.size(), -1);
  std::vector<int> free_registers;
  for (size_t i = 0; i < (fused ? root : body.size()); ++i) {
    Instruction instruction{body[i], body[i].type, 0};
    int32_t* operands[] = {&instruction.node.a, &instruction.node.b, &instruction.node.c};
    for (int k = 0; k < arity_of(body[i].op); ++k) {
      const auto operand = static_cast<size_t>(*operands[k]);
      *operands[k] = where[operand];
      // Of a Select the type is that of its values; of the others that of the first operand.
      if (k == 0 || body[i].op == Op::Select) {
        instruction.operand_type = body[operand].type;
      }
    }
    // A register is free again after its last use, unless it must survive from one Red point to the next. The result
    // never shares a register with an operand of the same instruction, so that the lane loops need no aliasing.
    if (free_registers.empty() || !varies[i]) {
      where[i] = program.registers++;
    } else {
      where[i] = free_registers.back();
      free_registers.pop_back();
    }
    instruction.to = where[i];
    auto& list = body[i].op == Op::Const ? program.constants : varies[i] ? program.point : program.strip;
    list.push_back(instruction);
    for (const int operand : {body[i].a, body[i].b, body[i].c}) {
      if (operand >= 0 && varies[static_cast<size_t>(operand)] && last[static_cast<size_t>(operand)] == i) {
        free_registers.push_back(where[static_cast<size_t>(operand)]);
        last[static_cast<size_t>(operand)] = body.size();  // an operand used twice is freed once
      }
    }
  }
  if (fused) {
    program.factor_a = where[static_cast<size_t>(body[root].a)];
    program.factor_b = where[static_cast<size_t>(body[root].b)];
  } else {
    program.result = where[root];
  }
  return program;
}

}  // namespace dlcc::te
