// SPDX-License-Identifier: BSD-3-Clause
//
// What is printed and scanned by a format. An argument list may point to what only the caller's
// node has, so what is printed is made there.
#include "on_root.h"
#include "readiness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

extern __typeof__(malloc) tmf_malloc;

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

// The log takes no longer lines.
static long print_log(void *arguments)
{
    const struct text *text = arguments;
    const size_t n = text->n < 1024 ? text->n : 1024;
    char *own = alloca(n + 1);

    memcpy(own, text->bytes, n);
    own[n] = '\0';
    syslog(text->fd, "%s", own);
    return 0;
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
    front_await_input(call->file);
    n = vfscanf(call->file, call->format, list);
    va_end(list);
    return n;
}

static int do_scan(FILE *file, const char *format, va_list given)
{
    struct scanned call = {.file = file, .format = front_lend_text(format)};
    va_list list;
    int n;

    va_copy(list, given);
    call.list = &list;
    n = (int)front_at_root(scan_file, &call);
    va_end(list);
    front_end_text(format, call.format);
    return n;
}

#define LISTED(name, parameters, call)                                         \
    int tmf_##name parameters __attribute__((weak));                           \
    int tmf_##name parameters                                                  \
    {                                                                          \
        return call;                                                           \
    }

#define PRINT(file) do_print(print_file, file, 0, format, list)
#define PRINT_FD(fd) do_print(print_fd, NULL, fd, format, list)
#define PRINT_LOG(priority) do_print(print_log, NULL, priority, format, list)
#define SCAN(file) do_scan(file, format, list)

WITH_LIST(printf, (const char *format, ...), format, PRINT(stdout))
WITH_LIST(fprintf, (FILE * file, const char *format, ...), format, PRINT(file))
WITH_LIST(dprintf, (int fd, const char *format, ...), format, PRINT_FD(fd))
WITH_LIST(syslog, (int priority, const char *format, ...), format,
          PRINT_LOG(priority))
WITH_LIST(scanf, (const char *format, ...), format, SCAN(stdin))
WITH_LIST(fscanf, (FILE * file, const char *format, ...), format, SCAN(file))
LISTED(vprintf, (const char *format, va_list list), PRINT(stdout))
LISTED(vfprintf, (FILE * file, const char *format, va_list list), PRINT(file))
LISTED(vdprintf, (int fd, const char *format, va_list list), PRINT_FD(fd))
LISTED(vsyslog, (int priority, const char *format, va_list list),
       PRINT_LOG(priority))
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

WITH_LIST(__syslog_chk, (int priority, int flag, const char *format, ...),
          format, ((void)flag, PRINT_LOG(priority)))
LISTED(__vsyslog_chk,
       (int priority, int flag, const char *format, va_list list),
       ((void)flag, PRINT_LOG(priority)))

#define SCANS(prefix)                                                          \
    WITH_LIST(prefix##_scanf, (const char *format, ...), format, SCAN(stdin))  \
    WITH_LIST(prefix##_fscanf, (FILE * file, const char *format, ...), format, \
              SCAN(file))                                                      \
    LISTED(prefix##_vscanf, (const char *format, va_list list), SCAN(stdin))   \
    LISTED(prefix##_vfscanf, (FILE * file, const char *format, va_list list),  \
           SCAN(file))

SCANS(__isoc99)
SCANS(__isoc23)

// ---- an error that is told

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

// ---- texts that the C library would allocate

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

WITH_LIST(asprintf, (char **text, const char *format, ...), format,
          tmf_vasprintf(text, format, list))

LISTED(__vasprintf_chk,
       (char **text, int flag, const char *format, va_list list),
       ((void)flag, tmf_vasprintf(text, format, list)))
WITH_LIST(__asprintf_chk, (char **text, int flag, const char *format, ...),
          format, ((void)flag, tmf_vasprintf(text, format, list)))
