// Text form of statements, used for --emit=stmts, goldens, and (a single statement over named operands) for the semantics of intrinsics.
//
//   tensor X f32[1,8,28,28] input
//   tensor W f32[8,8,3,3] constant
//   stmt conv_1 : reduce sum
//     par n:1 co:8 oh:28 ow:28
//     red ci:8 kh:3 kw:3
//     Y[n,co,oh,ow] += X[n, ci, oh + kh - 1, ow + kw - 1 | 0] * W[co, ci, kh, kw]
//
// `| v` is the fill value outside the tensor; `W[idx[i] @, j]`-style indirect axes are written  W[@I[i], j].
// Expressions: + - * / % comparison ?: and calls  f32(x) fma(a,b,c) max(a,b) select(c,a,b) exp(x) ...; literals of a type: 1.5, 3, 2:i64.
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
/// Axes are the identifiers used as plain indices; those under sum(...)/max(...) are reductions.
struct Semantics {
  std::vector<std::string> axes;     // VarId = position; output axes in order of the left-hand side, then reduction axes
  std::vector<DimKind> axis_kinds;
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
