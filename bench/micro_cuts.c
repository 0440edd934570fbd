// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the ways of clustering threads are worth, for docs/decisions/0010-metis.md:
 * how much affinity they cut and how long they take. Threads are the cells of a
 * square grid, numbered at random, and share a page with each of their four
 * neighbours; nodes take shares of 1 : 2 : 3 : 1 : 2 : 3 ...
 *
 *     micro_cuts [SEEDS]
 *
 * For each size: the mean cut over SEEDS (default 10) numberings, in edges, and
 * milliseconds of processor time, of clusters grown by affinity and of METIS,
 * as they are and after pair swaps. `least` is that of the best of all runs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "place/clusters.h"
#include "place/counts.h"
#include "place/metis.h"

#define N_WAYS 4

static const char *const way_names[N_WAYS] = {"grown", "grown+swaps", "METIS",
                                              "METIS+swaps"};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void check(tm_status status)
{
    if (status != TM_OK) {
        fprintf(stderr, "micro_cuts: status %d\n", status);
        exit(1);
    }
}

static void *must(void *memory)
{
    if (memory == NULL) {
        check(TM_ENOMEM);
    }
    return memory;
}

/** Give both threads of an edge a use of a page group of its own. */
static void join(struct cluster_view *view, uint32_t a, uint32_t b)
{
    const uint32_t group = view->n_groups++;
    const uint32_t ends[] = {a, b};

    view->group_pages[group] = 1;
    for (int k = 0; k < 2; k++) {
        struct thread_view *it = &view->threads[ends[k]];

        // Room for four uses of each thread.
        view->uses[it->first_use + it->n_uses++] =
            (struct use){group, USE_READ, 0};
    }
}

/** Threads have room for four uses; move them together. */
static void close_gaps(struct cluster_view *view)
{
    for (uint32_t i = 0; i < view->n_threads; i++) {
        struct thread_view *it = &view->threads[i];

        memmove(view->uses + view->n_uses, view->uses + it->first_use,
                it->n_uses * sizeof *view->uses);
        it->first_use = view->n_uses;
        view->n_uses += it->n_uses;
    }
}

static void make_grid(struct cluster_view *view, uint32_t side,
                      uint32_t n_nodes)
{
    const uint32_t n = side * side;
    uint32_t *number_of = must(calloc(n, sizeof *number_of));

    check(cluster_view_init(view, n_nodes, n));
    view->group_pages = must(calloc(2ull * n, sizeof *view->group_pages));
    view->uses = must(calloc(4ull * n, sizeof *view->uses));
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = (uint32_t)rand() % (k + 1);

        number_of[k] = number_of[at];
        number_of[at] = k;
        view->threads[k].first_use = 4 * k;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (k % side + 1 < side) {
            join(view, number_of[k], number_of[k + 1]);
        }
        if (k + side < n) {
            join(view, number_of[k], number_of[k + side]);
        }
    }
    close_gaps(view);
    for (uint32_t x = 0; x < n_nodes; x++) {
        view->nodes[x].packet_bytes = 1;
    }
    free(number_of);
}

struct result {
    double cut;
    double ms;
};

static void try_ways(uint32_t side, uint32_t n_nodes, unsigned seed,
                     struct result *results)
{
    struct cluster_view view;
    struct affinity affinity;
    double *shares = must(calloc(n_nodes, sizeof *shares));
    uint32_t *counts = must(calloc(n_nodes, sizeof *counts));
    uint32_t *node_of = must(calloc((size_t)side * side, sizeof *node_of));
    uint32_t *current = must(calloc((size_t)side * side, sizeof *current));

    srand(seed);
    make_grid(&view, side, n_nodes);
    for (uint32_t x = 0; x < n_nodes; x++) {
        shares[x] = 1 + x % 3;
    }
    check(counts_in_proportion(view.n_threads, shares, n_nodes, counts));
    check(affinity_init(&affinity, &view, AFFINITY_CORRELATION, 0));
    const struct cluster_problem problem = {&view, &affinity, counts, current,
                                            INFINITY};

    for (unsigned way = 0; way < N_WAYS; way++) {
        const double start = now_ms();

        if (way < 2) {
            check(clusters_grow(&problem, node_of));
        } else {
            check(metis_partition(&problem, seed, node_of));
            check(clusters_repair(&problem, node_of));
        }
        if (way % 2 == 1) {
            check(clusters_swap(&problem, node_of));
        }
        results[way].ms = now_ms() - start;
        results[way].cut = affinity_cut(&affinity, node_of);
    }
    affinity_release(&affinity);
    cluster_view_release(&view);
    free(shares);
    free(counts);
    free(node_of);
    free(current);
}

static void measure(uint32_t side, uint32_t n_nodes, unsigned n_seeds)
{
    struct result sums[N_WAYS] = {{0, 0}};
    double least = INFINITY;

    for (unsigned seed = 1; seed <= n_seeds; seed++) {
        struct result results[N_WAYS];

        try_ways(side, n_nodes, seed, results);
        for (unsigned way = 0; way < N_WAYS; way++) {
            sums[way].cut += results[way].cut / n_seeds;
            sums[way].ms += results[way].ms / n_seeds;
            least = fmin(least, results[way].cut);
        }
    }
    printf("%5u threads %3u nodes, least %.0f:", side * side, n_nodes, least);
    for (unsigned way = 0; way < N_WAYS; way++) {
        printf("  %s %.0f in %.2f ms", way_names[way], sums[way].cut,
               sums[way].ms);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const unsigned n_seeds =
        argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10;

    if (!metis_is_there()) {
        fprintf(stderr, "micro_cuts: there is no libmetis\n");
        return 1;
    }
    measure(6, 4, n_seeds);
    measure(8, 4, n_seeds);
    measure(16, 8, n_seeds);
    measure(32, 16, n_seeds);
    measure(64, 16, n_seeds);
    return 0;
}
