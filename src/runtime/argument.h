// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_ARGUMENT_H
#define RUNTIME_ARGUMENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/space.h"
#include "os/image.h"
#include "os/main_stack.h"
#include "ult/ult.h"

/* What a thread is given at its start: is it the address of something that other nodes
 * do not have? */

enum { ARGUMENT_OBJECTS = 8192, ARGUMENT_WORD = 64 };

/** What this node knows for that. */
struct argument_watch {
    const struct space *space;
    const struct ult_system *ult;
    const struct main_stack *main_stack;
    struct image_copy *before; ///< the variables at tm_init()
    /** Hashes of objects that the program has locked, posted, and so on. */
    _Atomic uint64_t objects[ARGUMENT_OBJECTS / ARGUMENT_WORD];
    _Atomic unsigned told; ///< bit k: a warning of this kind was given
};

/** From now on, if other nodes may come to be: else nothing is noted or told. The
 * arguments are kept. */
void argument_open(struct argument_watch *watch, const struct space *space,
                   const struct ult_system *ult,
                   const struct main_stack *main_stack);

/** A synchronisation object has been used. Context: any; a few instructions. */
void argument_note_object(struct argument_watch *watch, const void *object);

/**
 * Would a thread of another node find something else at this address, or nothing?
 *
 * @param[out] text  [size]  if so: what it is, and what to do about it
 * @return 1, 0; 0 also if that was told of another address of this kind
 *
 * Context: an application thread, outside the node lock. May read files, but seldom does
 * for what is no such address.
 */
int argument_is_private(struct argument_watch *watch, const void *argument,
                        char *text, size_t size);

#endif
