// One scalar operation on one value, and elements <-> values.
#include <cstring>

#include "base/check.h"
#include "base/te/evaluate.h"
#include "base/te/scalar_ops.h"

namespace dlcc::te {
namespace {

template <class T>
Value apply_float(const ScalarNode& node, DType operand_type, T a, T b) {
  Value result;
  const auto to_float1 = [&](auto f) { result.f = f(a); };
  const auto to_float2 = [&](auto f) { result.f = f(a, b); };
  const auto to_bool1 = [&](auto f) { result.i = f(a); };
  const auto to_bool2 = [&](auto f) { result.i = f(a, b); };
  const bool known = ops::with_float_unary<T>(node.op, to_float1) || ops::with_float_binary<T>(node.op, to_float2) ||
                     ops::with_float_test<T>(node.op, to_bool1) || ops::with_comparison<T>(node.op, to_bool2);
  DLCC_CHECK(known) << name_of(node.op) << " has no meaning on " << name_of(operand_type);
  if (operand_type == DType::F16 && is_float(node.type)) {
    result.f = ops::round_half(static_cast<float>(result.f));
  }
  return result;
}

Value apply_int(const ScalarNode& node, DType operand_type, int64_t a, int64_t b) {
  Value result;
  const auto one = [&](auto f) { result.i = ops::wrap(node.type, f(a)); };
  const auto two = [&](auto f) { result.i = ops::wrap(node.type, f(a, b)); };
  const auto compare_unsigned = [&](auto f) { result.i = f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)); };
  const auto compare_signed = [&](auto f) { result.i = f(a, b); };
  const bool known = ops::with_int_unary(node.op, operand_type, one) ||
                     ops::with_int_binary(node.op, operand_type, two) ||
                     (operand_type == DType::U64 ? ops::with_comparison<uint64_t>(node.op, compare_unsigned)
                                                 : ops::with_comparison<int64_t>(node.op, compare_signed));
  DLCC_CHECK(known) << name_of(node.op) << " has no meaning on " << name_of(operand_type);
  return result;
}

Value apply_cast(DType from, DType to, Value a) {
  Value result;
  if (!is_float(to)) {
    result.i = is_float(from) ? ops::float_to_int(to, a.f) : ops::wrap(to, a.i);
    return result;
  }
  if (is_float(from)) {
    result.f = a.f;
  } else if (to == DType::F32) {
    // Straight from the integer: a detour through double would round twice.
    result.f = from == DType::U64 ? static_cast<float>(static_cast<uint64_t>(a.i)) : static_cast<float>(a.i);
  } else {
    result.f = from == DType::U64 ? static_cast<double>(static_cast<uint64_t>(a.i)) : static_cast<double>(a.i);
  }
  if (to == DType::F32) {
    result.f = static_cast<float>(result.f);
  } else if (to == DType::F16) {
    result.f = half_to_float(double_to_half(result.f));
  }
  return result;
}

Value apply_fma(DType type, Value a, Value b, Value c) {
  Value result;
  const auto f = [](Value v) { return static_cast<float>(v.f); };
  if (type == DType::F64) {
    result.f = ops::fma_of(a.f, b.f, c.f);
  } else {
    result.f = type == DType::F32 ? ops::fma_of(f(a), f(b), f(c)) : ops::fma_half(f(a), f(b), f(c));
  }
  return result;
}

}  // namespace

Value apply(const ScalarNode& node, DType operand_type, Value a, Value b, Value c) {
  switch (node.op) {
    case Op::Const:
      return {node.number, node.integer};
    case Op::Select:
      return a.i != 0 ? b : c;
    case Op::Cast:
      return apply_cast(operand_type, node.type, a);
    case Op::Fma:
      return apply_fma(node.type, a, b, c);
    default:
      break;
  }
  if (operand_type == DType::F64) {
    return apply_float<double>(node, operand_type, a.f, b.f);
  }
  if (is_float(operand_type)) {
    return apply_float<float>(node, operand_type, static_cast<float>(a.f), static_cast<float>(b.f));
  }
  return apply_int(node, operand_type, a.i, b.i);
}

namespace {
template <class T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void write_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
}  // namespace

Value load_element(DType type, const std::byte* data, int64_t element) {
  const std::byte* at = data + element * bytes_of(type);
  switch (type) {
    case DType::F16:
      return {.f = half_to_float(read_as<uint16_t>(at))};
    case DType::F32:
      return {.f = read_as<float>(at)};
    case DType::F64:
      return {.f = read_as<double>(at)};
    case DType::I8:
      return {.i = read_as<int8_t>(at)};
    case DType::I16:
      return {.i = read_as<int16_t>(at)};
    case DType::I32:
      return {.i = read_as<int32_t>(at)};
    case DType::I64:
      return {.i = read_as<int64_t>(at)};
    case DType::U8:
      return {.i = read_as<uint8_t>(at)};
    case DType::U16:
      return {.i = read_as<uint16_t>(at)};
    case DType::U32:
      return {.i = read_as<uint32_t>(at)};
    case DType::U64:
      return {.i = static_cast<int64_t>(read_as<uint64_t>(at))};
    case DType::Bool:
      return {.i = read_as<uint8_t>(at) != 0};
  }
  return {};
}

void store_element(DType type, std::byte* data, int64_t element, Value value) {
  std::byte* at = data + element * bytes_of(type);
  switch (type) {
    case DType::F16:
      return write_as(at, double_to_half(value.f));
    case DType::F32:
      return write_as(at, static_cast<float>(value.f));
    case DType::F64:
      return write_as(at, value.f);
    case DType::Bool:
      return write_as(at, static_cast<uint8_t>(value.i != 0));
    case DType::I8:
    case DType::U8:
      return write_as(at, static_cast<uint8_t>(value.i));
    case DType::I16:
    case DType::U16:
      return write_as(at, static_cast<uint16_t>(value.i));
    case DType::I32:
    case DType::U32:
      return write_as(at, static_cast<uint32_t>(value.i));
    case DType::I64:
    case DType::U64:
      return write_as(at, value.i);
  }
}

Value value_of(double number, DType type) {
  const ScalarNode cast{.op = Op::Cast, .type = type};
  return apply(cast, DType::F64, Value{.f = number}, {}, {});
}

uint64_t element_bits(double number, DType type) {
  uint64_t bits = 0;
  store_element(type, reinterpret_cast<std::byte*>(&bits), 0, value_of(number, type));
  return bits;
}

}  // namespace dlcc::te
