/* Host side of the athread interface, for running athread programs on an ordinary computer. */
#ifndef DLCC_SHIM_ATHREAD_H
#define DLCC_SHIM_ATHREAD_H

#include "dlcc_shim.h"

#ifdef __cplusplus
extern "C" {
int __real_athread_spawn(void *function, void *argument);
#else
int __real_athread_spawn(); /* unprototyped: programs pass slave functions of any type */
#endif

int athread_init(void);
int athread_set_num_threads(int count);
int athread_get_max_threads(void);
int athread_join(void);
int athread_halt(void);
int athread_leave(void);

#ifdef __cplusplus
}
#endif

/* Slave functions get the prefix when they are compiled (athread_cc -slave). */
#define SLAVE_FUN(f) slave_##f
#ifdef __cplusplus
#define athread_spawn(f, argument) __real_athread_spawn((void *)slave_##f, (void *)(argument))
#else
#define athread_spawn(f, argument) __real_athread_spawn(slave_##f, (void *)(argument))
#endif

#endif
