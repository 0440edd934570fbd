// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_WRAP_H
#define RUNTIME_WRAP_H

// What is defined here must be the plain functions. Comes before all others.
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * For the files that stand before functions of the C library: wrap.c.
 */

#define EXPORTED __attribute__((visibility("default")))
#define PLACE ((uintptr_t)__builtin_return_address(0))

// ---- the C library's functions

// clang-format off
#define FUNCTIONS(X)                                                           \
    X(read) X(write) X(readv) X(writev) X(pread) X(pwrite) X(pread64)          \
    X(pwrite64) X(fread) X(fwrite) X(send) X(recv) X(__read_chk)               \
    X(__pread_chk) X(__pread64_chk) X(__fread_chk) X(__recv_chk)
// clang-format on

#define NUMBER(name) REAL_##name,
enum function { FUNCTIONS(NUMBER) N_FUNCTIONS };

/** The C library's function, with its type. */
#define CALL(name) ((__typeof__(&name))wrap_real(REAL_##name))

void *wrap_real(enum function function);

/** Is it in shared memory, and the caller a thread? A number, since compilers
 * take a pointer for a promise to read. */
__attribute__((noinline)) int wrap_is_shared(uintptr_t address);
#define WRAP_IS_SHARED(pointer) wrap_is_shared((uintptr_t)(pointer))

/** A call on shared memory. */
struct request {
    enum function function;
    int fd;
    int flags;
    off64_t offset;
    FILE *file;
    uintptr_t place; ///< of the call in the program
};

/** Note in the thread's record what is being done for it, for reports. */
void wrap_begin(const struct request *request);
void wrap_end(void);

/** How many of n bytes from an address on are in pages of blocks. */
size_t wrap_good_bytes(const char *address, size_t n);

/** @return the bytes that can be moved; 0: EFAULT has been said and set */
size_t wrap_check(const struct request *request, const char *address, size_t n);

/** Private memory for a while (W3); takes memory only where it is used. */
struct bounce {
    size_t size;
    char *bytes;
    char small[1024];
};

/** @return 0 if there is no memory, errno is set */
int bounce_open(struct bounce *bounce, size_t size);
/** Leaves errno as it is. */
void bounce_close(struct bounce *bounce);

#endif
