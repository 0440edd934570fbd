// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for descriptors: before a call that may take long, and by poll(), select() and their
// like. They are on the root, whose workers have other threads to run, perhaps the one that is to
// write: so a thread that waits looks again and again, and sleeps in between.
#include "on_root.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "readiness.h"

enum {
    QUICK_LOOKS = 100,         // with others' turns in between
    LOOK_NS = 2 * 1000 * 1000, // a sleep that gives the worker away
};

// The n-th time in vain.
static void rest(unsigned n)
{
    const struct timespec time = {.tv_nsec = LOOK_NS};

    if (n < QUICK_LOOKS) {
        tm_thread_yield();
    } else {
        nanosleep(&time, NULL);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// The program's signals are for the thread of its handlers; the runtime has some of its own. So
// no call is interrupted by one.
int front_found(int n)
{
    return n < 0 && errno == EINTR ? 0 : n;
}

void front_await(int fd, short events)
{
    const int error = errno;
    struct pollfd entry = {.fd = fd, .events = events};

    if ((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0) {
        for (unsigned n = 0; front_found(poll(&entry, 1, 0)) == 0; n++) {
            rest(n);
        }
    }
    errno = error;
}

size_t front_buffered(const FILE *file)
{
    return (size_t)(file->_IO_read_end - file->_IO_read_ptr);
}

int front_is_slow(FILE *file)
{
    const int error = errno;
    const int fd = fileno(file);
    struct stat state;
    const int is_slow =
        fd >= 0 && fstat(fd, &state) == 0 && !S_ISREG(state.st_mode);

    errno = error;
    return is_slow;
}

void front_await_input(FILE *file)
{
    const int error = errno;
    int fd;

    if (front_buffered(file) > 0) {
        return;
    }
    fd = fileno(file);
    if (fd >= 0) { // others are memory
        front_await(fd, POLLIN);
    }
    errno = error;
}

// ---- poll()

struct poll_call {
    struct pollfd *fds;
    nfds_t n;
    int64_t ns; // -1: for ever
};

static long poll_fds(void *arguments)
{
    const struct poll_call *call = arguments;
    const size_t size = call->n * sizeof *call->fds;
    const int64_t end_ns = now_ns() + call->ns;
    struct pollfd *own = malloc(size + 1);
    int found = 0;

    if (own == NULL) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(own, call->fds, size);
    for (unsigned n = 0; found == 0; n++) {
        found = front_found(poll(own, call->n, 0));
        if (found == 0 && call->ns >= 0 && now_ns() >= end_ns) {
            break;
        }
        if (found == 0) {
            rest(n);
        }
    }
    memcpy(call->fds, own, size);
    free(own);
    return found;
}

static int poll_for(struct pollfd *fds, nfds_t n, int64_t ns)
{
    const size_t size = n * sizeof *fds;
    struct front_loan loan = front_lend(fds, size);
    struct poll_call call = {loan.at, n, ns};
    const int found = (int)front_at_root(poll_fds, &call);

    front_end_loan(loan, found < 0 ? 0 : size);
    return found;
}

static int64_t ns_of(const struct timespec *time)
{
    return time == NULL ? -1 : time->tv_sec * 1000000000ll + time->tv_nsec;
}

FRONT(poll)
int tmf_poll(struct pollfd *fds, nfds_t n, int ms)
{
    return n == 0 ? (int)FRONT_3(poll, NULL, 0, ms)
                  : poll_for(fds, n, ms < 0 ? -1 : ms * 1000000ll);
}

FRONT(ppoll)
int tmf_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *time,
              const sigset_t *mask)
{
    (void)mask; // no call is interrupted
    return poll_for(fds, n, ns_of(time));
}

CHECKED(int, __poll_chk, (struct pollfd * fds, nfds_t n, int ms, size_t room),
        n * sizeof *fds, room, tmf_poll(fds, n, ms))

// ---- select()

struct select_call {
    int n;
    int has[3];
    fd_set sets[3];
    int64_t ns; // -1: for ever
};

static fd_set *set_of(struct select_call *call, int which)
{
    return call->has[which] ? &call->sets[which] : NULL;
}

static long select_fds(void *arguments)
{
    struct select_call *call = arguments;
    const struct select_call asked = *call;
    const int64_t end_ns = now_ns() + asked.ns;
    struct select_call own;
    int found;

    for (unsigned n = 0;; n++) {
        struct timeval none = {0, 0};

        own = asked;
        found = front_found(select(own.n, set_of(&own, 0), set_of(&own, 1),
                                   set_of(&own, 2), &none));
        if (found != 0 || (asked.ns >= 0 && now_ns() >= end_ns)) {
            break;
        }
        rest(n);
    }
    memcpy(call->sets, own.sets, sizeof own.sets);
    return found;
}

static int select_for(int n, fd_set *reads, fd_set *writes, fd_set *errors,
                      int64_t ns)
{
    fd_set *const sets[] = {reads, writes, errors};
    struct select_call call = {.n = n, .ns = ns};
    int found;

    for (int i = 0; i < 3; i++) {
        call.has[i] = sets[i] != NULL;
        if (sets[i] != NULL) {
            call.sets[i] = *sets[i];
        }
    }
    found = (int)front_at_root(select_fds, &call);
    for (int i = 0; i < 3 && found >= 0; i++) {
        if (sets[i] != NULL) {
            *sets[i] = call.sets[i];
        }
    }
    return found;
}

FRONT(select)
int tmf_select(int n, fd_set *reads, fd_set *writes, fd_set *errors,
               struct timeval *time)
{
    const int64_t ns =
        time == NULL ? -1
                     : time->tv_sec * 1000000000ll + time->tv_usec * 1000ll;
    const int64_t began_ns = now_ns();
    const int found = select_for(n, reads, writes, errors, ns);
    int64_t left_ns = ns - (now_ns() - began_ns);

    if (time != NULL) { // as Linux does
        left_ns = left_ns < 0 ? 0 : left_ns;
        *time =
            (struct timeval){left_ns / 1000000000, left_ns / 1000 % 1000000};
    }
    return found;
}

FRONT(pselect)
int tmf_pselect(int n, fd_set *reads, fd_set *writes, fd_set *errors,
                const struct timespec *time, const sigset_t *mask)
{
    (void)mask;
    return select_for(n, reads, writes, errors, ns_of(time));
}
