// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_AWAKE_H
#define OS_AWAKE_H

/**
 * Kernel threads that run where nobody else does, so that no processor falls
 * asleep while workers wait to be as slow as they emulate.
 *
 * A processor that falls asleep many times a second computes slower in between, on
 * a virtual machine by up to a half (docs/emulation.md), and how much depends on who
 * else happens to be awake. One that never sleeps has the same speed all the time.
 * These threads are of the class SCHED_IDLE: whoever becomes runnable takes their
 * place at once.
 */

struct awake;

/** Start n of them, or as many as the system allows: results are then less even.
 * @return to be given to awake_stop(); NULL: there are none (logged)
 *
 * Context: any kernel thread; allocates. */
struct awake *awake_start(unsigned n);

/** They end as soon as they run again; not waited for, since on a busy machine
 * that may be long after. Nothing of them is the caller's any more. NULL is none.
 *
 * Context: any kernel thread, once; does not block. */
void awake_stop(struct awake *awake);

#endif
