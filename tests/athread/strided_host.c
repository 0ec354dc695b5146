/* Strided GET and PUT: every slave transposes blocks of an array in main memory. Slave and host both have a function `helper`. */
#include <athread.h>
#include <stdio.h>

#define ROWS 64
#define COLUMNS 48

extern SLAVE_FUN(transpose)();

int matrix[ROWS][COLUMNS];
int result[COLUMNS][ROWS];
int written_by_slaves[64];

static int wrong;
int helper(int x) { return x + 1000; }

int main(void) {
  int r, c, k;
  for (r = 0; r < ROWS; ++r) {
    for (c = 0; c < COLUMNS; ++c) {
      matrix[r][c] = r * 100 + c;
    }
  }
  athread_init();
  for (k = 0; k < 3; ++k) {
    athread_spawn(transpose, &k);
    athread_join();
  }
  for (r = 0; r < ROWS; ++r) {
    for (c = 0; c < COLUMNS; ++c) {
      wrong += result[c][r] != r * 100 + c;
    }
  }
  for (k = 0; k < 64; ++k) {
    wrong += written_by_slaves[k] != 3 * (k + 1);
  }
  wrong += helper(1) != 1001;
  athread_halt();
  printf(wrong ? "%d wrong\n" : "right\n", wrong);
  return wrong != 0;
}
