// A statement's body as a small register program over strips: kLanes consecutive points at a time, every operation as a
// loop over lanes. Private to base/te; the meaning of operations is in scalar_ops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/te/evaluate.h"
#include "base/te/stmt.h"

namespace dlcc::te {

constexpr int kLanes = 256;

/// One value per lane: floats for F16 and F32, doubles for F64, int64 for the rest (see scalar_ops.h).
union Register {
  float f[kLanes];
  double d[kLanes];
  int64_t i[kLanes];
};

struct Instruction {
  ScalarNode node;  // node.a, b, c are registers
  DType operand_type = DType::F32;
  int to = 0;
};

/// constants: once per statement; strip: once per strip, what no Red dim changes; point: for every point of the Red
/// dims.
struct StripProgram {
  std::vector<Instruction> constants, strip, point;
  int registers = 0;
  int result = 0;  // register of the root; of its operands when the accumulation is an Fma
  int factor_a = -1, factor_b = -1;
};

StripProgram compile_strip(const Stmt& stmt);

/// Runs one arithmetic instruction (not Load or Index) on the first n lanes.
void execute(const Instruction& instruction, Register* registers, int n);
void fill(DType type, Value value, Register& to, int n);

/// acc = fma(a, b, acc), and acc = monoid(acc, value).
void accumulate_fma(DType type, const Register& a, const Register& b, Register& acc, int n);
void accumulate(Monoid monoid, DType type, const Register& value, Register& acc, int n);

}  // namespace dlcc::te
