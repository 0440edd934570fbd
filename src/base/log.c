// SPDX-License-Identifier: BSD-3-Clause
// One line, one write(2): lines of several processes on one pipe stay whole up
// to PIPE_BUF, which is also the longest line that is written.
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char speaker[64];
static void (*fatal_hook)(int exit_code);
static atomic_int has_told; ///< an error

void log_set_speaker(const char *name)
{
    snprintf(speaker, sizeof speaker, "%s", name);
}

void log_set_fatal_hook(void (*hook)(int exit_code))
{
    fatal_hook = hook;
}

static size_t clip(int length, size_t room)
{
    if (length < 0) {
        return 0;
    }
    return (size_t)length < room ? (size_t)length : room - 1;
}

static void write_line(const char *kind, const char *format, va_list arguments)
{
    int saved_errno = errno;
    char line[1024];
    size_t used;
    ssize_t written;

    used = clip(snprintf(line, sizeof line - 1, "teamster: %s%s%s", speaker,
                         speaker[0] != '\0' ? ": " : "", kind),
                sizeof line - 1);
    errno = saved_errno;
    used +=
        clip(vsnprintf(line + used, sizeof line - 1 - used, format, arguments),
             sizeof line - 1 - used);
    line[used++] = '\n';
    written = write(STDERR_FILENO, line, used);
    (void)written; // nobody is left to tell
    errno = saved_errno;
}

void log_error(const char *format, ...)
{
    va_list arguments;

    atomic_store_explicit(&has_told, 1, memory_order_relaxed);
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
}

void log_warning(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line("warning: ", format, arguments);
    va_end(arguments);
}

/** Kernel threads may find out at the same time; they find the same. */
static int is_verbose(void)
{
    static _Atomic int known = -1;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (answer < 0) {
        const char *value = getenv("TEAMSTER_VERBOSE");

        answer = value != NULL && strcmp(value, "0") != 0;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer;
}

void log_debug(const char *format, ...)
{
    va_list arguments;

    if (!is_verbose()) {
        return;
    }
    va_start(arguments, format);
    write_line("debug: ", format, arguments);
    va_end(arguments);
}

static _Noreturn void end_process(int exit_code)
{
    if (fatal_hook != NULL) {
        fatal_hook(exit_code);
    }
    _exit(exit_code);
}

void log_fatal(int exit_code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
    end_process(exit_code);
}

void log_fatal_unless_told(int exit_code, const char *format, ...)
{
    va_list arguments;

    if (!atomic_load_explicit(&has_told, memory_order_relaxed)) {
        va_start(arguments, format);
        write_line("", format, arguments);
        va_end(arguments);
    }
    end_process(exit_code);
}
