// SPDX-License-Identifier: BSD-3-Clause
//
// METIS as a guest in the user's process. It is loaded when it is first needed,
// so that programs need not be linked with it and a cluster without it works.
// What it does to the process is put right here:
//
// - It draws from rand() after srand(). Its numbers come from a state of our
//   own, which is exchanged for the program's during the call: rand() and
//   random() go on in the program as if nothing had been. Only a kernel thread
//   that calls rand() at the same moment would notice.
// - It catches SIGABRT and SIGTERM during the call and sets them back with
//   signal(), which loses flags and masks. They are set back whole here.
//
// What cannot be put right: a SIGTERM from outside during the call. See
// docs/decisions/0010-metis.md.
#include "place/metis.h"

#include <dlfcn.h>
#include <metis.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/** Sum of all edge weights after scaling, well within idx_t. */
#define WEIGHT_SUM 5e8

typedef int partition_fn(idx_t *nvtxs, idx_t *ncon, idx_t *xadj, idx_t *adjncy,
                         idx_t *vwgt, idx_t *vsize, idx_t *adjwgt,
                         idx_t *nparts, real_t *tpwgts, real_t *ubvec,
                         idx_t *options, idx_t *edgecut, idx_t *part);
typedef int defaults_fn(idx_t *options);

struct metis {
    partition_fn *partition;
    defaults_fn *set_defaults;
};

/** The graph as METIS takes it. */
struct graph {
    idx_t n_threads;
    idx_t n_parts;
    idx_t *first;
    idx_t *peers;
    idx_t *weights;
    idx_t *part_of;
    real_t *sizes;  ///< [n_parts], parts of 1
    uint32_t *node; ///< [n_parts]: whose part it is
};

/** What METIS changes in the process. */
struct disturbed {
    char random[128];
    char *old_random;
    struct sigaction on_abort;
    struct sigaction on_term;
};

// ---- loading ----

static int load(struct metis *metis)
{
    // It stays loaded; opening it again is a look into a list.
    void *library =
        dlopen("libmetis.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    if (library == NULL) {
        return 0;
    }
    metis->partition =
        (partition_fn *)dlsym(library, "METIS_PartGraphRecursive");
    metis->set_defaults =
        (defaults_fn *)dlsym(library, "METIS_SetDefaultOptions");
    dlclose(library);
    return metis->partition != NULL && metis->set_defaults != NULL;
}

int metis_is_there(void)
{
    struct metis metis;

    return load(&metis);
}

// ---- the graph ----

static void graph_release(struct graph *graph)
{
    free(graph->first);
    free(graph->peers);
    free(graph->weights);
    free(graph->part_of);
    free(graph->sizes);
    free(graph->node);
}

static tm_status graph_init(struct graph *graph,
                            const struct cluster_problem *problem)
{
    const size_t n = problem->affinity->n_threads;
    const size_t n_edges = problem->affinity->first[n];

    *graph = (struct graph){.n_threads = (idx_t)n};
    graph->first = malloc((n + 1) * sizeof(idx_t));
    graph->peers = malloc((n_edges + 1) * sizeof(idx_t));
    graph->weights = malloc((n_edges + 1) * sizeof(idx_t));
    graph->part_of = calloc(n, sizeof(idx_t));
    graph->sizes = malloc(problem->view->n_nodes * sizeof(real_t));
    graph->node = calloc(problem->view->n_nodes, sizeof(uint32_t));
    if (!graph->first || !graph->peers || !graph->weights || !graph->part_of ||
        !graph->sizes || !graph->node) {
        graph_release(graph);
        return TM_ENOMEM;
    }
    return TM_OK;
}

static void fill_graph(struct graph *graph,
                       const struct cluster_problem *problem)
{
    const struct affinity *affinity = problem->affinity;
    const uint32_t n = affinity->n_threads;
    const double scale = WEIGHT_SUM / affinity->total;

    for (uint32_t i = 0; i <= n; i++) {
        graph->first[i] = (idx_t)affinity->first[i];
    }
    for (uint32_t e = 0; e < affinity->first[n]; e++) {
        const idx_t weight = (idx_t)(affinity->weights[e] * scale);

        graph->peers[e] = (idx_t)affinity->peers[e];
        graph->weights[e] = weight > 0 ? weight : 1;
    }
    // METIS does not take parts of no size.
    for (uint32_t x = 0; x < problem->view->n_nodes; x++) {
        if (problem->counts[x] > 0) {
            graph->node[graph->n_parts] = x;
            graph->sizes[graph->n_parts++] =
                (real_t)problem->counts[x] / (real_t)n;
        }
    }
}

// ---- the call ----

static void note_and_exchange(struct disturbed *disturbed, uint64_t seed)
{
    sigaction(SIGABRT, NULL, &disturbed->on_abort);
    sigaction(SIGTERM, NULL, &disturbed->on_term);
    disturbed->old_random =
        initstate((unsigned)seed, disturbed->random, sizeof disturbed->random);
}

static void put_right(struct disturbed *disturbed)
{
    setstate(disturbed->old_random);
    sigaction(SIGABRT, &disturbed->on_abort, NULL);
    sigaction(SIGTERM, &disturbed->on_term, NULL);
}

static int call(const struct metis *metis, struct graph *graph, uint64_t seed)
{
    idx_t options[METIS_NOPTIONS];
    idx_t n_constraints = 1;
    idx_t cut;
    struct disturbed disturbed;
    int result;

    metis->set_defaults(options);
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_SEED] = (idx_t)(seed & 0x7fffffff);
    note_and_exchange(&disturbed, seed);
    result = metis->partition(&graph->n_threads, &n_constraints, graph->first,
                              graph->peers, NULL, NULL, graph->weights,
                              &graph->n_parts, graph->sizes, NULL, options,
                              &cut, graph->part_of);
    put_right(&disturbed);
    return result == METIS_OK;
}

tm_status metis_partition(const struct cluster_problem *problem, uint64_t seed,
                          uint32_t *node_of)
{
    struct metis metis;
    struct graph graph;
    tm_status status;

    if (!load(&metis)) {
        return TM_EUNKNOWN;
    }
    status = graph_init(&graph, problem);
    if (status != TM_OK) {
        return status;
    }
    fill_graph(&graph, problem);
    if (graph.n_parts > 1 && !call(&metis, &graph, seed)) {
        status = TM_ENOMEM;
    }
    for (uint32_t i = 0; status == TM_OK && i < problem->affinity->n_threads;
         i++) {
        node_of[i] = graph.node[graph.part_of[i]];
    }
    graph_release(&graph);
    return status;
}
