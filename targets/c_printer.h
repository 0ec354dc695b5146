// Pieces of C that every C dialect shares: types, literals, affine expressions, scalar operations (through runtime/dlcc_scalar.h) and the body of a
// hw::Kernel. In: the Program's leaves; out: C99 text. A dialect adds storage classes, data movement and synchronisation around it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/text.h"
#include "hw/program.h"

namespace dlcc::targets {

/// "float", "int64_t", ...; F16 is its bits in a uint16_t, Bool a uint8_t.
std::string_view c_type(DType type);
/// A C identifier: other characters become '_'; never starts with a digit.
std::string c_identifier(std::string_view name);
/// Text that is safe inside a C comment.
std::string c_comment(std::string_view text);
/// The variable of a group, "oh_5".
std::string c_variable(const hw::Group& group, hw::VarId var);
std::string c_affine(const hw::Affine& affine, const hw::Group& group);
/// A constant that reads back to the same bits.
std::string c_literal(DType type, double number, int64_t integer);
/// The element's bits as an unsigned long literal.
std::string c_bits(DType type, double number);
/// One scalar operation as an expression; `operand` is the type of the operands (of a Select: of its values).
std::string c_scalar(te::Op op, DType type, DType operand, const std::array<std::string, 3>& x);

/// What a dialect says about vectors where the chip file has no template: (operation name, type) -> template with {d} {0} {1} {2}.
using CVectorDefaults = std::map<std::pair<std::string, DType>, std::string>;

/// The declarations and statements of a kernel. Access n is a pointer named x<n>, the write one named w; loop variables must be declared by the caller.
/// Templates: without {d} an expression; of loads {0} is the pointer; of stores {0} is the value and {1} the pointer.
Status print_c_kernel(const hw::Compute& leaf, const hw::Group& group, const hw::Machine& machine, const CVectorDefaults& defaults, Printer& out);

}  // namespace dlcc::targets
