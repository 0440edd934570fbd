// SPDX-License-Identifier: BSD-3-Clause
//
// From JSON to a profile. jansson takes all numbers as doubles here, so that one
// that is too large is refused with its path, like any other; whole numbers are
// at most 2^53 and lose nothing.
//
// Ranges are checked where a value is read. What concerns several values, such
// as a group that a thread uses twice, is left to cluster_view_check().
//
// I1  An array is allocated before it is filled and hangs at the profile, so that
//     profile_release() frees whatever there is.
#include "planner/profile_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "planner/profile_read_priv.h"

/** @param[out] node_of  stays with the profile, also after a refusal (I1) */
static int read_mapping(struct profile *profile, const struct spot *object,
                        const uint32_t **node_of)
{
    const struct cluster_view *view = &profile->view;
    uint32_t *numbers = memory_new(view->n_threads, sizeof *numbers);
    struct spot array;

    *node_of = numbers;
    return spot_array(object, "node_of", view->n_threads, &array) &&
           spot_counts(&array, 0, view->n_nodes - 1, numbers);
}

// ---- the model ----

static int read_corrections(struct profile *profile, const struct spot *object,
                            struct cost_model *model)
{
    const uint32_t n_nodes = profile->view.n_nodes;
    struct correction *corrections;
    struct spot array;

    if (!spot_optional(object, "corrections", JSON_ARRAY, &array)) {
        return 0;
    }
    if (array.value == NULL) {
        return 1;
    }
    corrections = memory_new(n_nodes, sizeof *corrections);
    model->corrections = corrections;
    return spot_array(object, "corrections", n_nodes, &array) &&
           records_read(&array, &profile_correction, corrections);
}

static int read_words(const struct spot *object, struct cost_model *model)
{
    unsigned kind = 0;
    unsigned replacement = 0;
    unsigned overlap = 0;

    if (!member_word(object, "kind", profile_kinds.all, profile_kinds.n,
                     &kind) ||
        !member_word(object, "replacement", profile_replacements.all,
                     profile_replacements.n, &replacement) ||
        !member_word(object, "overlap", profile_overlaps.all,
                     profile_overlaps.n, &overlap)) {
        return 0;
    }
    model->kind = (enum cost_kind)kind;
    model->replacement = (enum replacement)replacement;
    model->overlap = (enum overlap)overlap;
    return 1;
}

static int read_model(struct profile *profile, const struct spot *document)
{
    struct cost_model *model = &profile->model;
    struct spot object;
    struct spot reference;

    if (!spot_member(document, "model", JSON_OBJECT, &object) ||
        !spot_has_only(&object,
                       "kind replacement overlap reference corrections") ||
        !read_words(&object, model) ||
        !spot_member(&object, "reference", JSON_OBJECT, &reference) ||
        !record_read(&reference, &profile_reference, &model->reference)) {
        return 0;
    }
    if (cost_kind_needs_reference(model->kind) &&
        model->reference.power < PROFILE_FACTOR_MIN) {
        return spot_refuse(&reference, "power is 0; this kind of model needs "
                                       "a reference processor");
    }
    return read_corrections(profile, &object, model);
}

// ---- what was measured ----

static int read_measured(struct profile *profile, const struct spot *document)
{
    struct measurement *measured = &profile->measured;
    const uint32_t n_nodes = profile->view.n_nodes;
    struct spot object;
    struct spot nodes;

    if (!spot_optional(document, "measured", JSON_OBJECT, &object)) {
        return 0;
    }
    if (object.value == NULL) {
        return 1;
    }
    measured->nodes = memory_new(n_nodes, sizeof *measured->nodes);
    return spot_has_only(&object, "iteration_s nodes") &&
           member_number(&object, "iteration_s", 0, PROFILE_NUMBER_MAX,
                         &measured->iteration_s) &&
           spot_array(&object, "nodes", n_nodes, &nodes) &&
           records_read(&nodes, &profile_measured, measured->nodes);
}

// ---- the decision ----

/** A 64-bit number, as a text of digits. */
static int read_seed(const struct spot *object, uint64_t *seed)
{
    char text[PROFILE_TEXT_MAX];
    struct spot member;
    size_t n;

    if (!spot_member(object, "seed", JSON_STRING, &member) ||
        !member_text(object, "seed", text, sizeof text)) {
        return 0;
    }
    n = strspn(text, "0123456789");
    errno = 0;
    *seed = strtoull(text, NULL, 10);
    if (n == 0 || text[n] != '\0' || errno != 0) {
        return spot_refuse(&member, "is '%s'; allowed: 0 to %ju, in quotes",
                           text, (uintmax_t)UINT64_MAX);
    }
    return 1;
}

/** Times of nodes, or null. */
static int read_times(struct profile *profile, const struct spot *object,
                      const char *key, const double **times)
{
    const uint32_t n_nodes = profile->view.n_nodes;
    struct spot array;
    struct spot element;
    double *numbers;

    if (!spot_optional(object, key, JSON_ARRAY, &array)) {
        return 0;
    }
    if (array.value == NULL) {
        return 1;
    }
    numbers = memory_new(n_nodes, sizeof *numbers);
    *times = numbers;
    if (!spot_array(object, key, n_nodes, &array)) {
        return 0;
    }
    for (uint32_t x = 0; x < n_nodes; x++) {
        if (!spot_element(&array, x, JSON_REAL, &element) ||
            !spot_number(&element, 0, PROFILE_NUMBER_MAX, &numbers[x])) {
            return 0;
        }
    }
    return 1;
}

static int read_acceptance(const struct spot *decision,
                           struct profile_decision *it)
{
    struct spot object;

    if (!spot_optional(decision, "acceptance", JSON_OBJECT, &object)) {
        return 0;
    }
    if (object.value == NULL) {
        return 1;
    }
    it->was_weighed = 1;
    return record_read(&object, &profile_accepted, &it->acceptance);
}

static int read_answer(const struct spot *object, struct profile_decision *it)
{
    struct spot policy;

    if (!member_text(object, "policy", it->policy, sizeof it->policy)) {
        return 0;
    }
    if (it->policy[0] == '\0') {
        return spot_member(object, "policy", JSON_STRING, &policy) &&
               spot_refuse(&policy, "is empty");
    }
    return read_seed(object, &it->seed) &&
           member_count(object, "effort", 0, UINT32_MAX, &it->effort) &&
           member_count(object, "n_moves", 0, UINT32_MAX, &it->n_moves) &&
           member_number(object, "before_s", 0, PROFILE_NUMBER_MAX,
                         &it->before_s) &&
           member_number(object, "after_s", 0, PROFILE_NUMBER_MAX,
                         &it->after_s) &&
           member_bool(object, "owners_move", &it->owners_move) &&
           member_bool(object, "is_proven", &it->is_proven) &&
           member_bool(object, "is_carried_out", &it->is_carried_out);
}

static int read_decision(struct profile *profile, const struct spot *document)
{
    struct profile_decision *decision = &profile->decision;
    struct spot object;

    if (!spot_optional(document, "decision", JSON_OBJECT, &object)) {
        return 0;
    }
    if (object.value == NULL) {
        return 1;
    }
    return spot_has_only(&object,
                         "policy seed effort node_of n_moves before_s after_s "
                         "owners_move is_proven node_before_s node_after_s "
                         "is_carried_out acceptance") &&
           read_answer(&object, decision) &&
           read_mapping(profile, &object, &decision->node_of) &&
           read_times(profile, &object, "node_before_s",
                      &decision->node_before_s) &&
           read_times(profile, &object, "node_after_s",
                      &decision->node_after_s) &&
           read_acceptance(&object, decision);
}

// ---- all of it ----

static int read_version(const struct spot *document)
{
    struct spot member;
    double version;

    if (json_object_get(document->value, "teamster_profile") == NULL) {
        return spot_refuse(document, "is no profile: 'teamster_profile' is "
                                     "missing; \"teamster run "
                                     "--save-profile=FILE\" writes one");
    }
    if (!spot_member(document, "teamster_profile", JSON_REAL, &member)) {
        return 0;
    }
    version = json_real_value(member.value);
    if (version != PROFILE_VERSION) {
        return spot_refuse(&member,
                           "is version %g; this teamster reads version %d",
                           version, PROFILE_VERSION);
    }
    return 1;
}

static int read_head(const struct spot *document, struct profile *profile)
{
    struct spot member;
    uint64_t page_bytes;

    if (!read_version(document) ||
        !spot_has_only(document,
                       "teamster_profile comment teamster program iteration "
                       "page_bytes unit_speed nodes group_pages threads "
                       "node_of model measured decision script") ||
        !member_whole(document, "page_bytes", 0, PROFILE_COUNT_MAX,
                      &page_bytes)) {
        return 0;
    }
    if (page_bytes != TM_PAGE_SIZE) {
        return spot_member(document, "page_bytes", JSON_REAL, &member) &&
               spot_refuse(&member, "is %ju; this teamster has pages of %u",
                           (uintmax_t)page_bytes, TM_PAGE_SIZE);
    }
    return member_text(document, "teamster", profile->teamster,
                       sizeof profile->teamster) &&
           member_text(document, "program", profile->program,
                       sizeof profile->program) &&
           member_whole(document, "iteration", 0, PROFILE_COUNT_MAX,
                        &profile->iteration) &&
           member_number(document, "unit_speed", 0, PROFILE_NUMBER_MAX,
                         &profile->unit_speed);
}

static int read_document(struct profile *profile, const struct spot *document)
{
    char reason[128];

    if (json_typeof(document->value) != JSON_OBJECT) {
        return spot_refuse(document, "is no profile: it must be an object");
    }
    if (!read_head(document, profile) || !read_view(profile, document)) {
        return 0;
    }
    if (!cluster_view_check(&profile->view, reason, sizeof reason)) {
        return spot_refuse(document, "%s", reason);
    }
    return read_mapping(profile, document, &profile->node_of) &&
           read_model(profile, document) && read_measured(profile, document) &&
           read_decision(profile, document) && read_script(profile, document);
}

/** @return the document, NULL if it is none */
static json_t *load(FILE *file, const struct spot *nowhere, int *is_short)
{
    json_error_t error;
    json_t *value = json_loadf(file,
                               JSON_REJECT_DUPLICATES |
                                   JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY,
                               &error);

    if (value != NULL) {
        return value;
    }
    *is_short = json_error_code(&error) == json_error_out_of_memory;
    if (ferror(file)) {
        spot_refuse(nowhere, "cannot be read: %s", strerror(errno));
    } else if (json_error_code(&error) == json_error_premature_end_of_input &&
               error.position == 0) {
        spot_refuse(nowhere, "is empty");
    } else if (error.line > 0) {
        spot_refuse(nowhere, "line %d, column %d: %s", error.line, error.column,
                    error.text);
    } else {
        spot_refuse(nowhere, "%s", error.text);
    }
    return NULL;
}

tm_status profile_parse(FILE *file, const char *name, struct profile *profile,
                        char *error, size_t size)
{
    struct profile found = {0};
    struct json_in in = {name, error, size};
    struct spot document = {.in = &in};
    int is_short = 0;
    int is_good;

    error[0] = '\0';
    document.value = load(file, &document, &is_short);
    is_good = document.value != NULL && read_document(&found, &document) != 0;
    json_decref(document.value);
    if (is_good) {
        *profile = found;
        return TM_OK;
    }
    profile_release(&found);
    if (is_short) {
        snprintf(error, size, "%s: no memory to read it", name);
        return TM_ENOMEM;
    }
    return TM_ECONFIG;
}

tm_status profile_read(const char *path, struct profile *profile, char *error,
                       size_t size)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    tm_status status;

    if (file == NULL) {
        snprintf(error, size, "%s: %s", path, strerror(errno));
        return TM_ECONFIG;
    }
    status = profile_parse(file, file == stdin ? "standard input" : path,
                           profile, error, size);
    if (file != stdin) {
        fclose(file);
    }
    return status;
}

void profile_release(struct profile *profile)
{
    cluster_view_release(&profile->view);
    free((void *)(uintptr_t)profile->node_of);
    free((void *)(uintptr_t)profile->model.corrections);
    free(profile->measured.nodes);
    free((void *)(uintptr_t)profile->decision.node_of);
    free((void *)(uintptr_t)profile->decision.node_before_s);
    free((void *)(uintptr_t)profile->decision.node_after_s);
    script_free(&profile->script);
    *profile = (struct profile){0};
}
