// SPDX-License-Identifier: BSD-3-Clause
#include "planner/plan.h"

#include <math.h>
#include <stdlib.h>

#include "place/answer.h"
#include "place/bound.h"

static tm_status predict_mapping(const struct scenario *scenario,
                                 const uint32_t *node_of,
                                 struct prediction *prediction)
{
    prediction->nodes =
        calloc(scenario->view.n_nodes, sizeof *prediction->nodes);
    if (prediction->nodes == NULL) {
        return TM_ENOMEM;
    }
    return predict(&scenario->view, &scenario->model, node_of, prediction);
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

static tm_status ask_policy(const struct scenario *scenario,
                            const struct policy *policy,
                            struct mapping *mapping)
{
    const struct place_request request = {
        .view = &scenario->view,
        .model = &scenario->model,
        .current = scenario->node_of,
        .measured = scenario->measured.nodes ? &scenario->measured : NULL,
        .seed = scenario->seed,
        .effort = scenario->effort,
    };

    return policy_place(policy, &request, mapping);
}

/** @param policy  NULL: by hand */
static tm_status ask(const struct scenario *scenario,
                     const struct policy *policy, const uint32_t *counts,
                     struct answer *answer)
{
    tm_status status = TM_OK;

    answer->policy = policy;
    answer->name = policy != NULL ? policy->name : "by hand";
    answer->mapping.node_of =
        calloc(scenario->view.n_threads, sizeof(uint32_t));
    if (answer->mapping.node_of == NULL) {
        return TM_ENOMEM;
    }
    if (policy != NULL) {
        status = ask_policy(scenario, policy, &answer->mapping);
    } else {
        answer_blocks(&scenario->view, counts, answer->mapping.node_of);
        answer_pins(&scenario->view, scenario->node_of,
                    answer->mapping.node_of);
    }
    if (status == TM_OK) {
        status =
            predict_mapping(scenario, answer->mapping.node_of, &answer->after);
    }
    if (status == TM_OK) {
        answer->n_moves = count_moves(scenario, answer->mapping.node_of);
    }
    return status;
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

static tm_status ask_all(const struct scenario *scenario,
                         const struct plan_question *question,
                         struct answer *answers)
{
    tm_status status = TM_OK;

    for (unsigned i = 0; status == TM_OK && i < question->n_policies; i++) {
        status = ask(scenario, question->policies[i], NULL, &answers[i]);
    }
    if (status == TM_OK && question->counts != NULL) {
        status = ask(scenario, NULL, question->counts,
                     &answers[question->n_policies]);
    }
    return status;
}

tm_status plan_make(struct plan *plan, const struct scenario *scenario,
                    const struct plan_question *question)
{
    struct plan made = {.scenario = scenario,
                        .n_answers =
                            question->n_policies + (question->counts != NULL)};
    tm_status status;

    made.answers = calloc(made.n_answers + 1u, sizeof *made.answers);
    if (made.answers == NULL) {
        return TM_ENOMEM;
    }
    made.n_homeless = count_moves(scenario, scenario->node_of);
    status = predict_mapping(scenario, scenario->node_of, &made.in_force);
    if (status == TM_OK) {
        made.bound_s = bound_iteration(&scenario->view, &scenario->model);
        status = ask_all(scenario, question, made.answers);
    }
    if (status != TM_OK) {
        plan_release(&made);
        return TM_ENOMEM; // nothing else can be wrong
    }
    sort_answers(&made);
    *plan = made;
    return TM_OK;
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
