// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_PROFILE_WRITE_PRIV_H
#define OBSERVE_PROFILE_WRITE_PRIV_H

#include <stddef.h>
#include <string.h>

#include "place/profile.h"

/** What place/profile.def says of a field. */
enum kind { FACTOR, NUMBER, PAGES, COUNT, ADDED };

struct field {
    const char *name;
    enum kind kind;
    size_t offset;
};

struct fields {
    const struct field *all; ///< [n]
    size_t n;
};

extern const struct fields node_fields;
extern const struct fields reference_fields;
extern const struct fields correction_fields;
extern const struct fields measured_fields;

/** The value of a FACTOR or NUMBER. */
static inline double field_double(const void *record, const struct field *field)
{
    double value;

    memcpy(&value, (const char *)record + field->offset, sizeof value);
    return value;
}

/** The value of a PAGES or COUNT. */
static inline uint64_t field_whole(const void *record,
                                   const struct field *field)
{
    uint64_t pages = 0;
    uint32_t count = 0;

    if (field->kind == PAGES) {
        memcpy(&pages, (const char *)record + field->offset, sizeof pages);
        return pages;
    }
    memcpy(&count, (const char *)record + field->offset, sizeof count);
    return count;
}

/** Would the reader take it: are mappings and all numbers in their ranges? Does
 * not look into the view's uses. */
int profile_is_in_range(const struct profile *profile);

#endif
