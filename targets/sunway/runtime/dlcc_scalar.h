/* Scalar operations of emitted C: operands in, one result out, bit for bit as base/te/scalar.h fixes them (IEEE arithmetic, wrapping and
 * saturating integers). C99, no libm except sqrt and fmod, so that a device compiler without a full C library takes it. */
#ifndef DLCC_SCALAR_H
#define DLCC_SCALAR_H

#include <math.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DLCC_INLINE static __inline__ __attribute__((unused, always_inline))
#else
#define DLCC_INLINE static inline
#endif

/* One rounding. Device compilers without the builtin contract a * b + c into their fused instruction (vmas, fmas). */
#if defined(DLCC_ATHREAD_SHIM)
#define DLCC_FMA_F32(a, b, c) __builtin_fmaf((a), (b), (c))
#define DLCC_FMA_F64(a, b, c) __builtin_fma((a), (b), (c))
#else
#define DLCC_FMA_F32(a, b, c) ((a) * (b) + (c))
#define DLCC_FMA_F64(a, b, c) ((a) * (b) + (c))
#endif

DLCC_INLINE float dlcc_bits_f32(uint32_t bits) {
  union { uint32_t u; float f; } v;
  v.u = bits;
  return v.f;
}
DLCC_INLINE uint32_t dlcc_f32_bits(float x) {
  union { uint32_t u; float f; } v;
  v.f = x;
  return v.u;
}
DLCC_INLINE double dlcc_bits_f64(uint64_t bits) {
  union { uint64_t u; double f; } v;
  v.u = bits;
  return v.f;
}
DLCC_INLINE uint64_t dlcc_f64_bits(double x) {
  union { uint64_t u; double f; } v;
  v.f = x;
  return v.u;
}

/* IEEE binary16 <-> binary32, round to nearest even. */
DLCC_INLINE float dlcc_from_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0x1fu) {
    return dlcc_bits_f32(sign | 0x7f800000u | (mantissa << 13));
  }
  if (exponent == 0) {
    const float magnitude = (float)mantissa * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return dlcc_bits_f32(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}
DLCC_INLINE uint16_t dlcc_to_f16(float value) {
  const uint32_t bits = dlcc_f32_bits(value);
  const uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t rest, half;
  int shift;
  if (magnitude > 0x7f800000u) {
    return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) { /* 65520 and up round to infinity */
    return (uint16_t)(sign | 0x7c00u);
  }
  if (magnitude >= 0x38800000u) { /* normal half */
    half = (magnitude - 0x38000000u) >> 13;
    rest = magnitude & 0x1fffu;
    half += (rest > 0x1000u || (rest == 0x1000u && (half & 1u))) ? 1u : 0u;
    return (uint16_t)(sign | half);
  }
  if (magnitude <= 0x33000000u) { /* 2^-25 and less round to zero */
    return sign;
  }
  shift = (int)(126u - (magnitude >> 23));
  {
    const uint32_t full = (magnitude & 0x7fffffu) | 0x800000u;
    half = full >> shift;
    rest = full & ((1u << shift) - 1u);
    half += (rest > (1u << (shift - 1)) || (rest == (1u << (shift - 1)) && (half & 1u))) ? 1u : 0u;
  }
  return (uint16_t)(sign | half);
}

/* binary64 -> binary16 with one rounding: through a float rounded to odd. */
DLCC_INLINE uint16_t dlcc_f64_to_f16(double value) {
  float f = (float)value;
  const double back = (double)f;
  if (back == back && back != value) {
    uint32_t bits = dlcc_f32_bits(f);
    bits -= (back < 0 ? -back : back) > (value < 0 ? -value : value) ? 1u : 0u;
    f = dlcc_bits_f32(bits | 1u);
  }
  return dlcc_to_f16(f);
}
DLCC_INLINE uint16_t dlcc_fma_f16(uint16_t a, uint16_t b, uint16_t c) {
  return dlcc_f64_to_f16(DLCC_FMA_F64((double)dlcc_from_f16(a), (double)dlcc_from_f16(b), (double)dlcc_from_f16(c)));
}

/* Floats: S suffix, T type, U bits type, BITS/MANT widths, BIG = 2^MANT (every larger value is integral). */
#define DLCC_FLOAT_OPS(S, T, U, I, MANT, BIAS, SIGN, EXPMASK, BIG)                                     \
  DLCC_INLINE T dlcc_abs_##S(T x) { return dlcc_bits_##S(dlcc_##S##_bits(x) & ~(U)SIGN); }             \
  DLCC_INLINE T dlcc_copysign_##S(T x, T s) {                                                          \
    return dlcc_bits_##S((dlcc_##S##_bits(x) & ~(U)SIGN) | (dlcc_##S##_bits(s) & (U)SIGN));            \
  }                                                                                                    \
  DLCC_INLINE T dlcc_trunc_##S(T x) {                                                                  \
    return dlcc_abs_##S(x) < BIG ? dlcc_copysign_##S((T)(I)x, x) : x;                                  \
  }                                                                                                    \
  DLCC_INLINE T dlcc_floor_##S(T x) {                                                                  \
    const T t = dlcc_trunc_##S(x);                                                                     \
    return t > x ? t - (T)1 : t;                                                                       \
  }                                                                                                    \
  DLCC_INLINE T dlcc_ceil_##S(T x) {                                                                   \
    const T t = dlcc_trunc_##S(x);                                                                     \
    return t < x ? dlcc_copysign_##S(t + (T)1, x) : t;                                                 \
  }                                                                                                    \
  DLCC_INLINE T dlcc_round_##S(T x) {                                                                  \
    T t, d;                                                                                            \
    if (!(dlcc_abs_##S(x) < BIG)) {                                                                    \
      return x;                                                                                        \
    }                                                                                                  \
    t = dlcc_floor_##S(x);                                                                             \
    d = x - t;                                                                                         \
    if (d > (T)0.5 || (d == (T)0.5 && ((I)t & 1) != 0)) {                                              \
      t += (T)1;                                                                                       \
    }                                                                                                  \
    return dlcc_copysign_##S(t, x);                                                                    \
  }                                                                                                    \
  DLCC_INLINE T dlcc_exp2i_##S(T x) { return dlcc_bits_##S((U)((I)x + BIAS) << MANT); }                \
  DLCC_INLINE T dlcc_exponent_##S(T x) {                                                               \
    return (T)((I)((dlcc_##S##_bits(x) >> MANT) & (U)(2 * BIAS + 1)) - BIAS);                          \
  }                                                                                                    \
  DLCC_INLINE T dlcc_mantissa_##S(T x) {                                                               \
    return dlcc_bits_##S((dlcc_##S##_bits(x) & (((U)1 << MANT) - 1)) | ((U)BIAS << MANT));             \
  }                                                                                                    \
  DLCC_INLINE uint8_t dlcc_isnan_##S(T x) { return (dlcc_##S##_bits(x) & ~(U)SIGN) > (U)EXPMASK; }     \
  DLCC_INLINE uint8_t dlcc_isinf_##S(T x) { return (dlcc_##S##_bits(x) & ~(U)SIGN) == (U)EXPMASK; }    \
  DLCC_INLINE T dlcc_min_##S(T a, T b) { return a < b ? a : b; }                                       \
  DLCC_INLINE T dlcc_max_##S(T a, T b) { return a > b ? a : b; }

DLCC_FLOAT_OPS(f32, float, uint32_t, int32_t, 23, 127, 0x80000000u, 0x7f800000u, 8388608.0f)
DLCC_FLOAT_OPS(f64, double, uint64_t, int64_t, 52, 1023, 0x8000000000000000ull, 0x7ff0000000000000ull, 4503599627370496.0)

DLCC_INLINE float dlcc_rem_f32(float a, float b) { return fmodf(a, b); }
DLCC_INLINE double dlcc_rem_f64(double a, double b) { return fmod(a, b); }
DLCC_INLINE float dlcc_mod_f32(float a, float b) {
  const float r = fmodf(a, b);
  return (r != 0.0f && ((r < 0.0f) != (b < 0.0f))) ? r + b : r;
}
DLCC_INLINE double dlcc_mod_f64(double a, double b) {
  const double r = fmod(a, b);
  return (r != 0.0 && ((r < 0.0) != (b < 0.0))) ? r + b : r;
}

/* Integers: S suffix, T type, U its unsigned twin (at least int wide, so that products cannot overflow a promoted int). */
#define DLCC_INT_OPS(S, T, U, W)                                                          \
  DLCC_INLINE T dlcc_min_##S(T a, T b) { return a < b ? a : b; }                          \
  DLCC_INLINE T dlcc_max_##S(T a, T b) { return a > b ? a : b; }                          \
  DLCC_INLINE T dlcc_add_##S(T a, T b) { return (T)((U)a + (U)b); }                       \
  DLCC_INLINE T dlcc_sub_##S(T a, T b) { return (T)((U)a - (U)b); }                       \
  DLCC_INLINE T dlcc_mul_##S(T a, T b) { return (T)((U)a * (U)b); }                       \
  DLCC_INLINE T dlcc_neg_##S(T a) { return (T)((U)0 - (U)a); }                            \
  DLCC_INLINE T dlcc_shl_##S(T a, T b) { return (U)b < W ? (T)((U)a << (U)b) : (T)0; }
#define DLCC_SIGNED_OPS(S, T, U, W)                                                       \
  DLCC_INT_OPS(S, T, U, W)                                                                \
  DLCC_INLINE T dlcc_abs_##S(T a) { return a < 0 ? dlcc_neg_##S(a) : a; }                 \
  DLCC_INLINE T dlcc_div_##S(T a, T b) {                                                  \
    return b == 0 ? (T)0 : b == -1 ? dlcc_neg_##S(a) : (T)(a / b);                        \
  }                                                                                       \
  DLCC_INLINE T dlcc_rem_##S(T a, T b) { return (b == 0 || b == -1) ? (T)0 : (T)(a % b); } \
  DLCC_INLINE T dlcc_mod_##S(T a, T b) {                                                  \
    const T r = dlcc_rem_##S(a, b);                                                       \
    return (r != 0 && ((r < 0) != (b < 0))) ? (T)(r + b) : r;                             \
  }                                                                                       \
  DLCC_INLINE T dlcc_shr_##S(T a, T b) { return (T)(a >> ((U)b < W ? (U)b : W - 1)); }
#define DLCC_UNSIGNED_OPS(S, T, U, W)                                                     \
  DLCC_INT_OPS(S, T, U, W)                                                                \
  DLCC_INLINE T dlcc_abs_##S(T a) { return a; }                                           \
  DLCC_INLINE T dlcc_div_##S(T a, T b) { return b == 0 ? (T)0 : (T)(a / b); }             \
  DLCC_INLINE T dlcc_rem_##S(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); }             \
  DLCC_INLINE T dlcc_mod_##S(T a, T b) { return dlcc_rem_##S(a, b); }                     \
  DLCC_INLINE T dlcc_shr_##S(T a, T b) { return (U)b < W ? (T)((U)a >> (U)b) : (T)0; }

DLCC_SIGNED_OPS(i8, int8_t, uint32_t, 8u)
DLCC_SIGNED_OPS(i16, int16_t, uint32_t, 16u)
DLCC_SIGNED_OPS(i32, int32_t, uint32_t, 32u)
DLCC_SIGNED_OPS(i64, int64_t, uint64_t, 64u)
DLCC_UNSIGNED_OPS(u8, uint8_t, uint32_t, 8u)
DLCC_UNSIGNED_OPS(u16, uint16_t, uint32_t, 16u)
DLCC_UNSIGNED_OPS(u32, uint32_t, uint32_t, 32u)
DLCC_UNSIGNED_OPS(u64, uint64_t, uint64_t, 64u)

/* Float -> int: truncate, saturate, NaN -> 0. LO and HI1 (one past the highest) are exact in double. */
#define DLCC_SATURATE(S, T, LO, HI1, TMIN, TMAX)                                          \
  DLCC_INLINE T dlcc_saturate_##S(double x) {                                             \
    return x != x ? (T)0 : x <= (LO) ? (T)(TMIN) : x >= (HI1) ? (T)(TMAX) : (T)x;         \
  }
DLCC_SATURATE(i8, int8_t, -128.0, 128.0, -128, 127)
DLCC_SATURATE(i16, int16_t, -32768.0, 32768.0, -32768, 32767)
DLCC_SATURATE(i32, int32_t, -2147483648.0, 2147483648.0, INT32_MIN, INT32_MAX)
DLCC_SATURATE(i64, int64_t, -9223372036854775808.0, 9223372036854775808.0, INT64_MIN, INT64_MAX)
DLCC_SATURATE(u8, uint8_t, 0.0, 256.0, 0, 255)
DLCC_SATURATE(u16, uint16_t, 0.0, 65536.0, 0, 65535)
DLCC_SATURATE(u32, uint32_t, 0.0, 4294967296.0, 0, UINT32_MAX)
DLCC_SATURATE(u64, uint64_t, 0.0, 18446744073709551616.0, 0, UINT64_MAX)

/* Position of an indirect read (a Gather): from the end when negative, clamped into the tensor. */
DLCC_INLINE int64_t dlcc_gather_index(int64_t index, int64_t extent) {
  index = index < 0 ? index + extent : index;
  return index < 0 ? 0 : index > extent - 1 ? extent - 1 : index;
}

#endif
