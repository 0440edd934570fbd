// SPDX-License-Identifier: BSD-3-Clause
// The records of a profile, from the one table that says what is in them.
#include <string.h>

#include "base/text.h"
#include "planner/profile_read_priv.h"

static int read_field(const struct spot *object,
                      const struct profile_field *field, char *record)
{
    double number;
    uint64_t pages;
    uint32_t count;
    struct spot left;

    if (field->kind == PROFILE_ADDED &&
        json_object_get(object->value, field->name) == NULL) {
        number = 0;
        memcpy(record + field->offset, &number, sizeof number);
        return 1;
    }
    switch (field->kind) {
    case PROFILE_PAGES:
        if (!member_whole(object, field->name, 0, PROFILE_PAGES_MAX, &pages)) {
            return 0;
        }
        memcpy(record + field->offset, &pages, sizeof pages);
        return 1;
    case PROFILE_LEFT:
        pages = UINT64_MAX;
        if (!spot_optional(object, field->name, JSON_REAL, &left) ||
            (left.value != NULL &&
             !spot_whole(&left, 0, PROFILE_COUNT_MAX, &pages))) {
            return 0;
        }
        memcpy(record + field->offset, &pages, sizeof pages);
        return 1;
    case PROFILE_COUNT:
        if (!member_count(object, field->name, 1, UINT32_MAX, &count)) {
            return 0;
        }
        memcpy(record + field->offset, &count, sizeof count);
        return 1;
    default:
        if (!member_number(object, field->name,
                           field->kind == PROFILE_FACTOR ? PROFILE_FACTOR_MIN
                                                         : 0,
                           PROFILE_NUMBER_MAX, &number)) {
            return 0;
        }
        memcpy(record + field->offset, &number, sizeof number);
        return 1;
    }
}

int record_read(const struct spot *object, const struct profile_record *type,
                void *record)
{
    char words[256];
    struct text names = {words, sizeof words, 0};

    text_add(&names, "%s", type->besides);
    for (size_t f = 0; f < type->n; f++) {
        if (!read_field(object, &type->fields[f], record)) {
            return 0;
        }
        text_add(&names, "%s%s", names.length > 0 ? " " : "",
                 type->fields[f].name);
    }
    return spot_has_only(object, words);
}

int records_read(const struct spot *array, const struct profile_record *type,
                 void *records)
{
    struct spot element;

    for (size_t i = 0; i < json_array_size(array->value); i++) {
        if (!spot_element(array, i, JSON_OBJECT, &element) ||
            !record_read(&element, type, (char *)records + i * type->size)) {
            return 0;
        }
    }
    return 1;
}
