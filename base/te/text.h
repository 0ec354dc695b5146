// Text form of statements, used for --emit=stmts, goldens, and (a single statement over named operands) for the semantics of intrinsics.
//
//   tensor X f32[1,8,28,28] input
//   tensor W f32[8,8,3,3] constant
//   tensor Y f32[1,8,28,28] intermediate
//   tensor Z f32[6272] output view Y                      # the same elements, reshaped
//   inputs X                                              # the model's order
//   outputs Z
//   stmt conv_1 : reduce sum from Conv_0                  # or: stmt relu_2 : map ; `from` names the graph node
//     par n:1 co:8 oh:28 ow:28                            # dims in order; par and red lines may alternate
//     red ci:8 kh:3 kw:3
//     let t0 = ...                                        # expressions used more than once
//     Y[n, co, oh, ow] += X[n, ci, oh + kh - 1, ow + kw - 1 | 0] * W[co, ci, kh, kw]
//
// The last line is `+=` for a sum and `=` for everything else. `| v` is the fill value outside the tensor; an indirect axis is affine
// plus @ and the read that delivers the position:  W[@I[i], j].  A name of other characters than an identifier's is a "string".
// Expressions, from loosest to tightest:  c ? a : b,  || (or of bools),  &&,  < <= > >= == !=,  + -,  * / % (Op::Mod),  - !,  and calls:
// an operation by its name, as in fma(a,b,c) max(a,b) rem(a,b) exp(x), or a cast by its type, as in f32(x). A dim's name is its position,
// an i64. A literal is 1.5, -3, inf, nan, true, false, with a type as in 2:i64; without one it takes the type of the operand beside it,
// else f32.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/te/stmt.h"

namespace dlcc::te {

std::string print(const Module& module);
std::string print(const Module& module, const Stmt& stmt);

/// Parses what `print` writes; constants come back without data. where: the file name for messages.
Result<Module> parse_module(std::string_view text, const std::string& where);

/// What an intrinsic computes. Operands and parameters are declared by the caller (from YAML).
struct SemanticsOperand {
  std::string name;
  DType type = DType::F32;
  int rank = 0;
};
struct SemanticsParam {
  std::string name;
  bool is_bool = false;
};
/// One assignment `c[i,j] = (init ? 0 : c[i,j]) + sum(l, f32(a[i,l]) * f32(b[l,j]))`.
/// Axes are the identifiers in the indices of the left-hand side, and those that a reduction declares: sum(l, ...), prod, min, max, with
/// several axes sum(k, l, ...) and an optional range, sum(l in 0..4, ...), whose end is an integer or a parameter. The right-hand side is
///   an expression without reduction: `update` is the whole value (reads may include the output, then reads_output is set); or
///   R, old + R or R + old (max(old, R) for max, and so on), R a reduction and old either c[i,j] or (init ? 0 : c[i,j]) with 0 the
///   monoid's identity: the reduction starts from old instead of the identity, and `update` is R's body.
struct Semantics {
  std::vector<std::string> axes;     // VarId = position; output axes in order of the left-hand side, then reduction axes
  std::vector<DimKind> axis_kinds;
  std::vector<std::string> axis_ends;    // end of the range as written, empty where none is: the operands' shapes decide
  int output = 0;                    // operand index
  std::vector<Affine> output_index;
  std::vector<Access> reads;         // Access::tensor = operand index
  ScalarExpr update;                 // value combined into the reduction for each point (or the Map value)
  bool reduces = false;
  Monoid monoid = Monoid::Sum;
  bool reads_output = false;         // the old value of the output is an operand of the result (accumulation)
  int init_param = -1;               // parameter that, when non-zero, drops the old value; -1: none
};
Result<Semantics> parse_semantics(std::string_view text, const std::vector<SemanticsOperand>& operands,
                                  const std::vector<SemanticsParam>& params, const std::string& where);

}  // namespace dlcc::te
