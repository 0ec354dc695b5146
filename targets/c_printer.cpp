// Scalars and expressions as C text. The kernel printer is in c_kernel.cpp.
#include "targets/c_printer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "base/te/evaluate.h"

namespace dlcc::targets {

using te::Op;

std::string_view c_type(DType type) {
  switch (type) {
    case DType::F16: return "uint16_t";
    case DType::F32: return "float";
    case DType::F64: return "double";
    case DType::I8: return "int8_t";
    case DType::I16: return "int16_t";
    case DType::I32: return "int32_t";
    case DType::I64: return "int64_t";
    case DType::U8: return "uint8_t";
    case DType::U16: return "uint16_t";
    case DType::U32: return "uint32_t";
    case DType::U64: return "uint64_t";
    case DType::Bool: return "uint8_t";
  }
  return "void";
}

std::string c_identifier(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    text += letter || (c >= '0' && c <= '9' && !text.empty()) ? c : '_';
  }
  return text.empty() ? "_" : text;
}

std::string c_comment(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '*' || c == '\\' || static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) >= 127 ? '_' : c;
  }
  return out;
}

std::string c_variable(const hw::Group& group, hw::VarId var) {
  return fmt::format("{}_{}", c_identifier(group.vars.at(static_cast<size_t>(var))), var);
}

std::string c_affine(const hw::Affine& affine, const hw::Group& group) {
  return te::to_string(affine, [&](hw::VarId var) { return c_variable(group, var); });
}

namespace {

std::string integer_literal(DType type, int64_t value) {
  switch (type) {
    case DType::I64:
      return value == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", value);
    case DType::U64:
      return fmt::format("UINT64_C({})", static_cast<uint64_t>(value));
    case DType::U32:
      return fmt::format("{}u", static_cast<uint32_t>(value));
    case DType::I32:
      return value == INT32_MIN ? "INT32_MIN" : fmt::format("{}", value);
    case DType::Bool:
      return value != 0 ? "1" : "0";
    default:
      return fmt::format("({}){}", c_type(type), value);
  }
}

}  // namespace

std::string c_literal(DType type, double number, int64_t integer) {
  if (!is_float(type)) {
    return integer_literal(type, integer);
  }
  if (type == DType::F16) {
    return fmt::format("0x{:x}", te::element_bits(number, type));
  }
  if (!std::isfinite(number) || (type == DType::F32 && !std::isfinite(static_cast<float>(number)))) {
    return type == DType::F32 ? fmt::format("dlcc_bits_f32(0x{:x}u)", te::element_bits(number, type))
                              : fmt::format("dlcc_bits_f64(UINT64_C(0x{:x}))", te::element_bits(number, type));
  }
  if (type == DType::F32) {
    const auto value = static_cast<float>(number);
    const std::string text = value == std::trunc(value) && std::fabs(value) < 1e6F ? fmt::format("{:.1f}f", value) : fmt::format("{:a}f", value);
    return std::signbit(value) ? "(" + text + ")" : text;
  }
  const std::string text = number == std::trunc(number) && std::fabs(number) < 1e6 ? fmt::format("{:.1f}", number) : fmt::format("{:a}", number);
  return std::signbit(number) ? "(" + text + ")" : text;
}

std::string c_bits(DType type, double number) {
  return fmt::format("0x{:x}ul", te::element_bits(number, type));
}

namespace {

std::string_view comparison(Op op) {
  switch (op) {
    case Op::Lt: return "<";
    case Op::Le: return "<=";
    case Op::Gt: return ">";
    case Op::Ge: return ">=";
    case Op::Eq: return "==";
    case Op::Ne: return "!=";
    default: return "";
  }
}

std::string cast(DType to, DType from, const std::string& a) {
  if (from == DType::F16) {
    return to == DType::F16 ? a : cast(to, DType::F32, fmt::format("dlcc_from_f16({})", a));
  }
  if (to == DType::F16) {
    return fmt::format("dlcc_f64_to_f16((double)({}))", a);
  }
  if (to == DType::Bool) {
    return fmt::format("(uint8_t)(({}) != 0)", a);
  }
  if (is_float(from) && !is_float(to)) {
    return fmt::format("dlcc_saturate_{}((double)({}))", name_of(to), a);
  }
  return fmt::format("({})({})", c_type(to), a);
}

std::string float_scalar(Op op, DType type, const std::array<std::string, 3>& x) {
  switch (op) {
    case Op::Neg: return fmt::format("(-({}))", x[0]);
    case Op::Sqrt: return fmt::format("{}({})", type == DType::F32 ? "sqrtf" : "sqrt", x[0]);
    case Op::Add: return fmt::format("({} + {})", x[0], x[1]);
    case Op::Sub: return fmt::format("({} - {})", x[0], x[1]);
    case Op::Mul: return fmt::format("({} * {})", x[0], x[1]);
    case Op::Div: return fmt::format("({} / {})", x[0], x[1]);
    case Op::Fma: return fmt::format("DLCC_FMA_{}({}, {}, {})", type == DType::F32 ? "F32" : "F64", x[0], x[1], x[2]);
    default: break;
  }
  const std::string name = fmt::format("dlcc_{}_{}", te::name_of(op), name_of(type));
  return te::arity_of(op) == 1 ? fmt::format("{}({})", name, x[0]) : fmt::format("{}({}, {})", name, x[0], x[1]);
}

std::string integer_scalar(Op op, DType type, const std::array<std::string, 3>& x) {
  const std::string_view c = c_type(type);
  switch (op) {
    case Op::Not: return fmt::format("(uint8_t)!({})", x[0]);
    case Op::BitNot: return fmt::format("({})~({})", c, x[0]);
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc: return x[0];
    case Op::And: return fmt::format("({})({} & {})", c, x[0], x[1]);
    case Op::Or: return fmt::format("({})({} | {})", c, x[0], x[1]);
    case Op::Xor: return fmt::format("({})({} ^ {})", c, x[0], x[1]);
    default: break;
  }
  const std::string name = fmt::format("dlcc_{}_{}", te::name_of(op), type == DType::Bool ? "u8" : name_of(type));
  return te::arity_of(op) == 1 ? fmt::format("{}({})", name, x[0]) : fmt::format("{}({}, {})", name, x[0], x[1]);
}

std::string half_scalar(Op op, DType type, const std::array<std::string, 3>& x) {
  if (op == Op::Fma) {
    return fmt::format("dlcc_fma_f16({}, {}, {})", x[0], x[1], x[2]);
  }
  std::array<std::string, 3> wide;
  for (size_t k = 0; k < static_cast<size_t>(te::arity_of(op)); ++k) {
    wide[k] = fmt::format("dlcc_from_f16({})", x[k]);
  }
  const std::string value = c_scalar(op, type == DType::Bool ? DType::Bool : DType::F32, DType::F32, wide);
  return type == DType::Bool ? value : fmt::format("dlcc_to_f16({})", value);
}

}  // namespace

std::string c_scalar(Op op, DType type, DType operand, const std::array<std::string, 3>& x) {
  DLCC_CHECK(!te::is_transcendental(op) && te::arity_of(op) > 0) << te::name_of(op) << " is no operation of the C printer";
  if (op == Op::Select) {
    return fmt::format("({} ? {} : {})", x[0], x[1], x[2]);
  }
  if (op == Op::Cast) {
    return cast(type, operand, x[0]);
  }
  if (operand == DType::F16) {
    return half_scalar(op, type, x);
  }
  if (const std::string_view sign = comparison(op); !sign.empty()) {
    return fmt::format("(uint8_t)({} {} {})", x[0], sign, x[1]);
  }
  return is_float(operand) ? float_scalar(op, operand, x) : integer_scalar(op, operand, x);
}

}  // namespace dlcc::targets
