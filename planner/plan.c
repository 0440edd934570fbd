// SPDX-License-Identifier: BSD-3-Clause
#include "planner/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "place/answer.h"
#include "place/lower_bound.h"

static void predict_mapping(const struct scenario *scenario,
                            const uint32_t *node_of,
                            struct prediction *prediction)
{
    prediction->nodes =
        memory_new(scenario->view.n_nodes, sizeof *prediction->nodes);
    ensure(predict(&scenario->view, &scenario->model, node_of, prediction) ==
           TM_OK);
}

static uint32_t count_moves(const struct scenario *scenario,
                            const uint32_t *node_of)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < scenario->view.n_threads; i++) {
        n += node_of[i] != scenario->origin[i];
    }
    return n;
}

static void ask_policy(const struct scenario *scenario,
                       const struct policy *policy, struct mapping *mapping)
{
    const struct place_request request = {
        .view = &scenario->view,
        .model = &scenario->model,
        .current = scenario->node_of,
        .measured = scenario->measured.nodes ? &scenario->measured : NULL,
        .seed = scenario->seed,
        .effort = scenario->effort,
    };

    ensure(policy_place(policy, &request, mapping) == TM_OK);
}

/** @param policy  NULL: by hand */
static void ask(const struct scenario *scenario, const struct policy *policy,
                const uint32_t *counts, struct answer *answer)
{
    uint32_t *node_of = memory_new(scenario->view.n_threads, sizeof *node_of);

    answer->policy = policy;
    answer->name = policy != NULL ? policy->name : "by hand";
    answer->mapping.node_of = node_of;
    if (policy != NULL) {
        ask_policy(scenario, policy, &answer->mapping);
    } else {
        answer_blocks(&scenario->view, counts, node_of);
        answer_pins(&scenario->view, scenario->node_of, node_of);
    }
    predict_mapping(scenario, node_of, &answer->after);
    answer->n_moves = count_moves(scenario, node_of);
}

static int is_better(const struct answer *a, const struct answer *b)
{
    if (a->after.iteration_s != b->after.iteration_s) {
        return a->after.iteration_s < b->after.iteration_s;
    }
    return a->n_moves < b->n_moves;
}

/** Insertion, which keeps the order of equals. */
static void sort_answers(struct plan *plan)
{
    for (unsigned i = 1; i < plan->n_answers; i++) {
        const struct answer answer = plan->answers[i];
        unsigned k = i;

        while (k > 0 && is_better(&answer, &plan->answers[k - 1])) {
            plan->answers[k] = plan->answers[k - 1];
            k--;
        }
        plan->answers[k] = answer;
    }
}

void plan_make(struct plan *plan, const struct scenario *scenario,
               const struct plan_question *question)
{
    const unsigned n = question->n_policies;

    *plan = (struct plan){
        .scenario = scenario,
        .n_homeless = count_moves(scenario, scenario->node_of),
        .bound_s = lower_bound_iteration(&scenario->view, &scenario->model),
        .answers = memory_new(n + 1u, sizeof *plan->answers),
        .n_answers = n + (question->counts != NULL),
    };
    predict_mapping(scenario, scenario->node_of, &plan->in_force);
    for (unsigned i = 0; i < n; i++) {
        ask(scenario, question->policies[i], NULL, &plan->answers[i]);
    }
    if (question->counts != NULL) {
        ask(scenario, NULL, question->counts, &plan->answers[n]);
    }
    sort_answers(plan);
}

void plan_release(struct plan *plan)
{
    for (unsigned i = 0; i < plan->n_answers; i++) {
        free(plan->answers[i].mapping.node_of);
        free(plan->answers[i].after.nodes);
    }
    free(plan->answers);
    free(plan->in_force.nodes);
    *plan = (struct plan){0};
}

double plan_above_bound(const struct plan *plan, double time_s)
{
    return plan->bound_s > 0 ? time_s / plan->bound_s - 1 : NAN;
}

const struct answer *plan_answer_of(const struct plan *plan,
                                    const struct policy *policy)
{
    for (unsigned i = 0; i < plan->n_answers; i++) {
        if (plan->answers[i].policy == policy) {
            return &plan->answers[i];
        }
    }
    return NULL;
}
