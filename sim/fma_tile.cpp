// AVX2 + FMA clones chosen at run time; elsewhere std::fma.
#include "sim/fma_tile.h"

#include <cmath>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlcc::sim {
namespace {

void fma_tile_portable(float* const* acc, int rows, int lanes, const FmaOperand& a, const FmaOperand& b,
                       int64_t count) {
  for (int q = 0; q < rows; ++q) {
    for (int l = 0; l < lanes; ++l) {
      float value = acc[q][l];
      const float* pa = a.data[q] + (a.splat ? 0 : l);
      const float* pb = b.data[q] + (b.splat ? 0 : l);
      for (int64_t r = 0; r < count; ++r) {
        value = std::fma(pa[a.offsets[r]], pb[b.offsets[r]], value);
      }
      acc[q][l] = value;
    }
  }
}

#if defined(__x86_64__)
#define DLCC_AVX2 __attribute__((target("avx2,fma")))

DLCC_AVX2 inline __m256i lane_mask(int lanes) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// Vector v of a row: lanes 8v .. 8v+7; the last vector is masked when MASKED.
template <bool SPLAT, bool MASKED>
DLCC_AVX2 inline __m256 load(const float* p, int v, bool last, __m256i mask) {
  if constexpr (SPLAT) {
    return _mm256_broadcast_ss(p);
  } else {
    return MASKED && last ? _mm256_maskload_ps(p + 8 * v, mask) : _mm256_loadu_ps(p + 8 * v);
  }
}

template <int ROWS, int VECS, bool MASKED, bool A_SPLAT, bool B_SPLAT>
DLCC_AVX2 void fma_tile_avx2(float* const* acc, int lanes, const FmaOperand& a, const FmaOperand& b, int64_t count) {
  const __m256i mask = lane_mask(lanes - 8 * (VECS - 1));
  __m256 sum[ROWS][VECS];
#pragma GCC unroll 4
  for (int q = 0; q < ROWS; ++q) {
#pragma GCC unroll 2
    for (int v = 0; v < VECS; ++v) {
      sum[q][v] = load<false, MASKED>(acc[q], v, v == VECS - 1, mask);
    }
  }
  for (int64_t r = 0; r < count; ++r) {
    const int64_t oa = a.offsets[r], ob = b.offsets[r];
#pragma GCC unroll 4
    for (int q = 0; q < ROWS; ++q) {
#pragma GCC unroll 2
      for (int v = 0; v < VECS; ++v) {
        sum[q][v] = _mm256_fmadd_ps(load<A_SPLAT, MASKED>(a.data[q] + oa, v, v == VECS - 1, mask),
                                    load<B_SPLAT, MASKED>(b.data[q] + ob, v, v == VECS - 1, mask), sum[q][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < ROWS; ++q) {
#pragma GCC unroll 2
    for (int v = 0; v < VECS; ++v) {
      if (MASKED && v == VECS - 1) {
        _mm256_maskstore_ps(acc[q] + 8 * v, mask, sum[q][v]);
      } else {
        _mm256_storeu_ps(acc[q] + 8 * v, sum[q][v]);
      }
    }
  }
}

using TileFunction = void (*)(float* const*, int, const FmaOperand&, const FmaOperand&, int64_t);

template <int ROWS, int VECS, bool MASKED>
TileFunction choose_splat(bool a_splat, bool b_splat) {
  if (a_splat) {
    return b_splat ? fma_tile_avx2<ROWS, VECS, MASKED, true, true> : fma_tile_avx2<ROWS, VECS, MASKED, true, false>;
  }
  return fma_tile_avx2<ROWS, VECS, MASKED, false, false>;
}
template <int ROWS>
TileFunction choose(int lanes, bool a_splat, bool b_splat) {
  if (lanes > 8) {
    return lanes == 16 ? choose_splat<ROWS, 2, false>(a_splat, b_splat) : choose_splat<ROWS, 2, true>(a_splat, b_splat);
  }
  return lanes == 8 ? choose_splat<ROWS, 1, false>(a_splat, b_splat) : choose_splat<ROWS, 1, true>(a_splat, b_splat);
}

bool host_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

}  // namespace

void fma_tile(float* const* acc, int rows, int lanes, const FmaOperand& a, const FmaOperand& b, int64_t count) {
#if defined(__x86_64__)
  if (host_has_avx2()) {
    // A product commutes, so only "a is the splat" needs a clone.
    const bool swap = b.splat && !a.splat;
    const FmaOperand& first = swap ? b : a;
    const FmaOperand& second = swap ? a : b;
    (rows == kFmaRows ? choose<kFmaRows>(lanes, first.splat, second.splat)
                      : choose<1>(lanes, first.splat, second.splat))(acc, lanes, first, second, count);
    return;
  }
#endif
  fma_tile_portable(acc, rows, lanes, a, b, count);
}

}  // namespace dlcc::sim
