// SPDX-License-Identifier: BSD-3-Clause
//
// printf() and its like. The C library reads the strings of %s itself, and waits in
// place for pages that are not here. But a long string it then hands to the kernel
// as it is, and a page of it may have gone again: another node has written
// something else in the page. The output would be lost. So what has %s is formatted
// into private memory first, and written from there.
//
// Not for wide characters; nor does syslog() come here, nor err(), nor C++ streams.
#include "runtime/wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int __vsnprintf_chk(char *to, size_t size, int flag, size_t room,
                    const char *format, va_list args);

/** Where a text goes. */
struct output {
    FILE *file; ///< NULL: to fd
    int fd;
    int flag; ///< of the functions that check; 0: they do not
};

static int takes_string(const char *format)
{
    const char *at = format;

    while ((at = strchr(at, '%')) != NULL) {
        at++;
        at += strspn(at, "-+ #0'I123456789.*$hlLqjzt");
        if (*at == 's') {
            return 1;
        }
        at += *at != '\0';
    }
    return 0;
}

static int pass_on(const struct output *output, const char *format,
                   va_list args)
{
    return output->file != NULL
               ? CALL(__vfprintf_chk)(output->file, output->flag, format, args)
               : CALL(__vdprintf_chk)(output->fd, output->flag, format, args);
}

static int format_to(const struct output *output, char *to, size_t size,
                     const char *format, va_list args)
{
    va_list copy;
    int n;

    va_copy(copy, args);
    n = __vsnprintf_chk(to, size, output->flag, size, format, copy);
    va_end(copy);
    return n;
}

// All of it, as the C library does. @return 1, 0 on an error
static int write_all(const struct output *output, const char *bytes, size_t n)
{
    size_t done = 0;

    if (output->file != NULL) {
        return n == 0 || CALL(fwrite)(bytes, 1, n, output->file) == n;
    }
    while (done < n) {
        ssize_t got = CALL(write)(output->fd, bytes + done, n - done);

        if (got < 0) {
            return 0;
        }
        done += (size_t)got;
    }
    return 1;
}

// @return how many bytes of the text there are, less than n if they need more room
static int fit(int n, size_t room)
{
    return n >= 0 && (size_t)n >= room ? (int)(room - 1) : n;
}

static int print(const struct output *output, const char *format, va_list args)
{
    struct bounce bounce = {.bytes = bounce.small};
    size_t room = sizeof bounce.small;
    int n;

    if (!wrap_is_thread() || !takes_string(format)) {
        return pass_on(output, format, args);
    }
    n = format_to(output, bounce.bytes, room, format, args);
    if (n != fit(n, room)) {
        room = (size_t)n + 1;
        if (!bounce_open(&bounce, room)) {
            return -1;
        }
        // Meanwhile another thread may have made a string longer: it is cut.
        n = fit(format_to(output, bounce.bytes, room, format, args), room);
    }
    if (n >= 0 && !write_all(output, bounce.bytes, (size_t)n)) {
        n = -1;
    }
    bounce_close(&bounce);
    return n;
}

static int print_to(FILE *file, int fd, int flag, const char *format,
                    va_list args)
{
    struct output output = {.file = file, .fd = fd, .flag = flag};

    return print(&output, format, args);
}

EXPORTED int vfprintf(FILE *file, const char *format, va_list args)
{
    return print_to(file, -1, 0, format, args);
}

EXPORTED int vprintf(const char *format, va_list args)
{
    return print_to(stdout, -1, 0, format, args);
}

EXPORTED int vdprintf(int fd, const char *format, va_list args)
{
    return print_to(NULL, fd, 0, format, args);
}

// ---- as compiled with _FORTIFY_SOURCE

EXPORTED int __vfprintf_chk(FILE *file, int flag, const char *format,
                            va_list args)
{
    return print_to(file, -1, flag, format, args);
}

EXPORTED int __vprintf_chk(int flag, const char *format, va_list args)
{
    return print_to(stdout, -1, flag, format, args);
}

EXPORTED int __vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
    return print_to(NULL, fd, flag, format, args);
}

// ---- with the arguments themselves

#define PRINTF(name, parameters, file, fd, flag)                               \
    EXPORTED int name parameters                                               \
    {                                                                          \
        va_list args;                                                          \
        int n;                                                                 \
                                                                               \
        va_start(args, format);                                                \
        n = print_to(file, fd, flag, format, args);                            \
        va_end(args);                                                          \
        return n;                                                              \
    }

PRINTF(printf, (const char *format, ...), stdout, -1, 0)
PRINTF(fprintf, (FILE * file, const char *format, ...), file, -1, 0)
PRINTF(dprintf, (int fd, const char *format, ...), NULL, fd, 0)
PRINTF(__printf_chk, (int flag, const char *format, ...), stdout, -1, flag)
PRINTF(__fprintf_chk, (FILE * file, int flag, const char *format, ...), file,
       -1, flag)
PRINTF(__dprintf_chk, (int fd, int flag, const char *format, ...), NULL, fd,
       flag)
