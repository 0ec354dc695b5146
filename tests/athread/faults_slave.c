#include <simd.h>
#include <slave.h>
#include <string.h>

extern char kind[32];
int memory[1024];
__thread_local volatile int reply;
__thread_local int buffer[16];

static int is(const char *name) { return strcmp(kind, name) == 0; }

void fault(void *unused) {
  (void)unused;
  if (_MYID != 9) {
    if (is("deadlock")) {
      athread_syn(ROW_SCOPE, 0xff);
    }
    return;
  }
  if (is("overrun")) {
    char *p = (char *)ldm_malloc(64);
    athread_get(PE_MODE, memory, p, 68, (void *)&reply, 0, 0, 0);
  } else if (is("length")) {
    athread_get(PE_MODE, memory, buffer, 6, (void *)&reply, 0, 0, 0);
  } else if (is("address")) {
    athread_put(PE_MODE, buffer, (char *)memory + 2, 8, (void *)&reply, 0, 0);
  } else if (is("block")) {
    athread_get(PE_MODE, memory, buffer, 20, (void *)&reply, 0, 4, 8);
  } else if (is("reply")) {
    athread_get(PE_MODE, memory, buffer, 8, (void *)memory, 0, 0, 0);
  } else if (is("swapped")) {
    athread_get(PE_MODE, buffer, memory, 8, (void *)&reply, 0, 0, 0);
  } else if (is("mask")) {
    athread_syn(ROW_SCOPE, 0x01);
  } else if (is("full")) {
    long message = 1;
    for (;;) {
      REG_PUTR(message, 2);
    }
  } else if (is("free")) {
    ldm_free(buffer, 64);
  } else if (is("capacity")) {
    while (ldm_malloc(1024) != 0) {
    }
    athread_get(PE_MODE, memory, ldm_malloc(1024), 8, (void *)&reply, 0, 0, 0);
  }
}
