/* athread_init/spawn/join/halt and the slaves' LDM: host calls in, functions run on 64 threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

shim_state shim = {.lock = PTHREAD_MUTEX_INITIALIZER, .host = PTHREAD_COND_INITIALIZER, .threads = SHIM_SLAVES, .ldm_bytes = 65536};

static __thread shim_slave *current;

void shim_die(const shim_slave *self, const char *format, ...) {
  va_list args;
  flockfile(stderr);
  if (self != NULL) {
    fprintf(stderr, "athread shim: error: slave %d (row %d, column %d): ", self->id, self->id >> 3, self->id & 7);
  } else {
    fprintf(stderr, "athread shim: error: ");
  }
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fprintf(stderr, "\n");
  fflush(stderr);
  abort();
}

shim_slave *shim_self(const char *call) {
  if (current == NULL) {
    shim_die(NULL, "%s called outside a slave", call);
  }
  return current;
}

int dlcc_shim_id(void) { return shim_self("_MYID")->id; }

int athread_get_id(int core) {
  const shim_slave *self = shim_self("athread_get_id");
  return core < 0 ? self->id : core;
}

/* The thread-local block of the module that this file is linked into, for the calling thread. */
struct statics {
  char *start;
  size_t bytes;
};
static int find_statics(struct dl_phdr_info *info, size_t size, void *data) {
  struct statics *out = data;
  const uintptr_t here = (uintptr_t)&shim;
  size_t tls = 0;
  int inside = 0, i;
  (void)size;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && here >= start && here < start + p->p_memsz) {
      inside = 1;
    }
    if (p->p_type == PT_TLS) {
      tls = p->p_memsz;
    }
  }
  if (!inside) {
    return 0;
  }
  out->start = info->dlpi_tls_data;
  out->bytes = out->start != NULL ? tls : 0;
  return 1;
}

static void find_ldm(shim_slave *self) {
  struct statics found = {NULL, 0};
  pthread_attr_t attributes;
  void *stack = NULL;
  dl_iterate_phdr(find_statics, &found);
  self->statics = found.start;
  self->statics_bytes = found.bytes;
  /* The one thread-local of the shim itself does not count. */
  if (found.bytes > shim.ldm_bytes + 64) {
    shim_die(self, "__thread_local variables take %zu bytes, LDM has %zu", found.bytes, shim.ldm_bytes);
  }
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 || pthread_attr_getstack(&attributes, &stack, &self->stack_bytes) != 0) {
    shim_die(self, "cannot find the stack");
  }
  pthread_attr_destroy(&attributes);
  self->stack = stack;
  self->heap_bytes = shim.ldm_bytes > found.bytes ? (shim.ldm_bytes - found.bytes) & ~(size_t)31 : 0;
  if (posix_memalign((void **)&self->heap, 128, self->heap_bytes + 128) != 0) {
    shim_die(self, "out of memory");
  }
  memset(self->heap, 0xa5, self->heap_bytes);
}

static void *slave_thread(void *argument) {
  shim_slave *self = argument;
  current = self;
  find_ldm(self);
  pthread_mutex_lock(&shim.lock);
  shim.ready += 1;
  pthread_cond_signal(&shim.host);
  for (;;) {
    while (!shim.stop && !self->busy) {
      pthread_cond_wait(&self->wake, &shim.lock);
    }
    if (shim.stop) {
      break;
    }
    pthread_mutex_unlock(&shim.lock);
    shim.function(shim.argument);
    shim_finish_dma(self);
    pthread_mutex_lock(&shim.lock);
    self->busy = 0;
    shim.running -= 1;
    if (shim.running == 0) {
      pthread_cond_signal(&shim.host);
    } else {
      shim_check_deadlock();
    }
  }
  pthread_mutex_unlock(&shim.lock);
  free(self->heap);
  self->heap = NULL;
  return NULL;
}

void dlcc_shim_configure(const char *dma, const char *trace) {
  if (dma != NULL) {
    if (strcmp(dma, "immediate") != 0 && strcmp(dma, "delayed") != 0) {
      shim_die(NULL, "DLCC_SHIM_DMA is '%s'; it can be immediate or delayed", dma);
    }
    shim.delayed = strcmp(dma, "delayed") == 0;
  }
  if (trace != NULL) {
    shim_trace_open(trace);
  }
}

void dlcc_shim_ldm(size_t bytes) { shim.ldm_bytes = bytes; }

int athread_init(void) {
  const char *ldm = getenv("DLCC_SHIM_LDM");
  if (ldm != NULL && atol(ldm) > 0) {
    shim.ldm_bytes = (size_t)atol(ldm);
  }
  dlcc_shim_configure(getenv("DLCC_SHIM_DMA"), shim.trace == NULL ? getenv("DLCC_SHIM_TRACE") : NULL);
  return 0;
}

int athread_set_num_threads(int count) {
  if (count < 1 || count > SHIM_SLAVES) {
    shim_die(NULL, "athread_set_num_threads(%d): 1 to %d", count, SHIM_SLAVES);
  }
  shim.threads = count;
  return 0;
}
int athread_get_max_threads(void) { return SHIM_SLAVES; }

static void start_threads(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
  for (; shim.started < shim.threads; ++shim.started) {
    shim_slave *s = &shim.slave[shim.started];
    memset(s, 0, sizeof(*s));
    s->id = shim.started;
    pthread_cond_init(&s->wake, NULL);
    pthread_mutex_init(&s->dma_lock, NULL);
    if (pthread_create(&s->thread, &attributes, slave_thread, s) != 0) {
      shim_die(NULL, "cannot start thread %d", s->id);
    }
  }
  pthread_attr_destroy(&attributes);
  pthread_mutex_lock(&shim.lock);
  while (shim.ready != shim.started) {
    pthread_cond_wait(&shim.host, &shim.lock);
  }
  pthread_mutex_unlock(&shim.lock);
  if (shim.delayed && !shim.delivery_runs) {
    shim.delivery_runs = 1;
    pthread_create(&shim.delivery, NULL, shim_delivery_thread, NULL);
  }
}

int __real_athread_spawn(void *function, void *argument) {
  int i;
  if (shim.running != 0) {
    shim_die(NULL, "athread_spawn before athread_join of the previous one");
  }
  start_threads();
  pthread_mutex_lock(&shim.lock);
  *(void **)&shim.function = function;
  shim.argument = argument;
  shim.running = shim.threads;
  shim.asleep = 0;
  for (i = 0; i < shim.threads; ++i) {
    shim.slave[i].busy = 1;
    memset(shim.slave[i].in, 0, sizeof(shim.slave[i].in));
    memset(shim.slave[i].out, 0, sizeof(shim.slave[i].out));
    pthread_cond_signal(&shim.slave[i].wake);
  }
  pthread_mutex_unlock(&shim.lock);
  return 0;
}

int athread_join(void) {
  pthread_mutex_lock(&shim.lock);
  while (shim.running != 0) {
    pthread_cond_wait(&shim.host, &shim.lock);
  }
  pthread_mutex_unlock(&shim.lock);
  shim_trace_flush();
  return 0;
}

int athread_halt(void) {
  int i;
  athread_join();
  pthread_mutex_lock(&shim.lock);
  shim.stop = 1;
  for (i = 0; i < shim.started; ++i) {
    pthread_cond_signal(&shim.slave[i].wake);
  }
  pthread_mutex_unlock(&shim.lock);
  for (i = 0; i < shim.started; ++i) {
    pthread_join(shim.slave[i].thread, NULL);
    free(shim.slave[i].trace);
  }
  if (shim.delivery_runs) {
    pthread_join(shim.delivery, NULL);
    shim.delivery_runs = 0;
  }
  shim_trace_open("");
  shim.started = 0;
  shim.ready = 0;
  shim.stop = 0;
  return 0;
}
int athread_leave(void) { return athread_halt(); }
