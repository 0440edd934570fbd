// SPDX-License-Identifier: BSD-3-Clause
//
// By these a program changes what is outside of its memory (outside.h); they do what the C library's do.
// A file that is opened only to be read is no change, unless it is a pipe, whose bytes are gone then. What the C
// library calls by itself does not come here, nor do system calls that are made without it.
#include "runtime/wrap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <syslog.h>
#include <utime.h>

#include "runtime/outside.h"

/** A program may have a function of its own of such a name, which is none of C. */
#define WEAK __attribute__((weak)) EXPORTED

#define WRITES "it has opened a file to write:"
#define TAKES "it has opened a pipe to read:"
#define CHANGES "it has changed a file or a folder:"
#define SHARES "it has something in common with other processes:"
#define STARTS "it has started another program:"
#define FORKS "it has made a child by fork()"
#define CONNECTS "it has connected with others"
#define LOGS "it has written to the system's log"

/** A function that changes a file, or something else. @param subject  its name, or NULL */
#define CHANGE(type, name, parameters, arguments, what, subject)               \
    WEAK type name parameters                                                  \
    {                                                                          \
        outside_note_file(PLACE, what, subject);                               \
        return CALL(name) arguments;                                           \
    }
#define CHANGE_OTHER(type, name, parameters, arguments, what, subject)         \
    WEAK type name parameters                                                  \
    {                                                                          \
        outside_note(PLACE, what, subject);                                    \
        return CALL(name) arguments;                                           \
    }
#define WEAK_ALIAS(alias_name, name)                                           \
    _Static_assert(sizeof(off_t) == sizeof(off64_t), "off_t has 64 bits");     \
    EXPORTED __typeof__(alias_name) alias_name                                 \
        __attribute__((weak, alias(#name)))

// ---- files that are opened

static void note_opening(uintptr_t place, const char *name, int flags)
{
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0) {
        outside_note_file(place, WRITES, name);
    }
}

static void note_stream(uintptr_t place, const char *name, const char *mode)
{
    if (mode[0] != 'r' || strchr(mode, '+') != NULL) {
        outside_note_file(place, WRITES, name);
    }
}

// What is read there cannot be read again.
static int note_opened(int fd, const char *name)
{
    struct stat state;

    if (fd >= 0 && fstat(fd, &state) == 0 && S_ISFIFO(state.st_mode)) {
        outside_note_file(0, TAKES, name);
    }
    return fd;
}

static FILE *note_opened_stream(FILE *file, const char *name)
{
    (void)note_opened(file != NULL ? fileno(file) : -1, name);
    return file;
}

// The mode of a file that is made; else there is none.
static mode_t mode_in(int flags, va_list list)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE
               ? va_arg(list, mode_t)
               : 0;
}

WEAK int open(const char *name, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_in(flags, list);
    va_end(list);
    note_opening(PLACE, name, flags);
    return note_opened(CALL(open)(name, flags, mode), name);
}

WEAK int openat(int folder, const char *name, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_in(flags, list);
    va_end(list);
    note_opening(PLACE, name, flags);
    return note_opened(CALL(openat)(folder, name, flags, mode), name);
}

WEAK int __open_2(const char *name, int flags)
{
    note_opening(PLACE, name, flags);
    return note_opened(CALL(__open_2)(name, flags), name);
}

WEAK int __openat_2(int folder, const char *name, int flags)
{
    note_opening(PLACE, name, flags);
    return note_opened(CALL(__openat_2)(folder, name, flags), name);
}

WEAK FILE *fopen(const char *name, const char *mode)
{
    note_stream(PLACE, name, mode);
    return note_opened_stream(CALL(fopen)(name, mode), name);
}

WEAK FILE *freopen(const char *name, const char *mode, FILE *file)
{
    note_stream(PLACE, name, mode);
    return note_opened_stream(CALL(freopen)(name, mode, file), name);
}

CHANGE(int, creat, (const char *name, mode_t mode), (name, mode), WRITES, name)
CHANGE(int, mkstemp, (char *name), (name), WRITES, name)
CHANGE(int, mkostemp, (char *name, int flags), (name, flags), WRITES, name)
CHANGE(int, mkstemps, (char *name, int n), (name, n), WRITES, name)
CHANGE(int, mkostemps, (char *name, int n, int flags), (name, n, flags), WRITES,
       name)
CHANGE(int, truncate, (const char *name, off_t size), (name, size), WRITES,
       name)

WEAK_ALIAS(open64, open);
WEAK_ALIAS(openat64, openat);
WEAK_ALIAS(__open64_2, __open_2);
WEAK_ALIAS(__openat64_2, __openat_2);
WEAK_ALIAS(creat64, creat);
WEAK_ALIAS(fopen64, fopen);
WEAK_ALIAS(freopen64, freopen);
WEAK_ALIAS(mkstemp64, mkstemp);
WEAK_ALIAS(mkostemp64, mkostemp);
WEAK_ALIAS(mkstemps64, mkstemps);
WEAK_ALIAS(mkostemps64, mkostemps);
WEAK_ALIAS(truncate64, truncate);

// ---- names

CHANGE(int, rename, (const char *from, const char *to), (from, to), CHANGES, to)
CHANGE(int, renameat,
       (int from_folder, const char *from, int to_folder, const char *to),
       (from_folder, from, to_folder, to), CHANGES, to)
CHANGE(int, renameat2,
       (int from_folder, const char *from, int to_folder, const char *to,
        unsigned flags),
       (from_folder, from, to_folder, to, flags), CHANGES, to)
CHANGE(int, remove, (const char *name), (name), CHANGES, name)
CHANGE(int, unlink, (const char *name), (name), CHANGES, name)
CHANGE(int, unlinkat, (int folder, const char *name, int flags),
       (folder, name, flags), CHANGES, name)
CHANGE(int, rmdir, (const char *name), (name), CHANGES, name)
CHANGE(int, mkdir, (const char *name, mode_t mode), (name, mode), CHANGES, name)
CHANGE(int, mkdirat, (int folder, const char *name, mode_t mode),
       (folder, name, mode), CHANGES, name)
CHANGE(int, link, (const char *from, const char *to), (from, to), CHANGES, to)
CHANGE(int, linkat,
       (int from_folder, const char *from, int to_folder, const char *to,
        int flags),
       (from_folder, from, to_folder, to, flags), CHANGES, to)
CHANGE(int, symlink, (const char *from, const char *to), (from, to), CHANGES,
       to)
CHANGE(int, symlinkat, (const char *from, int folder, const char *to),
       (from, folder, to), CHANGES, to)
CHANGE(char *, mkdtemp, (char *name), (name), CHANGES, name)
CHANGE(int, mkfifo, (const char *name, mode_t mode), (name, mode), CHANGES,
       name)
CHANGE(int, mkfifoat, (int folder, const char *name, mode_t mode),
       (folder, name, mode), CHANGES, name)
CHANGE(int, mknod, (const char *name, mode_t mode, dev_t device),
       (name, mode, device), CHANGES, name)
CHANGE(int, mknodat, (int folder, const char *name, mode_t mode, dev_t device),
       (folder, name, mode, device), CHANGES, name)

// ---- what is known of a file besides its bytes; it may be open only to be read

CHANGE(int, chmod, (const char *name, mode_t mode), (name, mode), CHANGES, name)
CHANGE(int, fchmod, (int fd, mode_t mode), (fd, mode), CHANGES, NULL)
CHANGE(int, fchmodat, (int folder, const char *name, mode_t mode, int flags),
       (folder, name, mode, flags), CHANGES, name)
CHANGE(int, chown, (const char *name, uid_t user, gid_t group),
       (name, user, group), CHANGES, name)
CHANGE(int, lchown, (const char *name, uid_t user, gid_t group),
       (name, user, group), CHANGES, name)
CHANGE(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group),
       CHANGES, NULL)
CHANGE(int, fchownat,
       (int folder, const char *name, uid_t user, gid_t group, int flags),
       (folder, name, user, group, flags), CHANGES, name)
CHANGE(int, utime, (const char *name, const struct utimbuf *times),
       (name, times), CHANGES, name)
CHANGE(int, utimes, (const char *name, const struct timeval times[2]),
       (name, times), CHANGES, name)
CHANGE(int, utimensat,
       (int folder, const char *name, const struct timespec times[2],
        int flags),
       (folder, name, times, flags), CHANGES, name)
CHANGE(int, futimens, (int fd, const struct timespec times[2]), (fd, times),
       CHANGES, NULL)

// ---- what processes have in common, with a name

CHANGE_OTHER(int, shm_open, (const char *name, int flags, mode_t mode),
             (name, flags, mode), SHARES, name)
CHANGE_OTHER(int, shm_unlink, (const char *name), (name), SHARES, name)
CHANGE_OTHER(int, sem_unlink, (const char *name), (name), SHARES, name)
CHANGE_OTHER(int, mq_unlink, (const char *name), (name), SHARES, name)
CHANGE_OTHER(int, shmget, (key_t key, size_t size, int flags),
             (key, size, flags), SHARES, "shmget()")
CHANGE_OTHER(int, semget, (key_t key, int n, int flags), (key, n, flags),
             SHARES, "semget()")
CHANGE_OTHER(int, msgget, (key_t key, int flags), (key, flags), SHARES,
             "msgget()")

WEAK sem_t *sem_open(const char *name, int flags, ...)
{
    va_list list;
    const int is_made = (flags & O_CREAT) != 0;
    mode_t mode;
    unsigned value;

    va_start(list, flags);
    mode = is_made ? va_arg(list, mode_t) : 0;
    value = is_made ? va_arg(list, unsigned) : 0;
    va_end(list);
    outside_note(PLACE, SHARES, name);
    return CALL(sem_open)(name, flags, mode, value);
}

WEAK mqd_t mq_open(const char *name, int flags, ...)
{
    va_list list;
    const int is_made = (flags & O_CREAT) != 0;
    mode_t mode;
    struct mq_attr *attributes;

    va_start(list, flags);
    mode = is_made ? va_arg(list, mode_t) : 0;
    attributes = is_made ? va_arg(list, struct mq_attr *) : NULL;
    va_end(list);
    outside_note(PLACE, SHARES, name);
    return CALL(mq_open)(name, flags, mode, attributes);
}

// ---- other programs

CHANGE_OTHER(int, system, (const char *command), (command), STARTS, command)
CHANGE_OTHER(FILE *, popen, (const char *command, const char *mode),
             (command, mode), STARTS, command)
CHANGE_OTHER(int, posix_spawn,
             (pid_t * pid, const char *path,
              const posix_spawn_file_actions_t *actions,
              const posix_spawnattr_t *attributes, char *const words[],
              char *const environment[]),
             (pid, path, actions, attributes, words, environment), STARTS, path)
CHANGE_OTHER(int, posix_spawnp,
             (pid_t * pid, const char *file,
              const posix_spawn_file_actions_t *actions,
              const posix_spawnattr_t *attributes, char *const words[],
              char *const environment[]),
             (pid, file, actions, attributes, words, environment), STARTS, file)
CHANGE_OTHER(pid_t, _Fork, (void), (), FORKS, NULL)

// The C library's must be left as it was called. One that does what fork() does is a vfork(), too, and
// that is told before the child is there.
WEAK pid_t vfork(void)
{
    return fork();
}

// ---- another program in this process, from which nobody comes back

CHANGE_OTHER(int, execv, (const char *path, char *const words[]), (path, words),
             STARTS, path)
CHANGE_OTHER(int, execve,
             (const char *path, char *const words[], char *const environment[]),
             (path, words, environment), STARTS, path)
CHANGE_OTHER(int, execvp, (const char *file, char *const words[]),
             (file, words), STARTS, file)
CHANGE_OTHER(int, execvpe,
             (const char *file, char *const words[], char *const environment[]),
             (file, words, environment), STARTS, file)
CHANGE_OTHER(int, fexecve,
             (int fd, char *const words[], char *const environment[]),
             (fd, words, environment), STARTS, NULL)
CHANGE_OTHER(int, execveat,
             (int folder, const char *path, char *const words[],
              char *const environment[], int flags),
             (folder, path, words, environment, flags), STARTS, path)

// The words of a call, the first of which has a name, up to NULL. @param words  NULL: count them
// @return how many there are, NULL too
static size_t take_words(char **words, const char *first, va_list *list)
{
    const char *word = first;
    size_t n = 0;

    for (;;) {
        if (words != NULL) {
            words[n] = (char *)(uintptr_t)word;
        }
        n++;
        if (word == NULL) {
            return n;
        }
        word = va_arg(*list, const char *);
    }
}

/** @param call  with `words`, and with `list` behind these */
#define EXEC_OF_LIST(name, call)                                               \
    WEAK int name(const char *path, const char *first, ...)                    \
    {                                                                          \
        va_list list;                                                          \
        size_t n;                                                              \
                                                                               \
        va_start(list, first);                                                 \
        n = take_words(NULL, first, &list);                                    \
        va_end(list);                                                          \
        {                                                                      \
            char *words[n];                                                    \
            int error;                                                         \
                                                                               \
            va_start(list, first);                                             \
            take_words(words, first, &list);                                   \
            error = call;                                                      \
            va_end(list);                                                      \
            return error;                                                      \
        }                                                                      \
    }

EXEC_OF_LIST(execl, execv(path, words))
EXEC_OF_LIST(execlp, execvp(path, words))
EXEC_OF_LIST(execle, execve(path, words, va_arg(list, char *const *)))

// ---- others, by connections, and the system's log; what is sent to a name without one: wrap_socket.c

CHANGE_OTHER(int, bind, (int fd, const struct sockaddr *name, socklen_t size),
             (fd, name, size), CONNECTS, NULL)
CHANGE_OTHER(int, connect,
             (int fd, const struct sockaddr *name, socklen_t size),
             (fd, name, size), CONNECTS, NULL)
CHANGE_OTHER(int, accept, (int fd, struct sockaddr *name, socklen_t *size),
             (fd, name, size), CONNECTS, NULL)
CHANGE_OTHER(int, accept4,
             (int fd, struct sockaddr *name, socklen_t *size, int flags),
             (fd, name, size, flags), CONNECTS, NULL)
CHANGE_OTHER(int, sendmmsg,
             (int fd, struct mmsghdr *messages, unsigned n, int flags),
             (fd, messages, n, flags), CONNECTS, NULL)

WEAK void vsyslog(int priority, const char *format, va_list list)
{
    outside_note(0, LOGS, NULL);
    CALL(vsyslog)(priority, format, list);
}

WEAK void __vsyslog_chk(int priority, int flag, const char *format,
                        va_list list)
{
    outside_note(0, LOGS, NULL);
    CALL(__vsyslog_chk)(priority, flag, format, list);
}

WEAK void syslog(int priority, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsyslog(priority, format, list);
    va_end(list);
}

WEAK void __syslog_chk(int priority, int flag, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    __vsyslog_chk(priority, flag, format, list);
    va_end(list);
}

// ---- do they come here?

// A program of `teamster cc` has an open() of its own, which comes here in the end.
static __typeof__(openat) own_openat __attribute__((alias("openat")));

// A child by fork(), before it is there: what it does is outside of this process.
static void note_child(void)
{
    outside_note(0, FORKS, NULL);
}

// A library that is opened by a program that does not know it stands behind the C library.
__attribute__((constructor)) static void see_whether_they_come(void)
{
    if (dlsym(RTLD_DEFAULT, "openat") != (void *)(uintptr_t)own_openat ||
        pthread_atfork(note_child, NULL, NULL) != 0) {
        outside_note(0, "what it does to files is not seen here", NULL);
    }
}
