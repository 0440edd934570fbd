// SPDX-License-Identifier: BSD-3-Clause
//
// Profiles as JSON, written by hand: the library that programs link needs no
// other library for it. The reader is planner/profile_read.c, on top of jansson.
//
// The file has a line for each node and thread, so that two profiles can be
// compared with diff. Numbers with a fraction have 17 digits, which bring back
// every double; -0 is written as -0.0, for "-0" is an integer in JSON and loses
// its sign.
//
// I1  Nothing is written of a profile that the reader would refuse: all of it is
//     checked first.
#include "observe/profile_write.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/json_out.h"
#include "base/log.h"
#include "place/profile_fields.h"

// ---- the fields ----

static int is_double(const struct profile_field *field)
{
    return field->kind != PROFILE_PAGES && field->kind != PROFILE_COUNT &&
           field->kind != PROFILE_LEFT;
}

/** The value of a FACTOR or NUMBER. */
static double field_double(const void *record,
                           const struct profile_field *field)
{
    double value;

    memcpy(&value, (const char *)record + field->offset, sizeof value);
    return value;
}

/** The value of a PAGES, LEFT or COUNT. */
static uint64_t field_whole(const void *record,
                            const struct profile_field *field)
{
    uint64_t pages = 0;
    uint32_t count = 0;

    if (field->kind != PROFILE_COUNT) {
        memcpy(&pages, (const char *)record + field->offset, sizeof pages);
        return pages;
    }
    memcpy(&count, (const char *)record + field->offset, sizeof count);
    return count;
}

/** A record of an array of them. */
static const void *record_at(const struct profile_record *type,
                             const void *records, size_t i)
{
    return (const char *)records + i * type->size;
}

// ---- their ranges (I1) ----

static int is_number(double value)
{
    return value >= 0 && value <= PROFILE_NUMBER_MAX;
}

static int is_in_range(const void *record, const struct profile_field *field)
{
    switch (field->kind) {
    case PROFILE_FACTOR:
        return is_number(field_double(record, field)) &&
               field_double(record, field) >= PROFILE_FACTOR_MIN;
    case PROFILE_NUMBER:
    case PROFILE_ADDED:
        return is_number(field_double(record, field));
    case PROFILE_PAGES:
        return field_whole(record, field) <= PROFILE_PAGES_MAX;
    case PROFILE_LEFT:
        return field_whole(record, field) <= PROFILE_COUNT_MAX ||
               field_whole(record, field) == UINT64_MAX;
    default:
        return field_whole(record, field) > 0;
    }
}

/** Of `n` records, if there are any (NULL: none). */
static int are_in_range(const struct profile_record *type, const void *records,
                        size_t n)
{
    for (size_t i = 0; records != NULL && i < n; i++) {
        for (size_t f = 0; f < type->n; f++) {
            if (!is_in_range(record_at(type, records, i), &type->fields[f])) {
                return 0;
            }
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

static int is_model_in_range(const struct cost_model *model)
{
    return (model->kind == COST_MEASURED || model->kind == COST_LIU06 ||
            model->kind == COST_CLIFF) &&
           (model->replacement == REPLACEMENT_KEPT_SET ||
            model->replacement == REPLACEMENT_LRU) &&
           (model->overlap == OVERLAP_NONE || model->overlap == OVERLAP_COMM) &&
           (!cost_kind_needs_reference(model->kind) ||
            model->reference.power > 0) &&
           are_in_range(&profile_reference, &model->reference, 1);
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
            are_in_range(&profile_accepted, &decision->acceptance, 1));
}

/** Would the reader take it? Does not look into the view's uses. */
static int profile_is_in_range(const struct profile *profile)
{
    const uint32_t n_nodes = profile->view.n_nodes;

    for (uint32_t i = 0; i < profile->view.n_threads; i++) {
        if (profile->view.threads[i].computation_s > PROFILE_NUMBER_MAX) {
            return 0;
        }
    }
    return profile->node_of != NULL &&
           mapping_is_valid(&profile->view, profile->node_of) &&
           profile->iteration <= PROFILE_COUNT_MAX &&
           is_number(profile->unit_speed) &&
           is_model_in_range(&profile->model) &&
           are_in_range(&profile_node, profile->view.nodes, n_nodes) &&
           are_in_range(&profile_correction, profile->model.corrections,
                        n_nodes) &&
           are_in_range(&profile_measured, profile->measured.nodes, n_nodes) &&
           (profile->measured.nodes == NULL ||
            is_number(profile->measured.iteration_s)) &&
           is_decision_in_range(profile);
}

// ---- fields as JSON ----

static const char *name_of_bool(int value)
{
    return value ? "true" : "false";
}

/** {"name": value, ...} */
static void put_record(FILE *file, const struct profile_record *type,
                       const void *record)
{
    for (size_t f = 0; f < type->n; f++) {
        const struct profile_field *field = &type->fields[f];

        fprintf(file, "%s\"%s\": ", f == 0 ? "" : ", ", field->name);
        if (is_double(field)) {
            json_put_double(file, field_double(record, field));
        } else if (field_whole(record, field) == UINT64_MAX) {
            fputs("null", file);
        } else {
            fprintf(file, "%" PRIu64, field_whole(record, field));
        }
    }
}

/** A list with a line for each node, which the caller ends. */
static void put_records(FILE *file, const struct profile_record *type,
                        const void *records, uint32_t n)
{
    putc('[', file);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i == 0 ? "\n  {" : ",\n  {", file);
        put_record(file, type, record_at(type, records, i));
        putc('}', file);
    }
}

static void put_counts(FILE *file, const char *key, const uint32_t *values,
                       uint32_t n)
{
    fprintf(file, "\"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        fprintf(file, "%s%" PRIu32, i == 0 ? "" : ",", values[i]);
    }
    putc(']', file);
}

static void put_doubles(FILE *file, const char *key, const double *values,
                        uint32_t n)
{
    fprintf(file, "\"%s\": ", key);
    if (values == NULL) {
        fputs("null", file);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        fputs(i == 0 ? "[" : ", ", file);
        json_put_double(file, values[i]);
    }
    putc(']', file);
}

// ---- the view ----

static void put_nodes(FILE *file, const struct cluster_view *view)
{
    fputs("\"nodes\": [\n", file);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        fputs(x == 0 ? "{" : ",\n{", file);
        json_put_text_field(file, "name", view->nodes[x].name);
        fputs(", ", file);
        put_record(file, &profile_node, &view->nodes[x]);
        putc('}', file);
    }
    fputs("\n],\n", file);
}

static void put_thread(FILE *file, const struct cluster_view *view,
                       const struct thread_view *thread)
{
    putc('{', file);
    json_put_double_field(file, "computation_s", thread->computation_s);
    if (thread->is_pinned) {
        fputs(", \"is_pinned\": true", file);
    }
    fputs(", \"uses\": [", file);
    for (uint32_t u = 0; u < thread->n_uses; u++) {
        const struct use *use = &view->uses[thread->first_use + u];

        fprintf(file, "%s[%" PRIu32 ",%u,%u]", u == 0 ? "" : ",", use->group,
                use->flags, use->diff_bytes);
    }
    fputs("]}", file);
}

static void put_threads(FILE *file, const struct cluster_view *view)
{
    fputs("\"threads\": [\n", file);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        fputs(i == 0 ? "" : ",\n", file);
        put_thread(file, view, &view->threads[i]);
    }
    fputs("\n],\n", file);
}

// ---- the model ----

static void put_model(FILE *file, const struct profile *profile)
{
    const struct cost_model *model = &profile->model;

    fprintf(file,
            "\"model\": {\"kind\": \"%s\", \"replacement\": \"%s\", "
            "\"overlap\": \"%s\",\n  \"reference\": {",
            profile_kinds.all[model->kind],
            profile_replacements.all[model->replacement],
            profile_overlaps.all[model->overlap]);
    put_record(file, &profile_reference, &model->reference);
    fputs("},\n  \"corrections\": ", file);
    if (model->corrections == NULL) {
        fputs("null", file);
    } else {
        put_records(file, &profile_correction, model->corrections,
                    profile->view.n_nodes);
        putc(']', file);
    }
    fputs("\n},\n", file);
}

// ---- what was measured, and the decision ----

static void put_measured(FILE *file, const struct profile *profile)
{
    fputs("\"measured\": ", file);
    if (profile->measured.nodes == NULL) {
        fputs("null,\n", file);
        return;
    }
    putc('{', file);
    json_put_double_field(file, "iteration_s", profile->measured.iteration_s);
    fputs(", \"nodes\": ", file);
    put_records(file, &profile_measured, profile->measured.nodes,
                profile->view.n_nodes);
    fputs("\n]},\n", file);
}

static void put_acceptance(FILE *file, const struct profile_decision *decision)
{
    fputs(",\n  \"acceptance\": ", file);
    if (!decision->was_weighed) {
        fputs("null", file);
        return;
    }
    putc('{', file);
    put_record(file, &profile_accepted, &decision->acceptance);
    putc('}', file);
}

static void put_decision(FILE *file, const struct profile *profile)
{
    const struct profile_decision *decision = &profile->decision;

    fputs("\"decision\": ", file);
    if (decision->policy[0] == '\0') {
        fputs("null\n", file);
        return;
    }
    putc('{', file);
    json_put_text_field(file, "policy", decision->policy);
    // A seed may be any 64-bit number; many readers would round it.
    fprintf(file, ", \"seed\": \"%" PRIu64 "\", \"effort\": %" PRIu32 ",\n  ",
            decision->seed, decision->effort);
    put_counts(file, "node_of", decision->node_of, profile->view.n_threads);
    fprintf(file, ",\n  \"n_moves\": %" PRIu32 ", ", decision->n_moves);
    json_put_double_field(file, "before_s", decision->before_s);
    fputs(", ", file);
    json_put_double_field(file, "after_s", decision->after_s);
    fprintf(file, ", \"owners_move\": %s, \"is_proven\": %s,\n  ",
            name_of_bool(decision->owners_move),
            name_of_bool(decision->is_proven));
    put_doubles(file, "node_before_s", decision->node_before_s,
                profile->view.n_nodes);
    fputs(",\n  ", file);
    put_doubles(file, "node_after_s", decision->node_after_s,
                profile->view.n_nodes);
    fprintf(file, ",\n  \"is_carried_out\": %s",
            name_of_bool(decision->is_carried_out));
    put_acceptance(file, decision);
    fputs("\n}\n", file);
}

// ---- what threads do ----

static void put_round(FILE *file, const struct profile_round *round,
                      uint32_t n_threads)
{
    fprintf(file, "{\"iteration\": %" PRIu64 ", \"threads\": [",
            round->iteration);
    for (uint32_t i = 0; i < n_threads; i++) {
        fputs(i == 0 ? "\n[" : ",\n[", file);
        for (uint32_t k = round->first[i]; k < round->first[i + 1]; k++) {
            const struct profile_run *run = &round->runs[k];

            fprintf(file, "%s%" PRIu64 ",%" PRIu32 ",%u,%u",
                    k == round->first[i] ? "" : ",", run->page, run->n_pages,
                    run->flags, run->diff_bytes);
        }
        putc(']', file);
    }
    fputs("\n]}", file);
}

static void put_script(FILE *file, const struct profile_script *script,
                       uint32_t n_threads)
{
    fputs(",\"script\": {", file);
    json_put_text_field(file, "protocol", script->protocol);
    fprintf(file, ", \"n_barriers\": %" PRIu32 ", \"blocks\": [",
            script->n_barriers);
    for (uint32_t b = 0; b < script->n_blocks; b++) {
        fprintf(file, "%s[%" PRIu64 ",%" PRIu64 "]", b == 0 ? "" : ",",
                script->blocks[b].page, script->blocks[b].n_pages);
    }
    fputs("],\n\"rounds\": [", file);
    for (uint32_t r = 0; r < script->n_rounds; r++) {
        fputs(r == 0 ? "" : ",\n", file);
        put_round(file, &script->rounds[r], n_threads);
    }
    fputs("]}\n", file);
}

// ---- all of it ----

static void put_profile(FILE *file, const struct profile *profile)
{
    const struct cluster_view *view = &profile->view;

    fprintf(file, "{\n\"teamster_profile\": %d,\n", PROFILE_VERSION);
    json_put_text_field(file, "teamster", profile->teamster);
    fputs(",\n", file);
    json_put_text_field(file, "program", profile->program);
    fprintf(file, ",\n\"iteration\": %" PRIu64 ",\n\"page_bytes\": %u,\n",
            profile->iteration, TM_PAGE_SIZE);
    json_put_double_field(file, "unit_speed", profile->unit_speed);
    fputs(",\n", file);
    put_nodes(file, view);
    put_counts(file, "group_pages", view->group_pages, view->n_groups);
    fputs(",\n", file);
    put_threads(file, view);
    put_counts(file, "node_of", profile->node_of, view->n_threads);
    fputs(",\n", file);
    put_model(file, profile);
    put_measured(file, profile);
    put_decision(file, profile);
    if (profile->script.n_rounds > 0) {
        put_script(file, &profile->script, view->n_threads);
    }
    fputs("}\n", file);
}

tm_status profile_write(FILE *file, const struct profile *profile)
{
    // Of the C library's own, without an allocation; printf() of a program with
    // another locale would write "0,5".
    locale_t plain;
    locale_t before;

    if (!cluster_view_is_valid(&profile->view) ||
        !profile_is_in_range(profile)) {
        return TM_EINVAL;
    }
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return TM_ENOMEM;
    }
    before = uselocale(plain);
    put_profile(file, profile);
    uselocale(before);
    freelocale(plain);
    if (fflush(file) != 0 || ferror(file)) {
        log_error("the profile cannot be written: %m");
        return TM_ESYSTEM;
    }
    return TM_OK;
}
