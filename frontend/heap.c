// SPDX-License-Identifier: BSD-3-Clause
//
// malloc() and its family, as libraries call them: the program's own calls are in allocate.c.
//
// What a library of others allocates in the program's context is shared memory, as it is for
// the program: so a handle that it gives is good on all nodes.
//
// The C library and those of the compilers have a heap of their own on each node, for
// functions that allocate for themselves (regcomp(), qsort()). They run on the program's
// stack, of which a page may be away: if that were touched while the heap is locked, another
// worker that waits for the heap, within the library, could not bring it. So what they call
// goes on on the private stack.
#include "front.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Libraries are to find them.
#define FOR_ALL __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

extern __typeof__(malloc) tmf_malloc;
extern __typeof__(calloc) tmf_calloc;
extern __typeof__(realloc) tmf_realloc;
extern __typeof__(memalign) tmf_memalign;
extern __typeof__(free) tmf_free;

// ---- who calls

enum { RUNTIMES_MAX = 16 };

/** Text and data of a library of the C library's, of a compiler's, or of Teamster's. */
struct range {
    uintptr_t low;
    uintptr_t high;
};

static struct range runtimes[RUNTIMES_MAX];
static unsigned n_runtimes;

static bool is_runtime(const char *path)
{
    static const char *const names[] = {
        "libc.so",        "ld-linux",       "libm.so",
        "libpthread.so",  "libstdc++.so",   "libgcc_s.so",
        "libgfortran.so", "libquadmath.so", "libatomic.so",
        "libteamster.so", "liburing.so",    "libboost_context.so",
    };
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static struct range range_of(const struct dl_phdr_info *info)
{
    struct range range = {UINTPTR_MAX, 0};

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t low = info->dlpi_addr + part->p_vaddr;
        const uintptr_t high = low + part->p_memsz;

        if (part->p_type == PT_LOAD) {
            range.low = low < range.low ? low : range.low;
            range.high = high > range.high ? high : range.high;
        }
    }
    return range;
}

static int look_at_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (is_runtime(info->dlpi_name) && n_runtimes < RUNTIMES_MAX) {
        runtimes[n_runtimes++] = range_of(info);
    }
    return 0;
}

__attribute__((constructor)) static void find_runtimes(void)
{
    dl_iterate_phdr(look_at_library, NULL);
}

// Does a library of others call, in the program's context? One that ends with the call is told
// from a runtime all the same: the program itself calls by other names.
static bool is_for_program(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    bool is_others = front_is_program();

    for (unsigned i = 0; i < n_runtimes && is_others; i++) {
        is_others = at < runtimes[i].low || at >= runtimes[i].high;
    }
    return is_others;
}

#define CALLER __builtin_return_address(0)

// ---- the calls

FOR_ALL void *malloc(size_t size)
{
    return is_for_program(CALLER) ? tmf_malloc(size)
                                  : (void *)FRONT_1(__libc_malloc, size);
}

FOR_ALL void *calloc(size_t n, size_t size)
{
    return is_for_program(CALLER) ? tmf_calloc(n, size)
                                  : (void *)FRONT_2(__libc_calloc, n, size);
}

FOR_ALL void *realloc(void *block, size_t size)
{
    if (front_is_shared(block) || (block == NULL && is_for_program(CALLER))) {
        return tmf_realloc(block, size);
    }
    return (void *)FRONT_2(__libc_realloc, block, size);
}

static void *align(const void *caller, size_t alignment, size_t size)
{
    return is_for_program(caller)
               ? tmf_memalign(alignment, size)
               : (void *)FRONT_2(__libc_memalign, alignment, size);
}

FOR_ALL void *memalign(size_t alignment, size_t size)
{
    return align(CALLER, alignment, size);
}

FOR_ALL void *aligned_alloc(size_t alignment, size_t size)
{
    return align(CALLER, alignment, size);
}

FOR_ALL int posix_memalign(void **block, size_t alignment, size_t size)
{
    const int before = errno;
    void *room;

    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 ||
        alignment == 0) {
        return EINVAL;
    }
    room = align(CALLER, alignment, size);
    errno = before;
    if (room == NULL) {
        return ENOMEM;
    }
    *block = room;
    return 0;
}

FOR_ALL void free(void *block)
{
    if (front_is_shared(block)) {
        tmf_free(block);
    } else {
        FRONT_1(__libc_free, block);
    }
}
