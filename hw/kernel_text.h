// Text of the parts that Program and Kernel share: affine expressions, scalar bodies, kernels. Grammar:
// hw/program_print.cpp.
#pragma once

#include <string>

#include "base/result.h"
#include "base/te/affine.h"
#include "base/te/scalar.h"
#include "base/text.h"
#include "hw/kernel.h"
#include "hw/program_names.h"

namespace dlcc::hw {

/// "8*t + i - 1"
std::string affine_text(const Affine& affine, const Names& vars);
Result<Affine> read_affine(Lexer& lexer, const Names& vars);

/// One node: "f32 mul 0 1", "f32 const 0.5", "i64 index 2".
std::string scalar_text(const te::ScalarNode& node);
/// A list in brackets; operands must be earlier nodes.
Result<te::ScalarExpr> read_scalar_body(Lexer& lexer);

Result<DType> read_dtype(Lexer& lexer);

/// From "kernel [" to its closing brace.
void print_kernel(const Kernel& kernel, const Names& vars, Printer& out);
/// After the word "kernel".
Result<Kernel> read_kernel(Lexer& lexer, const Names& vars);

/// Nesting deeper than this is refused, so that no text can exhaust the stack.
constexpr int kMaxNesting = 200;

}  // namespace dlcc::hw
