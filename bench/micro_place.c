// SPDX-License-Identifier: BSD-3-Clause
/*
 * How long mapping takes, in milliseconds of processor time: the median of
 * several runs, on clusters of unequal nodes whose memory is short by a third
 * in the mean.
 *
 *     micro_place [NODES THREADS [KIND [DRAWS]]]
 *
 * Without arguments: 16 nodes with 512 threads and 4096 nodes with 1,000,000
 * threads. KIND is how threads share: `chain` (a page group of its own, one
 * shared with each neighbour), `unlike` (the same, but threads compute 0.1 to
 * 3 times the mean), `scattered` (a chain whose threads are numbered at
 * random), `grid` (scattered too, but with four neighbours each), `all` (each
 * writes a page that all read; up to 2048 threads).
 *
 * With DRAWS so many clusters are drawn, cpu-mem is asked about each in three
 * passes, and how the least times of the three spread over them is printed.
 * Else it is one cluster, the first of these, and what is printed is
 *
 *   predict     one prediction of the mapping in force
 *   curve       what n threads use, for all n
 *   steps       counts by [Liu06] (1) to (5) with the plateau walk
 *   threshold   counts by their threshold
 *   cpu, ...    the policy, from view to answer, all subphases; with the
 *               predicted iteration time before and after, and the moves
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "place/counts.h"
#include "place/policy.h"

#define MAX_RUNS 15
#define N_PASSES 3 ///< over all draws: machines have slow seconds

enum kind {
    KIND_CHAIN,
    KIND_UNLIKE,
    KIND_SCATTERED,
    KIND_GRID,
    KIND_ALL,
    N_KINDS
};

static const char *const kind_names[] = {"chain", "unlike", "scattered", "grid",
                                         "all"};

static uint64_t random_state;

static double draw(double low, double high)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return low +
           (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static void begin_draw(unsigned number)
{
    random_state = 88172645463325252u ^ number * 0x9e3779b97f4a7c15u;
    for (unsigned k = 0; number > 0 && k < 16; k++) {
        (void)draw(0, 1); // until numbers that are alike have come apart
    }
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "micro_place: no memory\n");
        exit(1);
    }
    return memory;
}

// ---- views ----

static void fill_nodes(struct cluster_view *view)
{
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        struct node_view *node = &view->nodes[x];

        snprintf(node->name, sizeof node->name, "n%u", x);
        node->power = draw(0.3, 1);
        node->n_processors = 1;
        node->memory_pages = node->free_pages =
            (uint64_t)(draw(0.3, 1) * 140.0 * view->n_threads / view->n_nodes);
        node->total_pages = 2 * node->memory_pages;
        node->swap_in_s = 50e-6;
        node->swap_out_s = 30e-6;
        node->fetch_s = 20e-6;
        node->packet_s = 10e-6;
        node->packet_bytes = 4096;
    }
}

static int is_scattered(enum kind kind)
{
    return kind == KIND_SCATTERED || kind == KIND_GRID;
}

static void shuffle(uint32_t *order, uint32_t n, enum kind kind)
{
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = is_scattered(kind) ? (uint32_t)draw(0, k + 1) : k;

        order[k] = order[at];
        order[at] = k;
    }
}

/** A thread reads what the one at `other` writes, if there is one. */
static void read_from(struct cluster_view *view, uint32_t other)
{
    if (other < view->n_threads) { // 0 - 1 is none
        view->uses[view->n_uses++] = (struct use){2 * other + 1, USE_READ, 0};
    }
}

/** Thread number_of[k] is the k-th of the chain, or of the grid row by row: 128
 * pages of its own, 2 that it writes and its neighbours read. */
static void fill_neighbours(struct cluster_view *view, enum kind kind)
{
    const uint32_t n = view->n_threads;
    const uint32_t width =
        kind == KIND_GRID ? (uint32_t)ceil(sqrt(n)) : UINT32_MAX;
    uint32_t *number_of = must(calloc(n, sizeof *number_of));

    shuffle(number_of, n, kind);
    view->n_groups = 2 * n;
    view->group_pages = must(malloc(2ull * n * sizeof(uint32_t)));
    view->uses = must(malloc(6ull * n * sizeof *view->uses));
    for (uint32_t k = 0; k < n; k++) {
        struct thread_view *it = &view->threads[number_of[k]];

        view->group_pages[2 * k] = 128;
        view->group_pages[2 * k + 1] = 2;
        it->first_use = view->n_uses;
        view->uses[view->n_uses++] = (struct use){2 * k, 3, 0};
        view->uses[view->n_uses++] = (struct use){2 * k + 1, 3, 4000};
        if (k % width > 0) {
            read_from(view, k - 1);
        }
        if ((k + 1) % width > 0) {
            read_from(view, k + 1);
        }
        if (kind == KIND_GRID) {
            read_from(view, k - width);
            read_from(view, k + width);
        }
        it->n_uses = view->n_uses - it->first_use;
    }
    free(number_of);
}

static void fill_all(struct cluster_view *view)
{
    const uint32_t n = view->n_threads;

    view->n_groups = n;
    view->group_pages = must(malloc(n * sizeof(uint32_t)));
    view->uses = must(malloc((size_t)n * n * sizeof *view->uses));
    for (uint32_t i = 0; i < n; i++) {
        view->group_pages[i] = 1;
        view->threads[i].first_use = view->n_uses;
        view->threads[i].n_uses = n;
        for (uint32_t g = 0; g < n; g++) {
            view->uses[view->n_uses++] =
                (struct use){g, g == i ? 3 : 1, g == i ? 4000 : 0};
        }
    }
}

static void make_view(struct cluster_view *view, uint32_t n_nodes,
                      uint32_t n_threads, enum kind kind)
{
    if (cluster_view_init(view, n_nodes, n_threads) != TM_OK) {
        must(NULL);
    }
    fill_nodes(view);
    for (uint32_t i = 0; i < n_threads; i++) {
        const double r = draw(0, 1);

        view->threads[i].computation_s =
            5e-3 * (kind == KIND_UNLIKE ? 0.1 + 2.9 * r * r : 1);
    }
    if (kind == KIND_ALL) {
        fill_all(view);
    } else {
        fill_neighbours(view, kind);
    }
    if (!cluster_view_is_valid(view)) {
        fprintf(stderr, "micro_place: the view is not valid\n");
        exit(1);
    }
}

// ---- measuring ----

struct subject {
    struct cluster_view view;
    struct cost_model model;
    uint32_t *current;
    uint32_t *node_of;
    struct node_prediction *nodes;
    struct demand_curve curve;
    uint32_t *counts;
    const struct policy *policy;
    struct mapping mapping;
};

typedef tm_status run_fn(struct subject *subject);

static tm_status run_predict(struct subject *subject)
{
    struct prediction prediction = {.nodes = subject->nodes};

    return predict(&subject->view, &subject->model, subject->current,
                   &prediction);
}

static tm_status run_curve(struct subject *subject)
{
    demand_curve_release(&subject->curve);
    demand_curve_init(&subject->curve, &subject->view, &subject->model,
                      subject->current, COUNT_ALL);
    return TM_OK;
}

static tm_status run_steps(struct subject *subject)
{
    counts_of(&subject->view, subject->current, subject->counts);
    counts_search(&subject->curve, STEPS_LIU06, subject->counts);
    return TM_OK;
}

static tm_status run_threshold(struct subject *subject)
{
    const struct node_times times = demand_curve_times(&subject->curve);

    counts_from_times(&times, subject->counts);
    return TM_OK;
}

static tm_status run_policy(struct subject *subject)
{
    const struct place_request request = {.view = &subject->view,
                                          .model = &subject->model,
                                          .current = subject->current};

    subject->mapping.node_of = subject->node_of;
    return policy_place(subject->policy, &request, &subject->mapping);
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

/** Run until a second is over, at least once. @return the median */
static double time_of(const char *name, run_fn *run, struct subject *subject)
{
    double times[MAX_RUNS];
    double begun = now_ms();
    unsigned n = 0;

    do {
        const double start = now_ms();

        if (run(subject) != TM_OK) {
            fprintf(stderr, "micro_place: %s failed\n", name);
            exit(1);
        }
        times[n++] = now_ms() - start;
    } while (n < MAX_RUNS && now_ms() - begun < 1000);
    qsort(times, n, sizeof *times, compare);
    return times[n / 2];
}

static void measure(const char *name, run_fn *run, struct subject *subject)
{
    printf("  %-10s %10.3f ms", name, time_of(name, run, subject));
    if (run == run_policy) {
        printf("   %9.3f -> %9.3f ms, %u moves",
               subject->mapping.before_s * 1e3, subject->mapping.after_s * 1e3,
               subject->mapping.n_moves);
    }
    printf("\n");
    fflush(stdout);
}

static void measure_policies(struct subject *subject)
{
    for (unsigned k = 0; k < n_policies; k++) {
        // Others take time by the square of the threads, or all they get.
        const int is_quick = strcmp(policies[k]->name, "cpu-mem") == 0 ||
                             strcmp(policies[k]->name, "cpu") == 0 ||
                             strcmp(policies[k]->name, "mem") == 0;

        subject->policy = policies[k];
        if (is_quick || (subject->view.n_threads <= 2048 &&
                         strcmp(policies[k]->name, "optimal") != 0)) {
            measure(policies[k]->name, run_policy, subject);
        }
    }
}

static void subject_init(struct subject *s, uint32_t n_nodes,
                         uint32_t n_threads, enum kind kind, unsigned number)
{
    *s = (struct subject){.model = {.kind = COST_MEASURED}};
    begin_draw(number);
    make_view(&s->view, n_nodes, n_threads, kind);
    s->current = must(malloc(n_threads * sizeof(uint32_t)));
    s->node_of = must(malloc(n_threads * sizeof(uint32_t)));
    s->nodes = must(malloc(n_nodes * sizeof *s->nodes));
    s->counts = must(malloc(n_nodes * sizeof(uint32_t)));
    for (uint32_t i = 0; i < n_threads; i++) {
        s->current[i] = (uint32_t)((uint64_t)i * n_nodes / n_threads);
    }
}

static void subject_release(struct subject *s)
{
    demand_curve_release(&s->curve);
    cluster_view_release(&s->view);
    free(s->current);
    free(s->node_of);
    free(s->nodes);
    free(s->counts);
}

static void measure_all(uint32_t n_nodes, uint32_t n_threads, enum kind kind)
{
    struct subject s;

    subject_init(&s, n_nodes, n_threads, kind, 0);
    printf("%u nodes, %u threads, %s\n", n_nodes, n_threads, kind_names[kind]);
    measure("predict", run_predict, &s);
    measure("curve", run_curve, &s);
    if ((uint64_t)n_nodes * n_threads < 100000000) {
        measure("steps", run_steps, &s);
    }
    measure("threshold", run_threshold, &s);
    measure_policies(&s);
    subject_release(&s);
}

static void measure_draws(uint32_t n_nodes, uint32_t n_threads, enum kind kind,
                          unsigned n_draws)
{
    double *times = must(calloc(n_draws, sizeof *times));
    double sum = 0;
    double n_moves = 0;

    for (unsigned turn = 0; turn < N_PASSES * n_draws; turn++) {
        const unsigned k = turn % n_draws;
        struct subject s;
        double time_ms;

        subject_init(&s, n_nodes, n_threads, kind, k);
        s.policy = policy_find("cpu-mem");
        time_ms = time_of("cpu-mem", run_policy, &s);
        times[k] = turn < n_draws ? time_ms : fmin(times[k], time_ms);
        sum += s.mapping.after_s / s.mapping.before_s;
        n_moves += s.mapping.n_moves;
        subject_release(&s);
    }
    qsort(times, n_draws, sizeof *times, compare);
    printf("%u nodes, %u threads, %s, %u draws: least %.3f, median %.3f, nine "
           "of ten %.3f, most %.3f ms; iterations of %.4f, %.1f moves in the "
           "mean\n",
           n_nodes, n_threads, kind_names[kind], n_draws, times[0],
           times[n_draws / 2], times[n_draws * 9 / 10], times[n_draws - 1],
           sum / N_PASSES / n_draws, n_moves / N_PASSES / n_draws);
    free(times);
}

int main(int argc, char **argv)
{
    if (argc >= 3) {
        const uint32_t n_nodes = (uint32_t)strtoul(argv[1], NULL, 10);
        const uint32_t n_threads = (uint32_t)strtoul(argv[2], NULL, 10);
        const unsigned n_draws =
            argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;

        for (unsigned k = 0; k < N_KINDS; k++) {
            if (argc > 3 && strcmp(argv[3], kind_names[k]) != 0) {
                continue;
            }
            if (n_draws > 0) {
                measure_draws(n_nodes, n_threads, (enum kind)k, n_draws);
            } else {
                measure_all(n_nodes, n_threads, (enum kind)k);
            }
        }
        return 0;
    }
    for (unsigned k = 0; k < N_KINDS; k++) {
        measure_all(16, 512, (enum kind)k);
    }
    for (unsigned k = 0; k < KIND_SCATTERED; k++) {
        measure_all(4096, 1000000, (enum kind)k);
    }
    return 0;
}
