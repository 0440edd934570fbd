// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdlib.h>

#include "base/ensure.h"

/**
 * Get memory for n items, zeros; free() gives it back. Without memory the process ends
 * (exit code 71), as with vector_reserve().
 *
 * @param n  0 is fine
 */
static inline void *memory_new(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    ensure_memory(memory != NULL);
    return memory;
}

#endif
