// SPDX-License-Identifier: BSD-3-Clause
//
// Open files by their numbers.
#include "on_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "readiness.h"

// ---- opening

struct open_call {
    int folder;
    const char *name;
    int flags;
    mode_t mode;
};

static long open_file(void *arguments)
{
    const struct open_call *call = arguments;

    return openat(call->folder, NAME(call->name), call->flags, call->mode);
}

static int open_in(int folder, const char *name, int flags, va_list list)
{
    struct open_call call = {.folder = folder, .flags = flags};
    int fd;

    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        call.mode = va_arg(list, mode_t);
    }
    call.name = front_lend_text(name);
    fd = (int)front_at_root(open_file, &call);
    front_end_text(name, call.name);
    return fd;
}

WITH_LIST(open, (const char *name, int flags, ...), flags,
          open_in(AT_FDCWD, name, flags, list))
WITH_LIST(openat, (int folder, const char *name, int flags, ...), flags,
          open_in(folder, name, flags, list))
SAME(open64, open);
SAME(openat64, openat);

int tmf___open_2(const char *name, int flags) __attribute__((weak));
int tmf___open_2(const char *name, int flags)
{
    return tmf_open(name, flags);
}

int tmf___openat_2(int folder, const char *name, int flags)
    __attribute__((weak));
int tmf___openat_2(int folder, const char *name, int flags)
{
    return tmf_openat(folder, name, flags);
}

extern int tmf___openat64_2(int folder, const char *name, int flags)
    __attribute__((weak, alias("tmf___openat_2")));

extern int tmf___open64_2(const char *name, int flags)
    __attribute__((weak, alias("tmf___open_2")));
FRONT_CALL(2, int, creat, const char *, NAME(a), mode_t, b)
SAME(creat64, creat);
FRONT_CALL(1, int, close, int, a)

// ---- reading and writing

// What comes from another thread may take long, and that thread needs a worker, perhaps the
// root's only one.
static ssize_t await_read(int fd, void *to, size_t size)
{
    front_await(fd, POLLIN);
    return read(fd, to, size);
}

static ssize_t await_readv(int fd, const struct iovec *parts, int n)
{
    front_await(fd, POLLIN);
    return readv(fd, parts, n);
}

// A pipe takes what fits without waiting; of more, as much as it is certain to take.
static ssize_t await_write(int fd, const void *from, size_t size)
{
    struct stat state;
    size_t done = 0;
    ssize_t n = 0;

    if (fstat(fd, &state) != 0 || !S_ISFIFO(state.st_mode) ||
        (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0) {
        front_await(fd, POLLOUT);
        return write(fd, from, size);
    }
    while (done < size && n >= 0) {
        const size_t rest = size - done;

        front_await(fd, POLLOUT);
        n = write(fd, (const char *)from + done,
                  rest < PIPE_BUF ? rest : PIPE_BUF);
        done += n > 0 ? (size_t)n : 0;
    }
    return done > 0 || size == 0 ? (ssize_t)done : n;
}

ON_ROOT(3, ssize_t, await_read, int, a, void *, b, size_t, c)
ON_ROOT(3, ssize_t, await_write, int, a, const void *, b, size_t, c)
ON_ROOT(4, ssize_t, pread, int, a, void *, b, size_t, c, off_t, d)
ON_ROOT(4, ssize_t, pwrite, int, a, const void *, b, size_t, c, off_t, d)
ON_ROOT(3, ssize_t, writev, int, a, const struct iovec *, b, int, c)
ON_ROOT(3, ssize_t, await_readv, int, a, const struct iovec *, b, int, c)

static ssize_t end_filled(struct front_loan loan, ssize_t n)
{
    front_end_loan(loan, n < 0 ? 0 : (size_t)n);
    return n;
}

static ssize_t end_read(struct front_loan loan, ssize_t n)
{
    front_end_loan(loan, 0);
    return n;
}

FRONT(read)
ssize_t tmf_read(int fd, void *to, size_t size)
{
    struct front_loan loan = front_borrow(to, size);

    return end_filled(loan, await_read_at_root(fd, loan.at, size));
}

FRONT(write)
ssize_t tmf_write(int fd, const void *from, size_t size)
{
    struct front_loan loan = front_lend(from, size);

    return end_read(loan, await_write_at_root(fd, loan.at, size));
}

FRONT(pread)
ssize_t tmf_pread(int fd, void *to, size_t size, off_t offset)
{
    struct front_loan loan = front_borrow(to, size);

    return end_filled(loan, pread_at_root(fd, loan.at, size, offset));
}

FRONT(pwrite)
ssize_t tmf_pwrite(int fd, const void *from, size_t size, off_t offset)
{
    struct front_loan loan = front_lend(from, size);

    return end_read(loan, pwrite_at_root(fd, loan.at, size, offset));
}

// The parts of a vector, of which each may be on loan; their list is on the program's stack.
static ssize_t move_parts(int fd, const struct iovec *parts, int n,
                          int is_write)
{
    struct front_loan loans[n];
    struct iovec lent[n];
    ssize_t left;
    ssize_t done;

    for (int i = 0; i < n; i++) {
        loans[i] = is_write ? front_lend(parts[i].iov_base, parts[i].iov_len)
                            : front_borrow(parts[i].iov_base, parts[i].iov_len);
        lent[i] = (struct iovec){loans[i].at, parts[i].iov_len};
    }
    done = is_write ? writev_at_root(fd, lent, n)
                    : await_readv_at_root(fd, lent, n);
    left = is_write || done < 0 ? 0 : done;
    for (int i = 0; i < n; i++) {
        size_t filled =
            parts[i].iov_len < (size_t)left ? parts[i].iov_len : (size_t)left;

        front_end_loan(loans[i], filled);
        left -= (ssize_t)filled;
    }
    return done;
}

FRONT(writev)
ssize_t tmf_writev(int fd, const struct iovec *parts, int n)
{
    return n > 0 && n <= IOV_MAX ? move_parts(fd, parts, n, 1)
                                 : writev_at_root(fd, parts, n);
}

FRONT(readv)
ssize_t tmf_readv(int fd, const struct iovec *parts, int n)
{
    return n > 0 && n <= IOV_MAX ? move_parts(fd, parts, n, 0)
                                 : await_readv_at_root(fd, parts, n);
}

// At a place in a file: part by part.
static ssize_t move_parts_at(int fd, const struct iovec *parts, int n,
                             off_t offset, int is_write)
{
    ssize_t done = 0;

    for (int i = 0; i < n; i++) {
        const ssize_t moved = is_write
                                  ? tmf_pwrite(fd, parts[i].iov_base,
                                               parts[i].iov_len, offset + done)
                                  : tmf_pread(fd, parts[i].iov_base,
                                              parts[i].iov_len, offset + done);

        if (moved < 0) {
            return done > 0 ? done : -1;
        }
        done += moved;
        if ((size_t)moved < parts[i].iov_len) {
            break;
        }
    }
    return done;
}

FRONT(preadv)
ssize_t tmf_preadv(int fd, const struct iovec *parts, int n, off_t offset)
{
    return move_parts_at(fd, parts, n, offset, 0);
}

FRONT(pwritev)
ssize_t tmf_pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
    return move_parts_at(fd, parts, n, offset, 1);
}

SAME(preadv64, preadv);
SAME(pwritev64, pwritev);

FRONT_CALL(3, off_t, lseek, int, a, off_t, b, int, c)
FRONT_CALL(2, int, ftruncate, int, a, off_t, b)
FRONT_CALL(1, int, fsync, int, a)
FRONT_CALL(1, int, dup, int, a)
FRONT_CALL(2, int, dup2, int, a, int, b)
FRONT_CALL(3, int, dup3, int, a, int, b, int, c)
FRONT_CALL(1, int, isatty, int, a)
SAME(lseek64, lseek);
SAME(pread64, pread);
SAME(pwrite64, pwrite);
SAME(ftruncate64, ftruncate);

CHECKED(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), n, room,
        tmf_read(fd, to, n))
CHECKED(ssize_t, __pread_chk,
        (int fd, void *to, size_t n, off_t offset, size_t room), n, room,
        tmf_pread(fd, to, n, offset))
CHECKED(ssize_t, __pread64_chk,
        (int fd, void *to, size_t n, off_t offset, size_t room), n, room,
        tmf_pread(fd, to, n, offset))

// ---- fcntl()

struct control {
    int fd;
    int command;
    int is_lock;
    long value;
    struct flock lock;
};

static long control_file(void *arguments)
{
    struct control *call = arguments;
    struct flock lock;
    int result;

    if (!call->is_lock) {
        return fcntl(call->fd, call->command, call->value);
    }
    lock = call->lock;
    result = fcntl(call->fd, call->command, &lock);
    call->lock = lock;
    return result;
}

static int is_lock_command(int command)
{
    return command == F_GETLK || command == F_SETLK || command == F_SETLKW ||
           command == F_OFD_GETLK || command == F_OFD_SETLK ||
           command == F_OFD_SETLKW;
}

static int control(int fd, int command, va_list list)
{
    struct control call = {
        .fd = fd, .command = command, .is_lock = is_lock_command(command)};
    struct flock *lock;
    int result;

    if (!call.is_lock) {
        call.value = va_arg(list, long);
        return (int)front_at_root(control_file, &call);
    }
    lock = va_arg(list, struct flock *);
    call.lock = *lock;
    result = (int)front_at_root(control_file, &call);
    *lock = call.lock;
    return result;
}

WITH_LIST(fcntl, (int fd, int command, ...), command,
          control(fd, command, list))
SAME(fcntl64, fcntl);

// ---- pipes

struct pipe_call {
    int ends[2];
    int flags;
};

static long open_pipe(void *arguments)
{
    struct pipe_call *call = arguments;
    int ends[2];
    int error = pipe2(ends, call->flags);

    if (error == 0) {
        memcpy(call->ends, ends, sizeof ends);
    }
    return error;
}

FRONT(pipe2)
int tmf_pipe2(int ends[2], int flags)
{
    struct pipe_call call = {.flags = flags};
    int error = (int)front_at_root(open_pipe, &call);

    if (error == 0) {
        memcpy(ends, call.ends, sizeof call.ends);
    }
    return error;
}

FRONT(pipe)
int tmf_pipe(int ends[2])
{
    return tmf_pipe2(ends, 0);
}

// ---- files whose names are made

struct temporary {
    char *name;
    int n_behind;
    int flags;
};

static long open_temporary(void *arguments)
{
    struct temporary *call = arguments;
    char *name = NAME(call->name);
    int fd = mkostemps(name, call->n_behind, call->flags);

    strcpy(call->name, name);
    return fd;
}

FRONT(mkostemps)
int tmf_mkostemps(char *name, int n_behind, int flags)
{
    struct front_loan loan = front_lend(name, strlen(name) + 1);
    struct temporary call = {loan.at, n_behind, flags};
    int fd = (int)front_at_root(open_temporary, &call);

    front_end_loan(loan, strlen(name) + 1);
    return fd;
}

FRONT(mkstemps)
int tmf_mkstemps(char *name, int n_behind)
{
    return tmf_mkostemps(name, n_behind, 0);
}

FRONT(mkostemp)
int tmf_mkostemp(char *name, int flags)
{
    return tmf_mkostemps(name, 0, flags);
}

FRONT(mkstemp)
int tmf_mkstemp(char *name)
{
    return tmf_mkostemps(name, 0, 0);
}
SAME(mkstemp64, mkstemp);
SAME(mkstemps64, mkstemps);
SAME(mkostemp64, mkostemp);
SAME(mkostemps64, mkostemps);
