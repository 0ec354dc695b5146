/* What the shim adds to the athread interface: hooks that emitted code calls when DLCC_ATHREAD_SHIM is defined, and controls for tests.
 * The environment sets the same: DLCC_SHIM_DMA=immediate|delayed, DLCC_SHIM_TRACE=file, DLCC_SHIM_LDM=bytes. */
#ifndef DLCC_SHIM_H
#define DLCC_SHIM_H

#include <stddef.h>

#ifndef DLCC_ATHREAD_SHIM
#define DLCC_ATHREAD_SHIM 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Slave: from here on this slave waits only through dlcc_shim_wait, and its DMAs are traced. ldm: address that the trace counts from. */
void dlcc_shim_attach(void *ldm);
/* Slave: number of the group that the following trace lines belong to. */
void dlcc_shim_group(int group);
/* Slave: returns when *reply == count. Delayed data of that reply word moves here. */
void dlcc_shim_wait(volatile int *reply, int count);
/* Host: names a region of main memory; trace addresses in it count from its start. */
void dlcc_shim_register(const char *space, const void *start, size_t bytes);
/* Host: as the environment variables; NULL leaves a setting as it is, an empty trace name ends the trace. */
void dlcc_shim_configure(const char *dma, const char *trace);
/* Host: bytes of a slave's LDM, before athread_init (65536 without it). */
void dlcc_shim_ldm(size_t bytes);
/* Slave: a vector access that the hardware would trap on. Ends the program. */
void dlcc_shim_unaligned(const void *address, int align, const char *file, int line);
int dlcc_shim_id(void);
unsigned long dlcc_shim_cycles(void);
/* Register communication: axis 0 is along a row (destination: a column), 1 along a column; destination 8 is everyone else in the line. */
void dlcc_shim_put(int axis, const void *message, int bytes, int destination);
void dlcc_shim_get(int axis, void *message, int bytes);

#ifdef __cplusplus
}
#endif

#endif
