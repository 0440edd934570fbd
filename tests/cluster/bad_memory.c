// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that runs out, for tests: with LD_PRELOAD this library stands before
// malloc(), calloc(), realloc() and mmap(). On the node BAD_MEMORY_NODE the calls that
// the program makes itself, with what is linked into it, fail from the
// BAD_MEMORY_AT-th on. (Other libraries have ways of their own to fail.)
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);

static uintptr_t first; // of the program's addresses
static uintptr_t last;
static long fail_at;
static _Atomic long n_calls;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            first = info->dlpi_addr + part->p_vaddr;
            last = first + part->p_memsz;
        }
    }
    return 1; // the first is the program
}

__attribute__((constructor)) static void read_plan(void)
{
    const char *node = getenv("TEAMSTER_NODE");
    const char *wanted = getenv("BAD_MEMORY_NODE");
    const char *at = getenv("BAD_MEMORY_AT");

    if (node != NULL && wanted != NULL && at != NULL &&
        strcmp(node, wanted) == 0) {
        dl_iterate_phdr(find_program, NULL);
        fail_at = atol(at);
    }
}

static int fails(void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    if (fail_at == 0 || at < first || at >= last ||
        atomic_fetch_add(&n_calls, 1) + 1 < fail_at) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL
                                              : __libc_realloc(block, size);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd,
           off_t offset)
{
    typedef void *mmap_fn(void *, size_t, int, int, int, off_t);
    mmap_fn *real;

    if (fails(__builtin_return_address(0))) {
        return MAP_FAILED;
    }
    real = (mmap_fn *)dlsym(RTLD_NEXT, "mmap");
    return real(address, size, protection, flags, fd, offset);
}
