/* Slave side of the athread interface. */
#ifndef DLCC_SHIM_SLAVE_H
#define DLCC_SHIM_SLAVE_H

#include "dlcc_shim.h"
#include "dma.h"

/* LDM of one slave. (`__thread`, private main memory, is the compiler's own word.) */
#define __thread_local __thread
#define __thread_local_fix __thread

typedef enum { ROW_SCOPE, COL_SCOPE, ARRAY_SCOPE } scope;

#define _MYID (dlcc_shim_id())
#define _PEN (dlcc_shim_id())
#define _ROW (dlcc_shim_id() >> 3)
#define _COL (dlcc_shim_id() & 7)
#define _CGN 0

#ifdef __cplusplus
extern "C" {
#endif

/* -1: this slave's number. */
int athread_get_id(int core);
int athread_get(dma_mode mode, void *src, void *dest, int len, void *reply, char mask, int stride, int bsize);
int athread_put(dma_mode mode, void *src, void *dest, int len, void *reply, int stride, int bsize);
int athread_dma_barrier(void);
int athread_syn(scope area, int mask);
void *ldm_malloc(size_t bytes);
void ldm_free(void *block, size_t bytes);

/* Main-memory atomics: the value before, the word plus one. */
int dlcc_shim_faaw(void *word);
long dlcc_shim_faal(void *word);

#ifdef __cplusplus
}
#endif

#define faaw(old, word) ((old) = dlcc_shim_faaw((void *)(word)))
#define faal(old, word) ((old) = dlcc_shim_faal((void *)(word)))
#define RTC() dlcc_shim_cycles()
#define rpcc(counter) ((counter) = dlcc_shim_cycles())

#ifndef REG_PUTR
#define REG_PUTR(v, dst) __extension__({ __typeof__(v) message_ = (v); dlcc_shim_put(0, &message_, sizeof(message_), (dst)); })
#define REG_PUTC(v, dst) __extension__({ __typeof__(v) message_ = (v); dlcc_shim_put(1, &message_, sizeof(message_), (dst)); })
#define REG_GETR(v) dlcc_shim_get(0, &(v), sizeof(v))
#define REG_GETC(v) dlcc_shim_get(1, &(v), sizeof(v))
#endif
#define DLCC_SHIM_GET_(axis, v) __extension__({ __typeof__(v) message_; dlcc_shim_get(axis, &message_, sizeof(message_)); message_; })
#define __builtin_sw64_putR(v, dst) REG_PUTR(v, dst)
#define __builtin_sw64_putC(v, dst) REG_PUTC(v, dst)
#define __builtin_sw64_getxR(v) DLCC_SHIM_GET_(0, v)
#define __builtin_sw64_getxC(v) DLCC_SHIM_GET_(1, v)
#define simd_putr(v, dst) REG_PUTR(v, dst)
#define simd_putc(v, dst) REG_PUTC(v, dst)
#define simd_getr(v) ((v) = DLCC_SHIM_GET_(0, v))
#define simd_getc(v) ((v) = DLCC_SHIM_GET_(1, v))

#endif
