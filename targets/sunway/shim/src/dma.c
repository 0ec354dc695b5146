/* athread_get/put and the descriptor interface: requests in, bytes moved and replies counted out, at once or delayed. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

static const char *const mode_names[] = {"PE_MODE", "BCAST_MODE", "ROW_MODE", "BROW_MODE", "RANK_MODE"};

static void check(const shim_slave *self, const shim_request *r) {
  const char *reply = r->reply;
  int region = 0;
  long offset = 0;
  if (r->mode < 0 || r->mode > 4) {
    shim_die(self, "%s: unknown mode %d", r->call, r->mode);
  }
  if (r->len <= 0 || r->len % 4 != 0) {
    shim_die(self, "%s: length %ld; it must be a positive multiple of 4 bytes", r->call, r->len);
  }
  if ((unsigned long)r->memory % 4 != 0 || (unsigned long)r->ldm % 4 != 0) {
    shim_die(self, "%s: addresses %p (memory), %p (LDM) must be multiples of 4", r->call, (void *)r->memory, (void *)r->ldm);
  }
  if (r->bsize < 0 || r->stride < 0 || r->bsize % 4 != 0 || r->stride % 4 != 0 || (r->bsize == 0 && r->stride != 0)) {
    shim_die(self, "%s: block %ld, gap %ld bytes; both must be multiples of 4, not negative, no gap without a block", r->call, r->bsize,
             r->stride);
  }
  if (r->bsize > 0 && r->len % r->bsize != 0) {
    shim_die(self, "%s: length %ld is not a multiple of the block of %ld bytes", r->call, r->len, r->bsize);
  }
  if (!shim_in_ldm(self, r->ldm, (size_t)r->len, &region, &offset)) {
    shim_die(self, "%s (%s): %ld bytes at %p are not inside this slave's LDM", r->call, mode_names[r->mode], r->len, (void *)r->ldm);
  }
  if (shim_in_ldm(self, r->memory, 1, &region, &offset)) {
    shim_die(self, "%s (%s): the main memory address %p lies in this slave's LDM", r->call, mode_names[r->mode], (void *)r->memory);
  }
  if (reply == NULL || (unsigned long)reply % 4 != 0 || !shim_in_ldm(self, reply, 4, &region, &offset)) {
    shim_die(self, "%s: the reply word %p is not an aligned word of this slave's LDM", r->call, (const void *)reply);
  }
}

static void copy(int put, char *memory, char *ldm, long bytes) {
  if (put) {
    memcpy(memory, ldm, (size_t)bytes);
  } else {
    memcpy(ldm, memory, (size_t)bytes);
  }
}

/* Blocks part, part + parts, ... of the stream that starts at `memory`; the LDM side is dense. */
static void move_blocks(const shim_request *r, char *ldm, long part, long parts) {
  const long block = r->bsize > 0 ? r->bsize : r->len;
  const long n = r->len / block;
  long i;
  for (i = 0; i < n; ++i) {
    copy(r->put, r->memory + (i * parts + part) * (block + r->stride), ldm + i * block, block);
  }
}

static void answer(void *reply) { __atomic_fetch_add((int *)reply, 1, __ATOMIC_RELEASE); }

/* The same LDM place of another slave. */
static void deliver(const shim_slave *self, const shim_request *r, const shim_slave *to, long part, long parts) {
  int ldm_region = 0, reply_region = 0;
  long ldm_offset = 0, reply_offset = 0;
  shim_in_ldm(self, r->ldm, (size_t)r->len, &ldm_region, &ldm_offset);
  shim_in_ldm(self, r->reply, 4, &reply_region, &reply_offset);
  move_blocks(r, shim_ldm_address(to, ldm_region, ldm_offset), part, parts);
  answer(shim_ldm_address(to, reply_region, reply_offset));
}

/* BCAST: every slave in the rows of the mask gets all of it. ROW and RANK: the stream is dealt block by block over a row or the array; each
 * participant issues, and gets its own share. BROW: a row's shares, each also delivered down its column to the rows of the mask. */
static void execute(const shim_slave *self, const shim_request *r) {
  const int column = self->id & 7, mask = r->mask & 0xff;
  int i;
  switch (r->mode) {
    case 1:
    case 3:
      for (i = 0; i < shim.threads; ++i) {
        if ((mask >> (i >> 3) & 1) && (r->mode == 1 || (i & 7) == column)) {
          deliver(self, r, &shim.slave[i], r->mode == 1 ? 0 : column, r->mode == 1 ? 1 : 8);
        }
      }
      return;
    case 2:
      move_blocks(r, r->ldm, column, 8);
      break;
    case 4:
      move_blocks(r, r->ldm, self->id, SHIM_SLAVES);
      break;
    default:
      move_blocks(r, r->ldm, 0, 1);
      break;
  }
  answer(r->reply);
}

/* Under self->dma_lock. */
static void complete(shim_slave *self, int at) {
  const shim_request r = self->pending[at];
  self->pending_count -= 1;
  memmove(&self->pending[at], &self->pending[at + 1], (size_t)(self->pending_count - at) * sizeof(r));
  execute(self, &r);
}

static int issue(const shim_request *r) {
  shim_slave *self = shim_self(r->call);
  check(self, r);
  if (r->put && r->mode != 0 && r->mode != 2 && r->mode != 4) {
    shim_die(self, "%s: %s exists for DMA_GET only", r->call, mode_names[r->mode]);
  }
  if (self->attached) {
    shim_check_space(self, r);
    shim_trace_dma(self, r);
  }
  if (!shim.delayed) {
    execute(self, r);
    return 0;
  }
  pthread_mutex_lock(&self->dma_lock);
  if (self->pending_count == SHIM_QUEUE) { /* the hardware stalls here until the oldest is done */
    complete(self, 0);
  }
  self->pending[self->pending_count++] = *r;
  pthread_mutex_unlock(&self->dma_lock);
  return 0;
}

void dlcc_shim_wait(volatile int *reply, int count) {
  shim_slave *self = shim_self("dlcc_shim_wait");
  int i;
  pthread_mutex_lock(&self->dma_lock);
  for (i = 0; i < self->pending_count;) {
    if (self->pending[i].reply == (void *)reply) {
      complete(self, i);
    } else {
      ++i;
    }
  }
  pthread_mutex_unlock(&self->dma_lock);
  while (__atomic_load_n(reply, __ATOMIC_ACQUIRE) != count) {
    if (self->attached) {
      shim_die(self, "waits for %d completions of a reply word, %d DMAs were issued", count, *reply);
    }
    sched_yield();
  }
}

/* Programs that poll their reply words get delayed data from here. */
void *shim_delivery_thread(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&shim.stop, __ATOMIC_ACQUIRE)) {
    int i;
    for (i = 0; i < shim.started; ++i) {
      shim_slave *s = &shim.slave[i];
      pthread_mutex_lock(&s->dma_lock);
      if (s->pending_count > 0 && !s->attached) {
        complete(s, 0);
      }
      pthread_mutex_unlock(&s->dma_lock);
    }
    usleep(20);
  }
  return NULL;
}

/* The slave's function has returned. */
void shim_finish_dma(shim_slave *self) {
  pthread_mutex_lock(&self->dma_lock);
  if (self->attached && self->pending_count > 0) {
    shim_die(self, "ends with %d DMAs that it did not wait for", self->pending_count);
  }
  while (self->pending_count > 0) {
    complete(self, 0);
  }
  self->attached = 0;
  pthread_mutex_unlock(&self->dma_lock);
}

int athread_get(dma_mode mode, void *src, void *dest, int len, void *reply, char mask, int stride, int bsize) {
  const shim_request r = {"athread_get", 0, mode, mask, src, dest, len, stride, bsize, reply};
  return issue(&r);
}
int athread_put(dma_mode mode, void *src, void *dest, int len, void *reply, int stride, int bsize) {
  const shim_request r = {"athread_put", 1, mode, 0, dest, src, len, stride, bsize, reply};
  return issue(&r);
}
int athread_dma_barrier(void) {
  shim_slave *self = shim_self("athread_dma_barrier");
  pthread_mutex_lock(&self->dma_lock);
  while (self->pending_count > 0) {
    complete(self, 0);
  }
  pthread_mutex_unlock(&self->dma_lock);
  return 0;
}

/* Programs set only some fields of a descriptor that lies on their stack; the first call on it clears the rest. */
static void begin(dma_desc *d) {
  static const dma_desc empty = {DMA_GET, PE_MODE, 0, 0, 0, (char)0xff, NULL, DLCC_SHIM_DESC};
  if (d->magic != DLCC_SHIM_DESC) {
    *d = empty;
  }
}
void dma_set_op(dma_desc *d, dma_op op) {
  begin(d);
  d->op = op;
}
void dma_set_mode(dma_desc *d, dma_mode mode) {
  begin(d);
  d->mode = mode;
}
void dma_set_size(dma_desc *d, int bytes) {
  begin(d);
  d->size = bytes;
}
void dma_set_bsize(dma_desc *d, int bytes) {
  begin(d);
  d->bsize = bytes;
}
void dma_set_stepsize(dma_desc *d, int bytes) {
  begin(d);
  d->stepsize = bytes;
}
void dma_set_reply(dma_desc *d, volatile void *reply) {
  begin(d);
  d->reply = (void *)reply;
}
void dma_set_mask(dma_desc *d, char mask) {
  begin(d);
  d->mask = mask;
}

void dma(dma_desc d, long memory, long ldm) {
  shim_request r = {"dma", 0, (int)d.mode, d.mask, (char *)memory, (char *)ldm, d.size, 0, 0, d.reply};
  if (d.op == DMA_BARRIER) {
    athread_dma_barrier();
    return;
  }
  r.put = d.op == DMA_PUT || d.op == DMA_PUT_P;
  r.bsize = d.stepsize != 0 || d.mode == RANK_MODE || d.mode == ROW_MODE || d.mode == BROW_MODE ? d.bsize : 0;
  r.stride = d.stepsize;
  issue(&r);
}
void dma_wait(volatile void *reply, int count) { dlcc_shim_wait((volatile int *)reply, count); }
