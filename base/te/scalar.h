// ScalarExpr: the right-hand side of a statement, a DAG of typed scalar operations in topological order.
// The meaning of each operation is fixed here, once, so that the naive evaluator, the simulator, the emitted C and the
// emitted machine code agree bit for bit:
//   * float arithmetic is IEEE-754 in the node's type, round to nearest even, never contracted; Fma is one rounding;
//   * Min(a,b) = a < b ? a : b and Max(a,b) = a > b ? a : b (so a NaN in b is returned, as MINPS/MAXPS do);
//   * integer Add/Sub/Mul wrap; integer Div truncates towards zero and Mod has the sign of the divisor (ONNX Mod, fmod=0),
//     Rem has the sign of the dividend (C %); division by zero gives 0;
//     for floats Rem is C fmod, and Mod is fmod plus the divisor where their signs differ; of integers, the types' lowest value / -1 wraps;
//   * Shl and Shr (arithmetic for signed types) by an amount outside [0, bits) give what shifting bit by bit would: 0, or -1 for Shr of a
//     negative value;
//   * comparisons and logic give Bool; Select(c, a, b); Cast float -> int truncates and saturates, NaN -> 0; anything -> Bool is x != 0
//     (so NaN -> true); int -> int wraps; float -> float and int -> float round once;
//   * Round is half to even;
//   * Exp2i(x): 2^x for integral x of a float type in [-126, 127] for f32 ([-1022, 1023] for f64), exact; outside: unspecified,
//     the expansion clamps first;
//   * Exponent(x), Mantissa(x) for positive normal x: x = Mantissa * 2^Exponent with Mantissa in [1, 2), both of x's type.
// The transcendental operations (from Exp on) exist only until `expand_transcendentals` rewrites them into the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace dlcc::te {

enum class Op : uint8_t {
  Const, Load, Index, Param,                                        // leaves
  Neg, Abs, Not, Floor, Ceil, Round, Trunc, Sqrt, Exp2i, Exponent, Mantissa, IsNan, IsInf, Cast, BitNot,  // unary
  Add, Sub, Mul, Div, Mod, Rem, Min, Max, And, Or, Xor, Shl, Shr,   // binary (And/Or/Xor: logic on Bool, bitwise on ints)
  Lt, Le, Gt, Ge, Eq, Ne,                                           // comparisons: operands of one type, result Bool
  Fma, Select,                                                      // ternary
  Exp, Log, Tanh, Sigmoid, Erf, Pow, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Asinh, Acosh, Atanh,
};

int arity_of(Op op);
std::string_view name_of(Op op);
bool is_transcendental(Op op);
std::optional<Op> op_from_name(std::string_view name);
/// Type of the result for operands of that type (Select: of its values; Cast: as asked), or nothing when the operation does not take it.
std::optional<DType> result_type(Op op, DType operand);

/// One operation. Operands are indices of earlier nodes. Const: `number` (floats) or `integer` (ints, bool).
/// Load: `integer` is the index into the statement's reads. Index: `integer` is the dim whose position (as I64) it yields.
/// Param: `integer` numbers a parameter of an intrinsic.
struct ScalarNode {
  Op op = Op::Const;
  DType type = DType::F32;
  int32_t a = -1, b = -1, c = -1;
  double number = 0;
  int64_t integer = 0;
  friend bool operator==(const ScalarNode&, const ScalarNode&) = default;
};
/// The root is the last node.
using ScalarExpr = std::vector<ScalarNode>;

/// Builds an expression; each call returns the new node's index. Types of operands must match (checked).
class ScalarBuilder {
 public:
  int constant(DType type, double number);
  int integer(DType type, int64_t value);
  int load(DType type, int read);
  int index(int dim);
  int param(DType type, int param);
  int unary(Op op, int a);
  int binary(Op op, int a, int b);
  int fma(int a, int b, int c);
  int select(int condition, int a, int b);
  int cast(DType to, int a);
  DType type(int node) const { return nodes_[static_cast<size_t>(node)].type; }
  /// The expression with `root` last; unreachable nodes are dropped, equal nodes shared.
  ScalarExpr finish(int root) const;

 private:
  int add(ScalarNode node);
  std::vector<ScalarNode> nodes_;
};

/// Number of arithmetic operations (leaves and casts do not count; Fma counts 2).
int flops_of(const ScalarExpr& body);

/// Rewrites transcendental nodes into the other operations. Stated error bounds per function: base/te/expand.cpp.
ScalarExpr expand_transcendentals(const ScalarExpr& body);

}  // namespace dlcc::te
