/* Vector types and intrinsics of SW26010 slaves, through GCC vector extensions. floatv4 takes 16 bytes in memory, the others 32.
 * With DLCC_SHIM_STRICT_ALIGN an unaligned simd_load or simd_store ends the program (the hardware traps); otherwise it works, as the trap handler's emulation does. */
#ifndef DLCC_SHIM_SIMD_H
#define DLCC_SHIM_SIMD_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "dlcc_shim.h"

typedef float floatv4 __attribute__((vector_size(16), may_alias));
typedef double doublev4 __attribute__((vector_size(32), may_alias));
typedef int intv8 __attribute__((vector_size(32), may_alias));
typedef unsigned int uintv8 __attribute__((vector_size(32), may_alias));
typedef long int256 __attribute__((vector_size(32), may_alias));
typedef unsigned long uint256 __attribute__((vector_size(32), may_alias));

#define DLCC_SHIM_SIMD static __inline__ __attribute__((unused, always_inline))
#define DLCC_SHIM_IS_(v, t) __builtin_types_compatible_p(__typeof__(v), t)
#define DLCC_SHIM_FS_(v, single, twice) __builtin_choose_expr(DLCC_SHIM_IS_(v, floatv4), single, twice)

#ifdef DLCC_SHIM_STRICT_ALIGN
#define DLCC_SHIM_ALIGNED_(v, p) \
  ((void)(__builtin_expect(((uintptr_t)(p) & (sizeof(v) - 1)) != 0, 0) ? (dlcc_shim_unaligned((p), (int)sizeof(v), __FILE__, __LINE__), 0) : 0))
#else
#define DLCC_SHIM_ALIGNED_(v, p) ((void)0)
#endif

#define simd_loadu(v, p) ((void)memcpy(&(v), (p), sizeof(v)))
#define simd_storeu(v, p) __extension__({ __typeof__(v) stored_ = (v); (void)memcpy((p), &stored_, sizeof(stored_)); })
#define simd_load(v, p) (DLCC_SHIM_ALIGNED_(v, p), simd_loadu(v, p))
#define simd_store(v, p) __extension__({ DLCC_SHIM_ALIGNED_(v, p); simd_storeu(v, p); })
/* x - 0 keeps every x, also -0. */
#define simd_loade(v, p) ((v) = *(p) - (__typeof__(v)){0})

#define simd_set_floatv4(a, b, c, d) ((floatv4){(float)(a), (float)(b), (float)(c), (float)(d)})
#define simd_set_doublev4(a, b, c, d) ((doublev4){(double)(a), (double)(b), (double)(c), (double)(d)})
#define simd_set_intv8(a, b, c, d, e, f, g, h) ((intv8){(a), (b), (c), (d), (e), (f), (g), (h)})
#define simd_set_uintv8(a, b, c, d, e, f, g, h) ((uintv8){(a), (b), (c), (d), (e), (f), (g), (h)})
#define simd_set_int256(a, b, c, d) ((int256){(a), (b), (c), (d)})
#define simd_set_uint256(a, b, c, d) ((uint256){(a), (b), (c), (d)})

#define simd_vaddw(a, b) ((a) + (b))
#define simd_vsubw(a, b) ((a) - (b))
#define simd_vadds(a, b) ((a) + (b))
#define simd_vaddd(a, b) ((a) + (b))
#define simd_vsubs(a, b) ((a) - (b))
#define simd_vsubd(a, b) ((a) - (b))
#define simd_vmuls(a, b) ((a) * (b))
#define simd_vmuld(a, b) ((a) * (b))
#define simd_vdivs(a, b) ((a) / (b))
#define simd_vdivd(a, b) ((a) / (b))
#define simd_vandw(a, b) ((a) & (b))
#define simd_vbisw(a, b) ((a) | (b))
#define simd_vxorw(a, b) ((a) ^ (b))
#define simd_vsllw(a, n) ((a) << (n))
#define simd_vsraw(a, n) ((intv8)(a) >> (n))
#define simd_vsrlw(a, n) ((uintv8)(a) >> (n))

/* Fused multiply-add with one rounding, for floatv4 and doublev4. */
DLCC_SHIM_SIMD floatv4 dlcc_shim_fmas(floatv4 a, floatv4 b, floatv4 c) {
#if defined(__FMA__)
  typedef float lanes __attribute__((vector_size(16)));
  return (floatv4)__builtin_ia32_vfmaddps((lanes)a, (lanes)b, (lanes)c);
#else
  int i;
  for (i = 0; i < 4; ++i) {
    a[i] = __builtin_fmaf(a[i], b[i], c[i]);
  }
  return a;
#endif
}
DLCC_SHIM_SIMD doublev4 dlcc_shim_fmad(doublev4 a, doublev4 b, doublev4 c) {
#if defined(__FMA__)
  typedef double lanes __attribute__((vector_size(32)));
  return (doublev4)__builtin_ia32_vfmaddpd256((lanes)a, (lanes)b, (lanes)c);
#else
  int i;
  for (i = 0; i < 4; ++i) {
    a[i] = __builtin_fma(a[i], b[i], c[i]);
  }
  return a;
#endif
}
#define DLCC_SHIM_FMA_(a, b, c) \
  __builtin_choose_expr(DLCC_SHIM_IS_(a, floatv4), dlcc_shim_fmas, dlcc_shim_fmad)((a), (b), (c))
#define simd_vmas(a, b, c) dlcc_shim_fmas((a), (b), (c))
#define simd_vmad(a, b, c) DLCC_SHIM_FMA_(a, b, c)
#define simd_vmss(a, b, c) dlcc_shim_fmas((a), (b), -(c))
#define simd_vmsd(a, b, c) DLCC_SHIM_FMA_(a, b, -(c))
#define simd_vnmas(a, b, c) dlcc_shim_fmas(-(a), (b), (c))
#define simd_vnmad(a, b, c) DLCC_SHIM_FMA_(-(a), b, c)
#define simd_vnmss(a, b, c) dlcc_shim_fmas(-(a), (b), -(c))
#define simd_vnmsd(a, b, c) DLCC_SHIM_FMA_(-(a), b, -(c))

/* One function for each element type: name_floatv4 and name_doublev4 from an expression in a[i], b[i], c[i]. */
#define DLCC_SHIM_LANES_(name, expression_s, expression_d)                                       \
  DLCC_SHIM_SIMD floatv4 name##_floatv4(floatv4 a, floatv4 b, floatv4 c) {                       \
    floatv4 r;                                                                                   \
    int i;                                                                                       \
    (void)b, (void)c;                                                                            \
    for (i = 0; i < 4; ++i) {                                                                    \
      r[i] = expression_s;                                                                       \
    }                                                                                            \
    return r;                                                                                    \
  }                                                                                              \
  DLCC_SHIM_SIMD doublev4 name##_doublev4(doublev4 a, doublev4 b, doublev4 c) {                  \
    doublev4 r;                                                                                  \
    int i;                                                                                       \
    (void)b, (void)c;                                                                            \
    for (i = 0; i < 4; ++i) {                                                                    \
      r[i] = expression_d;                                                                       \
    }                                                                                            \
    return r;                                                                                    \
  }
#define DLCC_SHIM_BOTH_(name, expression) DLCC_SHIM_LANES_(name, expression, expression)
#define DLCC_SHIM_CALL_(name, a, b, c) DLCC_SHIM_FS_(a, name##_floatv4, name##_doublev4)((a), (b), (c))

DLCC_SHIM_LANES_(dlcc_shim_sqrt, __builtin_sqrtf(a[i]), __builtin_sqrt(a[i]))
DLCC_SHIM_LANES_(dlcc_shim_abs, __builtin_fabsf(a[i]), __builtin_fabs(a[i]))
DLCC_SHIM_LANES_(dlcc_shim_copysign, __builtin_copysignf(b[i], a[i]), __builtin_copysign(b[i], a[i]))
/* Comparisons give 2.0 for true, 0.0 for false, as the instructions do; selections test such a value or any other. */
DLCC_SHIM_BOTH_(dlcc_shim_cmpeq, a[i] == b[i] ? 2 : 0)
DLCC_SHIM_BOTH_(dlcc_shim_cmple, a[i] <= b[i] ? 2 : 0)
DLCC_SHIM_BOTH_(dlcc_shim_cmplt, a[i] < b[i] ? 2 : 0)
DLCC_SHIM_BOTH_(dlcc_shim_cmpun, (a[i] != a[i] || b[i] != b[i]) ? 2 : 0)
DLCC_SHIM_BOTH_(dlcc_shim_seleq, a[i] == 0 ? b[i] : c[i])
DLCC_SHIM_BOTH_(dlcc_shim_sellt, a[i] < 0 ? b[i] : c[i])
DLCC_SHIM_BOTH_(dlcc_shim_selle, a[i] <= 0 ? b[i] : c[i])

#define simd_vsqrts(a) DLCC_SHIM_CALL_(dlcc_shim_sqrt, a, a, a)
#define simd_vsqrtd(a) DLCC_SHIM_CALL_(dlcc_shim_sqrt, a, a, a)
#define simd_vabss(a) DLCC_SHIM_CALL_(dlcc_shim_abs, a, a, a)
#define simd_vabsd(a) DLCC_SHIM_CALL_(dlcc_shim_abs, a, a, a)
#define simd_vcpys(a, b) DLCC_SHIM_CALL_(dlcc_shim_copysign, a, b, b)
#define simd_vcpysd(a, b) DLCC_SHIM_CALL_(dlcc_shim_copysign, a, b, b)
#define simd_vfcmpeq(a, b) DLCC_SHIM_CALL_(dlcc_shim_cmpeq, a, b, b)
#define simd_vfcmple(a, b) DLCC_SHIM_CALL_(dlcc_shim_cmple, a, b, b)
#define simd_vfcmplt(a, b) DLCC_SHIM_CALL_(dlcc_shim_cmplt, a, b, b)
#define simd_vfcmpun(a, b) DLCC_SHIM_CALL_(dlcc_shim_cmpun, a, b, b)
#define simd_vseleq(t, a, b) DLCC_SHIM_CALL_(dlcc_shim_seleq, t, a, b)
#define simd_vsellt(t, a, b) DLCC_SHIM_CALL_(dlcc_shim_sellt, t, a, b)
#define simd_vselle(t, a, b) DLCC_SHIM_CALL_(dlcc_shim_selle, t, a, b)

#define simd_vextf(v, n) ((v)[n])
#define simd_vinsf(x, v, n) __extension__({ __typeof__(v) inserted_ = (v); inserted_[n] = (x); inserted_; })

/* Lanes 0 and 1 of the result come from b, lanes 2 and 3 from a; two mask bits choose each. */
DLCC_SHIM_SIMD floatv4 dlcc_shim_shff_floatv4(floatv4 a, floatv4 b, int mask) {
  return (floatv4){b[mask & 3], b[mask >> 2 & 3], a[mask >> 4 & 3], a[mask >> 6 & 3]};
}
DLCC_SHIM_SIMD doublev4 dlcc_shim_shff_doublev4(doublev4 a, doublev4 b, int mask) {
  return (doublev4){b[mask & 3], b[mask >> 2 & 3], a[mask >> 4 & 3], a[mask >> 6 & 3]};
}
#define simd_vshff(a, b, mask) DLCC_SHIM_FS_(a, dlcc_shim_shff_floatv4, dlcc_shim_shff_doublev4)((a), (b), (int)(mask))

DLCC_SHIM_SIMD void simd_print_floatv4(floatv4 v) { printf("[ %f, %f, %f, %f ]\n", v[3], v[2], v[1], v[0]); }
DLCC_SHIM_SIMD void simd_print_doublev4(doublev4 v) { printf("[ %f, %f, %f, %f ]\n", v[3], v[2], v[1], v[0]); }

#endif
