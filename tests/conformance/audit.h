// SPDX-License-Identifier: BSD-3-Clause
#ifndef CONFORMANCE_AUDIT_H
#define CONFORMANCE_AUDIT_H

#include "world.h"

/*
 * The judge of tests/audit beside the oracle: what it is told are calls and accesses, as
 * of real processes. Without audit_open() all of this does nothing.
 */
void audit_open(struct world *world);

/** The block is new, or main() has written a part of it. @param bytes  NULL: zeros */
void audit_fill(struct world *world, uint64_t offset, size_t size,
                const uint8_t *bytes);

/** The threads of a life of the block begin; they have ended. */
void audit_begin(struct world *world);
void audit_end(struct world *world);

/** A thread has read or written `bytes`, as its access says. */
void audit_access(const struct thread *thread, const uint8_t *bytes);

void audit_lock(const struct thread *thread, int lock);
void audit_unlock(const struct thread *thread, int lock);
void audit_arrive(const struct thread *thread);
void audit_depart(const struct thread *thread);

/** Fail if a read was wrong, or none was judged. */
void audit_close(struct world *world);

#endif
