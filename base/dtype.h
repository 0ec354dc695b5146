// Element types, named as in ONNX. Storage is little-endian, bool is one byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlcc {

enum class DType : uint8_t { F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool };

int bytes_of(DType type);
/// "f32", "i64", "bool", ...
std::string_view name_of(DType type);
std::optional<DType> dtype_from_name(std::string_view name);
bool is_float(DType type);
bool is_signed_int(DType type);

/// IEEE binary16 <-> binary32, round to nearest even.
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
/// binary64 -> binary16 with one rounding.
uint16_t double_to_half(double value);

}  // namespace dlcc
