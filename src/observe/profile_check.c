// SPDX-License-Identifier: BSD-3-Clause
// What may be in a profile, so that nothing is written that cannot be read.
#include "observe/profile_write_priv.h"

// ---- the fields ----

#define FIELD(type, name, kind) {#name, kind, offsetof(struct type, name)},
#define FIELDS(table)                                                          \
    {                                                                          \
        table, sizeof(table) / sizeof *(table)                                 \
    }

static const struct field of_node[] = {
#define NODE_FIELD(name, kind) FIELD(node_view, name, kind)
#include "place/profile.def"
};
const struct fields node_fields = FIELDS(of_node);

static const struct field of_reference[] = {
#define REFERENCE_FIELD(name, kind) FIELD(reference, name, kind)
#include "place/profile.def"
};
const struct fields reference_fields = FIELDS(of_reference);

static const struct field of_correction[] = {
#define CORRECTION_FIELD(name, kind) FIELD(correction, name, kind)
#include "place/profile.def"
};
const struct fields correction_fields = FIELDS(of_correction);

static const struct field of_measured[] = {
#define MEASURED_FIELD(name, kind) FIELD(node_measurement, name, kind)
#include "place/profile.def"
};
const struct fields measured_fields = FIELDS(of_measured);

// ---- their ranges ----

static int is_number(double value)
{
    return value >= 0 && value <= PROFILE_NUMBER_MAX;
}

static int is_factor(double value)
{
    return value >= PROFILE_FACTOR_MIN && value <= PROFILE_NUMBER_MAX;
}

static int is_in_range(const void *record, const struct field *field)
{
    switch (field->kind) {
    case FACTOR:
        return is_factor(field_double(record, field));
    case NUMBER:
    case ADDED:
        return is_number(field_double(record, field));
    case PAGES:
        return field_whole(record, field) <= PROFILE_PAGES_MAX;
    default:
        return field_whole(record, field) > 0;
    }
}

static int are_in_range(const struct fields *fields, const void *record)
{
    for (size_t f = 0; f < fields->n; f++) {
        if (!is_in_range(record, &fields->all[f])) {
            return 0;
        }
    }
    return 1;
}

static int are_numbers(const double *values, uint32_t n)
{
    for (uint32_t i = 0; values != NULL && i < n; i++) {
        if (!is_number(values[i])) {
            return 0;
        }
    }
    return 1;
}

static int are_nodes_in_range(const struct profile *profile)
{
    const struct correction *corrections = profile->model.corrections;
    const struct node_measurement *measured = profile->measured.nodes;

    for (uint32_t x = 0; x < profile->view.n_nodes; x++) {
        if (!are_in_range(&node_fields, &profile->view.nodes[x]) ||
            (corrections != NULL &&
             !are_in_range(&correction_fields, &corrections[x])) ||
            (measured != NULL &&
             !are_in_range(&measured_fields, &measured[x]))) {
            return 0;
        }
    }
    return 1;
}

static int is_model_in_range(const struct cost_model *model)
{
    return (model->kind == COST_MEASURED || model->kind == COST_LIU06 ||
            model->kind == COST_CLIFF) &&
           (model->replacement == REPLACEMENT_KEPT_SET ||
            model->replacement == REPLACEMENT_LRU ||
            model->replacement == REPLACEMENT_REVERSED) &&
           (model->overlap == OVERLAP_NONE || model->overlap == OVERLAP_COMM) &&
           (!cost_kind_needs_reference(model->kind) ||
            model->reference.power > 0) &&
           are_in_range(&reference_fields, &model->reference);
}

static int is_acceptance_in_range(const struct profile_acceptance *it)
{
    return is_number(it->now_s) && is_number(it->predicted_s) &&
           (it->iterations_left == UINT64_MAX ||
            it->iterations_left <= PROFILE_COUNT_MAX) &&
           is_number(it->moved_bytes) && is_factor(it->bytes_per_s) &&
           is_number(it->warm_up_s);
}

static int is_decision_in_range(const struct profile *profile)
{
    const struct profile_decision *decision = &profile->decision;
    const uint32_t n_nodes = profile->view.n_nodes;

    if (decision->policy[0] == '\0') {
        return 1;
    }
    return decision->node_of != NULL &&
           mapping_is_valid(&profile->view, decision->node_of) &&
           is_number(decision->before_s) && is_number(decision->after_s) &&
           are_numbers(decision->node_before_s, n_nodes) &&
           are_numbers(decision->node_after_s, n_nodes) &&
           (!decision->was_weighed ||
            is_acceptance_in_range(&decision->acceptance));
}

int profile_is_in_range(const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->view.n_threads; i++) {
        if (profile->view.threads[i].computation_s > PROFILE_NUMBER_MAX) {
            return 0;
        }
    }
    return profile->node_of != NULL &&
           mapping_is_valid(&profile->view, profile->node_of) &&
           profile->iteration <= PROFILE_COUNT_MAX &&
           is_number(profile->unit_speed) &&
           is_model_in_range(&profile->model) && are_nodes_in_range(profile) &&
           (profile->measured.nodes == NULL ||
            is_number(profile->measured.iteration_s)) &&
           is_decision_in_range(profile);
}
