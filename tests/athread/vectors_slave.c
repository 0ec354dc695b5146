#include <math.h>
#include <simd.h>
#include <slave.h>

extern int wrong_lanes;

#define CHECK(v, expression)                                     \
  do {                                                           \
    int lane_;                                                   \
    for (lane_ = 0; lane_ < 4; ++lane_) {                        \
      const int i = lane_;                                       \
      (void)i;                                                   \
      wrong += !(simd_vextf(v, lane_) == (expression));          \
    }                                                            \
  } while (0)

__thread_local float x[8] __attribute__((aligned(32))) = {1.5f, -2.0f, 0.0f, 3.25f, 1e-20f, 7.0f, -8.5f, 0.1f};
__thread_local float y[4] __attribute__((aligned(32))) = {0.1f, 5.0f, -1.0f, 3.25f};
__thread_local double d[4] __attribute__((aligned(32))) = {4.0, 9.0, 0.5, 2.0};

void vectors(void *unused) {
  int wrong = 0;
  floatv4 a, b, c, s;
  doublev4 p;
  intv8 n = simd_set_intv8(1, 2, 3, 4, -5, -6, -7, -8);
  (void)unused;
  simd_load(a, x);
  simd_load(b, y);
  simd_loadu(c, x + 3);
  simd_loade(s, &y[1]);
  simd_load(p, d);
  CHECK(a, x[i]);
  CHECK(c, x[i + 3]);
  CHECK(s, 5.0f);
  CHECK(simd_vadds(a, b), x[i] + y[i]);
  CHECK(simd_vsubs(a, b), x[i] - y[i]);
  CHECK(a * b, x[i] * y[i]);
  CHECK(simd_vdivs(a, b), x[i] / y[i]);
  CHECK(simd_vmas(a, b, c), fmaf(x[i], y[i], x[i + 3]));
  CHECK(simd_vmad(a, b, c), fmaf(x[i], y[i], x[i + 3]));
  CHECK(simd_vnmas(a, b, c), fmaf(-x[i], y[i], x[i + 3]));
  CHECK(simd_vmss(a, b, c), fmaf(x[i], y[i], -x[i + 3]));
  CHECK(simd_vmad(p, p, p), fma(d[i], d[i], d[i]));
  CHECK(simd_vsqrtd(p), sqrt(d[i]));
  CHECK(simd_vseleq(simd_vfcmplt(a, b), a, b), x[i] < y[i] ? y[i] : x[i]);
  CHECK(simd_vsellt(a, b, c), x[i] < 0 ? y[i] : x[i + 3]);
  CHECK(simd_vfcmpeq(a, b), x[i] == y[i] ? 2.0f : 0.0f);
  CHECK(simd_vshff(a, b, 0xe4), i < 2 ? y[i] : x[i]);
  CHECK(simd_vshff(a, a, 0x1b), x[3 - i]);
  CHECK(simd_vinsf(9.0f, a, 2), i == 2 ? 9.0f : x[i]);
  wrong += simd_vextf(simd_vsraw(n, 1), 7) != -4 || simd_vextf(simd_vaddw(n, n), 4) != -10;
  simd_store(a + b, x);
  simd_storeu(b, x + 5 - 1);
  wrong += x[0] != 1.5f + 0.1f || x[4] != 0.1f || x[7] != 3.25f;
  wrong_lanes = wrong;
}
