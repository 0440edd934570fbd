// SPDX-License-Identifier: BSD-3-Clause
//
// malloc() and its family, as libraries call them: the program's own calls are in allocate.c.
//
// What a library of others allocates in the program's context is shared memory, as it is for
// the program, if it has no threads and no mutexes of its own: so a handle that it gives is
// good on all nodes.
//
// The C library and those of the compilers have a heap of their own on each node, for
// functions that allocate for themselves (regcomp(), qsort()). They run on the program's
// stack, of which a page may be away: if that were touched while the heap is locked, another
// worker that waits for the heap, within the library, could not bring it. So what they call
// goes on on the private stack.
#include "front.h"

#include <dlfcn.h>
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
extern __typeof__(malloc_usable_size) tmf_malloc_usable_size;

// ---- who calls

enum { SERVED_MAX = 64 };

/** Text and data of a library whose memory is the program's. */
struct range {
    uintptr_t low;
    uintptr_t high;
};

static struct range served[SERVED_MAX];
static unsigned n_served;

static bool is_runtime(const char *path)
{
    static const char *const names[] = {
        "",
        "linux-vdso.so",
        "libc.so",
        "ld-linux",
        "libm.so",
        "libpthread.so",
        "libstdc++.so",
        "libgcc_s.so",
        "libgomp.so",
        "libgfortran.so",
        "libquadmath.so",
        "libatomic.so",
        "libteamster.so",
        "liburing.so",
        "libboost_context.so",
    };
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t length = strlen(names[i]);

        if (length == 0 ? *name == '\0'
                        : strncmp(name, names[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/** What a library says of itself to the linker. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2];
    size_t n[2];
};

static struct dynamic read_dynamic(const ElfW(Dyn) * entry)
{
    struct dynamic dynamic = {0};

    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)entry->d_un.d_ptr;

        switch (entry->d_tag) {
        case DT_SYMTAB:
            dynamic.symbols = at;
            break;
        case DT_STRTAB:
            dynamic.names = at;
            break;
        case DT_JMPREL:
            dynamic.relocations[0] = at;
            break;
        case DT_PLTRELSZ:
            dynamic.n[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            dynamic.relocations[1] = at;
            break;
        case DT_RELASZ:
            dynamic.n[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
    return dynamic;
}

static bool is_of_threads(const char *name)
{
    static const char *const calls[] = {"pthread_create", "pthread_mutex_lock",
                                        "pthread_rwlock_wrlock", "thrd_create",
                                        "mtx_lock"};

    for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool uses_threads(const struct dynamic *dynamic)
{
    for (unsigned part = 0; part < 2; part++) {
        for (size_t i = 0; i < dynamic->n[part]; i++) {
            const size_t symbol =
                ELF64_R_SYM(dynamic->relocations[part][i].r_info);

            if (symbol != STN_UNDEF &&
                is_of_threads(dynamic->names +
                              dynamic->symbols[symbol].st_name)) {
                return true;
            }
        }
    }
    return false;
}

// A library with threads or mutexes of its own has memory of its own, too: threads that are not
// the program's may not use shared memory, and one that waits for a page must not hold what a
// whole worker waits for.
static int look_at_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct range range = {UINTPTR_MAX, 0};
    struct dynamic dynamic = {0};

    (void)size;
    (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t low = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD) {
            range.low = low < range.low ? low : range.low;
            range.high = low + part->p_memsz > range.high ? low + part->p_memsz
                                                          : range.high;
        } else if (part->p_type == PT_DYNAMIC && !is_runtime(info->dlpi_name)) {
            dynamic = read_dynamic((const ElfW(Dyn) *)low);
        }
    }
    if (dynamic.symbols != NULL && dynamic.names != NULL &&
        !uses_threads(&dynamic) && n_served < SERVED_MAX) {
        served[n_served++] = range;
    }
    return 0;
}

__attribute__((constructor)) static void find_served(void)
{
    dl_iterate_phdr(look_at_library, NULL);
}

// Does such a library call, in the program's context?
static bool is_for_program(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    bool is_served = false;

    for (unsigned i = 0; i < n_served && !is_served; i++) {
        is_served = at >= served[i].low && at < served[i].high;
    }
    return is_served && front_is_program();
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

FOR_ALL size_t malloc_usable_size(void *block)
{
    static size_t (*usual)(void *);

    if (front_is_shared(block)) {
        return tmf_malloc_usable_size(block);
    }
    if (usual == NULL) {
        usual = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    }
    return usual(block);
}

FOR_ALL void free(void *block)
{
    if (front_is_shared(block)) {
        tmf_free(block);
    } else {
        FRONT_1(__libc_free, block);
    }
}
