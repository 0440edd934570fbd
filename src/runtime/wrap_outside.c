// SPDX-License-Identifier: BSD-3-Clause
//
// By these a program changes what is outside of its memory (outside.h); they do what the C library's do.
// A file that is opened only to be read is no change. What the C library calls by itself does not come
// here, nor do system calls that are made without it.
#include "runtime/wrap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/outside.h"

/** A program may have a function of its own of such a name, which is none of C. */
#define WEAK __attribute__((weak)) EXPORTED

#define WRITES "it has opened a file to write:"
#define CHANGES "it has changed a file or a folder:"
#define STARTS "it has started another program:"
#define CONNECTS "it has connected with others"

/** A function that changes a file, or something else. @param subject  its name, or NULL */
#define CHANGE(type, name, parameters, arguments, what, subject)               \
    WEAK type name parameters                                                  \
    {                                                                          \
        outside_note_file(what, subject);                                      \
        return CALL(name) arguments;                                           \
    }
#define CHANGE_OTHER(type, name, parameters, arguments, what, subject)         \
    WEAK type name parameters                                                  \
    {                                                                          \
        outside_note(what, subject);                                           \
        return CALL(name) arguments;                                           \
    }
#define WEAK_ALIAS(alias_name, name)                                           \
    _Static_assert(sizeof(off_t) == sizeof(off64_t), "off_t has 64 bits");     \
    EXPORTED __typeof__(alias_name) alias_name                                 \
        __attribute__((weak, alias(#name)))

// ---- files that are opened

static void note_opening(const char *name, int flags)
{
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0) {
        outside_note_file(WRITES, name);
    }
}

static void note_stream(const char *name, const char *mode)
{
    if (mode[0] != 'r' || strchr(mode, '+') != NULL) {
        outside_note_file(WRITES, name);
    }
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
    note_opening(name, flags);
    return CALL(open)(name, flags, mode);
}

WEAK int openat(int folder, const char *name, int flags, ...)
{
    va_list list;
    mode_t mode;

    va_start(list, flags);
    mode = mode_in(flags, list);
    va_end(list);
    note_opening(name, flags);
    return CALL(openat)(folder, name, flags, mode);
}

WEAK int __open_2(const char *name, int flags)
{
    note_opening(name, flags);
    return CALL(__open_2)(name, flags);
}

WEAK int __openat_2(int folder, const char *name, int flags)
{
    note_opening(name, flags);
    return CALL(__openat_2)(folder, name, flags);
}

WEAK FILE *fopen(const char *name, const char *mode)
{
    note_stream(name, mode);
    return CALL(fopen)(name, mode);
}

WEAK FILE *freopen(const char *name, const char *mode, FILE *file)
{
    note_stream(name, mode);
    return CALL(freopen)(name, mode, file);
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
CHANGE(int, remove, (const char *name), (name), CHANGES, name)
CHANGE(int, unlink, (const char *name), (name), CHANGES, name)
CHANGE(int, unlinkat, (int folder, const char *name, int flags),
       (folder, name, flags), CHANGES, name)
CHANGE(int, rmdir, (const char *name), (name), CHANGES, name)
CHANGE(int, mkdir, (const char *name, mode_t mode), (name, mode), CHANGES, name)
CHANGE(int, mkdirat, (int folder, const char *name, mode_t mode),
       (folder, name, mode), CHANGES, name)
CHANGE(int, link, (const char *from, const char *to), (from, to), CHANGES, to)
CHANGE(int, symlink, (const char *from, const char *to), (from, to), CHANGES,
       to)
CHANGE(int, symlinkat, (const char *from, int folder, const char *to),
       (from, folder, to), CHANGES, to)

CHANGE(int, chmod, (const char *name, mode_t mode), (name, mode), CHANGES, name)
CHANGE(int, chown, (const char *name, uid_t user, gid_t group),
       (name, user, group), CHANGES, name)
CHANGE(int, mkfifo, (const char *name, mode_t mode), (name, mode), CHANGES,
       name)

// ---- others

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
CHANGE_OTHER(int, connect,
             (int fd, const struct sockaddr *name, socklen_t size),
             (fd, name, size), CONNECTS, NULL)
CHANGE_OTHER(int, accept, (int fd, struct sockaddr *name, socklen_t *size),
             (fd, name, size), CONNECTS, NULL)
CHANGE_OTHER(int, accept4,
             (int fd, struct sockaddr *name, socklen_t *size, int flags),
             (fd, name, size, flags), CONNECTS, NULL)

// ---- do they come here?

static __typeof__(open) own_open __attribute__((alias("open")));

// A library that is opened by a program that does not know it stands behind the C library.
__attribute__((constructor)) static void see_whether_they_come(void)
{
    if (dlsym(RTLD_DEFAULT, "open") != (void *)(uintptr_t)own_open) {
        outside_note("what it does to files is not seen here", NULL);
    }
}
