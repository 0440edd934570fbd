// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_LOG_H
#define BASE_LOG_H

/*
 * One line on stderr per call, written at once, so that lines of several
 * threads and nodes do not mix. No stdio, no malloc: safe inside a fault and in
 * signal handlers. %m works.
 */

#define LOG_PRINTF __attribute__((format(printf, 1, 2)))

/** Say who speaks in all later lines, "n2" for node 2; "" for nobody. */
void log_set_speaker(const char *speaker);

/** Something the user must know: "teamster: n2: <text>". */
LOG_PRINTF void log_error(const char *format, ...);

/** The same with "warning: " in front of the text. */
LOG_PRINTF void log_warning(const char *format, ...);

/** Shown only with TEAMSTER_VERBOSE=1. */
LOG_PRINTF void log_debug(const char *format, ...);

/**
 * log_error(), then end the process at once with this exit code; no atexit()
 * functions run.
 */
_Noreturn __attribute__((format(printf, 2, 3))) void log_fatal(
    int exit_code, const char *format, ...);

/** The same for who was passed a failure: without a line if the process has told an
 * error, which is the cause then. */
_Noreturn __attribute__((format(printf, 2, 3))) void log_fatal_unless_told(
    int exit_code, const char *format, ...);

/**
 * A function to call in log_fatal() before the process ends, so that the layer
 * above can tell other processes; NULL for none. It must not return late: it
 * may not block.
 */
void log_set_fatal_hook(void (*hook)(int exit_code));

/** Whoever refuses what others send logs so many of a kind and only counts the rest:
 * nobody must be able to fill a disk. */
#define LOG_REFUSED_MAX 8

/** Exit codes of FAILURES: what log_fatal() and the command line use. */
enum exit_code {
    EXIT_USAGE = 64,
    EXIT_UNREACHABLE = 69,
    EXIT_INTERNAL = 70,
    EXIT_MEMORY = 71,
    EXIT_OUTPUT = 73,
    EXIT_NODE_LOST = 75,
    EXIT_MISMATCH = 76,
    EXIT_CONFIG = 78,
    EXIT_DEADLOCK = 124,
};

#endif
