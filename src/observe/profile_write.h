// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_PROFILE_WRITE_H
#define OBSERVE_PROFILE_WRITE_H

#include <stdio.h>

#include "place/profile.h"

/**
 * Write a profile as JSON (docs/profile.md). What is read from the file is what
 * was written, to the last bit of each number, whatever the program has set as
 * its locale. Bytes of a name that are no UTF-8 become '?'.
 *
 * @param file     open for writing; flushed, not closed
 * @param profile  whole: its view is valid, its mappings name nodes of it, and
 *                 all numbers are in the ranges of place/profile.def
 * @return TM_OK
 * @return TM_EINVAL   it is not; nothing was written
 * @return TM_ENOMEM   nothing was written
 * @return TM_ESYSTEM  writing failed and was told; the file is useless
 *
 * Context: any thread; blocks on the file; time O(uses + threads), allocates
 * what cluster_view_check() does.
 */
TM_CHECKED tm_status profile_write(FILE *file, const struct profile *profile);

#endif
