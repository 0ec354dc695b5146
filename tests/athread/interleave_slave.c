#include <slave.h>

extern float rows[4][30];
extern float mixed[64][30][4];

__thread_local volatile int reply;
__thread_local char ldm[2048] __attribute__((aligned(32)));

static __attribute__((noinline)) void mix(char *base, long first, long last) {
  float *const w = (float *)(base + 512);
  const float *const x = (const float *)(base + 32);
  const float *const bias = (const float *)base;
  const float b0 = bias[0], b1 = bias[1], b2 = bias[2], b3 = bias[3];
  long i, j;
  for (i = 0; i <= last - first - 1; ++i) {
    for (j = 0; j <= 9; ++j) {
      const float r0 = *(x + 10 * i + j);
      const float r1 = *(x + 10 * i + j + 30);
      const float r2 = *(x + 10 * i + j + 60);
      const float r3 = *(x + 10 * i + j + 90);
      (w + 40 * i + 4 * j)[0] = r0 + b0;
      (w + 40 * i + 4 * j + 1)[0] = r1 + b1;
      (w + 40 * i + 4 * j + 2)[0] = r2 + b2;
      (w + 40 * i + 4 * j + 3)[0] = r3 + b3;
    }
  }
}

void interleave(void *unused) {
  int k;
  (void)unused;
  for (k = 0; k < 4; ++k) {
    ((float *)ldm)[k] = (float)(1000 * k);
  }
  athread_get(PE_MODE, rows, ldm + 32, sizeof(float) * 120, (void *)&reply, 0, 0, 0);
  while (reply != 1) {
  }
  mix(ldm, 0, 3);
  athread_put(PE_MODE, ldm + 512, mixed[_MYID], sizeof(float) * 120, (void *)&reply, 0, 0);
  while (reply != 2) {
  }
}
