/* Included before every file that athread_cc compiles with -slave: words that are the compiler's own there, and the mark of a slave object. */
#ifndef DLCC_SHIM_SLAVE_WORDS_H
#define DLCC_SHIM_SLAVE_WORDS_H

#define __thread_local __thread
#define __thread_local_fix __thread

__asm__(".pushsection .dlcc_slave,\"\",@progbits\n.byte 1\n.popsection\n");

#endif
