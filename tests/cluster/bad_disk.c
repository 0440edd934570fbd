// SPDX-License-Identifier: BSD-3-Clause
//
// A disk that fails, for tests: with LD_PRELOAD this library stands before
// liburing, which it says is refused, and before the C library's pwritev() and
// preadv(), by which swap files are then written and read. From the N-th call on
// these fail with EIO: BAD_DISK_OUT=N, BAD_DISK_IN=N. BAD_DISK_TEAR=N: from the N-th
// on, writes leave the second half of their last page as it was, and succeed.
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct io_uring;

typedef ssize_t call_fn(int fd, const struct iovec *parts, int n, off_t offset);

int io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags);

int io_uring_queue_init(unsigned n, struct io_uring *ring, unsigned flags)
{
    (void)n;
    (void)ring;
    (void)flags;
    return -EPERM;
}

static int fails(const char *variable, _Atomic long *n_calls)
{
    const char *text = getenv(variable);

    return text != NULL && atomic_fetch_add(n_calls, 1) + 1 >= atol(text);
}

// All but half a page of it.
static ssize_t tear(call_fn *real, int fd, const struct iovec *parts, int n,
                    off_t offset)
{
    enum { PARTS_MAX = 1024, HALF = 2048 };
    struct iovec torn[PARTS_MAX];
    ssize_t result;

    if (n < 1 || n > PARTS_MAX) {
        abort();
    }
    memcpy(torn, parts, (size_t)n * sizeof *parts);
    torn[n - 1].iov_len -= HALF;
    result = real(fd, torn, n, offset);
    return result < 0 ? result : result + HALF;
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
    static _Atomic long n_calls;
    static _Atomic long n_tears;
    call_fn *real = (call_fn *)dlsym(RTLD_NEXT, "pwritev");

    if (fails("BAD_DISK_OUT", &n_calls)) {
        errno = EIO;
        return -1;
    }
    if (fails("BAD_DISK_TEAR", &n_tears)) {
        return tear(real, fd, parts, n, offset);
    }
    return real(fd, parts, n, offset);
}

ssize_t preadv(int fd, const struct iovec *parts, int n, off_t offset)
{
    static _Atomic long n_calls;
    call_fn *real = (call_fn *)dlsym(RTLD_NEXT, "preadv");

    if (fails("BAD_DISK_IN", &n_calls)) {
        errno = EIO;
        return -1;
    }
    return real(fd, parts, n, offset);
}
