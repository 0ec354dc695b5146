/* Vector intrinsics against the same arithmetic in scalars, on one slave. */
#include <athread.h>
#include <stdio.h>

extern SLAVE_FUN(vectors)();
int wrong_lanes = -1;

int main(void) {
  athread_init();
  athread_set_num_threads(1);
  athread_spawn(vectors, 0);
  athread_join();
  athread_halt();
  printf(wrong_lanes ? "%d wrong\n" : "right\n", wrong_lanes);
  return wrong_lanes != 0;
}
