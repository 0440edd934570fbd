// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_PLAN_PROFILE_MAKE_H
#define TESTS_PLAN_PROFILE_MAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/sample_views_test.h"
#include "observe/profile_write.h"
#include "planner/profile_read.h"

/*
 * Random profiles for tests, and ways between profiles and texts.
 */

/** A time: usual ones, and such as need all of their digits. */
static inline double draw_time(void)
{
    switch (random_below(8)) {
    case 0:
        return 0;
    case 1:
        return 5e-324 * (1 + random_below(9)); // denormal
    case 2:
        return PROFILE_NUMBER_MAX * random_between(0, 1);
    case 3:
        return random_below(1000);
    default:
        return random_between(0, 1) / (1 + random_below(1000000));
    }
}

static inline double draw_factor(void)
{
    return random_between(0.001, 10) / (1 + random_below(1000));
}

static inline const uint32_t *draw_mapping(const struct cluster_view *view)
{
    uint32_t *node_of = must(calloc(view->n_threads, sizeof *node_of));

    mapping_draw(view, node_of);
    return node_of;
}

static inline const double *draw_times(uint32_t n)
{
    double *times = must(calloc(n, sizeof *times));

    for (uint32_t x = 0; x < n; x++) {
        times[x] = draw_time();
    }
    return times;
}

static inline void draw_view(struct cluster_view *view)
{
    const struct view_plan plan = {
        .n_nodes = 1 + random_below(6),
        .n_threads = 1 + random_below(40),
        .are_alike = (int)random_below(2),
        .max_processors = 4,
        .sharing = random_below(N_SHARINGS),
        .short_of_memory = 1,
    };

    view_draw(view, &plan);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        view->threads[i].computation_s = draw_time();
        view->threads[i].is_pinned = random_below(8) == 0;
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        view->nodes[x].fetch_s = draw_time();
        view->nodes[x].total_pages = next_random() % (PROFILE_PAGES_MAX + 1);
    }
}

static inline void draw_model(struct profile *profile)
{
    struct cost_model *model = &profile->model;
    struct correction *corrections;

    model->kind = random_below(3);
    model->replacement = random_below(2);
    model->overlap = random_below(2);
    reference_choose(&profile->view, NULL, &model->reference);
    if (random_below(2)) {
        return;
    }
    corrections = must(calloc(profile->view.n_nodes, sizeof *corrections));
    for (uint32_t x = 0; x < profile->view.n_nodes; x++) {
        corrections[x] =
            (struct correction){draw_factor(), draw_factor(), draw_factor(),
                                draw_factor(), draw_factor(), 0};
    }
    model->corrections = corrections;
}

static inline void draw_measured(struct profile *profile)
{
    if (random_below(4) == 0) {
        return;
    }
    profile->measured.iteration_s = draw_time();
    profile->measured.nodes =
        must(calloc(profile->view.n_nodes, sizeof *profile->measured.nodes));
    for (uint32_t x = 0; x < profile->view.n_nodes; x++) {
        profile->measured.nodes[x] = (struct node_measurement){
            draw_time(), draw_time(), draw_time(),        draw_time(),
            draw_time(), draw_time(), random_below(10000)};
    }
}

static inline void draw_decision(struct profile *profile)
{
    struct profile_decision *decision = &profile->decision;

    if (random_below(4) == 0) {
        return;
    }
    *decision = (struct profile_decision){
        .policy = "cpu-mem",
        .seed = next_random(),
        .effort = (uint32_t)next_random(),
        .node_of = draw_mapping(&profile->view),
        .n_moves = random_below(100),
        .before_s = draw_time(),
        .after_s = draw_time(),
        .owners_move = (int)random_below(2),
        .is_proven = (int)random_below(2),
        .is_carried_out = (int)random_below(2),
    };
    if (random_below(2)) {
        decision->node_before_s = draw_times(profile->view.n_nodes);
        decision->node_after_s = draw_times(profile->view.n_nodes);
    }
    if (random_below(2)) {
        decision->was_weighed = 1;
        decision->acceptance = (struct profile_acceptance){
            draw_time(),
            draw_time(),
            random_below(2) ? UINT64_MAX : next_random() >> 11,
            draw_time(),
            draw_factor(),
            draw_time()};
    }
}

/** A profile that owns its arrays: profile_release() frees it. */
static inline void profile_draw(struct profile *profile)
{
    *profile = (struct profile){
        .teamster = "0.1.0",
        .program = "jacobi",
        .iteration = next_random() >> 11,
        .unit_speed = draw_time(),
    };
    draw_view(&profile->view);
    profile->node_of = draw_mapping(&profile->view);
    draw_model(profile);
    draw_measured(profile);
    draw_decision(profile);
}

/** What is written of a profile; to be freed. */
static inline char *text_of(const struct profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = must(open_memstream(&text, &size));

    assert_int_equal(profile_write(file, profile), TM_OK);
    fclose(file);
    return text;
}

/** Read a text as the file "f". */
static inline tm_status read_text(const char *text, size_t size,
                                  struct profile *profile, char *error,
                                  size_t error_size)
{
    // fmemopen() of nothing is refused.
    FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)text, size, "r")
                          : fopen("/dev/null", "re");
    tm_status status;

    must(file);
    status = profile_parse(file, "f", profile, error, error_size);
    fclose(file);
    return status;
}

#endif
