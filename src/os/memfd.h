// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_MEMFD_H
#define OS_MEMFD_H

#include <stddef.h>

#include "base/status.h"

/** Memory of this node's own that can be mapped more than once. */
struct memfd {
    int fd;
    size_t size;
    char *runtime; ///< the runtime's view of all of it: never watched
};

/** Create it, all zero, taking no memory yet, and map the runtime's view.
 * @param size  bytes, whole pages
 * @return TM_OK, TM_ESYSTEM or TM_ENOMEM (logged with the size and the limit) */
TM_CHECKED tm_status memfd_open(struct memfd *memfd, size_t size);

/** Map [offset, offset + size) of it at a fixed address, instead of what is there.
 * @return TM_OK, TM_ENOMEM, TM_ESYSTEM (logged) */
TM_CHECKED tm_status memfd_map(const struct memfd *memfd, size_t offset,
                               char *address, size_t size);

/** Write this part of a view into a core file, if there is one: pages that are not
 * mapped in it are left out. Views are not written otherwise.
 * Context: also in a handler of a signal that ends the process. */
void memfd_keep_in_core(char *address, size_t size);

/** Give the memory of a range back: it reads as zero in every view. */
void memfd_discard(const struct memfd *memfd, size_t offset, size_t size);

/** Make the pages of a range exist, zero where they did not. Ends the process
 * (exit code 71) if there is no memory for them. */
void memfd_populate(const struct memfd *memfd, size_t offset, size_t size);

/** Which pages of a range are in memory? Those that are not have been swapped
 * out, were never touched since memfd_populate(), or do not exist.
 * @param[out] is_resident  [size / 4096] 1 or 0; all 1 if the kernel does not
 *                          tell */
void memfd_residency(const struct memfd *memfd, size_t offset, size_t size,
                     unsigned char *is_resident);

/** Let the kernel write these pages to its swap device now, and take their memory
 * back. Their bytes stay. It does what it can: without a swap device, nothing.
 * @param view  where they are in the only other view of them */
void memfd_page_out(const struct memfd *memfd, size_t offset, char *view,
                    size_t size);

/** Let the kernel begin to read those of these pages that are swapped out; none of
 * them is mapped by that. */
void memfd_page_in(const struct memfd *memfd, size_t offset, size_t size);

/** Write bytes; the pages exist then. Cheaper than through the runtime's view
 * for pages that did not exist. Ends the process (71) without memory. */
void memfd_write(const struct memfd *memfd, size_t offset, const void *bytes,
                 size_t size);

void memfd_close(struct memfd *memfd);

#endif
