// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_RANGE_H
#define OS_RANGE_H

#include <stddef.h>

#include "base/status.h"

/*
 * Ranges of addresses: reserved without memory, then used piece by piece.
 * All sizes are whole pages.
 */

/** Keep a fixed range of addresses for later use: no access, no memory. Refuses
 * if anything is mapped there, and logs what (name and range from
 * /proc/self/maps).
 * @return TM_OK, TM_EBUSY (taken), TM_ENOMEM, TM_ESYSTEM */
TM_CHECKED tm_status range_reserve(char *address, size_t size);

/** Let a part of a reserved range be read and written; zero at first.
 * @return TM_OK, TM_ENOMEM (logged; names vm.max_map_count when that is why) */
TM_CHECKED tm_status range_use(char *address, size_t size);

/** Give the memory of a used part back; it stays usable and reads as zero. */
void range_discard(char *address, size_t size);

/** Take all access away: it raises SIGSEGV, whoever watches the range. */
void range_deny(char *address, size_t size);

/** Is there memory at this address that may be written, is this process' own, and is
 * of no file? Context: any; reads a file if something is mapped there. */
int range_is_private(const void *address);

/** Unmap. */
void range_release(char *address, size_t size);

/** Private memory at any address, with a page without access below it; takes
 * no memory until used. @return NULL if there is none (logged) */
char *range_new(size_t size);
void range_free(char *address, size_t size);

#endif
