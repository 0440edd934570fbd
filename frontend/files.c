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
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

// Texts that a call is given, other arguments being left alone.
#define LEND(x)                                                                \
    _Generic((x),                                                              \
        const char *: front_lend_text((const char *)(uintptr_t)(x)),           \
        default: (x))
#define END_LOAN(own, lent)                                                    \
    _Generic((own),                                                            \
        const char *: front_end_text((const char *)(uintptr_t)(own),           \
                                     (const char *)(uintptr_t)(lent)),         \
        default: (void)0)

// A function of up to four arguments, none of which the kernel looks at: T1 to T4 are
// the types of its parameters. ON_ROOT_n() makes NAME_at_root(), FRONT_CALL_n() a function
// that takes the place of NAME.
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

#define ON_ROOT_1(type, name, T1, V1)                                          \
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
    static type name##_at_root(T1 a)                                           \
    {                                                                          \
        struct name##_call call = {.a = LEND(a)};                              \
                                                                               \
        front_at_root(do_##name, &call);                                       \
        END_LOAN(a, call.a);                                                   \
        return call.result;                                                    \
    }

#define FRONT_CALL_1(type, name, T1, V1)                                       \
    ON_ROOT_1(type, name, T1, V1)                                              \
    FRONT(name)                                                                \
    type tmf_##name(T1 a)                                                      \
    {                                                                          \
        return name##_at_root(a);                                              \
    }

#define ON_ROOT_2(type, name, T1, V1, T2, V2)                                  \
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
    static type name##_at_root(T1 a, T2 b)                                     \
    {                                                                          \
        struct name##_call call = {.a = LEND(a), .b = LEND(b)};                \
                                                                               \
        front_at_root(do_##name, &call);                                       \
        END_LOAN(a, call.a);                                                   \
        END_LOAN(b, call.b);                                                   \
        return call.result;                                                    \
    }

#define FRONT_CALL_2(type, name, T1, V1, T2, V2)                               \
    ON_ROOT_2(type, name, T1, V1, T2, V2)                                      \
    FRONT(name)                                                                \
    type tmf_##name(T1 a, T2 b)                                                \
    {                                                                          \
        return name##_at_root(a, b);                                           \
    }

#define ON_ROOT_3(type, name, T1, V1, T2, V2, T3, V3)                          \
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
    static type name##_at_root(T1 a, T2 b, T3 c)                               \
    {                                                                          \
        struct name##_call call = {.a = LEND(a), .b = LEND(b), .c = LEND(c)};  \
                                                                               \
        front_at_root(do_##name, &call);                                       \
        END_LOAN(a, call.a);                                                   \
        END_LOAN(b, call.b);                                                   \
        END_LOAN(c, call.c);                                                   \
        return call.result;                                                    \
    }

#define FRONT_CALL_3(type, name, T1, V1, T2, V2, T3, V3)                       \
    ON_ROOT_3(type, name, T1, V1, T2, V2, T3, V3)                              \
    FRONT(name)                                                                \
    type tmf_##name(T1 a, T2 b, T3 c)                                          \
    {                                                                          \
        return name##_at_root(a, b, c);                                        \
    }

#define ON_ROOT_4(type, name, T1, V1, T2, V2, T3, V3, T4, V4)                  \
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
    static type name##_at_root(T1 a, T2 b, T3 c, T4 d)                         \
    {                                                                          \
        struct name##_call call = {                                            \
            .a = LEND(a), .b = LEND(b), .c = LEND(c), .d = LEND(d)};           \
                                                                               \
        front_at_root(do_##name, &call);                                       \
        END_LOAN(a, call.a);                                                   \
        END_LOAN(b, call.b);                                                   \
        END_LOAN(c, call.c);                                                   \
        END_LOAN(d, call.d);                                                   \
        return call.result;                                                    \
    }

#define FRONT_CALL_4(type, name, T1, V1, T2, V2, T3, V3, T4, V4)               \
    ON_ROOT_4(type, name, T1, V1, T2, V2, T3, V3, T4, V4)                      \
    FRONT(name)                                                                \
    type tmf_##name(T1 a, T2 b, T3 c, T4 d)                                    \
    {                                                                          \
        return name##_at_root(a, b, c, d);                                     \
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
ON_ROOT_3(char *, fgets, char *, a, int, b, FILE *, c)
ON_ROOT_4(size_t, fread, void *, a, size_t, b, size_t, c, FILE *, d)
ON_ROOT_4(size_t, fwrite, const void *, a, size_t, b, size_t, c, FILE *, d)

FRONT(fgets)
char *tmf_fgets(char *to, int size, FILE *file)
{
    struct front_loan loan = front_borrow(to, size > 0 ? (size_t)size : 1);
    char *text = fgets_at_root(loan.at, size, file);

    front_end_loan(loan, text == NULL ? 0 : strlen(text) + 1);
    return text == NULL ? NULL : to;
}

FRONT(fread)
size_t tmf_fread(void *to, size_t size, size_t n, FILE *file)
{
    struct front_loan loan = front_borrow(to, size * n);
    size_t done = fread_at_root(loan.at, size, n, file);

    front_end_loan(loan, size * done);
    return done;
}

FRONT(fwrite)
size_t tmf_fwrite(const void *from, size_t size, size_t n, FILE *file)
{
    struct front_loan loan = front_lend(from, size * n);
    size_t done = fwrite_at_root(loan.at, size, n, file);

    front_end_loan(loan, 0);
    return done;
}

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

// ---- formatted: an argument list may point to what only the caller's node has, so what is
// printed is made there

struct scanned {
    FILE *file;
    const char *format;
    va_list *list;
};

struct text {
    FILE *file;
    int fd;
    const char *bytes;
    size_t n;
};

static long print_file(void *arguments)
{
    const struct text *text = arguments;

    return fwrite(text->bytes, 1, text->n, text->file) == text->n ? 0 : -1;
}

static long print_fd(void *arguments)
{
    const struct text *text = arguments;
    size_t done = 0;
    ssize_t n = 1;

    while (done < text->n && n > 0) {
        n = write(text->fd, text->bytes + done, text->n - done);
        done += n > 0 ? (size_t)n : 0;
    }
    return n > 0 ? 0 : -1;
}

static int print_text(long (*function)(void *), struct text *text)
{
    return text->n == 0 || front_at_root(function, text) == 0 ? (int)text->n
                                                              : -1;
}

static int do_print(long (*function)(void *), FILE *file, int fd,
                    const char *format, va_list given)
{
    char room[512]; // shared, as the program's stack is
    struct text text = {.file = file, .fd = fd, .bytes = room};
    char *larger;
    va_list list;
    int n;

    va_copy(list, given);
    n = vsnprintf(room, sizeof room, format, list);
    va_end(list);
    text.n = n < 0 ? 0 : (size_t)n;
    if (n < (int)sizeof room) {
        return n < 0 ? n : print_text(function, &text);
    }
    larger = front_allocate(text.n + 1);
    if (larger == NULL) {
        return -1;
    }
    vsnprintf(larger, text.n + 1, format, given);
    text.bytes = larger;
    n = print_text(function, &text);
    front_free(larger);
    return n;
}

static long scan_file(void *arguments)
{
    struct scanned *call = arguments;
    va_list list;
    int n;

    va_copy(list, *call->list);
    n = vfscanf(call->file, call->format, list);
    va_end(list);
    return n;
}

static int do_scan(FILE *file, const char *format, va_list given)
{
    va_list list;
    struct scanned call = {file, front_lend_text(format), &list};
    int n;

    va_copy(list, given);
    n = (int)front_at_root(scan_file, &call);
    va_end(list);
    front_end_text(format, call.format);
    return n;
}

#define WITH_LIST(name, parameters, last, call)                                \
    int tmf_##name parameters __attribute__((weak));                           \
    int tmf_##name parameters                                                  \
    {                                                                          \
        va_list list;                                                          \
        int n;                                                                 \
                                                                               \
        va_start(list, last);                                                  \
        n = call;                                                              \
        va_end(list);                                                          \
        return n;                                                              \
    }

#define LISTED(name, parameters, call)                                         \
    int tmf_##name parameters __attribute__((weak));                           \
    int tmf_##name parameters                                                  \
    {                                                                          \
        return call;                                                           \
    }

#define PRINT(file) do_print(print_file, file, 0, format, list)
#define PRINT_FD(fd) do_print(print_fd, NULL, fd, format, list)
#define SCAN(file) do_scan(file, format, list)

WITH_LIST(printf, (const char *format, ...), format, PRINT(stdout))
WITH_LIST(fprintf, (FILE * file, const char *format, ...), format, PRINT(file))
WITH_LIST(dprintf, (int fd, const char *format, ...), format, PRINT_FD(fd))
WITH_LIST(scanf, (const char *format, ...), format, SCAN(stdin))
WITH_LIST(fscanf, (FILE * file, const char *format, ...), format, SCAN(file))
LISTED(vprintf, (const char *format, va_list list), PRINT(stdout))
LISTED(vfprintf, (FILE * file, const char *format, va_list list), PRINT(file))
LISTED(vdprintf, (int fd, const char *format, va_list list), PRINT_FD(fd))
LISTED(vscanf, (const char *format, va_list list), SCAN(stdin))
LISTED(vfscanf, (FILE * file, const char *format, va_list list), SCAN(file))

// The same by the names that the C library's headers put in their place.
WITH_LIST(__printf_chk, (int flag, const char *format, ...), format,
          ((void)flag, PRINT(stdout)))
WITH_LIST(__fprintf_chk, (FILE * file, int flag, const char *format, ...),
          format, ((void)flag, PRINT(file)))
WITH_LIST(__dprintf_chk, (int fd, int flag, const char *format, ...), format,
          ((void)flag, PRINT_FD(fd)))
LISTED(__vprintf_chk, (int flag, const char *format, va_list list),
       ((void)flag, PRINT(stdout)))
LISTED(__vfprintf_chk,
       (FILE * file, int flag, const char *format, va_list list),
       ((void)flag, PRINT(file)))
LISTED(__vdprintf_chk, (int fd, int flag, const char *format, va_list list),
       ((void)flag, PRINT_FD(fd)))

#define SCANS(prefix)                                                          \
    WITH_LIST(prefix##_scanf, (const char *format, ...), format, SCAN(stdin))  \
    WITH_LIST(prefix##_fscanf, (FILE * file, const char *format, ...), format, \
              SCAN(file))                                                      \
    LISTED(prefix##_vscanf, (const char *format, va_list list), SCAN(stdin))   \
    LISTED(prefix##_vfscanf, (FILE * file, const char *format, va_list list),  \
           SCAN(file))

SCANS(__isoc99)
SCANS(__isoc23)

static long print_error(void *arguments)
{
    const char *text = *(const char **)arguments;

    perror(text == NULL ? NULL : NAME(text));
    return 0;
}

FRONT(perror)
void tmf_perror(const char *text)
{
    const char *lent = front_lend_text(text);

    front_at_root(print_error, &lent);
    front_end_text(text, lent);
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

FRONT_CALL_2(int, creat, const char *, NAME(a), mode_t, b)
FRONT_CALL_1(int, close, int, a)
ON_ROOT_3(ssize_t, read, int, a, void *, b, size_t, c)
ON_ROOT_3(ssize_t, write, int, a, const void *, b, size_t, c)
ON_ROOT_4(ssize_t, pread, int, a, void *, b, size_t, c, off_t, d)
ON_ROOT_4(ssize_t, pwrite, int, a, const void *, b, size_t, c, off_t, d)
ON_ROOT_3(ssize_t, writev, int, a, const struct iovec *, b, int, c)
ON_ROOT_3(ssize_t, readv, int, a, const struct iovec *, b, int, c)

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

    return end_filled(loan, read_at_root(fd, loan.at, size));
}

FRONT(write)
ssize_t tmf_write(int fd, const void *from, size_t size)
{
    struct front_loan loan = front_lend(from, size);

    return end_read(loan, write_at_root(fd, loan.at, size));
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
    done = is_write ? writev_at_root(fd, lent, n) : readv_at_root(fd, lent, n);
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
                                 : readv_at_root(fd, parts, n);
}
FRONT_CALL_3(off_t, lseek, int, a, off_t, b, int, c)
FRONT_CALL_2(int, ftruncate, int, a, off_t, b)
FRONT_CALL_2(int, truncate, const char *, NAME(a), off_t, b)
FRONT_CALL_1(int, fsync, int, a)
FRONT_CALL_1(int, dup, int, a)
FRONT_CALL_2(int, dup2, int, a, int, b)
FRONT_CALL_3(int, dup3, int, a, int, b, int, c)
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

// ---- names that the C library's headers put in place of others: _FORTIFY_SOURCE

#define CHECKED(type, name, parameters, size, room, call)                      \
    type tmf_##name parameters __attribute__((weak));                          \
    type tmf_##name parameters                                                 \
    {                                                                          \
        if ((size_t)(size) > (room)) {                                         \
            front_fatal("%s(): %zu bytes for a buffer of %zu", #name,          \
                        (size_t)(size), (size_t)(room));                       \
        }                                                                      \
        return call;                                                           \
    }

CHECKED(char *, __fgets_chk, (char *to, size_t room, int n, FILE *file), n,
        room, tmf_fgets(to, n, file))
CHECKED(char *, __fgets_unlocked_chk,
        (char *to, size_t room, int n, FILE *file), n, room,
        tmf_fgets(to, n, file))
CHECKED(size_t, __fread_chk,
        (void *to, size_t room, size_t size, size_t n, FILE *file), size *n,
        room, tmf_fread(to, size, n, file))
CHECKED(size_t, __fread_unlocked_chk,
        (void *to, size_t room, size_t size, size_t n, FILE *file), size *n,
        room, tmf_fread(to, size, n, file))
CHECKED(ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), n, room,
        tmf_read(fd, to, n))
CHECKED(ssize_t, __pread_chk,
        (int fd, void *to, size_t n, off_t offset, size_t room), n, room,
        tmf_pread(fd, to, n, offset))
CHECKED(ssize_t, __pread64_chk,
        (int fd, void *to, size_t n, off_t offset, size_t room), n, room,
        tmf_pread(fd, to, n, offset))
CHECKED(char *, __getcwd_chk, (char *to, size_t n, size_t room), n, room,
        tmf_getcwd(to, n))

LISTED(__vasprintf_chk,
       (char **text, int flag, const char *format, va_list list),
       ((void)flag, tmf_vasprintf(text, format, list)))
WITH_LIST(__asprintf_chk, (char **text, int flag, const char *format, ...),
          format, ((void)flag, tmf_vasprintf(text, format, list)))

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
    struct text_call call = {.name = front_lend_text(name)};
    long size = front_at_root(measure_variable, &call);

    if (size >= 0) {
        call.room = (size_t)size;
        call.to = tmf_malloc(call.room);
    }
    if (call.to != NULL && front_at_root(copy_variable, &call) != 0) {
        call.to = NULL;
    }
    front_end_text(name, call.name);
    return call.to;
}
SAME(secure_getenv, getenv);

// ---- numbers of one process

FRONT_CALL_0(int, rand)
FRONT_CALL_0(long, random)
FRONT_CALL_0(double, drand48)
FRONT_CALL_0(long, lrand48)
FRONT_CALL_0(long, mrand48)

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
