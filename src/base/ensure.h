// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_ENSURE_H
#define BASE_ENSURE_H

/**
 * Stop the process if a contract inside the runtime is broken: prints the
 * expression and where it stands, asks for a bug report, exits with 70. Never
 * for input from a user, a file or the network.
 *
 * Context: any thread, also inside a fault; does not allocate.
 */
#define ensure(condition)                                                      \
    ((condition) ? (void)0                                                     \
                 : ensure_failed(#condition, __FILE__, __LINE__, __func__))

/** The same of memory that was asked for and must be there: exits with 71. */
#define ensure_memory(condition)                                               \
    ((condition) ? (void)0 : ensure_memory_failed(__FILE__, __LINE__, __func__))

/** What ensure() and ensure_memory() call. */
_Noreturn void ensure_failed(const char *expression, const char *file, int line,
                             const char *function);
_Noreturn void ensure_memory_failed(const char *file, int line,
                                    const char *function);

#endif
