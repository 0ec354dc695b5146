#include <simd.h>
#include <slave.h>

extern double sums[64];
extern int ring[64];
extern int counter;
extern int order[64];
int arrived[8]; /* a plain global of a slave file lies in shared main memory */

static double sum_line(double mine, int along_column) {
  doublev4 message = simd_set_doublev4(mine, 0, 0, 0), other;
  int k;
  if (along_column) {
    REG_PUTC(message, 8);
  } else {
    REG_PUTR(message, 8);
  }
  for (k = 0; k < 7; ++k) {
    if (along_column) {
      REG_GETC(other);
    } else {
      REG_GETR(other);
    }
    mine += simd_vextf(other, 0);
  }
  return mine;
}

void communicate(void *unused) {
  const int id = athread_get_id(-1);
  int k, old;
  (void)unused;
  sums[id] = sum_line(sum_line((double)id, 0), 1);
  athread_syn(ARRAY_SCOPE, 0xffff);
  for (k = 0; k < 100; ++k) {
    long message = id * 100 + k, other = 0;
    simd_putr(message, (_COL + 1) % 8);
    other = __builtin_sw64_getxR(other);
    ring[id] = (int)other;
  }
  athread_syn(ROW_SCOPE, 0xff);
  if (_COL < 4) {
    __sync_fetch_and_add(&arrived[_ROW], 1);
    athread_syn(ROW_SCOPE, 0x0f);
    order[id] = arrived[_ROW];
  }
  athread_syn(ROW_SCOPE, 0xff);
  if (_COL >= 4) {
    __sync_fetch_and_add(&arrived[_ROW], 1);
    athread_syn(ROW_SCOPE, 0xf0);
    order[id] = arrived[_ROW];
  }
  athread_syn(COL_SCOPE, 0xff);
  faaw(old, &counter);
  (void)old;
}
