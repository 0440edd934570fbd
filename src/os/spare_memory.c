// SPDX-License-Identifier: BSD-3-Clause
#include "os/spare_memory.h"

#include <sys/mman.h>

// What is needed grows slowly, as a rule.
static size_t with_some_more(size_t size)
{
    return size + size / 8;
}

void *spare_memory_take(struct spare_memory *spare, size_t size)
{
    void *bytes;

    if (size <= spare->size) {
        return spare->bytes;
    }
    spare_memory_release(spare);
    bytes = mmap(NULL, with_some_more(size), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        return NULL;
    }
    *spare = (struct spare_memory){bytes, with_some_more(size)};
    return bytes;
}

void spare_memory_lend(struct spare_memory *spare)
{
    if (spare->bytes != NULL) {
        (void)madvise(spare->bytes, spare->size, MADV_FREE); // or it stays
    }
}

void spare_memory_release(struct spare_memory *spare)
{
    if (spare->bytes != NULL) {
        munmap(spare->bytes, spare->size);
    }
    *spare = (struct spare_memory){0};
}
