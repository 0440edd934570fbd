// SPDX-License-Identifier: BSD-3-Clause
/*
 * A loop that is entered again and again, on nodes that are not alike:
 *
 *     unequal_loop even|rising|heap [WORK [WEIGHT...]]
 *
 * Its iterations cost the same, more and more, or most of it lies in one place. With a weight for
 * each node the split is fixed, a thread for each part: nodes get parts of all cost by their
 * weights, as somebody would split who knows both. Prints the time of each entry, and a
 * checksum of what has been computed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>

#include "checksum.h"
#include "times.h"

enum { N = 4096, ENTRIES = 4, NODES_MAX = 16 };

// The command line; of each node.
static struct {
    char shape; // its first letter
    double work;
    double weights[NODES_MAX];
    unsigned n_weights;
} asked = {.work = 1};

static TM_SHARED double results[N];
static TM_SHARED int64_t cuts[NODES_MAX + 1];

// Of one iteration; 1 in the mean.
static double cost_of(int64_t i)
{
    switch (asked.shape) {
    case 'r':
        return 2.0 * ((double)i + 0.5) / N;
    case 'h': // an eighth of the range has two thirds of the cost
        return i / (N / 8) == 5 ? 16.0 / 3 : 8.0 / 21;
    default:
        return 1;
    }
}

static void compute(int64_t from, int64_t to, void *arg)
{
    (void)arg;
    for (int64_t i = from; i < to; i++) {
        const long n_steps = (long)(cost_of(i) * asked.work * 10000);
        double x = 1.0 / (double)(i + 1);

        for (long k = 0; k < n_steps; k++) {
            x = x * 0.999 + 0.001;
        }
        results[i] += x;
    }
}

// ---- a split that is fixed

// @return the first iteration that so much of all cost is before, 0 to 1
static int64_t cut_at(double part)
{
    double before = 0;
    int64_t i = 0;

    while (i < N && before + cost_of(i) / 2 < part * N) {
        before += cost_of(i++);
    }
    return i;
}

static void split(void)
{
    double all = 0;
    double before = 0;

    for (unsigned i = 0; i < asked.n_weights; i++) {
        all += asked.weights[i];
    }
    for (unsigned i = 0; i < asked.n_weights; i++) {
        before += asked.weights[i];
        cuts[i + 1] = i + 1 == asked.n_weights ? N : cut_at(before / all);
    }
}

static void *compute_part(void *arg)
{
    const size_t node = (size_t)arg;

    compute(cuts[node], cuts[node + 1], NULL);
    return NULL;
}

static void run_split(void)
{
    tm_thread threads[NODES_MAX];

    for (unsigned i = 0; i < asked.n_weights; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = i};

        if (tm_thread_create(&threads[i], &attr, compute_part,
                             (void *)(size_t)i) != TM_OK) {
            exit(71);
        }
    }
    for (unsigned i = 0; i < asked.n_weights; i++) {
        (void)tm_thread_join(threads[i], NULL);
    }
}

// ----

static void enter(void)
{
    if (asked.n_weights > 0) {
        run_split();
    } else {
        (void)tm_parallel_for(0, N, 0, compute, NULL, NULL);
    }
}

static void read_arguments(int argc, char **argv)
{
    asked.shape = argc > 1 ? argv[1][0] : 0;
    asked.work = argc > 2 ? atof(argv[2]) : asked.work;
    for (int i = 3; i < argc && asked.n_weights < NODES_MAX; i++) {
        asked.weights[asked.n_weights++] = atof(argv[i]);
    }
    if (asked.shape == 0 || strchr("erh", asked.shape) == NULL) {
        fprintf(stderr, "usage: %s even|rising|heap [WORK [WEIGHT...]]\n",
                argv[0]);
        exit(64);
    }
}

int main(int argc, char **argv)
{
    read_arguments(argc, argv);
    if (tm_init(&argc, &argv) != TM_OK) {
        return 70;
    }
    if (asked.n_weights > 0 && asked.n_weights != tm_node_count()) {
        fprintf(stderr, "a weight for each of %u nodes, or none\n",
                tm_node_count());
        return 64;
    }
    split();
    for (int i = 1; i <= ENTRIES; i++) {
        const double start_s = now_s();

        enter();
        printf("entry %d: %.3f ms\n", i, (now_s() - start_s) * 1e3);
    }
    checksum_print(checksum(results, N, 0));
    return 0;
}
