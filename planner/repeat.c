// SPDX-License-Identifier: BSD-3-Clause
#include "planner/repeat.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "place/trigger.h"

/** How many of a kind are named. */
#define N_NAMED 3

struct differences {
    char *text;
    size_t size;
    size_t used;
    unsigned n;
};

__attribute__((format(printf, 2, 3))) static void tell(
    struct differences *differences, const char *format, ...)
{
    const size_t left = differences->size - differences->used;
    va_list arguments;
    int n;

    differences->n++;
    va_start(arguments, format);
    n = vsnprintf(differences->text + differences->used, left, format,
                  arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n < left) {
        differences->used += (size_t)n;
    } else if (left > 0) {
        differences->text[differences->used] = '\0'; // no half lines
    }
}

static int is_same(double a, double b)
{
    uint64_t bits_a;
    uint64_t bits_b;

    memcpy(&bits_a, &a, sizeof a);
    memcpy(&bits_b, &b, sizeof b);
    return bits_a == bits_b;
}

static void compare_time(struct differences *differences, const char *what,
                         double here_s, double run_s)
{
    if (!is_same(here_s, run_s)) {
        tell(differences, "%s: %.17g s here, %.17g s in the run\n", what,
             here_s, run_s);
    }
}

static void compare_mapping(struct differences *differences,
                            const struct cluster_view *view,
                            const uint32_t *here, const uint32_t *run)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < view->n_threads; i++) {
        if (here[i] != run[i] && n++ < N_NAMED) {
            tell(differences, "thread %u: on %s here, on %s in the run\n", i,
                 view->nodes[here[i]].name, view->nodes[run[i]].name);
        }
    }
    if (n > N_NAMED) {
        tell(differences, "and %u more of %u threads\n", n - N_NAMED,
             view->n_threads);
    }
}

static void compare_nodes(struct differences *differences,
                          const struct cluster_view *view, const char *when,
                          const struct node_prediction *here, const double *run)
{
    unsigned n = 0;

    for (uint32_t x = 0; run != NULL && x < view->n_nodes; x++) {
        char what[VIEW_NAME_MAX + 16];

        if (!is_same(here[x].time_s, run[x]) && n++ < N_NAMED) {
            snprintf(what, sizeof what, "%s %s", view->nodes[x].name, when);
            compare_time(differences, what, here[x].time_s, run[x]);
        }
    }
    if (n > N_NAMED) {
        tell(differences, "and %u more nodes %s\n", n - N_NAMED, when);
    }
}

static void compare_acceptance(struct differences *differences,
                               const struct profile_decision *decision)
{
    int accepts;

    if (!decision->was_weighed) {
        return;
    }
    accepts = trigger_accepts(&decision->acceptance);
    if (accepts != decision->is_carried_out) {
        tell(differences, "a change is%s worth its cost here, the run %s\n",
             accepts ? "" : " not",
             decision->is_carried_out ? "made it" : "did not make it");
    }
}

unsigned repeat_compare(const struct profile *profile, const struct plan *plan,
                        const struct answer *answer, char *text, size_t size)
{
    const struct profile_decision *decision = &profile->decision;
    const struct cluster_view *view = &profile->view;
    struct differences differences = {text, size, 0, 0};

    if (size > 0) {
        text[0] = '\0';
    }
    compare_mapping(&differences, view, answer->mapping.node_of,
                    decision->node_of);
    compare_time(&differences, "before", answer->mapping.before_s,
                 decision->before_s);
    compare_time(&differences, "after", answer->mapping.after_s,
                 decision->after_s);
    compare_nodes(&differences, view, "before", plan->in_force.nodes,
                  decision->node_before_s);
    compare_nodes(&differences, view, "after", answer->after.nodes,
                  decision->node_after_s);
    if (answer->mapping.n_moves != decision->n_moves) {
        tell(&differences, "moves: %u here, %u in the run\n",
             answer->mapping.n_moves, decision->n_moves);
    }
    compare_acceptance(&differences, decision);
    return differences.n;
}
