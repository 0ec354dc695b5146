// The meaning of every portable operation (rules in scalar.h), as functors chosen by Op: `apply` calls them on one
// value, the evaluator's strips on many. Private to base/te. Values: F32 and F16 are computed as float (F16 is rounded
// afterwards), F64 as double, integers and bool as int64 (U64: its bit pattern), kept in the range of their type by
// `wrap`.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/te/scalar.h"

#define DLCC_INLINE inline __attribute__((always_inline))

namespace dlcc::te::ops {

DLCC_INLINE float round_half(float x) {
  return half_to_float(float_to_half(x));
}

DLCC_INLINE int64_t wrap(DType type, int64_t x) {
  switch (type) {
    case DType::I8:
      return static_cast<int8_t>(x);
    case DType::I16:
      return static_cast<int16_t>(x);
    case DType::I32:
      return static_cast<int32_t>(x);
    case DType::U8:
      return static_cast<uint8_t>(x);
    case DType::U16:
      return static_cast<uint16_t>(x);
    case DType::U32:
      return static_cast<uint32_t>(x);
    case DType::Bool:
      return x != 0;
    default:
      return x;
  }
}

inline int bits_of(DType type) {
  return bytes_of(type) * 8;
}

/// Truncates, saturates, NaN -> 0; Bool: x != 0.
DLCC_INLINE int64_t float_to_int(DType type, double x) {
  if (type == DType::Bool) {
    return !(x == 0);
  }
  if (type == DType::U64) {
    return !(x > 0) ? 0 : x >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(x));
  }
  const bool is_signed = is_signed_int(type);
  const int bits = bits_of(type);
  const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);  // the first value too high
  const int64_t highest = static_cast<int64_t>((uint64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
  if (x != x) {
    return 0;
  }
  if (x >= above) {
    return highest;
  }
  if (is_signed) {
    return x < -above ? -highest - 1 : static_cast<int64_t>(x);
  }
  return x < 0 ? 0 : static_cast<int64_t>(x);
}

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = uint32_t;
  static constexpr int kFraction = 23, kBias = 127, kMask = 0xff;
};
template <>
struct FloatBits<double> {
  using Bits = uint64_t;
  static constexpr int kFraction = 52, kBias = 1023, kMask = 0x7ff;
};

template <class T>
DLCC_INLINE T exp2i(T x) {
  using B = FloatBits<T>;
  using Bits = typename B::Bits;
  // Outside the stated range the result is unspecified; the clamp only keeps the conversion defined.
  const T clamped = x > T(-B::kBias) ? (x < T(B::kBias + 1) ? x : T(B::kBias + 1)) : T(-B::kBias);
  return std::bit_cast<T>(static_cast<Bits>(static_cast<int32_t>(clamped) + B::kBias) << B::kFraction);
}
template <class T>
DLCC_INLINE T exponent(T x) {
  using B = FloatBits<T>;
  const auto bits = std::bit_cast<typename B::Bits>(x);
  return static_cast<T>(static_cast<int32_t>((bits >> B::kFraction) & B::kMask) - B::kBias);
}
template <class T>
DLCC_INLINE T mantissa(T x) {
  using B = FloatBits<T>;
  using Bits = typename B::Bits;
  const auto bits = std::bit_cast<Bits>(x) & ((Bits{1} << B::kFraction) - 1);
  return std::bit_cast<T>(bits | (static_cast<Bits>(B::kBias) << B::kFraction));
}
template <class T>
DLCC_INLINE T float_mod(T x, T y) {
  const T r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/// Calls f with the functor T -> T of a unary float operation. False: op is none.
template <class T, class F>
DLCC_INLINE bool with_float_unary(Op op, F&& f) {
  switch (op) {
    case Op::Neg:
      return f([](T x) { return -x; }), true;
    case Op::Abs:
      return f([](T x) { return std::fabs(x); }), true;
    case Op::Floor:
      return f([](T x) { return std::floor(x); }), true;
    case Op::Ceil:
      return f([](T x) { return std::ceil(x); }), true;
    case Op::Round:
      return f([](T x) { return std::nearbyint(x); }), true;
    case Op::Trunc:
      return f([](T x) { return std::trunc(x); }), true;
    case Op::Sqrt:
      return f([](T x) { return std::sqrt(x); }), true;
    case Op::Exp2i:
      return f([](T x) { return exp2i(x); }), true;
    case Op::Exponent:
      return f([](T x) { return exponent(x); }), true;
    case Op::Mantissa:
      return f([](T x) { return mantissa(x); }), true;
    default:
      return false;
  }
}

template <class T, class F>
DLCC_INLINE bool with_float_binary(Op op, F&& f) {
  switch (op) {
    case Op::Add:
      return f([](T x, T y) { return x + y; }), true;
    case Op::Sub:
      return f([](T x, T y) { return x - y; }), true;
    case Op::Mul:
      return f([](T x, T y) { return x * y; }), true;
    case Op::Div:
      return f([](T x, T y) { return x / y; }), true;
    case Op::Rem:
      return f([](T x, T y) { return std::fmod(x, y); }), true;
    case Op::Mod:
      return f([](T x, T y) { return float_mod(x, y); }), true;
    case Op::Min:
      return f([](T x, T y) { return x < y ? x : y; }), true;
    case Op::Max:
      return f([](T x, T y) { return x > y ? x : y; }), true;
    default:
      return false;
  }
}

/// Comparisons of lanes of type T (float, double, int64 or uint64), to int64 0 or 1.
template <class T, class F>
DLCC_INLINE bool with_comparison(Op op, F&& f) {
  switch (op) {
    case Op::Lt:
      return f([](T x, T y) -> int64_t { return x < y; }), true;
    case Op::Le:
      return f([](T x, T y) -> int64_t { return x <= y; }), true;
    case Op::Gt:
      return f([](T x, T y) -> int64_t { return x > y; }), true;
    case Op::Ge:
      return f([](T x, T y) -> int64_t { return x >= y; }), true;
    case Op::Eq:
      return f([](T x, T y) -> int64_t { return x == y; }), true;
    case Op::Ne:
      return f([](T x, T y) -> int64_t { return x != y; }), true;
    default:
      return false;
  }
}

/// Float -> bool.
template <class T, class F>
DLCC_INLINE bool with_float_test(Op op, F&& f) {
  switch (op) {
    case Op::IsNan:
      return f([](T x) -> int64_t { return x != x; }), true;
    case Op::IsInf:
      return f([](T x) -> int64_t { return std::fabs(x) == std::numeric_limits<T>::infinity(); }), true;
    default:
      return false;
  }
}

DLCC_INLINE uint64_t u(int64_t x) {
  return static_cast<uint64_t>(x);
}
DLCC_INLINE int64_t s(uint64_t x) {
  return static_cast<int64_t>(x);
}

// Operands are in their type's range; the caller wraps the result. U64 differs in division, order and shifts right.
DLCC_INLINE int64_t int_div(bool u64, int64_t x, int64_t y) {
  return y == 0 ? 0 : u64 ? s(u(x) / u(y)) : y == -1 ? s(0 - u(x)) : x / y;
}
DLCC_INLINE int64_t int_rem(bool u64, int64_t x, int64_t y) {
  return y == 0 ? 0 : u64 ? s(u(x) % u(y)) : y == -1 ? 0 : x % y;
}
DLCC_INLINE int64_t int_mod(bool u64, int64_t x, int64_t y) {
  const int64_t r = int_rem(u64, x, y);
  return !u64 && r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
DLCC_INLINE bool int_less(bool u64, int64_t x, int64_t y) {
  return u64 ? u(x) < u(y) : x < y;
}
DLCC_INLINE int64_t shift_left(int bits, int64_t x, int64_t by) {
  return u(by) < u(bits) ? s(u(x) << by) : 0;
}
DLCC_INLINE int64_t shift_right(bool u64, int bits, int64_t x, int64_t by) {
  if (u64) {
    return u(by) < 64 ? s(u(x) >> by) : 0;
  }
  return u(by) < u(bits) ? x >> by : (x < 0 ? -1 : 0);
}

template <class F>
DLCC_INLINE bool with_int_unary(Op op, DType type, F&& f) {
  const bool is_signed = is_signed_int(type);
  switch (op) {
    case Op::Neg:
      return f([](int64_t x) { return s(0 - u(x)); }), true;
    case Op::Abs:
      return f([is_signed](int64_t x) { return is_signed && x < 0 ? s(0 - u(x)) : x; }), true;
    case Op::Not:
      return f([](int64_t x) -> int64_t { return x == 0; }), true;
    case Op::BitNot:
      return f([](int64_t x) { return ~x; }), true;
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
      return f([](int64_t x) { return x; }), true;
    default:
      return false;
  }
}

template <class F>
DLCC_INLINE bool with_int_binary(Op op, DType type, F&& f) {
  const bool u64 = type == DType::U64;
  const int bits = bits_of(type);
  switch (op) {
    case Op::Add:
      return f([](int64_t x, int64_t y) { return s(u(x) + u(y)); }), true;
    case Op::Sub:
      return f([](int64_t x, int64_t y) { return s(u(x) - u(y)); }), true;
    case Op::Mul:
      return f([](int64_t x, int64_t y) { return s(u(x) * u(y)); }), true;
    case Op::Div:
      return f([u64](int64_t x, int64_t y) { return int_div(u64, x, y); }), true;
    case Op::Mod:
      return f([u64](int64_t x, int64_t y) { return int_mod(u64, x, y); }), true;
    case Op::Rem:
      return f([u64](int64_t x, int64_t y) { return int_rem(u64, x, y); }), true;
    case Op::Min:
      return f([u64](int64_t x, int64_t y) { return int_less(u64, x, y) ? x : y; }), true;
    case Op::Max:
      return f([u64](int64_t x, int64_t y) { return int_less(u64, y, x) ? x : y; }), true;
    case Op::And:
      return f([](int64_t x, int64_t y) { return x & y; }), true;
    case Op::Or:
      return f([](int64_t x, int64_t y) { return x | y; }), true;
    case Op::Xor:
      return f([](int64_t x, int64_t y) { return x ^ y; }), true;
    case Op::Shl:
      return f([bits](int64_t x, int64_t y) { return shift_left(bits, x, y); }), true;
    case Op::Shr:
      return f([u64, bits](int64_t x, int64_t y) { return shift_right(u64, bits, x, y); }), true;
    default:
      return false;
  }
}

DLCC_INLINE float fma_of(float a, float b, float c) {
  return std::fma(a, b, c);
}
DLCC_INLINE double fma_of(double a, double b, double c) {
  return std::fma(a, b, c);
}
/// In binary16 with one rounding: a double holds a*b + c exactly whenever the result is near a rounding boundary.
inline float fma_half(float a, float b, float c) {
  return half_to_float(
      double_to_half(std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c))));
}

}  // namespace dlcc::te::ops
