// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_PROFILE_READ_PRIV_H
#define PLANNER_PROFILE_READ_PRIV_H

#include "place/profile.h"
#include "place/profile_fields.h"
#include "planner/json_in.h"

/** A profile that is being read. */
struct reading {
    struct profile *profile;
    int is_short; ///< of memory
};

/** Read the fields of a record. @param[out] record  of the type's struct */
int record_read(const struct spot *object, const struct profile_record *type,
                void *record);

/** The elements of an array. @param[out] records  [all] */
int records_read(const struct spot *array, const struct profile_record *type,
                 void *records);

/** @return zeros, to hang at the profile at once; NULL is noted */
void *reading_allocate(struct reading *reading, size_t n, size_t size);

/** Read nodes, threads and groups; leaves to cluster_view_check() what concerns
 * several values. */
int read_view(struct reading *reading, const struct spot *document);

#endif
