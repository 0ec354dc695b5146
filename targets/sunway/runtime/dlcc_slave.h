/* Slave-side runtime of emitted code: boxes of tensors in, athread DMA descriptors out. The way from a box to descriptors (clip, merge, blocks,
 * splits) is the contract of hw/dma_expand.h; the simulator times the same descriptors. Everything here runs on one slave and lives in its LDM. */
#ifndef DLCC_SLAVE_H
#define DLCC_SLAVE_H

#include <slave.h>
#include <simd.h>

#include "dlcc_scalar.h"

/* One copy of a function, however often it is called: a slave's instruction cache holds 16 KB. */
#define DLCC_OUT_OF_LINE __attribute__((unused, noinline))

#define DLCC_MAX_RANK 8
#define DLCC_MAX_ENGINES 4

/* Filled by the host, fetched by every slave with one GET. */
typedef struct dlcc_params {
  unsigned long weights, arena;
} dlcc_params;

/* Limits of a DMA engine in bytes, 0: none. */
typedef struct dlcc_engine {
  int max_dims;
  long max_block, max_bytes, max_stride;
} dlcc_engine;

/* One slave's state. reply[w] counts completions of channel word w, issued[w] what was asked for; both only grow. */
typedef struct dlcc_slave {
  char *ldm;
  char *space[2];                /* weights, arena */
  long core;
  volatile int *reply;
  int *issued;
  dlcc_engine engine[DLCC_MAX_ENGINES];
} dlcc_slave;

/* A strided box with concrete numbers; strides in bytes. */
typedef struct dlcc_box {
  int rank, clipped;
  long element;
  char *global, *local;
  long extent[DLCC_MAX_RANK], global_stride[DLCC_MAX_RANK], local_stride[DLCC_MAX_RANK];
  long origin[DLCC_MAX_RANK];    /* points cut off in front of each dim */
} dlcc_box;

static DLCC_OUT_OF_LINE void dlcc_box_start(dlcc_box *b, int rank, long element, char *global, char *local) {
  b->rank = rank;
  b->clipped = 0;
  b->element = element;
  b->global = global;
  b->local = local;
}

static DLCC_OUT_OF_LINE void dlcc_box_dim(dlcc_box *b, int k, long extent, long global_stride, long local_stride) {
  b->extent[k] = extent > 0 ? extent : 0;
  b->global_stride[k] = global_stride;
  b->local_stride[k] = local_stride;
  b->origin[k] = 0;
}

/* Element bits (little-endian) into every point of the box's local side. */
static DLCC_OUT_OF_LINE void dlcc_fill(const dlcc_box *b, unsigned long bits) {
  long at[DLCC_MAX_RANK], n, i;
  char *p = b->local;
  const int last = b->rank - 1;
  int k;
  for (k = 0; k < b->rank; ++k) {
    at[k] = 0;
    if (b->extent[k] == 0) {
      return;
    }
  }
  n = last >= 0 ? b->extent[last] : 1;
  for (;;) {
    const long step = last >= 0 ? b->local_stride[last] : 0;
    char *q = p;
    for (i = 0; i < n; ++i, q += step) {
      if (b->element == 4) {
        *(uint32_t *)q = (uint32_t)bits;
      } else if (b->element == 8) {
        *(uint64_t *)q = bits;
      } else if (b->element == 2) {
        *(uint16_t *)q = (uint16_t)bits;
      } else {
        *(uint8_t *)q = (uint8_t)bits;
      }
    }
    for (k = last - 1; k >= 0; --k) {
      p += b->local_stride[k];
      if (++at[k] < b->extent[k]) {
        break;
      }
      p -= b->local_stride[k] * b->extent[k];
      at[k] = 0;
    }
    if (k < 0) {
      return;
    }
  }
}

/* Cuts box dim k to the points x with 0 <= base + coef * x < size. Cuts of several tensor dims add up. */
static DLCC_OUT_OF_LINE void dlcc_box_clip(dlcc_box *b, int k, long base, long coef, long size) {
  const long n = b->extent[k];
  long low = 0, high = n;
  base += coef * b->origin[k];
  if (coef < 0) {                /* mirrored: 0 <= (size - 1 - base) + (-coef) * x */
    base = size - 1 - base;
    coef = -coef;
  }
  if (base < 0) {
    low = (-base + coef - 1) / coef;
  }
  if (size - base <= 0) {
    high = 0;
  } else if (base + coef * (n - 1) >= size) {
    high = (size - 1 - base) / coef + 1;
  }
  low = low < n ? low : n;
  if (high < low) {
    high = low;
  }
  if (low != 0 || high != n) {
    b->clipped = 1;
    b->extent[k] = high - low;
    b->global += low * b->global_stride[k];
    b->local += low * b->local_stride[k];
    b->origin[k] += low;
  }
}

/* A tensor dim that no box dim moves: the box is empty when the position is outside. */
static DLCC_OUT_OF_LINE void dlcc_box_clip_all(dlcc_box *b, long position, long size) {
  if (position < 0 || position >= size) {
    b->clipped = 1;
    b->rank = 1;
    b->extent[0] = 0;
  }
}

static DLCC_OUT_OF_LINE void dlcc_issue(dlcc_slave *s, int put, char *global, char *local, long block, long blocks, long stride, int word) {
  const long gap = blocks > 1 ? stride - block : 0;
  const long size = blocks > 1 ? block : 0;
  if (put) {
    athread_put(PE_MODE, local, global, (int)(block * blocks), (void *)&s->reply[word], (int)gap, (int)size);
  } else {
    athread_get(PE_MODE, global, local, (int)(block * blocks), (void *)&s->reply[word], 0, (int)gap, (int)size);
  }
  s->issued[word] += 1;
}

/* Merges neighbouring dims that are one run on both sides and drops dims of extent 1. An empty box gets rank -1. */
static DLCC_OUT_OF_LINE void dlcc_box_merge(dlcc_box *b) {
  int k, n = 0;
  for (k = 0; k < b->rank; ++k) {
    if (b->extent[k] == 0) {
      b->rank = -1;
      return;
    }
    if (b->extent[k] == 1) {
      continue;
    }
    if (n > 0 && b->global_stride[n - 1] == b->extent[k] * b->global_stride[k] &&
        b->local_stride[n - 1] == b->extent[k] * b->local_stride[k]) {
      b->extent[n - 1] *= b->extent[k];
    } else {
      b->extent[n] = b->extent[k];
      ++n;
    }
    b->global_stride[n - 1] = b->global_stride[k];
    b->local_stride[n - 1] = b->local_stride[k];
  }
  b->rank = n;
}

/* One run of `run` bytes, in pieces of what a descriptor may hold. */
static DLCC_OUT_OF_LINE void dlcc_issue_run(dlcc_slave *s, int put, char *global, char *local, long run, long piece, int word) {
  while (run > piece) {
    dlcc_issue(s, put, global, local, piece, 1, 0, word);
    global += piece;
    local += piece;
    run -= piece;
  }
  dlcc_issue(s, put, global, local, run, 1, 0, word);
}

/* Issues the descriptors of a clipped box; none for an empty one. Destroys the box. */
static DLCC_OUT_OF_LINE void dlcc_transfer(dlcc_slave *s, dlcc_box *b, const dlcc_engine *e, int put, int word) {
  long at[DLCC_MAX_RANK], run = b->element, piece, blocks = 1, per = 1, stride = 0, done;
  char *global = b->global, *local = b->local;
  int k;
  dlcc_box_merge(b);
  if (b->rank < 0) {
    return;
  }
  k = b->rank - 1;
  if (k >= 0 && b->global_stride[k] == run && b->local_stride[k] == run) {
    run *= b->extent[k];
    b->rank = k;
  }
  piece = e->max_block == 0 || (e->max_bytes != 0 && e->max_bytes < e->max_block) ? e->max_bytes : e->max_block;
  piece -= piece % b->element;
  if (piece == 0 || piece > run) {
    piece = run;
  }
  k = b->rank - 1;
  if (k >= 0 && e->max_dims >= 2 && piece == run && b->local_stride[k] == run && b->global_stride[k] >= run &&
      (e->max_stride == 0 || b->global_stride[k] <= e->max_stride)) {
    blocks = b->extent[k];
    stride = b->global_stride[k];
    per = e->max_bytes > 0 && run * blocks > e->max_bytes ? e->max_bytes / run : blocks;
    b->rank = k;
  }
  for (k = 0; k < b->rank; ++k) {
    at[k] = 0;
  }
  for (;;) {
    if (piece < run) {
      dlcc_issue_run(s, put, global, local, run, piece, word);
    } else {
      for (done = 0; done < blocks; done += per) {
        dlcc_issue(s, put, global + done * stride, local + done * run, run, blocks - done < per ? blocks - done : per, stride, word);
      }
    }
    for (k = b->rank - 1; k >= 0; --k) {
      global += b->global_stride[k];
      local += b->local_stride[k];
      if (++at[k] < b->extent[k]) {
        break;
      }
      global -= b->global_stride[k] * b->extent[k];
      local -= b->local_stride[k] * b->extent[k];
      at[k] = 0;
    }
    if (k < 0) {
      return;
    }
  }
}

/* A transfer into LDM with a fill value: the core writes the whole box first when some of it lies outside the tensor. */
static DLCC_OUT_OF_LINE void dlcc_transfer_filled(dlcc_slave *s, dlcc_box *b, const dlcc_box *whole, unsigned long bits, const dlcc_engine *e, int word) {
  if (b->clipped) {
    dlcc_fill(whole, bits);
  }
  dlcc_transfer(s, b, e, 0, word);
}

/* Until everything issued on the channel word is complete. */
DLCC_INLINE void dlcc_wait(dlcc_slave *s, int word) {
#if defined(DLCC_ATHREAD_SHIM)
  dlcc_shim_wait(&s->reply[word], s->issued[word]);
#else
  while (s->reply[word] != s->issued[word]) {
  }
#endif
}

DLCC_INLINE void dlcc_barrier(void) { athread_syn(ARRAY_SCOPE, 0xffff); }

DLCC_INLINE long dlcc_floordiv(long a, long k) { return a >= 0 ? a / k : -((k - 1 - a) / k); }
DLCC_INLINE long dlcc_floormod(long a, long k) { return a - k * dlcc_floordiv(a, k); }
DLCC_INLINE long dlcc_least(long a, long b) { return a < b ? a : b; }
DLCC_INLINE long dlcc_most(long a, long b) { return a > b ? a : b; }

/* Vectors: one rounding where the compiler fuses a * b + c, or through the shim. */
#if defined(DLCC_ATHREAD_SHIM)
#define DLCC_VFMA_F32(a, b, c) simd_vmas((a), (b), (c))
#define DLCC_VFMA_F64(a, b, c) simd_vmad((a), (b), (c))
#else
#define DLCC_VFMA_F32(a, b, c) ((a) * (b) + (c))
#define DLCC_VFMA_F64(a, b, c) ((a) * (b) + (c))
#endif

DLCC_INLINE void dlcc_set_engine(dlcc_slave *s, int n, int max_dims, long max_block, long max_bytes, long max_stride) {
  s->engine[n].max_dims = max_dims;
  s->engine[n].max_block = max_block;
  s->engine[n].max_bytes = max_bytes;
  s->engine[n].max_stride = max_stride;
}

/* Fetches the parameters and zeroes the counters; params must lie in LDM. */
static DLCC_OUT_OF_LINE void dlcc_start(dlcc_slave *s, char *ldm, volatile int *reply, int *issued, int words,
                                                          dlcc_params *params, void *argument) {
  int i;
  s->ldm = ldm;
  s->core = athread_get_id(-1);
  s->reply = reply;
  s->issued = issued;
  for (i = 0; i < words; ++i) {
    reply[i] = 0;
    issued[i] = 0;
  }
  athread_get(PE_MODE, argument, params, (int)sizeof(dlcc_params), (void *)&reply[0], 0, 0, 0);
  issued[0] = 1;
  dlcc_wait(s, 0);
  s->space[0] = (char *)params->weights;
  s->space[1] = (char *)params->arena;
#if defined(DLCC_ATHREAD_SHIM)
  dlcc_shim_attach(ldm);
#endif
}

#if defined(DLCC_ATHREAD_SHIM)
#define DLCC_GROUP(n) dlcc_shim_group(n)
#else
#define DLCC_GROUP(n) ((void)0)
#endif

#endif
