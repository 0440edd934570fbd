// SPDX-License-Identifier: BSD-3-Clause
//
// Names of files, what is behind them, and the folder that names begin in.
#include "on_root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

extern __typeof__(malloc) tmf_malloc;

FRONT_CALL(2, int, truncate, const char *, NAME(a), off_t, b)
FRONT_CALL(1, int, unlink, const char *, NAME(a))
FRONT_CALL(1, int, remove, const char *, NAME(a))
FRONT_CALL(1, int, rmdir, const char *, NAME(a))
FRONT_CALL(1, int, chdir, const char *, NAME(a))
FRONT_CALL(2, int, mkdir, const char *, NAME(a), mode_t, b)
FRONT_CALL(2, int, chmod, const char *, NAME(a), mode_t, b)
FRONT_CALL(2, int, access, const char *, NAME(a), int, b)
FRONT_CALL(2, int, rename, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL(2, int, link, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL(2, int, symlink, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL(2, int, mkfifo, const char *, NAME(a), mode_t, b)
FRONT_CALL(3, int, chown, const char *, NAME(a), uid_t, b, gid_t, c)
FRONT_CALL(3, int, mkdirat, int, a, const char *, NAME(b), mode_t, c)
FRONT_CALL(3, int, unlinkat, int, a, const char *, NAME(b), int, c)
FRONT_CALL(3, int, symlinkat, const char *, NAME(a), int, b, const char *,
           NAME(c))
FRONT_CALL(4, int, renameat, int, a, const char *, NAME(b), int, c,
           const char *, NAME(d))
FRONT_CALL(5, int, renameat2, int, a, const char *, NAME(b), int, c,
           const char *, NAME(d), unsigned, e)
FRONT_CALL(5, int, linkat, int, a, const char *, NAME(b), int, c, const char *,
           NAME(d), int, e)
FRONT_CALL(3, int, mkfifoat, int, a, const char *, NAME(b), mode_t, c)
FRONT_CALL(3, int, mknod, const char *, NAME(a), mode_t, b, dev_t, c)
FRONT_CALL(4, int, mknodat, int, a, const char *, NAME(b), mode_t, c, dev_t, d)
FRONT_CALL(2, int, fchmod, int, a, mode_t, b)
FRONT_CALL(4, int, fchmodat, int, a, const char *, NAME(b), mode_t, c, int, d)
FRONT_CALL(3, int, lchown, const char *, NAME(a), uid_t, b, gid_t, c)
FRONT_CALL(3, int, fchown, int, a, uid_t, b, gid_t, c)
FRONT_CALL(5, int, fchownat, int, a, const char *, NAME(b), uid_t, c, gid_t, d,
           int, e)
FRONT_CALL(2, int, utime, const char *, NAME(a), const struct utimbuf *,
           VALUES(b, 1))
FRONT_CALL(2, int, utimes, const char *, NAME(a), const struct timeval *,
           VALUES(b, 2))
FRONT_CALL(4, int, utimensat, int, a, const char *, NAME(b),
           const struct timespec *, VALUES(c, 2), int, d)
FRONT_CALL(2, int, futimens, int, a, const struct timespec *, VALUES(b, 2))
SAME(truncate64, truncate);

static long make_folder(void *arguments)
{
    char *lent = *(char **)arguments;
    char *name = NAME(lent);
    const int error = mkdtemp(name) == NULL ? -1 : 0;

    strcpy(lent, name);
    return error;
}

FRONT(mkdtemp)
char *tmf_mkdtemp(char *name)
{
    struct front_loan loan = front_lend(name, strlen(name) + 1);
    const long error = front_at_root(make_folder, &loan.at);

    front_end_loan(loan, strlen(name) + 1);
    return error != 0 ? NULL : name;
}

// ---- status

struct stat_call {
    const char *name;
    int fd;
    int follows;
    struct stat *status;
};

static long look_at_file(void *arguments)
{
    const struct stat_call *call = arguments;
    struct stat status;
    int error;

    if (call->name == NULL) {
        error = fstat(call->fd, &status);
    } else if (call->follows) {
        error = stat(NAME(call->name), &status);
    } else {
        error = lstat(NAME(call->name), &status);
    }
    if (error == 0) {
        *call->status = status;
    }
    return error;
}

static int ask_status(struct stat_call call, struct stat *status)
{
    const char *name = call.name;
    struct stat own;
    int error;

    call.status = &own;
    call.name = front_lend_text(name);
    error = (int)front_at_root(look_at_file, &call);
    front_end_text(name, call.name);
    if (error == 0) {
        *status = own;
    }
    return error;
}

FRONT(stat)
int tmf_stat(const char *name, struct stat *status)
{
    return ask_status((struct stat_call){.name = name, .follows = 1}, status);
}

FRONT(lstat)
int tmf_lstat(const char *name, struct stat *status)
{
    return ask_status((struct stat_call){.name = name}, status);
}

FRONT(fstat)
int tmf_fstat(int fd, struct stat *status)
{
    return ask_status((struct stat_call){.fd = fd}, status);
}
SAME(stat64, stat);
SAME(lstat64, lstat);
SAME(fstat64, fstat);

// ---- the folder

struct folder {
    char *to;
    size_t room;
};

static long copy_folder(void *arguments)
{
    const struct folder *call = arguments;
    char *name = getcwd(NULL, 0);
    size_t size;

    if (name == NULL) {
        return -1;
    }
    size = strlen(name) + 1;
    if (size <= call->room) {
        memcpy(call->to, name, size);
    } else {
        errno = ERANGE;
    }
    free(name);
    return size <= call->room ? 0 : -1;
}

FRONT(getcwd)
char *tmf_getcwd(char *to, size_t room)
{
    struct folder call = {.to = to, .room = room};
    struct front_loan loan;
    int error;

    if (to == NULL) {
        call.room = room == 0 ? 4096 : room;
        call.to = tmf_malloc(call.room);
    }
    if (call.to == NULL) {
        return NULL;
    }
    loan = front_borrow(call.to, call.room);
    to = call.to;
    call.to = loan.at;
    error = (int)front_at_root(copy_folder, &call);
    front_end_loan(loan, error != 0 ? 0 : strlen(call.to) + 1);
    return error != 0 ? NULL : to;
}

CHECKED(char *, __getcwd_chk, (char *to, size_t n, size_t room), n, room,
        tmf_getcwd(to, n))
