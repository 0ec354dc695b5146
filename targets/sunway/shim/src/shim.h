/* Internal state of the shim: slaves are threads, a slave's LDM is its thread-local block, its stack and an ldm_malloc arena. */
#ifndef DLCC_SHIM_INTERNAL_H
#define DLCC_SHIM_INTERNAL_H

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "../include/dlcc_shim.h"
#include "../include/dma.h"

#define SHIM_SLAVES 64
#define SHIM_QUEUE 3       /* DMAs that one slave may have outstanding */
#define SHIM_FIFO 4        /* register messages in a slave's send and in its receive buffer, per direction */
#define SHIM_MESSAGE 32    /* bytes */
#define SHIM_BLOCKS 256    /* live ldm_malloc blocks of a slave */

typedef struct shim_request {
  const char *call;
  int put, mode, mask;
  char *memory, *ldm;
  long len, stride, bsize;
  void *reply;
} shim_request;

typedef struct shim_fifo {
  int count;
  char message[SHIM_FIFO][SHIM_MESSAGE];
  int receivers[SHIM_FIFO];      /* send buffer: bits of the positions that still get the message */
} shim_fifo;

typedef struct shim_slave {
  int id;
  pthread_t thread;
  pthread_cond_t wake;
  int waiting;                   /* asleep in the shim, see shim_sleep */
  int released;                  /* by the last slave that arrived at a barrier */
  char why[96];
  int busy;                      /* runs a spawned function */
  char *statics, *stack, *heap;  /* LDM regions */
  size_t statics_bytes, stack_bytes, heap_bytes;
  struct { size_t start, bytes; } block[SHIM_BLOCKS];
  int blocks;
  pthread_mutex_t dma_lock;
  shim_request pending[SHIM_QUEUE];
  int pending_count;
  int attached, group;
  char *ldm_origin;
  shim_fifo in[2], out[2];       /* row, column */
  char *trace;                   /* lines of this spawn */
  size_t trace_bytes, trace_capacity;
} shim_slave;

typedef struct shim_state {
  pthread_mutex_t lock;          /* everything below, every slave's waiting/busy/fifo */
  pthread_cond_t host;
  shim_slave slave[SHIM_SLAVES];
  int threads;                   /* slaves that a spawn starts */
  int started, ready;            /* pool threads that exist, that know their LDM */
  int running, asleep;
  int stop;
  void (*function)(void *);
  void *argument;
  int delayed;
  size_t ldm_bytes;
  FILE *trace;
  pthread_t delivery;
  int delivery_runs;
} shim_state;

extern shim_state shim;

shim_slave *shim_self(const char *call);
/* Ends the program with a message that names the slave (none for NULL). */
void shim_die(const shim_slave *self, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
/* Under shim.lock: sleep until shim_wake; all slaves asleep is a deadlock, which ends the program. */
void shim_sleep(shim_slave *self);
void shim_wake(shim_slave *other);
void shim_check_deadlock(void);
/* True when [start, start + bytes) is inside one LDM region of that slave; *offset and *region place it. */
int shim_in_ldm(const shim_slave *s, const char *start, size_t bytes, int *region, long *offset);
char *shim_ldm_address(const shim_slave *s, int region, long offset);
void shim_finish_dma(shim_slave *self);
/* An attached slave's DMA must stay inside one registered space. */
void shim_check_space(const shim_slave *self, const shim_request *r);
void shim_trace_dma(shim_slave *self, const shim_request *r);
void shim_trace_flush(void);
void shim_trace_open(const char *path);
void *shim_delivery_thread(void *unused);

#endif
