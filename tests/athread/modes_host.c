/* BCAST, ROW, BROW and RANK transfers, through athread_get and through descriptors. */
#include <athread.h>
#include <stdio.h>

extern SLAVE_FUN(modes)();

int source[64 * 8];
int seen[64][6];

int main(void) {
  int k, wrong = 0;
  for (k = 0; k < 64 * 8; ++k) {
    source[k] = k;
  }
  athread_init();
  athread_spawn(modes, 0);
  athread_join();
  for (k = 0; k < 64; ++k) {
    const int row = k / 8, column = k % 8;
    wrong += seen[k][0] != 17;                                  /* BCAST to all */
    wrong += seen[k][1] != (row == 0 || row == 2 ? 40 : -1);    /* BCAST to rows 0 and 2 */
    wrong += seen[k][2] != row * 16 + column;                   /* ROW: words 0, 8 of the row's 16 */
    wrong += seen[k][3] != row * 16 + 8 + column;
    wrong += seen[k][4] != 64 + k;                              /* RANK: second block of one word */
    wrong += seen[k][5] != 100 + column;                        /* BROW from row 0 to all rows */
  }
  athread_halt();
  printf(wrong ? "%d wrong\n" : "right\n", wrong);
  return wrong != 0;
}
