// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_PROCESSOR_H
#define OS_PROCESSOR_H

#include <stdint.h>

/** @return how many processors the calling kernel thread may use, at least 1 */
unsigned processor_count(void);

/**
 * @param machine  tells it from other machines
 * @return a number for the processors that the calling kernel thread may use: equal for
 *         who may use the same ones of the same machine
 */
uint64_t processor_pool(uint64_t machine);

/** @return the processor that the calling kernel thread runs on now */
unsigned processor_self(void);

/** @return the one with this index among those that the calling kernel thread
 *          may use; indices go round */
unsigned processor_nth(unsigned index);

/**
 * Take the calling kernel thread to a processor. It is not bound to it: what it
 * may use is afterwards as before, and the kernel may move it on.
 *
 * @param processor  one of those that it may use; else nothing happens
 */
void processor_visit(unsigned processor);

#endif
