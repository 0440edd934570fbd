// SPDX-License-Identifier: BSD-3-Clause
#include "planner/scenario.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "model/correct.h"

// ---- making and freeing ----

/** @return a copy of an array; NULL if there is none */
static void *copy_array(const void *array, size_t n, size_t size)
{
    return array != NULL ? memcpy(memory_new(n, size), array, n * size) : NULL;
}

void scenario_init(struct scenario *scenario, const struct profile *profile)
{
    const size_t n_nodes = profile->view.n_nodes;
    const size_t n_threads = profile->view.n_threads;

    *scenario = (struct scenario){
        .model = profile->model,
        .corrections = copy_array(profile->model.corrections, n_nodes,
                                  sizeof *scenario->corrections),
        .measured.iteration_s = profile->measured.iteration_s,
        .measured.nodes = copy_array(profile->measured.nodes, n_nodes,
                                     sizeof *scenario->measured.nodes),
        .origin =
            copy_array(profile->node_of, n_threads, sizeof *scenario->origin),
        .node_of =
            copy_array(profile->node_of, n_threads, sizeof *scenario->node_of),
        .unit_speed = profile->unit_speed,
        .seed = profile->decision.seed,
        .effort = profile->decision.effort,
    };
    scenario->model.corrections = scenario->corrections;
    cluster_view_copy(&scenario->view, &profile->view, 0);
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

void scenario_note(struct scenario *scenario, const char *format, ...)
{
    const char *old = scenario->notes != NULL ? scenario->notes : "";
    va_list arguments;
    char *line = NULL;
    char *joined = NULL;

    va_start(arguments, format);
    ensure_memory(vasprintf(&line, format, arguments) >= 0);
    va_end(arguments);
    ensure_memory(asprintf(&joined, "%s%s\n", old, line) >= 0);
    free(line);
    free(scenario->notes);
    scenario->notes = joined;
    scenario->is_changed = 1;
}

void scenario_add_node(struct scenario *scenario, const struct node_view *node)
{
    struct cluster_view *view = &scenario->view;
    const size_t n = view->n_nodes + 1ull;

    view->nodes = realloc(view->nodes, n * sizeof *view->nodes);
    ensure_memory(view->nodes != NULL);
    if (scenario->corrections != NULL) {
        scenario->corrections =
            realloc(scenario->corrections, n * sizeof *scenario->corrections);
        ensure_memory(scenario->corrections != NULL);
        correction_init(&scenario->corrections[n - 1]);
        scenario->model.corrections = scenario->corrections;
    }
    view->nodes[n - 1] = *node;
    view->n_nodes++;
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
    double *values = memory_new(view->n_nodes, sizeof *values);

    *node = view->nodes[0];
    node->name[0] = '\0';
    node->power = 1;
    node->n_processors = 1;
    node->memory_pages = node->free_pages = node->total_pages = 0;
    node->swap_in_s =
        median(view, offsetof(struct node_view, swap_in_s), values);
    node->swap_out_s =
        median(view, offsetof(struct node_view, swap_out_s), values);
    node->fetch_s = median(view, offsetof(struct node_view, fetch_s), values);
    node->update_s = median(view, offsetof(struct node_view, update_s), values);
    node->packet_s = median(view, offsetof(struct node_view, packet_s), values);
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

static void find_places(struct scenario *scenario)
{
    const struct cluster_view *view = &scenario->view;
    double *sums_s;

    if (are_all_homeless(scenario)) {
        for (uint32_t i = 0; i < view->n_threads; i++) {
            scenario->node_of[i] =
                (uint32_t)((uint64_t)i * view->n_nodes / view->n_threads);
        }
        return;
    }
    sums_s = memory_new(view->n_nodes, sizeof *sums_s);
    house(scenario, sums_s);
    free(sums_s);
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

static void predict_measurement(struct scenario *scenario)
{
    const uint32_t n_nodes = scenario->view.n_nodes;
    struct prediction prediction = {
        .nodes = memory_new(n_nodes, sizeof *prediction.nodes)};

    free(scenario->measured.nodes);
    scenario->measured.nodes =
        memory_new(n_nodes, sizeof *scenario->measured.nodes);
    ensure(predict(&scenario->view, &scenario->model, scenario->node_of,
                   &prediction) == TM_OK);
    measure(scenario, &prediction);
    free(prediction.nodes);
}

void scenario_settle(struct scenario *scenario)
{
    if (!scenario->is_changed) {
        return;
    }
    find_places(scenario);
    if (scenario->measured.nodes != NULL) {
        predict_measurement(scenario);
    }
}
