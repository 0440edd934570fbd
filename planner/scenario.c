// SPDX-License-Identifier: BSD-3-Clause
#include "planner/scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/correct.h"

// ---- making and freeing ----

/** @return a copy of an array; NULL if there is none, or no memory */
static void *copy_array(const void *array, size_t n, size_t size)
{
    void *copy = array != NULL ? calloc(n, size) : NULL;

    if (copy != NULL) {
        memcpy(copy, array, n * size);
    }
    return copy;
}

tm_status scenario_init(struct scenario *scenario,
                        const struct profile *profile)
{
    const struct cluster_view *view = &profile->view;

    *scenario = (struct scenario){
        .model = profile->model,
        .measured.iteration_s = profile->measured.iteration_s,
        .unit_speed = profile->unit_speed,
        .seed = profile->decision.seed,
        .effort = profile->decision.effort,
    };
    scenario->model.corrections = NULL;
    cluster_view_copy(&scenario->view, view, 0);
    scenario->origin =
        copy_array(profile->node_of, view->n_threads, sizeof *scenario->origin);
    scenario->node_of = copy_array(profile->node_of, view->n_threads,
                                   sizeof *scenario->node_of);
    scenario->corrections =
        copy_array(profile->model.corrections, view->n_nodes,
                   sizeof *scenario->corrections);
    scenario->measured.nodes =
        copy_array(profile->measured.nodes, view->n_nodes,
                   sizeof *scenario->measured.nodes);
    scenario->model.corrections = scenario->corrections;
    if (scenario->origin == NULL || scenario->node_of == NULL ||
        (profile->model.corrections && !scenario->corrections) ||
        (profile->measured.nodes && !scenario->measured.nodes)) {
        scenario_release(scenario);
        return TM_ENOMEM;
    }
    return TM_OK;
}

void scenario_release(struct scenario *scenario)
{
    cluster_view_release(&scenario->view);
    free(scenario->corrections);
    free(scenario->measured.nodes);
    free(scenario->origin);
    free(scenario->node_of);
    free(scenario->notes);
    *scenario = (struct scenario){0};
}

const char *const scenario_models[] = {
#define COST_WORD(value, word) [value] = (word),
#include "place/profile.def"
};
const unsigned scenario_n_models =
    sizeof scenario_models / sizeof scenario_models[0];

tm_status scenario_use_model(struct scenario *scenario, enum cost_kind kind)
{
    if (kind == scenario->model.kind) {
        return TM_OK;
    }
    if (cost_kind_needs_reference(kind) &&
        scenario->model.reference.power <= 0) {
        return TM_ESTATE;
    }
    scenario->model.kind = kind;
    scenario->model.corrections = NULL;
    free(scenario->corrections);
    scenario->corrections = NULL;
    return TM_OK;
}

// ---- changing ----

tm_status scenario_note(struct scenario *scenario, const char *format, ...)
{
    const char *old = scenario->notes != NULL ? scenario->notes : "";
    va_list arguments;
    char *line = NULL;
    char *joined = NULL;
    int length;

    va_start(arguments, format);
    length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length < 0 || asprintf(&joined, "%s%s\n", old, line) < 0) {
        free(length < 0 ? NULL : line);
        return TM_ENOMEM;
    }
    free(line);
    free(scenario->notes);
    scenario->notes = joined;
    scenario->is_changed = 1;
    return TM_OK;
}

tm_status scenario_add_node(struct scenario *scenario,
                            const struct node_view *node)
{
    struct cluster_view *view = &scenario->view;
    const size_t n = view->n_nodes + 1ull;
    struct node_view *nodes = realloc(view->nodes, n * sizeof *nodes);
    struct correction *corrections;

    if (nodes == NULL) {
        return TM_ENOMEM;
    }
    view->nodes = nodes;
    if (scenario->corrections != NULL) {
        corrections =
            realloc(scenario->corrections, n * sizeof *scenario->corrections);
        if (corrections == NULL) {
            return TM_ENOMEM;
        }
        correction_init(&corrections[n - 1]);
        scenario->corrections = corrections;
        scenario->model.corrections = corrections;
    }
    nodes[n - 1] = *node;
    view->n_nodes++;
    return TM_OK;
}

void scenario_remove_node(struct scenario *scenario, uint32_t node)
{
    struct cluster_view *view = &scenario->view;
    const size_t n_behind = view->n_nodes - node - 1;

    memmove(&view->nodes[node], &view->nodes[node + 1],
            n_behind * sizeof *view->nodes);
    if (scenario->corrections != NULL) {
        memmove(&scenario->corrections[node], &scenario->corrections[node + 1],
                n_behind * sizeof *scenario->corrections);
    }
    view->n_nodes--;
    for (uint32_t i = 0; i < view->n_threads; i++) {
        uint32_t *origin = &scenario->origin[i];

        if (*origin == node) {
            *origin = NO_NODE;
        } else if (*origin != NO_NODE && *origin > node) {
            (*origin)--;
        }
    }
}

uint32_t scenario_pinned_to(const struct scenario *scenario, uint32_t node)
{
    for (uint32_t i = 0; i < scenario->view.n_threads; i++) {
        if (scenario->view.threads[i].is_pinned &&
            scenario->origin[i] == node) {
            return i;
        }
    }
    return NO_NODE;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

/** The lower median of a double of the nodes. @param values  [n_nodes] */
static double median(const struct cluster_view *view, size_t offset,
                     double *values)
{
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        memcpy(&values[x], (const char *)&view->nodes[x] + offset,
               sizeof *values);
    }
    qsort(values, view->n_nodes, sizeof *values, compare_doubles);
    return values[(view->n_nodes - 1) / 2];
}

void scenario_usual_node(const struct scenario *scenario,
                         struct node_view *node)
{
    const struct cluster_view *view = &scenario->view;
    double *values = calloc(view->n_nodes, sizeof *values);

    *node = view->nodes[0]; // without memory for the medians, like this one
    node->name[0] = '\0';
    node->power = 1;
    node->n_processors = 1;
    node->memory_pages = node->free_pages = node->total_pages = 0;
    if (values != NULL) {
        node->swap_in_s =
            median(view, offsetof(struct node_view, swap_in_s), values);
        node->swap_out_s =
            median(view, offsetof(struct node_view, swap_out_s), values);
        node->fetch_s =
            median(view, offsetof(struct node_view, fetch_s), values);
        node->update_s =
            median(view, offsetof(struct node_view, update_s), values);
        node->packet_s =
            median(view, offsetof(struct node_view, packet_s), values);
    }
    free(values);
}

static uint64_t changed_by(uint64_t pages, uint64_t before, uint64_t after)
{
    if (after >= before) {
        return pages + (after - before);
    }
    return pages > before - after ? pages - (before - after) : 0;
}

void node_set_memory(struct node_view *node, uint64_t pages)
{
    const uint64_t before = node->memory_pages;

    node->free_pages = changed_by(node->free_pages, before, pages);
    node->total_pages = changed_by(node->total_pages, before, pages);
    node->memory_pages = pages;
}

// ---- settling ----

/** Seconds that a node would compute for with another thread, all processors
 * equally busy. */
static double load_with(const struct node_view *node, double sum_s,
                        double computation_s)
{
    return (sum_s + computation_s) / (node->power * node->n_processors);
}

/** @param sums_s  [n_nodes]  seconds at power 1.0 of those who have a node */
static void house(struct scenario *scenario, double *sums_s)
{
    const struct cluster_view *view = &scenario->view;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        if (scenario->origin[i] != NO_NODE) {
            sums_s[scenario->origin[i]] += view->threads[i].computation_s;
        }
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        const double t = view->threads[i].computation_s;
        uint32_t best = 0;

        scenario->node_of[i] = scenario->origin[i];
        if (scenario->origin[i] != NO_NODE) {
            continue;
        }
        for (uint32_t x = 1; x < view->n_nodes; x++) {
            if (load_with(&view->nodes[x], sums_s[x], t) <
                load_with(&view->nodes[best], sums_s[best], t)) {
                best = x;
            }
        }
        scenario->node_of[i] = best;
        sums_s[best] += t;
    }
}

static int are_all_homeless(const struct scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->view.n_threads; i++) {
        if (scenario->origin[i] != NO_NODE) {
            return 0;
        }
    }
    return 1;
}

static tm_status find_places(struct scenario *scenario)
{
    const struct cluster_view *view = &scenario->view;
    double *sums_s;

    if (are_all_homeless(scenario)) {
        for (uint32_t i = 0; i < view->n_threads; i++) {
            scenario->node_of[i] =
                (uint32_t)((uint64_t)i * view->n_nodes / view->n_threads);
        }
        return TM_OK;
    }
    sums_s = calloc(view->n_nodes, sizeof *sums_s);
    if (sums_s == NULL) {
        return TM_ENOMEM;
    }
    house(scenario, sums_s);
    free(sums_s);
    return TM_OK;
}

/** What would be measured if the prediction were right. */
static void measure(struct scenario *scenario,
                    const struct prediction *prediction)
{
    scenario->measured.iteration_s = prediction->iteration_s;
    for (uint32_t x = 0; x < scenario->view.n_nodes; x++) {
        const struct node_prediction *node = &prediction->nodes[x];

        scenario->measured.nodes[x] = (struct node_measurement){
            .comp_s = node->comp_s,
            .mem_s = node->mem_s,
            .swap_in_s = node->mem_in_s,
            .swap_out_s = node->mem_out_s,
            .comm_s = node->comm_s,
            .time_s = node->time_s,
            .lack_pages = (uint64_t)(node->lack_pages + 0.5),
        };
    }
}

static tm_status predict_measurement(struct scenario *scenario)
{
    const uint32_t n_nodes = scenario->view.n_nodes;
    struct prediction prediction = {0};
    struct node_measurement *measured;
    tm_status status = TM_ENOMEM;

    measured = realloc(scenario->measured.nodes, n_nodes * sizeof *measured);
    if (measured == NULL) {
        return TM_ENOMEM;
    }
    scenario->measured.nodes = measured;
    prediction.nodes = calloc(n_nodes, sizeof *prediction.nodes);
    if (prediction.nodes != NULL) {
        status = predict(&scenario->view, &scenario->model, scenario->node_of,
                         &prediction);
    }
    if (status == TM_OK) {
        measure(scenario, &prediction);
    }
    free(prediction.nodes);
    return status;
}

tm_status scenario_settle(struct scenario *scenario)
{
    tm_status status;

    if (!scenario->is_changed) {
        return TM_OK;
    }
    status = find_places(scenario);
    if (status != TM_OK || scenario->measured.nodes == NULL) {
        return status;
    }
    return predict_measurement(scenario);
}
