// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_PROFILE_READ_PRIV_H
#define PLANNER_PROFILE_READ_PRIV_H

#include "place/profile.h"
#include "planner/json_in.h"

/** A record type of place/profile.def: its fields, and their names as one text. */
struct record {
    const struct field *fields;
    size_t n;
    const char *names;
};

extern const struct record node_record; ///< has a name besides
extern const struct record reference_record;
extern const struct record correction_record;
extern const struct record measured_record;

/** Read the fields of a record. @param[out] record  of the type's struct */
int record_read(const struct spot *object, const struct record *type,
                void *record);

/** The elements of an array. @param[out] records  [all], `size` bytes each */
int records_read(const struct spot *array, const struct record *type,
                 void *records, size_t size);

/** Read nodes, threads and groups; leaves to cluster_view_check() what concerns
 * several values. */
int read_view(struct profile *profile, const struct spot *document);

#endif
