// SPDX-License-Identifier: BSD-3-Clause
//
// What the C++ library calls for std::cout, std::cin and their like. It calls the C library by
// name, and nobody renames that: so these functions have the names themselves, and every program
// is linked with them (cli/cc.c). Called in the program's context they do as the program's own
// calls do (stdio.c, descriptors.c); called by anybody else they are those that would be called
// without them.
#include "front.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static void *find_next(_Atomic(void *) *found, const char *name)
{
    void *address = atomic_load_explicit(found, memory_order_relaxed);

    if (address == NULL) {
        address = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(found, address, memory_order_relaxed);
    }
    return address;
}

#define STREAM(type, name, parameters, arguments)                              \
    extern __typeof__(name) tmf_##name;                                        \
    EXPORTED __typeof__(name) name;                                            \
    type name parameters                                                       \
    {                                                                          \
        static _Atomic(void *) found;                                          \
                                                                               \
        if (front_is_program()) {                                              \
            return tmf_##name arguments;                                       \
        }                                                                      \
        return ((__typeof__(&(name)))find_next(&found, #name))arguments;       \
    }

#undef putc
#undef getc

STREAM(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *file),
       (from, size, n, file))
STREAM(size_t, fread, (void *to, size_t size, size_t n, FILE *file),
       (to, size, n, file))
STREAM(int, putc, (int c, FILE *file), (c, file))
STREAM(int, getc, (FILE * file), (file))
STREAM(int, ungetc, (int c, FILE *file), (c, file))
STREAM(int, fflush, (FILE * file), (file))
STREAM(ssize_t, write, (int fd, const void *from, size_t size),
       (fd, from, size))
STREAM(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
STREAM(ssize_t, writev, (int fd, const struct iovec *parts, int n),
       (fd, parts, n))
STREAM(FILE *, fopen, (const char *name, const char *mode), (name, mode))
STREAM(FILE *, fopen64, (const char *name, const char *mode), (name, mode))
STREAM(FILE *, fdopen, (int fd, const char *mode), (fd, mode))
STREAM(int, fclose, (FILE * file), (file))
STREAM(int, fileno, (FILE * file), (file))
STREAM(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
STREAM(off_t, lseek64, (int fd, off_t offset, int whence), (fd, offset, whence))
