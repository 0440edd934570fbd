// SPDX-License-Identifier: BSD-3-Clause
#include "place/profile_fields.h"

#include "place/profile.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))
#define FIELD(type, name, kind)                                                \
    {#name, PROFILE_##kind, offsetof(struct type, name)},
#define RECORD(type, fields, besides)                                          \
    {                                                                          \
        fields, N_OF(fields), sizeof(struct type), besides                     \
    }

static const struct profile_field node_fields[] = {
#define NODE_FIELD(name, kind) FIELD(node_view, name, kind)
#include "place/profile.def"
};
const struct profile_record profile_node =
    RECORD(node_view, node_fields, "name");

static const struct profile_field reference_fields[] = {
#define REFERENCE_FIELD(name, kind) FIELD(reference, name, kind)
#include "place/profile.def"
};
const struct profile_record profile_reference =
    RECORD(reference, reference_fields, "");

static const struct profile_field correction_fields[] = {
#define CORRECTION_FIELD(name, kind) FIELD(correction, name, kind)
#include "place/profile.def"
};
const struct profile_record profile_correction =
    RECORD(correction, correction_fields, "");

static const struct profile_field measured_fields[] = {
#define MEASURED_FIELD(name, kind) FIELD(node_measurement, name, kind)
#include "place/profile.def"
};
const struct profile_record profile_measured =
    RECORD(node_measurement, measured_fields, "");

static const struct profile_field acceptance_fields[] = {
#define ACCEPTANCE_FIELD(name, kind) FIELD(profile_acceptance, name, kind)
#include "place/profile.def"
};
const struct profile_record profile_accepted =
    RECORD(profile_acceptance, acceptance_fields, "");

static const char *const kinds[] = {
#define COST_WORD(value, word) [value] = (word),
#include "place/profile.def"
};
const struct profile_words profile_kinds = {kinds, N_OF(kinds)};

static const char *const replacements[] = {
#define REPLACEMENT_WORD(value, word) [value] = (word),
#include "place/profile.def"
};
const struct profile_words profile_replacements = {replacements,
                                                   N_OF(replacements)};

static const char *const overlaps[] = {
#define OVERLAP_WORD(value, word) [value] = (word),
#include "place/profile.def"
};
const struct profile_words profile_overlaps = {overlaps, N_OF(overlaps)};
