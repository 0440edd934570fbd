// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_PROFILE_READ_PRIV_H
#define PLANNER_PROFILE_READ_PRIV_H

#include "place/profile.h"
#include "place/profile_fields.h"
#include "planner/json_in.h"

/** Read the fields of a record. @param[out] record  of the type's struct */
int record_read(const struct spot *object, const struct profile_record *type,
                void *record);

/** The elements of an array. @param[out] records  [all] */
int records_read(const struct spot *array, const struct profile_record *type,
                 void *records);

/** Read nodes, threads and groups; leaves to cluster_view_check() what concerns
 * several values. */
int read_view(struct profile *profile, const struct spot *document);

/** Read what threads do, which older profiles lack. */
int read_script(struct profile *profile, const struct spot *document);
void script_free(struct profile_script *script);

#endif
