// SPDX-License-Identifier: BSD-3-Clause
// The records of a profile, from the one table that says what is in them.
#include <stddef.h>
#include <string.h>

#include "planner/profile_read_priv.h"

enum kind { FACTOR, NUMBER, PAGES, COUNT, ADDED };

struct field {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define FIELD(type, name, kind) {#name, kind, offsetof(struct type, name)},
#define RECORD(table, names)                                                   \
    {                                                                          \
        table, sizeof(table) / sizeof *(table), names                          \
    }

static const struct field node_fields[] = {
#define NODE_FIELD(name, kind) FIELD(node_view, name, kind)
#include "place/profile.def"
};
static const char node_names[] = "name"
#define NODE_FIELD(name, kind) " " #name
#include "place/profile.def"
    ;
const struct record node_record = RECORD(node_fields, node_names);

static const struct field reference_fields[] = {
#define REFERENCE_FIELD(name, kind) FIELD(reference, name, kind)
#include "place/profile.def"
};
static const char reference_names[] =
#define REFERENCE_FIELD(name, kind) #name " "
#include "place/profile.def"
    ;
const struct record reference_record =
    RECORD(reference_fields, reference_names);

static const struct field correction_fields[] = {
#define CORRECTION_FIELD(name, kind) FIELD(correction, name, kind)
#include "place/profile.def"
};
static const char correction_names[] =
#define CORRECTION_FIELD(name, kind) #name " "
#include "place/profile.def"
    ;
const struct record correction_record =
    RECORD(correction_fields, correction_names);

static const struct field measured_fields[] = {
#define MEASURED_FIELD(name, kind) FIELD(node_measurement, name, kind)
#include "place/profile.def"
};
static const char measured_names[] =
#define MEASURED_FIELD(name, kind) #name " "
#include "place/profile.def"
    ;
const struct record measured_record = RECORD(measured_fields, measured_names);

static int read_field(const struct spot *object, const struct field *field,
                      char *record)
{
    double number;
    uint64_t pages;
    uint32_t count;

    if (field->kind == ADDED &&
        json_object_get(object->value, field->name) == NULL) {
        number = 0;
        memcpy(record + field->offset, &number, sizeof number);
        return 1;
    }
    switch (field->kind) {
    case PAGES:
        if (!member_whole(object, field->name, 0, PROFILE_PAGES_MAX, &pages)) {
            return 0;
        }
        memcpy(record + field->offset, &pages, sizeof pages);
        return 1;
    case COUNT:
        if (!member_count(object, field->name, 1, UINT32_MAX, &count)) {
            return 0;
        }
        memcpy(record + field->offset, &count, sizeof count);
        return 1;
    default:
        if (!member_number(object, field->name,
                           field->kind == FACTOR ? PROFILE_FACTOR_MIN : 0,
                           PROFILE_NUMBER_MAX, &number)) {
            return 0;
        }
        memcpy(record + field->offset, &number, sizeof number);
        return 1;
    }
}

int record_read(const struct spot *object, const struct record *type,
                void *record)
{
    for (size_t f = 0; f < type->n; f++) {
        if (!read_field(object, &type->fields[f], record)) {
            return 0;
        }
    }
    return spot_has_only(object, type->names);
}

int records_read(const struct spot *array, const struct record *type,
                 void *records, size_t size)
{
    struct spot element;

    for (size_t i = 0; i < json_array_size(array->value); i++) {
        if (!spot_element(array, i, JSON_OBJECT, &element) ||
            !record_read(&element, type, (char *)records + i * size)) {
            return 0;
        }
    }
    return 1;
}
