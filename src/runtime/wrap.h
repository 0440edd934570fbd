// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_WRAP_H
#define RUNTIME_WRAP_H

// What is defined here must be the plain functions. Comes before all others.
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#undef fread_unlocked // macros of optimised builds
#undef fwrite_unlocked

/*
 * For the files that stand before functions of the C library: wrap.c.
 */

#define EXPORTED __attribute__((visibility("default")))
#define PLACE ((uintptr_t)__builtin_return_address(0))

// ---- the C library's functions

// clang-format off
#define FUNCTIONS(X)                                                           \
    X(read) X(write) X(pread) X(pwrite)                                        \
    X(readv) X(writev) X(preadv) X(pwritev)                                    \
    X(send) X(recv) X(sendto) X(recvfrom) X(sendmsg) X(recvmsg)                \
    X(fread) X(fwrite) X(fread_unlocked) X(fwrite_unlocked)                    \
    X(fputs) X(puts) X(fgets) X(__vfprintf_chk) X(__vdprintf_chk)              \
    X(__read_chk) X(__pread_chk) X(__recv_chk) X(__recvfrom_chk)               \
    X(__fread_chk) X(__fread_unlocked_chk) X(__fgets_chk)                      \
    X(sigaction) X(signal) X(__sysv_signal) X(sigprocmask) X(pthread_sigmask)   \
    X(sleep) X(usleep) X(nanosleep) X(clock_nanosleep) X(thrd_sleep)           \
    X(poll) X(ppoll) X(select) X(pselect)                                      \
    X(pthread_exit) X(thrd_exit)                                               \
    X(open) X(openat) X(creat) X(__open_2) X(__openat_2)                       \
    X(fopen) X(freopen)                                                        \
    X(mkstemp) X(mkostemp) X(mkstemps) X(mkostemps)                 \
    X(truncate) X(rename) X(renameat)                             \
    X(remove) X(unlink) X(unlinkat) X(rmdir) X(mkdir) X(mkdirat)               \
    X(renameat2) X(link) X(linkat) X(symlink) X(symlinkat) X(mkdtemp)          \
    X(mkfifo) X(mkfifoat) X(mknod) X(mknodat)                                  \
    X(chmod) X(fchmod) X(fchmodat) X(chown) X(lchown) X(fchown) X(fchownat)    \
    X(utime) X(utimes) X(utimensat) X(futimens)                                \
    X(shm_open) X(shm_unlink) X(shmget) X(semget) X(msgget)                    \
    X(sem_open) X(sem_unlink) X(mq_open) X(mq_unlink)                          \
    X(system) X(popen) X(posix_spawn) X(posix_spawnp) X(_Fork)                 \
    X(execv) X(execve) X(execvp) X(execvpe) X(fexecve) X(execveat)             \
    X(vsyslog) X(__vsyslog_chk)                                                \
    X(bind) X(connect) X(accept) X(accept4) X(sendmmsg)
// clang-format on

// Those that the C library's headers do not declare to us.
ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t size, off64_t offset,
                      size_t room);
ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t size, size_t room, int flags,
                       struct sockaddr *name, socklen_t *name_size);
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *file);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t n,
                            FILE *file);
char *__fgets_chk(char *to, size_t room, int n, FILE *file);
int __open_2(const char *name, int flags);
int __open64_2(const char *name, int flags);
int __openat_2(int folder, const char *name, int flags);
int __openat64_2(int folder, const char *name, int flags);
int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list args);
int __vfprintf_chk(FILE *file, int flag, const char *format, va_list args);
int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
void __syslog_chk(int priority, int flag, const char *format, ...);
void __vsyslog_chk(int priority, int flag, const char *format, va_list args);

#define NUMBER(name) REAL_##name,
enum function { FUNCTIONS(NUMBER) N_FUNCTIONS };

/** The C library's function, with its type. */
#define CALL(name) ((__typeof__(&(name)))wrap_real(REAL_##name))

void *wrap_real(enum function function);

/** Is it in shared memory, and the caller a thread? A number, since compilers
 * take a pointer for a promise to read. */
__attribute__((noinline)) int wrap_is_shared(uintptr_t address);
#define WRAP_IS_SHARED(pointer) wrap_is_shared((uintptr_t)(pointer))

/** Does the runtime run, and is the caller a thread? Else it can have no page
 * that is not here. */
int wrap_is_thread(void);

/** A call on shared memory. */
struct request {
    enum function function;
    int fd;
    int flags;
    off64_t offset;
    FILE *file;
    struct sockaddr *name; ///< of sendto(), recvfrom(); private
    socklen_t *name_size;
    struct msghdr *message; ///< of sendmsg(), recvmsg(); private but the vector
    uintptr_t place;        ///< of the call in the program
};

/**
 * A function that stands before the C library's.
 * @param is_ours  is what it is about shared? Else the C library's is called.
 * @param serve    what is done then, for a `request`
 * @param as       the function that it counts as in reports, and here
 * @param ...      what the request has besides
 */
#define WRAP(type, name, parameters, arguments, is_ours, serve, as, ...)       \
    EXPORTED type name parameters                                              \
    {                                                                          \
        struct request request = {                                             \
            .function = REAL_##as, .place = PLACE, __VA_ARGS__};               \
                                                                               \
        return (is_ours) ? (serve) : CALL(name) arguments;                     \
    }

/** Another name of a function that takes an off_t: here all are of 64 bits. */
#define WRAP_ALIAS(alias_name, name)                                           \
    _Static_assert(sizeof(off_t) == sizeof(off64_t), "off_t has 64 bits");     \
    EXPORTED __typeof__(alias_name) alias_name __attribute__((alias(#name)))

/** Does it bring bytes into memory? */
static inline int wrap_is_input(const struct request *request)
{
    switch (request->function) {
    case REAL_read:
    case REAL_pread:
    case REAL_readv:
    case REAL_preadv:
    case REAL_recv:
    case REAL_recvfrom:
    case REAL_recvmsg:
    case REAL_fread:
    case REAL_fread_unlocked:
        return 1;
    default:
        return 0;
    }
}

/** Note in the thread's record what is being done for it, for reports. */
void wrap_begin(const struct request *request);
void wrap_end(void);

/** How many of n bytes from an address on are in pages of blocks. */
size_t wrap_good_bytes(const char *address, size_t n);

/** @return the bytes that can be moved; 0: EFAULT has been said and set */
size_t wrap_check(const struct request *request, const char *address, size_t n);

/** Copy some bytes into private memory, or from there.
 * @return 1, 0: EFAULT has been said and set */
int wrap_copy_in(const struct request *request, void *private,
                 const void *shared, size_t n);
int wrap_copy_out(const struct request *request, void *shared,
                  const void *private, size_t n);

/** The call of the C library. @param done  bytes of it that have been moved */
ssize_t wrap_transfer(const struct request *request, char *bytes, size_t n,
                      size_t done);

/** Do a call on one shared buffer. @return as the C library; 0 of fread() may be
 * -1 here */
ssize_t wrap_serve(const struct request *request, const void *shared, size_t n);

/** Is the vector, or a part of it, in shared memory? 0 if n is out of range. */
int wrap_vector_is_shared(const struct iovec *parts, int n);

/** Do a call on such a vector; also on one without parts. */
ssize_t wrap_vector_serve(const struct request *request,
                          const struct iovec *parts, int n);

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
