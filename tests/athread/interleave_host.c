/* Every slave interleaves four rows of an array into one: the loop that gcc 12.2 -O2 miscompiles with its straight-line vectoriser. */
#include <athread.h>
#include <stdio.h>

extern SLAVE_FUN(interleave)();

float rows[4][30];
float mixed[64][30][4];

int main(void) {
  int r, c, k, wrong = 0;
  for (r = 0; r < 4; ++r) {
    for (c = 0; c < 30; ++c) {
      rows[r][c] = (float)(r * 100 + c);
    }
  }
  athread_init();
  athread_spawn(interleave, 0);
  athread_join();
  athread_halt();
  for (k = 0; k < 64; ++k) {
    for (c = 0; c < 30; ++c) {
      for (r = 0; r < 4; ++r) {
        wrong += mixed[k][c][r] != rows[r][c] + (float)(1000 * r);
      }
    }
  }
  printf(wrong ? "%d wrong\n" : "right\n", wrong);
  return wrong != 0;
}
