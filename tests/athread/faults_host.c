/* Each argument makes the slaves do one thing wrong; the shim must say which. */
#include <athread.h>
#include <stdlib.h>
#include <string.h>

extern SLAVE_FUN(fault)();
char kind[32];

int main(int argc, char **argv) {
  strncpy(kind, argc > 1 ? argv[1] : "none", sizeof(kind) - 1);
  athread_init();
  athread_spawn(fault, 0);
  athread_join();
  athread_halt();
  return 0;
}
