// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SECRET_H
#define OS_SECRET_H

#include <stddef.h>

/**
 * Memory for keys: not in core files, not in children of fork(), which find
 * zeros there, and not in swap space if the limit on locked memory allows that.
 *
 * @param size  bytes, > 0
 * @return zeroed memory, to be given to secret_free(); NULL: there is none
 *         (errno)
 * Context: any thread.
 */
void *secret_new(size_t size);

/** Overwrite and free it. NULL is allowed. @param size  as given to secret_new() */
void secret_free(void *secret, size_t size);

#endif
