// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_PROFILE_READ_H
#define PLANNER_PROFILE_READ_H

#include <stdio.h>

#include "place/profile.h"

/**
 * Read a profile (docs/profile.md). Whatever is not as it should be is refused,
 * so what comes out can be given to all of model/ and place/.
 *
 * @param file   not closed
 * @param name   of the file, for messages
 * @param[out] profile  to be released with profile_release(); set on success
 * @param[out] error    [size, above 0] one line: file, path inside it, what is
 *                      wrong; set on failure
 * @return TM_OK
 * @return TM_ECONFIG  the file cannot be read, or is no profile of this version
 * @return TM_ENOMEM
 */
TM_CHECKED tm_status profile_parse(FILE *file, const char *name,
                                   struct profile *profile, char *error,
                                   size_t size);

/** The same of a file by its name; "-" is standard input. */
TM_CHECKED tm_status profile_read(const char *path, struct profile *profile,
                                  char *error, size_t size);

/** Free all arrays of a profile that was read. Zeros are fine. */
void profile_release(struct profile *profile);

#endif
