// SPDX-License-Identifier: BSD-3-Clause
//
// The C library's own heap, for functions of it that allocate for themselves (regcomp(),
// qsort()). They run on the program's stack, of which a page may be away: if that were
// touched while the heap is locked, another worker that waits for the heap, within the
// library, could not bring it. So what the C library calls is here, and goes on on the
// private stack. The program's own malloc() is in allocate.c.
#include "front.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// Libraries are to find them.
#define FOR_ALL __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

FOR_ALL void *malloc(size_t size)
{
    return (void *)FRONT_1(__libc_malloc, size);
}

FOR_ALL void *calloc(size_t n, size_t size)
{
    return (void *)FRONT_2(__libc_calloc, n, size);
}

FOR_ALL void *realloc(void *block, size_t size)
{
    return (void *)FRONT_2(__libc_realloc, block, size);
}

FOR_ALL void *memalign(size_t alignment, size_t size)
{
    return (void *)FRONT_2(__libc_memalign, alignment, size);
}

FOR_ALL void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

FOR_ALL int posix_memalign(void **block, size_t alignment, size_t size)
{
    const int before = errno;
    void *room;

    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 ||
        alignment == 0) {
        return EINVAL;
    }
    room = memalign(alignment, size);
    errno = before;
    if (room == NULL) {
        return ENOMEM;
    }
    *block = room;
    return 0;
}

FOR_ALL void free(void *block)
{
    FRONT_1(__libc_free, block);
}
