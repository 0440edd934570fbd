// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_EARLY_H
#define BASE_EARLY_H

/** Of functions that may run before ThreadSanitizer's library is ready: what this
 * library calls while it starts, sigaction() above all, comes to the functions that
 * stand before the C library's (runtime/wrap.h). What they call in that case must be
 * EARLY too. */
#define EARLY __attribute__((no_sanitize("thread")))

#endif
