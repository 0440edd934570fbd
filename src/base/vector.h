// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_VECTOR_H
#define BASE_VECTOR_H

#include <stdlib.h>

#include "base/ensure.h"

/*
 * Arrays that grow. Their owner has three variables: the items (NULL: none yet), how
 * many there are, and how many there is room for; free() frees them.
 */

/**
 * Make room for more items than there are. The room doubles, so that adding one after
 * the other costs the same a piece; new room is not cleared. Without memory the process
 * ends (exit code 71).
 *
 * @param items  variable, a pointer; it may change
 * @param room   variable, unsigned, of any width
 * @param n      how many there must be room for; evaluated more than once
 */
#define vector_reserve(items, room, n)                                         \
    do {                                                                       \
        if ((n) > (room)) {                                                    \
            (room) = (n) > 2 * (room) + 16 ? (n) : 2 * (room) + 16;            \
            (items) = realloc((items), (size_t)(room) * sizeof *(items));      \
            ensure_memory((items) != NULL);                                    \
        }                                                                      \
    } while (0)

#endif
