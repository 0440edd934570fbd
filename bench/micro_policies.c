// SPDX-License-Identifier: BSD-3-Clause
/*
 * All policies on clusters and programs that nobody has tuned them for, drawn at random:
 *
 *     micro_policies [--clusters N] [--seed S] [--json]
 *
 * Each cluster has 3 to 8 nodes that differ in power, memory, disk and link, together with
 * 0.7 to 1.6 times the memory that the program needs, but no node less than 48 pages. Each program has 4 to 8 threads a
 * node, alike or not, which share nothing, or with neighbours, or read what one or all of
 * them write. It is asked twice how good a policy is:
 *
 *   predicted   the policy is told all of the cluster and the program, and asked once; its
 *               mapping is judged by the model, which is what it was made for
 *   simulated   the program runs in the laboratory (`teamster simulate`): threads begin in
 *               equal shares, the scheme measures, asks the policy, carries out, and takes
 *               back; the median of the last iterations is what it has come to. `total` is
 *               the same of the whole run, with the way there
 *
 * Times are parts of the best that is known of the same cluster and program: of what all
 * policies have come to; of simulated ones without `optimal`, of which only so many threads
 * for each node are simulated. `moves` are of threads, in the simulated run; `decides_ms` is the
 * processor time of the one question, which no seed repeats; all else is the same for the
 * same seed.
 */
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compare.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/robust.h"
#include "model/groups.h"
#include "place/counts.h"
#include "planner/guess_script.h"
#include "simulate/simulate.h"

#define NODES_MAX 8u
#define THREADS_MAX 64u
#define N_ITERATIONS 80u
#define N_LAST 20u ///< that tell what a run has come to
#define NOISE 0.01
#define CLUSTERS_MAX 1000000u
#define MEMORY_LEAST 48u ///< pages, below which no node of the laboratory runs
#define EFFORT                                                                 \
    300u ///< thousands of steps: `optimal` would take most of the time

enum sharing {
    SHARES_NOTHING,
    SHARES_WITH_NEIGHBOURS,
    SHARES_INPUT,   ///< all read what nobody writes
    SHARES_RESULTS, ///< all read what each writes
    N_SHARINGS
};

struct problem {
    struct profile profile; ///< view and script
    struct simulated_node nodes[NODES_MAX];
    uint32_t current[THREADS_MAX];
    uint64_t seed;
};

/** How a policy has done on one of the clusters. */
struct outcome {
    double predicted_s;
    double last_s;
    double total_s;
    double n_moves;
    double decides_ms;
};

/** What was asked for. */
struct question {
    uint64_t n_clusters;
    uint64_t seed;
    int is_json;
};

// ---- drawing ----

static double draw(uint64_t *random, double low, double high)
{
    return low + (high - low) * (double)(random_next(random) >> 11) * 0x1p-53;
}

/** As often between 1 and 2 as between 2 and 4. */
static double draw_ratio(uint64_t *random, double low, double high)
{
    return low * pow(high / low, draw(random, 0, 1));
}

/** A list of pages that is being made. */
struct pages {
    struct page_use *uses;
    size_t n;
};

static void add_pages(struct pages *pages, uint64_t first, uint64_t n,
                      unsigned flags, unsigned diff_bytes)
{
    pages->uses = realloc(pages->uses, (pages->n + n) * sizeof *pages->uses);
    ensure_memory(pages->uses != NULL);
    for (uint64_t k = 0; k < n; k++) {
        pages->uses[pages->n++] =
            (struct page_use){first + k, (uint16_t)flags, (uint16_t)diff_bytes};
    }
}

static void add_shared(struct pages *pages, enum sharing sharing,
                       uint32_t thread, uint32_t n_threads, uint64_t first)
{
    if (sharing == SHARES_WITH_NEIGHBOURS) {
        for (uint32_t k = 0; k < n_threads; k++) {
            if (k + 1 >= thread && k <= thread + 1) {
                add_pages(pages, first + k * 2, 2, k == thread ? 3 : USE_READ,
                          k == thread ? 3000 : 0);
            }
        }
    } else if (sharing == SHARES_INPUT) {
        add_pages(pages, first, 64, USE_READ, 0);
    } else if (sharing == SHARES_RESULTS) {
        for (uint32_t k = 0; k < n_threads; k++) {
            add_pages(pages, first + k, 1, k == thread ? 3 : USE_READ,
                      k == thread ? 1000 : 0);
        }
    }
}

static void draw_program(struct cluster_view *view, uint64_t *random)
{
    const enum sharing sharing = (enum sharing)random_index(random, N_SHARINGS);
    const int are_alike = (int)random_index(random, 2);
    const double computation_s = draw_ratio(random, 0.5e-3, 4e-3);
    const uint64_t n_own = 16 + random_index(random, 48);
    struct pages pages[THREADS_MAX] = {0};
    struct page_use *uses[THREADS_MAX];
    size_t n_uses[THREADS_MAX];

    for (uint32_t i = 0; i < view->n_threads; i++) {
        const double part = are_alike ? 1 : draw_ratio(random, 0.4, 2.5);
        const double pages_part = are_alike ? 1 : draw_ratio(random, 0.5, 2);

        view->threads[i].computation_s = computation_s * part;
        add_pages(&pages[i], i * 1000ull,
                  (uint64_t)((double)n_own * pages_part), 3, 0);
        add_shared(&pages[i], sharing, i, view->n_threads, 1000000);
        uses[i] = pages[i].uses;
        n_uses[i] = pages[i].n;
    }
    ensure(groups_build(view, (const struct page_use *const *)uses, n_uses) ==
           TM_OK);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        free(pages[i].uses);
    }
}

static void draw_costs(struct simulated_node *node, uint64_t *random)
{
    struct node_view *view = &node->view;

    view->power = draw_ratio(random, 0.25, 1);
    view->n_processors = random_index(random, 4) == 0 ? 2 : 1;
    view->packet_bytes = 8192;
    node->wire = (struct wire_speed){draw_ratio(random, 10e-6, 100e-6),
                                     draw_ratio(random, 12.5e6, 1.25e9)};
    node->disk = (struct disk_speed){draw_ratio(random, 1e-6, 100e-6),
                                     draw_ratio(random, 40e6, 2e9)};
    view->packet_s = node->wire.latency_s;
    view->fetch_s =
        2 * node->wire.latency_s + TM_PAGE_SIZE / node->wire.bytes_per_s;
    view->swap_in_s = node->disk.seek_s + TM_PAGE_SIZE / node->disk.bytes_per_s;
    view->swap_out_s = view->swap_in_s;
    view->update_s = 20e-6 / view->power;
}

static void draw_memory(struct problem *problem, uint64_t *random)
{
    const struct cluster_view *view = &problem->profile.view;
    const double part = draw_ratio(random, 0.7, 1.6);
    double parts[NODES_MAX];
    double sum = 0;
    uint64_t n_pages = 0;

    for (uint32_t g = 0; g < view->n_groups; g++) {
        n_pages += view->group_pages[g];
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        parts[x] = draw_ratio(random, 0.3, 3);
        sum += parts[x];
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        struct node_view *node = &problem->nodes[x].view;
        const double memory = part * (double)n_pages * parts[x] / sum;

        node->memory_pages = (uint64_t)fmax(memory, MEMORY_LEAST);
        node->free_pages = node->memory_pages;
        node->total_pages = 2 * node->memory_pages;
        problem->nodes[x].has_budget = node->memory_pages < 2 * n_pages;
    }
}

static void draw_problem(struct problem *problem, uint64_t seed)
{
    struct cluster_view *view = &problem->profile.view;
    uint64_t random = seed;
    const uint32_t n_nodes = 3 + (uint32_t)random_index(&random, NODES_MAX - 2);

    *problem = (struct problem){.seed = seed};
    ensure(cluster_view_init(
               view, n_nodes,
               n_nodes * (4 + (uint32_t)random_index(&random, 5))) == TM_OK);
    draw_program(view, &random);
    for (uint32_t x = 0; x < n_nodes; x++) {
        draw_costs(&problem->nodes[x], &random);
    }
    draw_memory(problem, &random);
    for (uint32_t x = 0; x < n_nodes; x++) {
        snprintf(problem->nodes[x].view.name, VIEW_NAME_MAX, "n%u", x);
        view->nodes[x] = problem->nodes[x].view;
    }
    for (uint32_t i = 0; i < view->n_threads; i++) {
        problem->current[i] = i * n_nodes / view->n_threads;
    }
    ensure(profile_guess_script(&problem->profile) == TM_OK);
}

static void release_problem(struct problem *problem)
{
    struct profile_script *script = &problem->profile.script;

    for (uint32_t r = 0; r < script->n_rounds; r++) {
        free(script->rounds[r].first);
        free(script->rounds[r].runs);
    }
    free(script->rounds);
    free(script->blocks);
    cluster_view_release(&problem->profile.view);
}

// ---- asking ----

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/** @param[out] node_of  [n_threads]: its answer */
static void ask_once(const struct problem *problem, const struct policy *policy,
                     uint32_t *node_of, struct outcome *outcome)
{
    const struct cost_model model = {.kind = COST_MEASURED};
    const struct place_request request = {.view = &problem->profile.view,
                                          .model = &model,
                                          .current = problem->current,
                                          .seed = problem->seed,
                                          .effort = EFFORT};
    struct mapping mapping = {.node_of = node_of};
    const double before_ms = now_ms();

    ensure(policy_place(policy, &request, &mapping) == TM_OK);
    outcome->decides_ms = now_ms() - before_ms;
    outcome->predicted_s = mapping.after_s;
}

// ---- simulating ----

static double median_of_last(const struct simulation_result *result)
{
    double lengths[N_LAST];

    for (unsigned k = 0; k < N_LAST; k++) {
        lengths[k] =
            (double)result->iterations[N_ITERATIONS - 1 - k].length_ns * 1e-9;
    }
    return robust_median(lengths, N_LAST);
}

/** Run it. @param policy  NULL: threads stay; or by hand, if there are counts */
static void run_once(const struct problem *problem, const struct policy *policy,
                     const uint32_t *counts, struct outcome *outcome)
{
    const struct cluster_view *view = &problem->profile.view;
    struct simulation simulation = {
        .n_nodes = view->n_nodes,
        .nodes = problem->nodes,
        .n_threads = view->n_threads,
        .threads = view->threads,
        .script = &problem->profile.script,
        .policy = policy,
        .counts = counts,
        .begins_equal = 1,
        .n_iterations = N_ITERATIONS,
        .seed = problem->seed,
        .noise = NOISE,
    };
    struct simulation_result result;
    char error[512];

    ensure(
        simulated_protocol(simulated_protocol_usual(), &simulation.protocol));
    if (simulate(&simulation, &result, error, sizeof error) != TM_OK) {
        fprintf(stderr, "micro_policies: %s\n", error);
        exit(70);
    }
    outcome->last_s = median_of_last(&result);
    outcome->total_s = (double)result.total_ns * 1e-9;
    outcome->n_moves = (double)result.n_moves;
    simulation_release(&result);
}

/** Is it simulated with its counts, by hand, as it takes too long to answer? */
static int is_by_hand(const struct policy *policy)
{
    return strcmp(policy->name, "optimal") == 0;
}

/** Ask it, and have the program run with it. `optimal`, which takes seconds for an answer,
 * is asked once: so many threads for each node as it has said, from the start on. */
static void try_policy(const struct problem *problem,
                       const struct policy *policy, struct outcome *outcome)
{
    const int stays = strcmp(policy->name, "initial") == 0;
    uint32_t node_of[THREADS_MAX];
    uint32_t counts[NODES_MAX];

    ask_once(problem, policy, node_of, outcome);
    counts_of(&problem->profile.view, node_of, counts);
    run_once(problem, stays || is_by_hand(policy) ? NULL : policy,
             is_by_hand(policy) ? counts : NULL, outcome);
}

/** @param[out] best  the best that is known: predicted_s, last_s, total_s */
static void take_best(struct outcome *best, const struct policy *policy,
                      const struct outcome *outcome)
{
    best->predicted_s = fmin(best->predicted_s, outcome->predicted_s);
    if (is_by_hand(policy)) {
        return;
    }
    best->last_s = fmin(best->last_s, outcome->last_s);
    best->total_s = fmin(best->total_s, outcome->total_s);
}

/** All policies on one problem; their times become parts of the best.
 * @param[out] outcomes  [n_policies] */
static void compare_policies(const struct problem *problem,
                             struct outcome *outcomes)
{
    struct outcome best = {INFINITY, INFINITY, INFINITY, 0, 0};

    for (unsigned p = 0; p < n_policies; p++) {
        try_policy(problem, policies[p], &outcomes[p]);
        take_best(&best, policies[p], &outcomes[p]);
    }
    for (unsigned p = 0; p < n_policies; p++) {
        outcomes[p].predicted_s /= best.predicted_s;
        outcomes[p].last_s /= best.last_s;
        outcomes[p].total_s /= best.total_s;
    }
}

// ---- the table ----

/** How one number spreads over all clusters. */
struct spread {
    double low;
    double median;
    double high;
    double most;
};

static double at_part(const double *sorted, size_t n, double part)
{
    const double at = part * (double)(n - 1);
    const size_t below = (size_t)at;
    const size_t above = below + 1 < n ? below + 1 : below;

    return sorted[below] +
           (at - (double)below) * (sorted[above] - sorted[below]);
}

/** @param field  offset of a double in struct outcome */
static struct spread spread_over(const struct outcome *outcomes, size_t n,
                                 unsigned policy, size_t field)
{
    double *values = memory_new(n, sizeof *values);
    struct spread spread;

    for (size_t c = 0; c < n; c++) {
        memcpy(&values[c],
               (const char *)&outcomes[c * n_policies + policy] + field,
               sizeof values[c]);
    }
    qsort(values, n, sizeof *values, compare_doubles);
    spread = (struct spread){at_part(values, n, 0.25), at_part(values, n, 0.5),
                             at_part(values, n, 0.75), values[n - 1]};
    free(values);
    return spread;
}

static const struct {
    const char *name;
    size_t field;
} columns[] = {
    {"predicted", offsetof(struct outcome, predicted_s)},
    {"simulated", offsetof(struct outcome, last_s)},
    {"total", offsetof(struct outcome, total_s)},
    {"moves", offsetof(struct outcome, n_moves)},
    {"decides_ms", offsetof(struct outcome, decides_ms)},
};

enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

static void print_table(const struct question *question,
                        const struct outcome *outcomes)
{
    const size_t n = question->n_clusters;

    printf("%zu clusters, seed %llu; median (quartiles; worst)\n\n| policy |",
           n, (unsigned long long)question->seed);
    for (unsigned c = 0; c < N_COLUMNS; c++) {
        printf(" %s |", columns[c].name);
    }
    printf("\n|---|---|---|---|---|---|\n");
    for (unsigned p = 0; p < n_policies; p++) {
        printf("| `%s` |", policies[p]->name);
        for (unsigned c = 0; c < N_COLUMNS; c++) {
            const struct spread s =
                spread_over(outcomes, n, p, columns[c].field);
            const int digits = c < 3 ? 2 : c == 3 ? 0 : 3;

            printf(" %.*f (%.*f–%.*f; %.*f) |", digits, s.median, digits, s.low,
                   digits, s.high, digits, s.most);
        }
        printf("\n");
    }
}

static void print_json(const struct question *question,
                       const struct outcome *outcomes)
{
    printf("{\"clusters\": %llu, \"seed\": \"%llu\", \"policies\": [",
           (unsigned long long)question->n_clusters,
           (unsigned long long)question->seed);
    for (unsigned p = 0; p < n_policies; p++) {
        printf("%s\n {", p > 0 ? "," : "");
        json_put_text_field(stdout, "policy", policies[p]->name);
        for (unsigned c = 0; c < N_COLUMNS; c++) {
            const struct spread s = spread_over(outcomes, question->n_clusters,
                                                p, columns[c].field);

            printf(", \"%s\": {", columns[c].name);
            json_put_double_field(stdout, "low_quartile", s.low);
            printf(", ");
            json_put_double_field(stdout, "median", s.median);
            printf(", ");
            json_put_double_field(stdout, "high_quartile", s.high);
            printf(", ");
            json_put_double_field(stdout, "worst", s.most);
            printf("}");
        }
        printf("}");
    }
    printf("]}\n");
}

static void run_all(const struct question *question)
{
    struct outcome *outcomes =
        memory_new(question->n_clusters * n_policies, sizeof *outcomes);

    for (uint64_t c = 0; c < question->n_clusters; c++) {
        struct problem problem;

        draw_problem(&problem, random_mix(question->seed + 1) + c);
        fprintf(stderr, "cluster %llu of %llu: %u nodes, %u threads\n",
                (unsigned long long)c + 1,
                (unsigned long long)question->n_clusters,
                problem.profile.view.n_nodes, problem.profile.view.n_threads);
        compare_policies(&problem, &outcomes[c * n_policies]);
        release_problem(&problem);
    }
    if (question->is_json) {
        print_json(question, outcomes);
    } else {
        print_table(question, outcomes);
    }
    free(outcomes);
}

static uint64_t read_number(const char *text)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);

    if (end == text || *end != '\0' || text[0] == '-') {
        fprintf(stderr, "micro_policies: '%s' is no number\n", text);
        exit(64);
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"clusters", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {0},
    };
    struct question question = {.n_clusters = 100, .seed = 1};
    int letter;

    while ((letter = getopt_long(argc, argv, "c:s:j", names, NULL)) != -1) {
        if (letter == 'c') {
            question.n_clusters = read_number(optarg);
        } else if (letter == 's') {
            question.seed = read_number(optarg);
        } else if (letter == 'j') {
            question.is_json = 1;
        } else {
            optind = argc + 1;
            break;
        }
    }
    if (question.n_clusters > CLUSTERS_MAX) {
        fprintf(stderr,
                "micro_policies: --clusters is at most %u; a hundred take "
                "some minutes\n",
                CLUSTERS_MAX);
        return 64;
    }
    if (optind != argc || question.n_clusters == 0) {
        fprintf(stderr,
                "usage: micro_policies [--clusters N] [--seed S] [--json]\n");
        return 64;
    }
    run_all(&question);
    return 0;
}
