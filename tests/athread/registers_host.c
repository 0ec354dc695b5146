/* Register communication and barriers: sums along rows and columns, a ring with more messages than the FIFO holds, masked barriers. */
#include <athread.h>
#include <stdio.h>

extern SLAVE_FUN(communicate)();

double sums[64];
int ring[64];
int counter;
int order[64];

int main(void) {
  int k, wrong = 0;
  athread_init();
  athread_spawn(communicate, 0);
  athread_join();
  for (k = 0; k < 64; ++k) {
    wrong += sums[k] != 63 * 64 / 2;
    wrong += ring[k] != (k / 8 * 8 + (k + 7) % 8) * 100 + 99;  /* last message of the left neighbour */
    wrong += order[k] != (k % 8 < 4 ? 4 : 8);                  /* halves of a row, one after the other */
  }
  wrong += counter != 64;
  athread_halt();
  printf(wrong ? "%d wrong\n" : "right\n", wrong);
  return wrong != 0;
}
