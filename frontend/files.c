// SPDX-License-Identifier: BSD-3-Clause
//
// Files, streams and what else belongs to one process: done on the root, whatever node calls.
// So a FILE * or a descriptor means the same for all threads, and lines come out in the order
// in which they were printed.
//
// Arguments lie on the caller's program stack, which is shared. On the root they are used on
// a private stack: names are copied, since the kernel reads them; buffers are handed on to the
// library's functions of the same name, which expect shared ones; structures that the kernel
// fills are filled in private memory.
#include "front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

// A function of up to four arguments, none of which the kernel looks at: A1 to A4 have
// the types of its parameters.
#define FRONT_CALL_0(type, name)                                               \
    struct name##_call {                                                       \
        type result;                                                           \
    };                                                                         \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        struct name##_call *call = arguments;                                  \
        call->result = name();                                                 \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    type tmf_##name(void)                                                      \
    {                                                                          \
        struct name##_call call;                                               \
        front_at_root(do_##name, &call);                                       \
        return call.result;                                                    \
    }

#define FRONT_CALL_1(type, name, T1, V1)                                       \
    struct name##_call {                                                       \
        type result;                                                           \
        T1 a;                                                                  \
    };                                                                         \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        struct name##_call *call = arguments;                                  \
        T1 a = call->a;                                                        \
        call->result = name(V1);                                               \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    type tmf_##name(T1 a)                                                      \
    {                                                                          \
        struct name##_call call = {.a = a};                                    \
        front_at_root(do_##name, &call);                                       \
        return call.result;                                                    \
    }

#define FRONT_CALL_2(type, name, T1, V1, T2, V2)                               \
    struct name##_call {                                                       \
        type result;                                                           \
        T1 a;                                                                  \
        T2 b;                                                                  \
    };                                                                         \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        struct name##_call *call = arguments;                                  \
        T1 a = call->a;                                                        \
        T2 b = call->b;                                                        \
        call->result = name(V1, V2);                                           \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    type tmf_##name(T1 a, T2 b)                                                \
    {                                                                          \
        struct name##_call call = {.a = a, .b = b};                            \
        front_at_root(do_##name, &call);                                       \
        return call.result;                                                    \
    }

#define FRONT_CALL_3(type, name, T1, V1, T2, V2, T3, V3)                       \
    struct name##_call {                                                       \
        type result;                                                           \
        T1 a;                                                                  \
        T2 b;                                                                  \
        T3 c;                                                                  \
    };                                                                         \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        struct name##_call *call = arguments;                                  \
        T1 a = call->a;                                                        \
        T2 b = call->b;                                                        \
        T3 c = call->c;                                                        \
        call->result = name(V1, V2, V3);                                       \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    type tmf_##name(T1 a, T2 b, T3 c)                                          \
    {                                                                          \
        struct name##_call call = {.a = a, .b = b, .c = c};                    \
        front_at_root(do_##name, &call);                                       \
        return call.result;                                                    \
    }

#define FRONT_CALL_4(type, name, T1, V1, T2, V2, T3, V3, T4, V4)               \
    struct name##_call {                                                       \
        type result;                                                           \
        T1 a;                                                                  \
        T2 b;                                                                  \
        T3 c;                                                                  \
        T4 d;                                                                  \
    };                                                                         \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        struct name##_call *call = arguments;                                  \
        T1 a = call->a;                                                        \
        T2 b = call->b;                                                        \
        T3 c = call->c;                                                        \
        T4 d = call->d;                                                        \
        call->result = name(V1, V2, V3, V4);                                   \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    type tmf_##name(T1 a, T2 b, T3 c, T4 d)                                    \
    {                                                                          \
        struct name##_call call = {.a = a, .b = b, .c = c, .d = d};            \
        front_at_root(do_##name, &call);                                       \
        return call.result;                                                    \
    }

// A copy of a name on the private stack; what is too long is for the kernel to refuse.
#define NAME(text)                                                             \
    ((text) == NULL ? NULL : strcpy(alloca(strlen(text) + 1), (text)))
#define VALUE(x) x

// ---- streams

FRONT_CALL_2(FILE *, fopen, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL_3(FILE *, freopen, const char *, NAME(a), const char *, NAME(b),
             FILE *, c)
FRONT_CALL_2(FILE *, fdopen, int, a, const char *, NAME(b))
FRONT_CALL_2(FILE *, popen, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL_1(int, pclose, FILE *, a)
FRONT_CALL_0(FILE *, tmpfile)
FRONT_CALL_1(int, fclose, FILE *, a)
FRONT_CALL_1(int, fflush, FILE *, a)
FRONT_CALL_1(int, feof, FILE *, a)
FRONT_CALL_1(int, ferror, FILE *, a)
FRONT_CALL_1(int, fileno, FILE *, a)
FRONT_CALL_1(long, ftell, FILE *, a)
FRONT_CALL_1(off_t, ftello, FILE *, a)
FRONT_CALL_3(int, fseek, FILE *, a, long, b, int, c)
FRONT_CALL_3(int, fseeko, FILE *, a, off_t, b, int, c)
FRONT_CALL_1(int, fgetc, FILE *, a)
FRONT_CALL_1(int, getc, FILE *, a)
FRONT_CALL_0(int, getchar)
FRONT_CALL_2(int, ungetc, int, a, FILE *, b)
FRONT_CALL_2(int, fputc, int, a, FILE *, b)
FRONT_CALL_2(int, putc, int, a, FILE *, b)
FRONT_CALL_1(int, putchar, int, a)
FRONT_CALL_1(int, puts, const char *, a)
FRONT_CALL_2(int, fputs, const char *, a, FILE *, b)
FRONT_CALL_3(char *, fgets, char *, a, int, b, FILE *, c)
FRONT_CALL_4(size_t, fread, void *, a, size_t, b, size_t, c, FILE *, d)
FRONT_CALL_4(size_t, fwrite, const void *, a, size_t, b, size_t, c, FILE *, d)

#define FRONT_VOID_1(name, T1)                                                 \
    static long do_##name(void *arguments)                                     \
    {                                                                          \
        name(*(T1 *)arguments);                                                \
        return 0;                                                              \
    }                                                                          \
    FRONT(name)                                                                \
    void tmf_##name(T1 a)                                                      \
    {                                                                          \
        T1 own = a;                                                            \
        front_at_root(do_##name, &own);                                        \
    }

FRONT_VOID_1(rewind, FILE *)
FRONT_VOID_1(clearerr, FILE *)
FRONT_VOID_1(srand, unsigned)
FRONT_VOID_1(srandom, unsigned)
FRONT_VOID_1(srand48, long)

#define SAME(alias_name, name)                                                 \
    extern __typeof__(alias_name) tmf_##alias_name                             \
        __attribute__((weak, alias("tmf_" #name)))

SAME(getc_unlocked, getc);
SAME(fgetc_unlocked, fgetc);
SAME(getchar_unlocked, getchar);
SAME(putc_unlocked, putc);
SAME(fputc_unlocked, fputc);
SAME(putchar_unlocked, putchar);
SAME(fflush_unlocked, fflush);
SAME(fread_unlocked, fread);
SAME(fwrite_unlocked, fwrite);
SAME(fputs_unlocked, fputs);
SAME(fgets_unlocked, fgets);
SAME(feof_unlocked, feof);
SAME(ferror_unlocked, ferror);
SAME(fopen64, fopen);
SAME(freopen64, freopen);
SAME(fseeko64, fseeko);
SAME(ftello64, ftello);

// A buffer of the program's is not used.
struct buffering {
    FILE *file;
    int mode;
};

static long set_buffering(void *arguments)
{
    const struct buffering *buffering = arguments;

    return setvbuf(buffering->file, NULL, buffering->mode, BUFSIZ);
}

FRONT(setvbuf)
int tmf_setvbuf(FILE *file, char *buffer, int mode, size_t size)
{
    struct buffering buffering = {file, mode};

    (void)buffer;
    (void)size;
    return (int)front_at_root(set_buffering, &buffering);
}

FRONT(setbuf)
void tmf_setbuf(FILE *file, char *buffer)
{
    struct buffering buffering = {file, buffer == NULL ? _IONBF : _IOFBF};

    front_at_root(set_buffering, &buffering);
}

FRONT(setlinebuf)
void tmf_setlinebuf(FILE *file)
{
    struct buffering buffering = {file, _IOLBF};

    front_at_root(set_buffering, &buffering);
}

// ---- formatted: what an argument list points to is on the program's stack

struct formatted {
    FILE *file;
    int fd;
    const char *format;
    va_list *list;
};

static long print_file(void *arguments)
{
    struct formatted *call = arguments;
    va_list list;
    int n;

    va_copy(list, *call->list);
    n = vfprintf(call->file, call->format, list);
    va_end(list);
    return n;
}

static long print_fd(void *arguments)
{
    struct formatted *call = arguments;
    va_list list;
    int n;

    va_copy(list, *call->list);
    n = vdprintf(call->fd, call->format, list);
    va_end(list);
    return n;
}

static long scan_file(void *arguments)
{
    struct formatted *call = arguments;
    va_list list;
    int n;

    va_copy(list, *call->list);
    n = vfscanf(call->file, call->format, list);
    va_end(list);
    return n;
}

static int do_formatted(long (*function)(void *), FILE *file, int fd,
                        const char *format, va_list given)
{
    va_list list;
    struct formatted call = {file, fd, format, &list};
    int n;

    va_copy(list, given);
    n = (int)front_at_root(function, &call);
    va_end(list);
    return n;
}

#define FORMATTED(name, parameters, last, function, file, fd)                  \
    __typeof__(name) name __attribute__((weak));                               \
    int name parameters                                                        \
    {                                                                          \
        va_list list;                                                          \
        int n;                                                                 \
                                                                               \
        va_start(list, last);                                                  \
        n = do_formatted(function, file, fd, last, list);                      \
        va_end(list);                                                          \
        return n;                                                              \
    }

int tmf_printf(const char *format, ...);
int tmf_fprintf(FILE *file, const char *format, ...);
int tmf_dprintf(int fd, const char *format, ...);
int tmf_scanf(const char *format, ...);
int tmf_fscanf(FILE *file, const char *format, ...);
int tmf___printf_chk(int flag, const char *format, ...);
int tmf___fprintf_chk(FILE *file, int flag, const char *format, ...);
int tmf___dprintf_chk(int fd, int flag, const char *format, ...);
int tmf___isoc99_scanf(const char *format, ...);
int tmf___isoc99_fscanf(FILE *file, const char *format, ...);

FORMATTED(tmf_printf, (const char *format, ...), format, print_file, stdout, 0)
FORMATTED(tmf_fprintf, (FILE * file, const char *format, ...), format,
          print_file, file, 0)
FORMATTED(tmf_dprintf, (int fd, const char *format, ...), format, print_fd,
          NULL, fd)
FORMATTED(tmf_scanf, (const char *format, ...), format, scan_file, stdin, 0)
FORMATTED(tmf_fscanf, (FILE * file, const char *format, ...), format, scan_file,
          file, 0)
FORMATTED(tmf___isoc99_scanf, (const char *format, ...), format, scan_file,
          stdin, 0)
FORMATTED(tmf___isoc99_fscanf, (FILE * file, const char *format, ...), format,
          scan_file, file, 0)
FORMATTED(tmf___printf_chk, (int flag, const char *format, ...), format,
          print_file, ((void)flag, stdout), 0)
FORMATTED(tmf___fprintf_chk, (FILE * file, int flag, const char *format, ...),
          format, print_file, ((void)flag, file), 0)
FORMATTED(tmf___dprintf_chk, (int fd, int flag, const char *format, ...),
          format, print_fd, NULL, ((void)flag, fd))

FRONT(vprintf)
int tmf_vprintf(const char *format, va_list list)
{
    return do_formatted(print_file, stdout, 0, format, list);
}

FRONT(vfprintf)
int tmf_vfprintf(FILE *file, const char *format, va_list list)
{
    return do_formatted(print_file, file, 0, format, list);
}

int tmf___vfprintf_chk(FILE *file, int flag, const char *format, va_list list)
    __attribute__((weak));
int tmf___vfprintf_chk(FILE *file, int flag, const char *format, va_list list)
{
    (void)flag;
    return do_formatted(print_file, file, 0, format, list);
}

int tmf___vprintf_chk(int flag, const char *format, va_list list)
    __attribute__((weak));
int tmf___vprintf_chk(int flag, const char *format, va_list list)
{
    (void)flag;
    return do_formatted(print_file, stdout, 0, format, list);
}

FRONT(vfscanf)
int tmf_vfscanf(FILE *file, const char *format, va_list list)
{
    return do_formatted(scan_file, file, 0, format, list);
}

static long print_error(void *arguments)
{
    const char *text = *(const char **)arguments;

    perror(text == NULL ? NULL : NAME(text));
    return 0;
}

FRONT(perror)
void tmf_perror(const char *text)
{
    front_at_root(print_error, &text);
}

// ---- lines, and texts that the C library would allocate

extern __typeof__(malloc) tmf_malloc;
extern __typeof__(realloc) tmf_realloc;

static int has_room(char **line, size_t *room, size_t n)
{
    char *larger;

    if (*line != NULL && n <= *room) {
        return 1;
    }
    larger = tmf_realloc(*line, n < 120 ? 120 : 2 * n);
    if (larger == NULL) {
        return 0;
    }
    *line = larger;
    *room = n < 120 ? 120 : 2 * n;
    return 1;
}

struct line {
    FILE *file;
    int end;
    char *text; // private, of the C library
    size_t room;
};

static long read_line(void *arguments)
{
    struct line *line = arguments;
    char *text = NULL;
    size_t room = 0;
    ssize_t n = getdelim(&text, &room, line->end, line->file);

    line->text = text;
    return n;
}

// On the root: the other half of read_line(), which knows no shared memory yet.
struct copy {
    char *to;
    char *from;
    size_t n;
};

static long copy_and_free(void *arguments)
{
    const struct copy *copy = arguments;

    memcpy(copy->to, copy->from, copy->n);
    free(copy->from);
    return 0;
}

FRONT(getdelim)
ssize_t tmf_getdelim(char **text, size_t *room, int end, FILE *file)
{
    struct line line = {.file = file, .end = end};
    ssize_t n = front_at_root(read_line, &line);
    struct copy copy = {.from = line.text, .n = n < 0 ? 0 : (size_t)n + 1};

    if (n >= 0 && !has_room(text, room, (size_t)n + 1)) {
        n = -1;
        copy.n = 0;
    }
    copy.to = *text;
    front_at_root(copy_and_free, &copy);
    return n;
}

extern ssize_t tmf___getdelim(char **text, size_t *room, int end, FILE *file)
    __attribute__((weak, alias("tmf_getdelim")));

FRONT(getline)
ssize_t tmf_getline(char **text, size_t *room, FILE *file)
{
    return tmf_getdelim(text, room, '\n', file);
}

FRONT(vasprintf)
int tmf_vasprintf(char **text, const char *format, va_list given)
{
    va_list list;
    int n;

    va_copy(list, given);
    n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    *text = n < 0 ? NULL : tmf_malloc((size_t)n + 1);
    return *text == NULL ? -1 : vsnprintf(*text, (size_t)n + 1, format, given);
}

FRONT(asprintf)
int tmf_asprintf(char **text, const char *format, ...)
{
    va_list list;
    int n;

    va_start(list, format);
    n = tmf_vasprintf(text, format, list);
    va_end(list);
    return n;
}

// ---- descriptors and names

struct open_call {
    const char *name;
    int flags;
    mode_t mode;
};

static long open_file(void *arguments)
{
    const struct open_call *call = arguments;

    return open(NAME(call->name), call->flags, call->mode);
}

FRONT(open)
int tmf_open(const char *name, int flags, ...)
{
    struct open_call call = {name, flags, 0};

    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_list list;

        va_start(list, flags);
        call.mode = va_arg(list, mode_t);
        va_end(list);
    }
    return (int)front_at_root(open_file, &call);
}
SAME(open64, open);

int tmf___open_2(const char *name, int flags) __attribute__((weak));
int tmf___open_2(const char *name, int flags)
{
    return tmf_open(name, flags);
}

extern int tmf___open64_2(const char *name, int flags)
    __attribute__((weak, alias("tmf___open_2")));

FRONT_CALL_2(int, creat, const char *, NAME(a), mode_t, b)
FRONT_CALL_1(int, close, int, a)
FRONT_CALL_3(ssize_t, read, int, a, void *, b, size_t, c)
FRONT_CALL_3(ssize_t, write, int, a, const void *, b, size_t, c)
FRONT_CALL_4(ssize_t, pread, int, a, void *, b, size_t, c, off_t, d)
FRONT_CALL_4(ssize_t, pwrite, int, a, const void *, b, size_t, c, off_t, d)
FRONT_CALL_3(ssize_t, writev, int, a, const struct iovec *, b, int, c)
FRONT_CALL_3(ssize_t, readv, int, a, const struct iovec *, b, int, c)
FRONT_CALL_3(off_t, lseek, int, a, off_t, b, int, c)
FRONT_CALL_2(int, ftruncate, int, a, off_t, b)
FRONT_CALL_2(int, truncate, const char *, NAME(a), off_t, b)
FRONT_CALL_1(int, fsync, int, a)
FRONT_CALL_1(int, dup, int, a)
FRONT_CALL_2(int, dup2, int, a, int, b)
FRONT_CALL_1(int, isatty, int, a)
FRONT_CALL_1(int, unlink, const char *, NAME(a))
FRONT_CALL_1(int, remove, const char *, NAME(a))
FRONT_CALL_1(int, rmdir, const char *, NAME(a))
FRONT_CALL_1(int, chdir, const char *, NAME(a))
FRONT_CALL_2(int, mkdir, const char *, NAME(a), mode_t, b)
FRONT_CALL_2(int, chmod, const char *, NAME(a), mode_t, b)
FRONT_CALL_2(int, access, const char *, NAME(a), int, b)
FRONT_CALL_2(int, rename, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL_2(int, link, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL_2(int, symlink, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL_1(int, system, const char *, NAME(a))
FRONT_CALL_0(pid_t, getpid)
FRONT_CALL_0(pid_t, getppid)
SAME(lseek64, lseek);
SAME(pread64, pread);
SAME(pwrite64, pwrite);
SAME(ftruncate64, ftruncate);

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

FRONT(stat)
int tmf_stat(const char *name, struct stat *status)
{
    struct stat_call call = {.name = name, .follows = 1, .status = status};

    return (int)front_at_root(look_at_file, &call);
}

FRONT(lstat)
int tmf_lstat(const char *name, struct stat *status)
{
    struct stat_call call = {.name = name, .status = status};

    return (int)front_at_root(look_at_file, &call);
}

FRONT(fstat)
int tmf_fstat(int fd, struct stat *status)
{
    struct stat_call call = {.fd = fd, .status = status};

    return (int)front_at_root(look_at_file, &call);
}

struct pipe_call {
    int *ends;
};

static long open_pipe(void *arguments)
{
    int ends[2];
    int error = pipe(ends);

    if (error == 0) {
        memcpy(((struct pipe_call *)arguments)->ends, ends, sizeof ends);
    }
    return error;
}

FRONT(pipe)
int tmf_pipe(int ends[2])
{
    struct pipe_call call = {ends};

    return (int)front_at_root(open_pipe, &call);
}

struct text_call {
    const char *name;
    char *to;
    size_t room;
};

static long copy_folder(void *arguments)
{
    const struct text_call *call = arguments;
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
    struct text_call call = {.to = to, .room = room};

    if (to == NULL) {
        call.room = room == 0 ? 4096 : room;
        call.to = tmf_malloc(call.room);
    }
    return call.to == NULL || front_at_root(copy_folder, &call) != 0 ? NULL
                                                                     : call.to;
}

static long measure_variable(void *arguments)
{
    const struct text_call *call = arguments;
    const char *value = getenv(NAME(call->name));

    return value == NULL ? -1 : (long)strlen(value) + 1;
}

static long copy_variable(void *arguments)
{
    const struct text_call *call = arguments;
    const char *value = getenv(NAME(call->name));

    if (value == NULL || strlen(value) >= call->room) {
        return -1;
    }
    strcpy(call->to, value);
    return 0;
}

// A shared copy, which nobody frees, as nobody frees the environment.
FRONT(getenv)
char *tmf_getenv(const char *name)
{
    struct text_call call = {.name = name};
    long size = front_at_root(measure_variable, &call);

    if (size < 0) {
        return NULL;
    }
    call.room = (size_t)size;
    call.to = tmf_malloc(call.room);
    return call.to == NULL || front_at_root(copy_variable, &call) != 0
               ? NULL
               : call.to;
}
SAME(secure_getenv, getenv);

// ---- numbers of one process

FRONT_CALL_0(int, rand)
FRONT_CALL_0(long, random)
FRONT_CALL_0(double, drand48)
FRONT_CALL_0(long, lrand48)
FRONT_CALL_0(long, mrand48)

// ---- mappings

struct mapping {
    void *to;
    size_t size;
    int fd;
    off_t offset;
};

static long fill_mapping(void *arguments)
{
    const struct mapping *mapping = arguments;
    size_t done = 0;
    ssize_t n = 1;

    while (done < mapping->size && n > 0) {
        n = pread(mapping->fd, (char *)mapping->to + done, mapping->size - done,
                  mapping->offset + (off_t)done);
        done += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : 0;
}

static void *new_mapping(size_t size)
{
    static const tm_alloc_attr attr = {.name = "mmap"};

    return tm_alloc(size, &attr);
}

static long end_mapping(void *address)
{
    return tm_free(address);
}

FRONT(mmap)
void *tmf_mmap(void *where, size_t size, int protection, int flags, int fd,
               off_t offset)
{
    struct mapping mapping = {.fd = fd, .offset = offset};

    if ((flags & MAP_FIXED) != 0) {
        front_fatal("mmap() with MAP_FIXED is not possible with shared memory");
    }
    if ((flags & MAP_ANONYMOUS) == 0 && (flags & MAP_TYPE) != MAP_PRIVATE &&
        (protection & PROT_WRITE) != 0) {
        front_fatal("mmap() of a file to write it (MAP_SHARED and PROT_WRITE) "
                    "is not possible: use read() and write()");
    }
    (void)where;
    if (size == 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    mapping.size = (size + 4095) / 4096 * 4096;
    mapping.to = (void *)FRONT_1(new_mapping, mapping.size);
    if (mapping.to == NULL) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if ((flags & MAP_ANONYMOUS) == 0 &&
        front_at_root(fill_mapping, &mapping) != 0) {
        FRONT_1(end_mapping, mapping.to);
        return MAP_FAILED;
    }
    return mapping.to;
}
SAME(mmap64, mmap);

// Of a part of one nothing is given back.
FRONT(munmap)
int tmf_munmap(void *address, size_t size)
{
    if (!front_is_shared(address)) {
        return munmap(address, size);
    }
    FRONT_1(end_mapping, address);
    return 0;
}

FRONT(mprotect)
int tmf_mprotect(void *address, size_t size, int protection)
{
    return front_is_shared(address) ? 0 : mprotect(address, size, protection);
}

FRONT(madvise)
int tmf_madvise(void *address, size_t size, int advice)
{
    return front_is_shared(address) && advice != MADV_DONTNEED
               ? 0
               : madvise(address, size, advice);
}

// ---- time and processors

static long count_all_processors(void)
{
    return (long)tm_node_count() * tm_node_workers();
}

FRONT(sysconf)
long tmf_sysconf(int name)
{
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) {
        return FRONT_1(count_all_processors, 0);
    }
    return sysconf(name);
}

FRONT(get_nprocs)
int tmf_get_nprocs(void)
{
    return (int)FRONT_1(count_all_processors, 0);
}

static long sleep_for(const struct timespec *time)
{
    struct timespec own = *time;

    return nanosleep(&own, NULL);
}

FRONT(nanosleep)
int tmf_nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest;
    return (int)FRONT_1(sleep_for, time);
}

static long sleep_until(clockid_t clock, int flags, const struct timespec *time)
{
    struct timespec own = *time;

    return clock_nanosleep(clock, flags, &own, NULL);
}

FRONT(clock_nanosleep)
int tmf_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                        struct timespec *rest)
{
    (void)rest;
    return (int)FRONT_3(sleep_until, clock, flags, time);
}

FRONT(usleep)
int tmf_usleep(useconds_t us)
{
    return (int)FRONT_1(usleep, us);
}

FRONT(sleep)
unsigned tmf_sleep(unsigned s)
{
    return (unsigned)FRONT_1(sleep, s);
}
