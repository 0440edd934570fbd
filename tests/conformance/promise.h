// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROMISE_H
#define PROMISE_H

#include "world.h"

/* What scope consistency promises of each byte that a thread reads, and no more. Of other
 * protocols nothing is noted: with them a byte is what was written last. */

void promise_open(struct world *world);
void promise_close(struct world *world);

/** All have met: who goes on sees all that was written. Or a new life of the block. */
void promise_begin(struct world *world);

/** May a thread read this value? */
int promise_holds(const struct thread *thread, uint64_t offset, uint8_t value);

/** It does, or writes it. */
void promise_read(const struct thread *thread, uint64_t offset, uint8_t value);
void promise_write(const struct thread *thread, uint64_t offset, uint8_t value);

/** It has locked a mutex. */
void promise_lock(const struct thread *thread, int lock);

#endif
