// SPDX-License-Identifier: BSD-3-Clause
#include "planner/hosts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/correct.h"

/** A cluster that takes another's place. */
struct change {
    struct scenario *scenario;
    const struct plan_host *hosts;
    uint32_t n_hosts;
    struct node_view *nodes;        ///< [n_hosts]
    struct correction *corrections; ///< [n_hosts]; NULL: none
    uint32_t *old_of;               ///< [n_hosts]: the node it was, or NO_NODE
    uint32_t *new_of;               ///< [old nodes], likewise
    double unit_speed;
    char *error;
    size_t size;
};

static void match_names(struct change *change)
{
    const struct cluster_view *view = &change->scenario->view;

    memset(change->new_of, 0xff, view->n_nodes * sizeof *change->new_of);
    for (uint32_t h = 0; h < change->n_hosts; h++) {
        change->old_of[h] = NO_NODE;
        for (uint32_t x = 0; x < view->n_nodes; x++) {
            if (change->new_of[x] == NO_NODE &&
                strcmp(view->nodes[x].name, change->hosts[h].name) == 0) {
                change->new_of[x] = h;
                change->old_of[h] = x;
                break;
            }
        }
    }
}

/** @return speed= of power 1.0; 0 if nothing tells */
static double find_unit(const struct change *change)
{
    double sum = 0;
    unsigned n = 0;

    if (change->scenario->unit_speed > 0) {
        return change->scenario->unit_speed;
    }
    for (uint32_t h = 0; h < change->n_hosts; h++) {
        const uint32_t x = change->old_of[h];

        if (x != NO_NODE && change->hosts[h].speed > 0) {
            sum += log(change->hosts[h].speed /
                       change->scenario->view.nodes[x].power);
            n++;
        }
    }
    return n > 0 ? exp(sum / n) : 0;
}

static tm_status refuse(const struct change *change, const char *name,
                        const char *what)
{
    snprintf(change->error, change->size, "%s %s", name, what);
    return TM_ECONFIG;
}

static tm_status make_node(const struct change *change, uint32_t h)
{
    const struct plan_host *host = &change->hosts[h];
    const uint32_t x = change->old_of[h];
    struct node_view *node = &change->nodes[h];

    if (x != NO_NODE) {
        *node = change->scenario->view.nodes[x];
    } else {
        scenario_usual_node(change->scenario, node);
        memcpy(node->name, host->name, sizeof node->name);
    }
    if (x == NO_NODE && (host->speed == 0 || host->memory_bytes == 0)) {
        return refuse(change, host->name,
                      "needs speed= and memory=: the profile has no node of "
                      "that name to take them from");
    }
    if (host->speed > 0 && change->unit_speed == 0) {
        return refuse(change, host->name,
                      "has a speed=, but the run was given no speeds and no "
                      "node has a name that the profile has: give one of them "
                      "its name, or start the run with speed=");
    }
    if (host->speed > 0) {
        node->power = host->speed / change->unit_speed;
    }
    if (host->n_processors > 0) {
        node->n_processors = host->n_processors;
    }
    if (host->memory_bytes > 0) {
        node_set_memory(node, host->memory_bytes / TM_PAGE_SIZE);
    }
    return TM_OK;
}

static tm_status make_nodes(struct change *change)
{
    const struct scenario *scenario = change->scenario;

    for (uint32_t x = 0; x < scenario->view.n_nodes; x++) {
        if (change->new_of[x] == NO_NODE &&
            scenario_pinned_to(scenario, x) != NO_NODE) {
            return refuse(change, scenario->view.nodes[x].name,
                          "must stay in the cluster: a thread is pinned to it");
        }
    }
    for (uint32_t h = 0; h < change->n_hosts; h++) {
        const tm_status status = make_node(change, h);

        if (status != TM_OK) {
            return status;
        }
        if (change->corrections == NULL) {
            continue;
        }
        correction_init(&change->corrections[h]);
        if (change->old_of[h] != NO_NODE) {
            change->corrections[h] = scenario->corrections[change->old_of[h]];
        }
    }
    return TM_OK;
}

static void install(struct change *change)
{
    struct scenario *scenario = change->scenario;

    for (uint32_t i = 0; i < scenario->view.n_threads; i++) {
        uint32_t *origin = &scenario->origin[i];

        *origin = *origin != NO_NODE ? change->new_of[*origin] : NO_NODE;
    }
    free(scenario->view.nodes);
    scenario->view.nodes = change->nodes;
    scenario->view.n_nodes = change->n_hosts;
    free(scenario->corrections);
    scenario->corrections = change->corrections;
    scenario->model.corrections = change->corrections;
    scenario->unit_speed = change->unit_speed;
    scenario->is_changed = 1;
    change->nodes = NULL;
    change->corrections = NULL;
}

static void note(const struct change *change)
{
    uint32_t n_new = 0;

    for (uint32_t h = 0; h < change->n_hosts; h++) {
        n_new += change->old_of[h] == NO_NODE;
    }
    scenario_note(change->scenario,
                  "another cluster: %u nodes, %u of them new%s",
                  change->n_hosts, n_new,
                  n_new == 0 ? ""
                             : " (with usual costs of paging and "
                               "messages)");
}

static void allocate(struct change *change)
{
    const struct scenario *scenario = change->scenario;

    change->nodes = memory_new(change->n_hosts, sizeof *change->nodes);
    change->old_of = memory_new(change->n_hosts, sizeof *change->old_of);
    change->new_of = memory_new(scenario->view.n_nodes, sizeof *change->new_of);
    if (scenario->corrections != NULL) {
        change->corrections =
            memory_new(change->n_hosts, sizeof *change->corrections);
    }
}

tm_status scenario_use_hosts(struct scenario *scenario,
                             const struct plan_host *hosts, uint32_t n_hosts,
                             char *error, size_t size)
{
    struct change change = {.scenario = scenario,
                            .hosts = hosts,
                            .n_hosts = n_hosts,
                            .error = error,
                            .size = size};
    tm_status status;

    allocate(&change);
    match_names(&change);
    change.unit_speed = find_unit(&change);
    status = make_nodes(&change);
    if (status == TM_OK) {
        install(&change);
        note(&change);
    }
    free(change.nodes);
    free(change.corrections);
    free(change.old_of);
    free(change.new_of);
    return status;
}
