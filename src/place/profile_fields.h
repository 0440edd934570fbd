// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_PROFILE_FIELDS_H
#define PLACE_PROFILE_FIELDS_H

#include <stddef.h>

/* What place/profile.def says, for who writes profiles and who reads them. */

enum profile_kind {
    PROFILE_FACTOR,
    PROFILE_NUMBER,
    PROFILE_PAGES,
    PROFILE_COUNT,
    PROFILE_ADDED,
    PROFILE_LEFT,
};

struct profile_field {
    const char *name;
    enum profile_kind kind;
    size_t offset;
};

struct profile_record {
    const struct profile_field *fields; ///< [n]
    size_t n;
    size_t size;         ///< bytes of the struct
    const char *besides; ///< a member of the object that is no field, or ""
};

extern const struct profile_record profile_node;
extern const struct profile_record profile_reference;
extern const struct profile_record profile_correction;
extern const struct profile_record profile_measured;
extern const struct profile_record profile_accepted;

/** The words of an enumeration, by its values. */
struct profile_words {
    const char *const *all; ///< [n]
    unsigned n;
};

extern const struct profile_words profile_kinds;
extern const struct profile_words profile_replacements;
extern const struct profile_words profile_overlaps;

#endif
