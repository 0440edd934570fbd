// SPDX-License-Identifier: BSD-3-Clause
//
// What libraries of others call: the C++ library for std::cout and its like, and any shared
// library that the program is linked with. They call the C library by name, and nobody renames
// that: so these functions have the names themselves, and every program is linked with them
// (cli/cc.c). Called in the program's context they do as the program's own calls do; called by
// anybody else they are those that would be called without them. What libraries allocate:
// heap.c.
//
// So files that a library has opened are the program's, on all nodes. Its variables are each
// node's own. openat() is not here: it tells the runtime that calls come to it
// (runtime/wrap_outside.c), which the next one of each name is.
#include "front.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
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

/** A function that does as the program's own call does in its context, else the usual one. */
#define FILES(type, name, parameters, arguments)                               \
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

FILES(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *file),
      (from, size, n, file))
FILES(size_t, fread, (void *to, size_t size, size_t n, FILE *file),
      (to, size, n, file))
FILES(int, putc, (int c, FILE *file), (c, file))
FILES(int, getc, (FILE * file), (file))
FILES(int, ungetc, (int c, FILE *file), (c, file))
FILES(int, fflush, (FILE * file), (file))
FILES(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size))
FILES(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
FILES(ssize_t, writev, (int fd, const struct iovec *parts, int n),
      (fd, parts, n))
FILES(FILE *, fopen, (const char *name, const char *mode), (name, mode))
FILES(FILE *, fopen64, (const char *name, const char *mode), (name, mode))
FILES(FILE *, fdopen, (int fd, const char *mode), (fd, mode))
FILES(int, fclose, (FILE * file), (file))
FILES(int, fileno, (FILE * file), (file))
FILES(off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
FILES(off_t, lseek64, (int fd, off_t offset, int whence), (fd, offset, whence))

// ---- streams

#undef feof
#undef ferror
#undef clearerr
#undef getchar
#undef fread_unlocked
#undef fwrite_unlocked
#undef putc_unlocked
#undef getc_unlocked
#undef fgetc_unlocked
#undef fputc_unlocked
#undef feof_unlocked
#undef ferror_unlocked
FILES(FILE *, freopen, (const char *name, const char *mode, FILE *file),
      (name, mode, file))
FILES(FILE *, tmpfile, (void), ())
FILES(int, fputs, (const char *text, FILE *file), (text, file))
FILES(int, fputc, (int c, FILE *file), (c, file))
FILES(int, fgetc, (FILE * file), (file))
FILES(char *, fgets, (char *to, int size, FILE *file), (to, size, file))
FILES(int, puts, (const char *text), (text))
FILES(int, putchar, (int c), (c))
FILES(int, fseek, (FILE * file, long offset, int whence),
      (file, offset, whence))
FILES(int, fseeko, (FILE * file, off_t offset, int whence),
      (file, offset, whence))
FILES(int, fseeko64, (FILE * file, off_t offset, int whence),
      (file, offset, whence))
FILES(long, ftell, (FILE * file), (file))
FILES(off_t, ftello, (FILE * file), (file))
FILES(off_t, ftello64, (FILE * file), (file))
FILES(int, feof, (FILE * file), (file))
FILES(int, ferror, (FILE * file), (file))
FILES(int, setvbuf, (FILE * file, char *buffer, int mode, size_t size),
      (file, buffer, mode, size))
FILES(ssize_t, getdelim, (char **line, size_t *size, int end, FILE *file),
      (line, size, end, file))
FILES(ssize_t, getline, (char **line, size_t *size, FILE *file),
      (line, size, file))
FILES(int, vfprintf, (FILE * file, const char *format, va_list list),
      (file, format, list))
FILES(int, vprintf, (const char *format, va_list list), (format, list))
FILES(FILE *, freopen64, (const char *name, const char *mode, FILE *file),
      (name, mode, file))
FILES(FILE *, open_memstream, (char **bytes, size_t *size), (bytes, size))
FILES(FILE *, fmemopen, (void *bytes, size_t size, const char *mode),
      (bytes, size, mode))
FILES(FILE *, popen, (const char *command, const char *mode), (command, mode))
FILES(int, pclose, (FILE * file), (file))
FILES(int, vfscanf, (FILE * file, const char *format, va_list list),
      (file, format, list))
FILES(int, vdprintf, (int fd, const char *format, va_list list),
      (fd, format, list))
FILES(int, getchar, (void), ())
FILES(size_t, fwrite_unlocked,
      (const void *from, size_t size, size_t n, FILE *file),
      (from, size, n, file))
FILES(size_t, fread_unlocked, (void *to, size_t size, size_t n, FILE *file),
      (to, size, n, file))
FILES(char *, fgets_unlocked, (char *to, int size, FILE *file),
      (to, size, file))
FILES(int, fputs_unlocked, (const char *text, FILE *file), (text, file))
FILES(int, fputc_unlocked, (int c, FILE *file), (c, file))
FILES(int, fgetc_unlocked, (FILE * file), (file))
FILES(int, putc_unlocked, (int c, FILE *file), (c, file))
FILES(int, getc_unlocked, (FILE * file), (file))
FILES(int, feof_unlocked, (FILE * file), (file))
FILES(int, ferror_unlocked, (FILE * file), (file))
FILES(int, fflush_unlocked, (FILE * file), (file))

/** The same without an answer. */
#define FILES_VOID(name, parameters, arguments)                                \
    extern __typeof__(name) tmf_##name;                                        \
    EXPORTED __typeof__(name) name;                                            \
    void name parameters                                                       \
    {                                                                          \
        static _Atomic(void *) found;                                          \
                                                                               \
        if (front_is_program()) {                                              \
            tmf_##name arguments;                                              \
        } else {                                                               \
            ((__typeof__(&(name)))find_next(&found, #name)) arguments;         \
        }                                                                      \
    }
FILES_VOID(rewind, (FILE * file), (file))
FILES_VOID(clearerr, (FILE * file), (file))
FILES_VOID(perror, (const char *text), (text))
FILES_VOID(setbuf, (FILE * file, char *buffer), (file, buffer))
FILES_VOID(setlinebuf, (FILE * file), (file))

FILES(char *, strdup, (const char *text), (text))
FILES(char *, strndup, (const char *text, size_t most), (text, most))
FILES(int, vasprintf, (char **text, const char *format, va_list list),
      (text, format, list))

/** The same with arguments that are not named. */
#define WITH_MORE(type, name, last, parameters, call)                          \
    EXPORTED type name parameters;                                             \
    type name parameters                                                       \
    {                                                                          \
        va_list list;                                                          \
        type result;                                                           \
                                                                               \
        va_start(list, last);                                                  \
        result = call;                                                         \
        va_end(list);                                                          \
        return result;                                                         \
    }

WITH_MORE(int, fprintf, format, (FILE * file, const char *format, ...),
          vfprintf(file, format, list))
WITH_MORE(int, printf, format, (const char *format, ...), vprintf(format, list))
WITH_MORE(int, asprintf, format, (char **text, const char *format, ...),
          vasprintf(text, format, list))
WITH_MORE(int, __fprintf_chk, format,
          (FILE * file, int flag, const char *format, ...),
          ((void)flag, vfprintf(file, format, list)))
WITH_MORE(int, __printf_chk, format, (int flag, const char *format, ...),
          ((void)flag, vprintf(format, list)))
WITH_MORE(int, __asprintf_chk, format,
          (char **text, int flag, const char *format, ...),
          ((void)flag, vasprintf(text, format, list)))

WITH_MORE(int, fscanf, format, (FILE * file, const char *format, ...),
          vfscanf(file, format, list))
WITH_MORE(int, dprintf, format, (int fd, const char *format, ...),
          vdprintf(fd, format, list))
WITH_MORE(int, __dprintf_chk, format,
          (int fd, int flag, const char *format, ...),
          ((void)flag, vdprintf(fd, format, list)))

/** What libraries call that were compiled so that sizes are checked. */
#define CHECKED(type, name, parameters, usual)                                 \
    EXPORTED type name parameters;                                             \
    type name parameters                                                       \
    {                                                                          \
        return usual;                                                          \
    }

static void check_size(size_t wanted, size_t room)
{
    if (wanted > room) {
        front_fatal("a library has a buffer of %zu bytes for %zu", room,
                    wanted);
    }
}

CHECKED(int, __vfprintf_chk,
        (FILE * file, int flag, const char *format, va_list list),
        ((void)flag, vfprintf(file, format, list)))
CHECKED(int, __vprintf_chk, (int flag, const char *format, va_list list),
        ((void)flag, vprintf(format, list)))
CHECKED(int, __vasprintf_chk,
        (char **text, int flag, const char *format, va_list list),
        ((void)flag, vasprintf(text, format, list)))
CHECKED(int, __vdprintf_chk,
        (int fd, int flag, const char *format, va_list list),
        ((void)flag, vdprintf(fd, format, list)))
CHECKED(ssize_t, __getdelim, (char **line, size_t *size, int end, FILE *file),
        getdelim(line, size, end, file))
CHECKED(ssize_t, __pread_chk,
        (int fd, void *to, size_t size, off_t offset, size_t room),
        (check_size(size, room), pread(fd, to, size, offset)))
CHECKED(ssize_t, __pread64_chk,
        (int fd, void *to, size_t size, off_t offset, size_t room),
        (check_size(size, room), pread64(fd, to, size, offset)))
CHECKED(ssize_t, __recv_chk,
        (int fd, void *to, size_t size, size_t room, int flags),
        (check_size(size, room), recv(fd, to, size, flags)))
CHECKED(int, __poll_chk,
        (struct pollfd * fds, nfds_t n, int timeout_ms, size_t room),
        (check_size(n * sizeof *fds, room), poll(fds, n, timeout_ms)))
CHECKED(ssize_t, __read_chk, (int fd, void *to, size_t size, size_t room),
        (check_size(size, room), read(fd, to, size)))
CHECKED(char *, __fgets_chk, (char *to, size_t room, int size, FILE *file),
        (check_size((size_t)size, room), fgets(to, size, file)))
CHECKED(size_t, __fread_chk,
        (void *to, size_t room, size_t size, size_t n, FILE *file),
        (check_size(size == 0         ? 0
                    : n > room / size ? SIZE_MAX
                                      : 0,
                    room),
         fread(to, size, n, file)))

// ---- descriptors

#define OPENED(name, real)                                                     \
    EXPORTED int name(const char *file, int flags, ...);                       \
    int name(const char *file, int flags, ...)                                 \
    {                                                                          \
        static _Atomic(void *) found;                                          \
        va_list list;                                                          \
        mode_t mode;                                                           \
                                                                               \
        va_start(list, flags);                                                 \
        mode =                                                                 \
            (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;   \
        va_end(list);                                                          \
        if (front_is_program()) {                                              \
            return tmf_open(file, flags, mode);                                \
        }                                                                      \
        return ((__typeof__(&open))find_next(&found, real))(file, flags,       \
                                                            mode);             \
    }
extern __typeof__(open) tmf_open;
OPENED(open, "open")
OPENED(open64, "open64")
CHECKED(int, __open_2, (const char *file, int flags), open(file, flags))
CHECKED(int, __open64_2, (const char *file, int flags), open(file, flags))
FILES(int, creat, (const char *name, mode_t mode), (name, mode))
FILES(int, close, (int fd), (fd))
FILES(ssize_t, pread, (int fd, void *to, size_t size, off_t offset),
      (fd, to, size, offset))
FILES(ssize_t, pread64, (int fd, void *to, size_t size, off_t offset),
      (fd, to, size, offset))
FILES(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t offset),
      (fd, from, size, offset))
FILES(ssize_t, pwrite64, (int fd, const void *from, size_t size, off_t offset),
      (fd, from, size, offset))
FILES(ssize_t, readv, (int fd, const struct iovec *parts, int n),
      (fd, parts, n))
FILES(int, dup, (int fd), (fd))
FILES(int, dup2, (int fd, int other), (fd, other))
FILES(int, ftruncate, (int fd, off_t size), (fd, size))
FILES(int, ftruncate64, (int fd, off_t size), (fd, size))
FILES(int, fsync, (int fd), (fd))
FILES(int, fstat, (int fd, struct stat *what), (fd, what))
FILES(int, fstat64, (int fd, struct stat64 *what), (fd, what))
FILES(int, fchmod, (int fd, mode_t mode), (fd, mode))
FILES(int, dup3, (int fd, int other, int flags), (fd, other, flags))
FILES(ssize_t, preadv, (int fd, const struct iovec *parts, int n, off_t offset),
      (fd, parts, n, offset))
FILES(ssize_t, pwritev,
      (int fd, const struct iovec *parts, int n, off_t offset),
      (fd, parts, n, offset))
FILES(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
FILES(int, isatty, (int fd), (fd))
FILES(int, pipe, (int fds[2]), (fds))
FILES(int, pipe2, (int fds[2], int flags), (fds, flags))

#define COMMAND(name)                                                          \
    extern __typeof__(name) tmf_##name;                                        \
    EXPORTED int name(int fd, int command, ...);                               \
    int name(int fd, int command, ...)                                         \
    {                                                                          \
        static _Atomic(void *) found;                                          \
        va_list list;                                                          \
        long argument;                                                         \
                                                                               \
        va_start(list, command);                                               \
        argument = va_arg(list, long);                                         \
        va_end(list);                                                          \
        if (front_is_program()) {                                              \
            return tmf_##name(fd, command, argument);                          \
        }                                                                      \
        return ((__typeof__(&(name)))find_next(&found, #name))(fd, command,    \
                                                               argument);      \
    }
COMMAND(fcntl)
COMMAND(fcntl64)

// ---- names of files

FILES(int, stat, (const char *name, struct stat *what), (name, what))
FILES(int, stat64, (const char *name, struct stat64 *what), (name, what))
FILES(int, lstat, (const char *name, struct stat *what), (name, what))
FILES(int, lstat64, (const char *name, struct stat64 *what), (name, what))
FILES(int, access, (const char *name, int mode), (name, mode))
FILES(int, unlink, (const char *name), (name))
FILES(int, rename, (const char *from, const char *to), (from, to))
FILES(int, mkdir, (const char *name, mode_t mode), (name, mode))
FILES(int, rmdir, (const char *name), (name))
FILES(int, mkostemp, (char *name, int flags), (name, flags))
FILES(int, mkstemp, (char *name), (name))
FILES(int, mkstemp64, (char *name), (name))

// ---- sockets, and waiting for descriptors

FILES(int, socket, (int domain, int type, int protocol),
      (domain, type, protocol))
FILES(int, socketpair, (int domain, int type, int protocol, int fds[2]),
      (domain, type, protocol, fds))
FILES(int, connect, (int fd, const struct sockaddr *to, socklen_t size),
      (fd, to, size))
FILES(int, bind, (int fd, const struct sockaddr *own, socklen_t size),
      (fd, own, size))
FILES(int, listen, (int fd, int n), (fd, n))
FILES(int, accept, (int fd, struct sockaddr *from, socklen_t *size),
      (fd, from, size))
FILES(int, accept4, (int fd, struct sockaddr *from, socklen_t *size, int flags),
      (fd, from, size, flags))
FILES(int, shutdown, (int fd, int how), (fd, how))
FILES(ssize_t, send, (int fd, const void *from, size_t size, int flags),
      (fd, from, size, flags))
FILES(ssize_t, recv, (int fd, void *to, size_t size, int flags),
      (fd, to, size, flags))
FILES(ssize_t, sendto,
      (int fd, const void *from, size_t size, int flags,
       const struct sockaddr *to, socklen_t to_size),
      (fd, from, size, flags, to, to_size))
FILES(ssize_t, recvfrom,
      (int fd, void *to, size_t size, int flags, struct sockaddr *from,
       socklen_t *from_size),
      (fd, to, size, flags, from, from_size))
FILES(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
      (fd, message, flags))
FILES(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags),
      (fd, message, flags))
FILES(int, getsockopt,
      (int fd, int level, int option, void *value, socklen_t *size),
      (fd, level, option, value, size))
FILES(int, setsockopt,
      (int fd, int level, int option, const void *value, socklen_t size),
      (fd, level, option, value, size))
FILES(int, getsockname, (int fd, struct sockaddr *own, socklen_t *size),
      (fd, own, size))
FILES(int, getpeername, (int fd, struct sockaddr *other, socklen_t *size),
      (fd, other, size))
FILES(int, poll, (struct pollfd * fds, nfds_t n, int timeout_ms),
      (fds, n, timeout_ms))
FILES(int, select,
      (int n, fd_set *readable, fd_set *writable, fd_set *others,
       struct timeval *timeout),
      (n, readable, writable, others, timeout))
FILES(int, ppoll,
      (struct pollfd * fds, nfds_t n, const struct timespec *timeout,
       const sigset_t *mask),
      (fds, n, timeout, mask))
FILES(int, pselect,
      (int n, fd_set *readable, fd_set *writable, fd_set *others,
       const struct timespec *timeout, const sigset_t *mask),
      (n, readable, writable, others, timeout, mask))
FILES(int, epoll_create, (int size), (size))
FILES(int, epoll_create1, (int flags), (flags))
FILES(int, epoll_ctl,
      (int fd, int operation, int other, struct epoll_event *event),
      (fd, operation, other, event))
FILES(int, epoll_wait,
      (int fd, struct epoll_event *events, int n, int timeout_ms),
      (fd, events, n, timeout_ms))
FILES(int, eventfd, (unsigned value, int flags), (value, flags))
FILES(int, timerfd_create, (clockid_t clock, int flags), (clock, flags))
