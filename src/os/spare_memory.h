// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SPARE_MEMORY_H
#define OS_SPARE_MEMORY_H

#include <stddef.h>

/*
 * Memory that is needed now and then, and quickly. In between the kernel may have it, if it
 * is short of memory; what it has not taken is there at once the next time, without a fault
 * for each page. Zeros: there is none yet. One thread at a time.
 */
struct spare_memory {
    void *bytes;
    size_t size;
};

/** Have so many bytes, whatever is in them. @return spare->bytes; NULL: memory is short */
void *spare_memory_take(struct spare_memory *spare, size_t size);
/** They are not needed for some time, and what is in them never again. */
void spare_memory_lend(struct spare_memory *spare);
/** There is none any more. */
void spare_memory_release(struct spare_memory *spare);

#endif
