/* Barriers, register FIFOs, atomics and clocks of slaves. Slaves that wait sleep, so 64 of them run well on few processors. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shim.h"

void shim_check_deadlock(void) {
  int i, shown = 0;
  if (shim.asleep < shim.running) {
    return;
  }
  for (i = 0; i < shim.threads; ++i) {
    if (shim.slave[i].waiting && shown++ < 8) {
      fprintf(stderr, "athread shim: slave %d waits in %s\n", i, shim.slave[i].why);
    }
  }
  shim_die(NULL, "deadlock: all %d unfinished slaves wait", shim.running);
}

void shim_sleep(shim_slave *self) {
  self->waiting = 1;
  shim.asleep += 1;
  shim_check_deadlock();
  while (self->waiting) {
    pthread_cond_wait(&self->wake, &shim.lock);
  }
}

void shim_wake(shim_slave *other) {
  if (other->waiting) {
    other->waiting = 0;
    shim.asleep -= 1;
    pthread_cond_signal(&other->wake);
  }
}

/* Barriers in use: scope, line and mask identify one. */
typedef struct barrier {
  int scope, line, mask, arrived;
  char member[SHIM_SLAVES];
} barrier;
static barrier barriers[SHIM_SLAVES * 2];

static int is_member(int scope, int line, int mask, int id) {
  const int row = id >> 3, column = id & 7;
  if (scope == 0) {
    return row == line && (mask >> column & 1);
  }
  if (scope == 1) {
    return column == line && (mask >> row & 1);
  }
  return (mask >> (8 + row) & 1) && (mask >> column & 1);
}

static barrier *find_barrier(int scope, int line, int mask) {
  barrier *unused = NULL;
  size_t i;
  for (i = 0; i < sizeof(barriers) / sizeof(barriers[0]); ++i) {
    barrier *b = &barriers[i];
    if (b->arrived == 0) {
      unused = unused == NULL ? b : unused;
    } else if (b->scope == scope && b->line == line && b->mask == mask) {
      return b;
    }
  }
  unused->scope = scope;
  unused->line = line;
  unused->mask = mask;
  memset(unused->member, 0, sizeof(unused->member));
  return unused;
}

/* Mask bits: ROW_SCOPE columns, COL_SCOPE rows, ARRAY_SCOPE columns in the low and rows in the high byte (an empty byte means all). */
int athread_syn(int scope, int mask) {
  shim_slave *self = shim_self("athread_syn");
  const int line = scope == 0 ? self->id >> 3 : scope == 1 ? self->id & 7 : 0;
  barrier *b;
  int i, members = 0;
  mask &= 0xffff;
  if (scope < 0 || scope > 2) {
    shim_die(self, "athread_syn: unknown scope %d", scope);
  }
  if (scope == 2) {
    mask |= ((mask & 0xff) == 0 ? 0xff : 0) | ((mask & 0xff00) == 0 ? 0xff00 : 0);
  } else {
    mask &= 0xff;
  }
  if (!is_member(scope, line, mask, self->id)) {
    shim_die(self, "athread_syn: the mask 0x%x leaves out the caller", mask);
  }
  pthread_mutex_lock(&shim.lock);
  for (i = 0; i < shim.threads; ++i) {
    members += is_member(scope, line, mask, i);
  }
  b = find_barrier(scope, line, mask);
  b->member[self->id] = 1;
  b->arrived += 1;
  if (b->arrived == members) {
    b->arrived = 0;
    for (i = 0; i < shim.threads; ++i) {
      if (b->member[i] && i != self->id) {
        shim.slave[i].released = 1;
        shim_wake(&shim.slave[i]);
      }
    }
  } else {
    snprintf(self->why, sizeof(self->why), "athread_syn(%s, 0x%x)",
             scope == 0 ? "ROW_SCOPE" : scope == 1 ? "COL_SCOPE" : "ARRAY_SCOPE", mask);
    self->released = 0;
    while (!self->released) {
      shim_sleep(self);
    }
  }
  pthread_mutex_unlock(&shim.lock);
  return 0;
}

static shim_slave *neighbour(const shim_slave *self, int axis, int position) {
  return &shim.slave[axis == 0 ? (self->id & ~7) | position : position * 8 + (self->id & 7)];
}

static void append(shim_fifo *f, const char *message, int receivers) {
  memcpy(f->message[f->count], message, SHIM_MESSAGE);
  f->receivers[f->count] = receivers;
  f->count += 1;
}
static void drop_first(shim_fifo *f) {
  f->count -= 1;
  memmove(f->message[0], f->message[1], (size_t)f->count * SHIM_MESSAGE);
  memmove(&f->receivers[0], &f->receivers[1], (size_t)f->count * sizeof(f->receivers[0]));
}

/* Moves what can move from the send buffers of a line to its receive buffers, each sender's messages in order. */
static void deliver_line(const shim_slave *self, int axis) {
  int sender, i;
  for (sender = 0; sender < 8; ++sender) {
    shim_slave *from = neighbour(self, axis, sender);
    shim_fifo *out = &from->out[axis];
    while (out->count > 0) {
      for (i = 0; i < 8; ++i) {
        shim_slave *to = neighbour(self, axis, i);
        if ((out->receivers[0] >> i & 1) && to->in[axis].count < SHIM_FIFO) {
          append(&to->in[axis], out->message[0], 0);
          out->receivers[0] &= ~(1 << i);
          shim_wake(to);
        }
      }
      if (out->receivers[0] != 0) {
        break;
      }
      drop_first(out);
      shim_wake(from);
    }
  }
}

void dlcc_shim_put(int axis, const void *message, int bytes, int destination) {
  shim_slave *self = shim_self("a register send");
  shim_fifo *out = &self->out[axis];
  const int own = axis == 0 ? self->id & 7 : self->id >> 3;
  const int receivers = destination == 8 ? 0xff & ~(1 << own) : 1 << destination;
  char padded[SHIM_MESSAGE] = {0};
  int i;
  if (bytes > SHIM_MESSAGE || destination < 0 || destination > 8) {
    shim_die(self, "register send of %d bytes to %d; at most %d bytes, destinations 0 to 7, 8 for all", bytes, destination, SHIM_MESSAGE);
  }
  for (i = 0; i < 8; ++i) {
    if ((receivers >> i & 1) && neighbour(self, axis, i)->id >= shim.threads) {
      shim_die(self, "register message to slave %d, which was not started", neighbour(self, axis, i)->id);
    }
  }
  memcpy(padded, message, (size_t)bytes);
  pthread_mutex_lock(&shim.lock);
  while (out->count == SHIM_FIFO) {
    snprintf(self->why, sizeof(self->why), "a register send along the %s (its buffer is full)", axis == 0 ? "row" : "column");
    shim_sleep(self);
  }
  append(out, padded, receivers);
  deliver_line(self, axis);
  pthread_mutex_unlock(&shim.lock);
}

void dlcc_shim_get(int axis, void *message, int bytes) {
  shim_slave *self = shim_self("a register receive");
  shim_fifo *in = &self->in[axis];
  pthread_mutex_lock(&shim.lock);
  while (in->count == 0) {
    snprintf(self->why, sizeof(self->why), "a register receive along the %s", axis == 0 ? "row" : "column");
    shim_sleep(self);
  }
  memcpy(message, in->message[0], (size_t)(bytes < SHIM_MESSAGE ? bytes : SHIM_MESSAGE));
  drop_first(in);
  deliver_line(self, axis);
  pthread_mutex_unlock(&shim.lock);
}

int dlcc_shim_faaw(void *word) { return __atomic_fetch_add((int *)word, 1, __ATOMIC_SEQ_CST); }
long dlcc_shim_faal(void *word) { return __atomic_fetch_add((long *)word, 1, __ATOMIC_SEQ_CST); }

unsigned long dlcc_shim_cycles(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long)now.tv_sec * 1450000000ul + (unsigned long)((double)now.tv_nsec * 1.45);
}

void dlcc_shim_unaligned(const void *address, int align, const char *file, int line) {
  shim_die(shim_self("a vector access"), "vector access at %p is not aligned to %d bytes (%s:%d)", address, align, file, line);
}
