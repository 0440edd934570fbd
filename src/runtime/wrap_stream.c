// SPDX-License-Identifier: BSD-3-Clause
// Streams of the C library on shared memory. A stream is ours from the first step
// to the last: it is locked, and since the copying is done by the C library's
// memcpy(), a fault waits in place and lets no other thread of the worker in.
#include "runtime/wrap.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "runtime/node.h"

// ---- blocks of bytes

static int is_locked(const struct request *request)
{
    return request->function != REAL_fread_unlocked &&
           request->function != REAL_fwrite_unlocked;
}

static size_t serve_stream(const struct request *request, const void *shared,
                           size_t size, size_t n)
{
    size_t total;
    ssize_t got;

    if (__builtin_mul_overflow(size, n, &total) || total > SSIZE_MAX) {
        errno = EOVERFLOW;
        return 0;
    }
    if (total == 0) {
        return 0;
    }
    if (!is_locked(request)) {
        got = wrap_serve(request, shared, total);
    } else {
        flockfile(request->file);
        got = wrap_serve(request, shared, total);
        funlockfile(request->file);
    }
    return got < 0 ? 0 : (size_t)got / size;
}

WRAP(size_t, fread, (void *to, size_t size, size_t n, FILE *file),
     (to, size, n, file), WRAP_IS_SHARED(to),
     serve_stream(&request, to, size, n), fread, .fd = -1, .file = file)

WRAP(size_t, fwrite, (const void *from, size_t size, size_t n, FILE *file),
     (from, size, n, file), WRAP_IS_SHARED(from),
     serve_stream(&request, from, size, n), fwrite, .fd = -1, .file = file)

WRAP(size_t, fread_unlocked, (void *to, size_t size, size_t n, FILE *file),
     (to, size, n, file), WRAP_IS_SHARED(to),
     serve_stream(&request, to, size, n), fread_unlocked, .fd = -1,
     .file = file)

WRAP(size_t, fwrite_unlocked,
     (const void *from, size_t size, size_t n, FILE *file),
     (from, size, n, file), WRAP_IS_SHARED(from),
     serve_stream(&request, from, size, n), fwrite_unlocked, .fd = -1,
     .file = file)

// ---- strings

// Its length, if it ends in its block. @return -1: EFAULT has been said and set
static ssize_t length_of(const struct request *request, const char *string)
{
    size_t good = wrap_good_bytes(string, SSIZE_MAX);
    size_t n;

    wrap_begin(request);
    n = strnlen(string, good);
    if (n == good) {
        wrap_check(request, string + good, 1);
    }
    wrap_end();
    return n == good ? -1 : (ssize_t)n;
}

// Also the end of a line, for puts(). @return as these
static int put_string(const struct request *request, const char *string)
{
    int result = EOF;
    ssize_t n;

    flockfile(request->file);
    n = length_of(request, string);
    if (n >= 0 && serve_stream(request, string, 1, (size_t)n) == (size_t)n &&
        (request->function != REAL_puts ||
         putc_unlocked('\n', request->file) != EOF)) {
        result = 1;
    }
    funlockfile(request->file);
    return result;
}

WRAP(int, fputs, (const char *string, FILE *file), (string, file),
     WRAP_IS_SHARED(string), put_string(&request, string), fputs, .fd = -1,
     .file = file)

WRAP(int, puts, (const char *string), (string), WRAP_IS_SHARED(string),
     put_string(&request, string), puts, .fd = -1, .file = stdout)

// The characters of a line, at most n. The stream is locked. @return how many; -1
// if none, or an error after some of them
static ssize_t take_line(FILE *file, char *line, size_t n)
{
    int had_error = ferror_unlocked(file);
    size_t done = 0;
    int c = 0;

    while (done < n && c != '\n') {
        c = getc_unlocked(file);
        if (c == EOF) {
            break;
        }
        line[done++] = (char)c;
    }
    if (c == EOF && (done == 0 || (!had_error && ferror_unlocked(file) &&
                                   errno != EAGAIN))) {
        return -1;
    }
    return (ssize_t)done;
}

static char *serve_line(const struct request *request, char *shared, size_t n)
{
    char *result = NULL;
    struct bounce bounce;
    ssize_t got;

    wrap_begin(request);
    n = wrap_check(request, shared, n);
    if (n > 0 && bounce_open(&bounce, n)) {
        flockfile(request->file);
        got = take_line(request->file, bounce.bytes, n - 1);
        if (got >= 0) {
            bounce.bytes[got] = '\0';
            memcpy(shared, bounce.bytes, (size_t)got + 1);
            result = shared;
        }
        funlockfile(request->file);
        bounce_close(&bounce);
    }
    wrap_end();
    return result;
}

WRAP(char *, fgets, (char *to, int n, FILE *file), (to, n, file),
     n > 0 && WRAP_IS_SHARED(to), serve_line(&request, to, (size_t)n), fgets,
     .fd = -1, .file = file)

// ---- as compiled with _FORTIFY_SOURCE

static int has_room(size_t size, size_t n, size_t room)
{
    size_t total;

    return !__builtin_mul_overflow(size, n, &total) && total <= room;
}

WRAP(size_t, __fread_chk,
     (void *to, size_t room, size_t size, size_t n, FILE *file),
     (to, room, size, n, file), WRAP_IS_SHARED(to) && has_room(size, n, room),
     serve_stream(&request, to, size, n), fread, .fd = -1, .file = file)

WRAP(size_t, __fread_unlocked_chk,
     (void *to, size_t room, size_t size, size_t n, FILE *file),
     (to, room, size, n, file), WRAP_IS_SHARED(to) && has_room(size, n, room),
     serve_stream(&request, to, size, n), fread_unlocked, .fd = -1,
     .file = file)

WRAP(char *, __fgets_chk, (char *to, size_t room, int n, FILE *file),
     (to, room, n, file), n > 0 && (size_t)n <= room && WRAP_IS_SHARED(to),
     serve_line(&request, to, (size_t)n), fgets, .fd = -1, .file = file)
