// SPDX-License-Identifier: BSD-3-Clause
//
// Write a profile as a run would, to standard output.
//
//   write_profile POLICY [NODES [THREADS [SEED]]]
//
// A grid, a strip of rows for each thread, on unequal nodes that are short of
// memory, threads in blocks. The decision is the policy's own; with "-" there
// is none. Another seed than 0 makes everything a little uneven.
#include <stdlib.h>

#include "model/sample_views_test.h"
#include "observe/profile_write.h"
#include "planner/profile_read.h"

#define PAGES 200u ///< of each thread's own
#define EFFORT 5u  ///< `optimal` would take its time otherwise

static double uneven(uint64_t seed, double low, double high)
{
    return seed == 0 ? (low + high) / 2 : random_between(low, high);
}

static void make_nodes(struct cluster_view *view, uint64_t seed)
{
    static const double powers[] = {1, 0.8, 0.8, 0.6};
    static const double memory[] = {1.6, 1.2, 0.6, 1.2};
    const double each = (double)view->n_threads / view->n_nodes * PAGES;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        struct node_view *node = &view->nodes[x];

        snprintf(node->name, sizeof node->name, "n%u", x + 1);
        node->power = powers[x % 4] * uneven(seed, 0.95, 1.05);
        node->memory_pages = (uint64_t)(each * memory[x % 4]);
        node->free_pages = node->memory_pages;
        node->total_pages = 2 * node->memory_pages;
        node->swap_in_s = 60e-6 * uneven(seed, 0.5, 1.5);
        node->swap_out_s = 40e-6 * uneven(seed, 0.5, 1.5);
        node->fetch_s = 30e-6 * uneven(seed, 0.5, 1.5);
        node->packet_s = 20e-6;
    }
}

static void make_threads(struct cluster_view *view, uint64_t seed)
{
    struct page_lists lists;

    lists_init(&lists, view->n_threads);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        const uint64_t base = (uint64_t)i * 1000;

        view->threads[i].computation_s = 2e-3 * uneven(seed, 0.5, 1.5);
        if (i > 0) {
            lists_add(&lists, i, base - 1000 + PAGES, 2, USE_READ, 0);
        }
        lists_add(&lists, i, base, PAGES, USE_READ | USE_WRITE, 0);
        lists_add(&lists, i, base + PAGES, 2, USE_READ | USE_WRITE, 4096);
        if (i + 1 < view->n_threads) {
            lists_add(&lists, i, base + 1000, 1, USE_READ, 0);
        }
    }
    lists_build(&lists, view);
    lists_release(&lists);
}

static struct prediction predicted(const struct profile *profile,
                                   const uint32_t *node_of)
{
    struct prediction prediction = {
        .nodes = must(calloc(profile->view.n_nodes, sizeof *prediction.nodes)),
    };

    if (predict(&profile->view, &profile->model, node_of, &prediction) !=
        TM_OK) {
        abort();
    }
    return prediction;
}

static const double *times_of(const struct prediction *prediction, uint32_t n)
{
    double *times = must(calloc(n, sizeof *times));

    for (uint32_t x = 0; x < n; x++) {
        times[x] = prediction->nodes[x].time_s;
    }
    return times;
}

/** [Liu06]'s, for those who ask about that model. A run does it likewise. */
static void choose_reference(struct profile *profile,
                             const struct prediction *prediction)
{
    struct reference *reference = &profile->model.reference;
    const uint32_t x =
        reference_choose(&profile->view, &profile->measured, reference);

    reference_set_lack(reference, &profile->view.nodes[x],
                       prediction->nodes[x].demand_pages);
}

/** What was measured: the prediction, a little slower. */
static void measure(struct profile *profile,
                    const struct prediction *prediction)
{
    profile->measured.nodes =
        must(calloc(profile->view.n_nodes, sizeof *profile->measured.nodes));
    profile->measured.iteration_s = prediction->iteration_s * 1.01;
    for (uint32_t x = 0; x < profile->view.n_nodes; x++) {
        const struct node_prediction *node = &prediction->nodes[x];

        profile->measured.nodes[x] = (struct node_measurement){
            .comp_s = node->comp_s,
            .mem_s = node->mem_s,
            .swap_in_s = node->mem_in_s,
            .swap_out_s = node->mem_out_s,
            .comm_s = node->comm_s,
            .time_s = node->time_s * 1.01,
            .lack_pages = (uint64_t)(node->lack_pages + 0.5),
        };
    }
}

static void decide(struct profile *profile, const char *name,
                   const struct prediction *before)
{
    struct profile_decision *decision = &profile->decision;
    struct mapping mapping = {
        .node_of = must(calloc(profile->view.n_threads, sizeof(uint32_t)))};
    const struct place_request request = {&profile->view,
                                          &profile->model,
                                          profile->node_of,
                                          &profile->measured,
                                          17,
                                          EFFORT};
    struct prediction after;

    if (policy_place(must((void *)(uintptr_t)policy_find(name)), &request,
                     &mapping) != TM_OK) {
        abort();
    }
    after = predicted(profile, mapping.node_of);
    *decision = (struct profile_decision){
        .seed = request.seed,
        .effort = request.effort,
        .node_of = mapping.node_of,
        .n_moves = mapping.n_moves,
        .before_s = mapping.before_s,
        .after_s = mapping.after_s,
        .owners_move = mapping.owners_move,
        .is_proven = mapping.is_proven,
        .node_before_s = times_of(before, profile->view.n_nodes),
        .node_after_s = times_of(&after, profile->view.n_nodes),
        .is_carried_out = mapping.after_s < mapping.before_s,
        .was_weighed = 1,
        .acceptance = {mapping.before_s, mapping.after_s, UINT64_MAX,
                       mapping.n_moves * 65536.0, 1e9, 0.001},
    };
    snprintf(decision->policy, sizeof decision->policy, "%s", name);
    free(after.nodes);
}

static unsigned argument(char **argv, int at, unsigned usual)
{
    for (int i = 1; i <= at; i++) {
        if (argv[i] == NULL) {
            return usual;
        }
    }
    return (unsigned)strtoul(argv[at], NULL, 10);
}

int main(int argc, char **argv)
{
    struct profile profile = {.teamster = "0.1.0",
                              .program = "grid",
                              .iteration = 17,
                              .unit_speed = 500};
    const unsigned seed = argument(argv, 4, 0);
    struct prediction before;
    uint32_t *node_of;
    tm_status status;

    if (argc < 2) {
        return 64;
    }
    random_state = seed | 1;
    view_make(&profile.view, argument(argv, 2, 4), argument(argv, 3, 32));
    make_nodes(&profile.view, seed);
    make_threads(&profile.view, seed);
    node_of = must(calloc(profile.view.n_threads, sizeof *node_of));
    mapping_in_blocks(&profile.view, node_of);
    profile.node_of = node_of;
    before = predicted(&profile, node_of);
    measure(&profile, &before);
    choose_reference(&profile, &before);
    if (strcmp(argv[1], "-") != 0) {
        decide(&profile, argv[1], &before);
    }
    free(before.nodes);
    status = profile_write(stdout, &profile);
    profile_release(&profile);
    return status == TM_OK ? 0 : 1;
}
