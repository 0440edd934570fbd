// SPDX-License-Identifier: BSD-3-Clause
#ifndef TASKS_DEQUE_H
#define TASKS_DEQUE_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * A deque of pointers: one worker, its owner, puts items in at the bottom and takes the
 * latest out there; anyone else takes the oldest out at the top. No locks.
 */
struct deque {
    _Alignas(64) _Atomic int64_t top;
    _Alignas(64) _Atomic int64_t bottom;
    struct deque_items *_Atomic items;
};

void deque_init(struct deque *deque);

/** Nobody uses it any more. What is still in it is not looked at. */
void deque_release(struct deque *deque);

/** Put an item at the bottom. It is in the deque, for all who look later in the one order
 * of sequentially consistent operations, when this returns.
 * @param item  not NULL
 * Context: the owner. Without memory the process ends. */
void deque_push(struct deque *deque, void *item);

/** Take the item at the bottom, the latest. @return NULL: there is none
 * Context: the owner. */
void *deque_take(struct deque *deque);

/** Take the item at the top, the oldest. @return NULL: there was none at one moment during
 * the call, or somebody else was faster
 * Context: any kernel thread. */
void *deque_steal(struct deque *deque);

/** How many there are, or were a moment ago. Context: any kernel thread. */
uint64_t deque_size(const struct deque *deque);

#endif
