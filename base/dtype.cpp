// Element types: sizes, names, and the conversions to and from binary16.
#include "base/dtype.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace dlcc {
namespace {

struct Info {
  std::string_view name;
  int bytes;
};
constexpr std::array<Info, 12> kInfo = {{{"f16", 2},
                                         {"f32", 4},
                                         {"f64", 8},
                                         {"i8", 1},
                                         {"i16", 2},
                                         {"i32", 4},
                                         {"i64", 8},
                                         {"u8", 1},
                                         {"u16", 2},
                                         {"u32", 4},
                                         {"u64", 8},
                                         {"bool", 1}}};

const Info& info(DType type) {
  DLCC_CHECK(static_cast<size_t>(type) < kInfo.size());
  return kInfo[static_cast<size_t>(type)];
}

}  // namespace

int bytes_of(DType type) {
  return info(type).bytes;
}
std::string_view name_of(DType type) {
  return info(type).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

bool is_float(DType type) {
  return type <= DType::F64;
}
bool is_signed_int(DType type) {
  return type >= DType::I8 && type <= DType::I64;
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) {
    const uint32_t quiet = fraction != 0 ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (fraction << 13));
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

uint16_t double_to_half(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 48) & 0x8000u);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  uint64_t fraction = bits & 0xfffffffffffffull;
  if (biased == 0x7ff) {
    const uint16_t payload = static_cast<uint16_t>(fraction >> 42);
    return static_cast<uint16_t>(sign | 0x7c00u | (fraction != 0 ? (0x200u | payload) : 0u));
  }
  const int exponent = biased - 1023;
  if (exponent >= 16) {
    return sign | 0x7c00u;
  }
  if (exponent < -26) {
    return sign;
  }
  // The significand as an integer, of which `drop` low bits are rounded away to the nearest even.
  fraction |= uint64_t{1} << 52;
  const int drop = exponent >= -14 ? 42 : 42 + (-14 - exponent);
  uint64_t kept = fraction >> drop;
  const uint64_t rest = fraction & ((uint64_t{1} << drop) - 1);
  const uint64_t half = uint64_t{1} << (drop - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) {
    ++kept;
  }
  // A carry out of the significand moves into the exponent field by itself.
  const uint64_t base = exponent >= -14 ? static_cast<uint64_t>(exponent + 14) << 10 : 0;
  return static_cast<uint16_t>(sign | (base + kept));
}

uint16_t float_to_half(float value) {
  return double_to_half(static_cast<double>(value));
}

}  // namespace dlcc
