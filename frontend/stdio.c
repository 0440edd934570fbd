// SPDX-License-Identifier: BSD-3-Clause
//
// Streams of the C library: opening, bytes, lines, places and buffering. What is formatted:
// formatted.c. Libraries' calls: libraries.c.
#include "on_root.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "readiness.h"

extern __typeof__(realloc) tmf_realloc;

// What reads waits first, if nothing is there yet. Of pipes and the like no more is asked for than
// has come: the C library would wait for the rest without giving the worker away.
static int await_fgetc(FILE *file)
{
    front_await_input(file);
    return fgetc(file);
}

static char *await_fgets(char *to, int size, FILE *file)
{
    int n = 0;
    int byte = 0;

    if (!front_is_slow(file)) {
        return fgets(to, size, file);
    }
    while (n < size - 1 && byte != '\n') {
        byte = await_fgetc(file);
        if (byte == EOF) {
            break;
        }
        to[n++] = (char)byte;
    }
    if (n == 0 || ferror(file)) {
        return NULL;
    }
    to[n] = '\0';
    return to;
}

static size_t await_fread(void *to, size_t size, size_t n, FILE *file)
{
    const size_t all = size * n;
    char *at = to;
    size_t done = 0;

    if (!front_is_slow(file)) {
        return fread(to, size, n, file);
    }
    while (done < all) {
        const int byte = await_fgetc(file);
        const size_t there = front_buffered(file);

        if (byte == EOF) {
            break;
        }
        at[done++] = (char)byte;
        done +=
            fread(at + done, 1, there < all - done ? there : all - done, file);
    }
    return all == 0 ? 0 : done / size;
}

// @param[out] text  of malloc(). @return its bytes without the NUL, -1 at the end
static ssize_t await_getdelim(char **text, size_t *room, int end, FILE *file)
{
    ssize_t n = 0;
    int byte = EOF;

    if (!front_is_slow(file)) {
        return getdelim(text, room, end, file);
    }
    do {
        byte = await_fgetc(file);
        if ((size_t)n + 2 > *room) {
            *room = 2 * *room + 120;
            *text = realloc(*text, *room);
            if (*text == NULL) {
                errno = ENOMEM;
                return -1;
            }
        }
        if (byte != EOF) {
            (*text)[n++] = (char)byte;
        }
    } while (byte != EOF && byte != end);
    (*text)[n] = '\0';
    return n > 0 ? n : -1;
}

#define fgetc(...) await_fgetc(__VA_ARGS__)
#undef getc
#define getc(...) await_fgetc(__VA_ARGS__)
#undef getchar
#define getchar(...) await_fgetc(stdin)
#define fgets(...) await_fgets(__VA_ARGS__)
#define fread(...) await_fread(__VA_ARGS__)

FRONT_CALL(2, FILE *, fopen, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL(3, FILE *, freopen, const char *, NAME(a), const char *, NAME(b),
           FILE *, c)
FRONT_CALL(2, FILE *, fdopen, int, a, const char *, NAME(b))
FRONT_CALL(2, FILE *, popen, const char *, NAME(a), const char *, NAME(b))
FRONT_CALL(1, int, pclose, FILE *, a)
FRONT_CALL_0(FILE *, tmpfile)
FRONT_CALL(3, FILE *, fmemopen, void *, a, size_t, b, const char *, NAME(c))
FRONT_CALL(1, int, fclose, FILE *, a)
FRONT_CALL(1, int, fflush, FILE *, a)
FRONT_CALL(1, int, feof, FILE *, a)
FRONT_CALL(1, int, ferror, FILE *, a)
FRONT_CALL(1, int, fileno, FILE *, a)
FRONT_CALL(1, long, ftell, FILE *, a)
FRONT_CALL(1, off_t, ftello, FILE *, a)
FRONT_CALL(3, int, fseek, FILE *, a, long, b, int, c)
FRONT_CALL(3, int, fseeko, FILE *, a, off_t, b, int, c)
FRONT_CALL(1, int, fgetc, FILE *, a)
FRONT_CALL(1, int, getc, FILE *, a)
FRONT_CALL_0(int, getchar)
FRONT_CALL(2, int, ungetc, int, a, FILE *, b)
FRONT_CALL(2, int, fputc, int, a, FILE *, b)
FRONT_CALL(2, int, putc, int, a, FILE *, b)
FRONT_CALL(1, int, putchar, int, a)
FRONT_CALL(1, int, puts, const char *, a)
FRONT_CALL(2, int, fputs, const char *, a, FILE *, b)
ON_ROOT(3, char *, fgets, char *, a, int, b, FILE *, c)
ON_ROOT(4, size_t, fread, void *, a, size_t, b, size_t, c, FILE *, d)
ON_ROOT(4, size_t, fwrite, const void *, a, size_t, b, size_t, c, FILE *, d)
FRONT_VOID_1(rewind, FILE *)
FRONT_VOID_1(clearerr, FILE *)

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

// ---- buffering: a buffer of the program's is not used

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

// ---- memory that the C library makes longer as it is written

FRONT(open_memstream)
FILE *tmf_open_memstream(char **text, size_t *size)
{
    if (!front_is_on_root()) {
        front_fatal("open_memstream() in a thread of node %u: it is possible "
                    "on node 0, where main() is; fmemopen() on all",
                    tm_node_self());
    }
    return (FILE *)FRONT_2(open_memstream, text, size);
}

// ---- lines, which the C library would allocate

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
    ssize_t n = await_getdelim(&text, &room, line->end, line->file);

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

// ---- names of _FORTIFY_SOURCE

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
