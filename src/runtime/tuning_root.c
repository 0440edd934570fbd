// SPDX-License-Identifier: BSD-3-Clause
//
// Tuned parameters, on the root: what nodes ask goes to the plan (place/tune_plan.h), which
// has one answer for each iteration, and takes the time from one to the next. While the
// scheme moves threads and these settle, and while nodes come or go, times tell nothing.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "runtime/balancing.h"
#include "runtime/node.h"
#include "runtime/tuning.h"

#define ITERATION_MAX (UINT64_MAX / 2) ///< no program gets there

// ---- saying

__attribute__((format(printf, 2, 3))) static void explain(struct node *node,
                                                          const char *format,
                                                          ...)
{
    va_list arguments;

    if (node->options.explain) {
        va_start(arguments, format);
        fprintf(stderr, "teamster: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        va_end(arguments);
    }
}

/** Each value that was tried in the round: "8 4.123 ms". */
static void list_round(const struct tune_search *search, const uint32_t *left,
                       uint32_t n_left, const struct tuned_name *name,
                       char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t k = 0; k < n_left && used < size; k++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64 " %.3f ms",
                             k > 0 ? ", " : "", name->values[left[k]],
                             search->values[left[k]].median_s * 1e3);
    }
}

/** @param search  as it is now */
static void explain_event(struct node *node, const struct tuned_name *tuned,
                          const struct tune_search *search,
                          const struct tune_told *told, uint64_t iteration)
{
    const struct tune_search *before = &told->before;
    const char *name = tuned->name;
    char text[TUNE_VALUES_MAX * 40];

    if (told->event == TUNE_AGAIN) {
        explain(node,
                "iteration %" PRIu64 ": tune %s: iterations take %s than the "
                "usual %.3f ms: searched anew from %" PRId64,
                iteration, name, before->n_off > 0 ? "longer" : "less",
                before->usual_s * 1e3, tuned->values[search->before]);
        return;
    }
    if (told->event == TUNE_GOES_ON || !node->options.explain) {
        return;
    }
    list_round(search, before->left, before->n_left, tuned, text, sizeof text);
    explain(node, "iteration %" PRIu64 ": tune %s, round %u: %s", iteration,
            name, before->round + 1, text);
    if (told->event == TUNE_FOUND) {
        explain(node, "iteration %" PRIu64 ": tune %s: %" PRId64 " is taken",
                iteration, name, tuned->values[search->index]);
    } else if (told->event == TUNE_KEPT) {
        explain(node,
                "iteration %" PRIu64 ": tune %s: nothing is better for sure: "
                "%" PRId64 " stays",
                iteration, name, tuned->values[search->index]);
    }
}

void tuning_tell(struct node *node)
{
    for (uint32_t i = 0; i < node->tuning.plan.n; i++) {
        const struct tuned_name *tuned = &node->tuning.names[i];
        const struct tune_search *search = &node->tuning.plan.items[i].search;

        if (node->options.explain || node->options.stats) {
            fprintf(stderr,
                    "teamster: tune %s: %" PRId64 ", of %u values%s; %u "
                    "search%s, %" PRIu64 " iterations in them\n",
                    tuned->name, tuned->values[search->index], search->n_values,
                    search->is_over ? "" : ", the search is not over",
                    search->n_searches, search->n_searches == 1 ? "" : "es",
                    search->n_tried);
        }
    }
}

// ---- what is asked

static uint32_t find_search(struct tuning *tuning,
                            const struct tuned_name *name)
{
    for (uint32_t i = 0; i < tuning->plan.n; i++) {
        if (strcmp(tuning->names[i].name, name->name) == 0) {
            return i;
        }
    }
    vector_reserve(tuning->names, tuning->n_names_room, tuning->plan.n + 1);
    tuning->names[tuning->plan.n] = *name;
    return tune_plan_add(&tuning->plan, name->n_values);
}

static struct message_tune_is ask_plan(struct node *node, uint32_t i,
                                       uint64_t iteration)
{
    const struct tune_now now = {
        .ns = clock_now_ns(),
        .epoch = node->port.roster.epoch,
        .is_busy = balancing_is_unsettled(node) || node_is_changing(node),
    };
    struct tuning *tuning = &node->tuning;
    struct tune_told told;
    const struct tune_answer answer =
        tune_plan_ask(&tuning->plan, i, iteration, &now, &told);

    explain_event(node, &tuning->names[i], &tuning->plan.items[i].search, &told,
                  iteration);
    return (struct message_tune_is){
        .from = answer.from, .until = answer.until, .index = answer.index};
}

tm_status tuning_answer(struct node *node, node_id from,
                        const struct message *message)
{
    const struct message_tune_ask *ask = &message->u.tune_ask;
    struct tuned_name name;
    struct message answer = {.type = MESSAGE_tune_is};
    uint32_t i;

    if (ask->iteration > ITERATION_MAX ||
        tuned_name_read(message, ask->n_values, &name) != TM_OK) {
        return TM_EWIRE;
    }
    i = find_search(&node->tuning, &name);
    if (tuned_name_same_values(&node->tuning.names[i], &name)) {
        answer.u.tune_is = ask_plan(node, i, ask->iteration);
    } else {
        answer.u.tune_is.index = TUNED_OTHERWISE;
    }
    answer.u.tune_is.number = ask->number;
    port_send(&node->port, from, &answer);
    return TM_OK;
}

// ---- checkpoints

static struct message_tune_saved saved_of(const struct tuning *tuning,
                                          uint32_t i)
{
    const struct tune_item *item = &tuning->plan.items[i];
    const struct tune_search *search = &item->search;

    return (struct message_tune_saved){
        .index = tune_plan_index(&tuning->plan, i),
        .until = item->until,
        .before = search->is_over ? search->index : search->before,
        .is_over = search->is_over != 0,
        .n_values = (uint16_t)tuning->names[i].n_values};
}

void tuning_save(struct node *node, const struct port *to)
{
    for (uint32_t i = 0; i < node->tuning.plan.n; i++) {
        uint8_t body[TUNED_BYTES];
        struct wire_writer writer = {body, body + sizeof body, 0};
        struct message message = {
            .type = MESSAGE_tune_saved,
            .u.tune_saved = saved_of(&node->tuning, i),
            .body = body,
        };

        tuned_name_put(&writer, &node->tuning.names[i]);
        message.body_size = (uint32_t)(writer.at - body);
        port_send(to, 0, &message);
    }
}

void tuning_load(struct node *node, const struct message *message)
{
    const struct message_tune_saved *saved = &message->u.tune_saved;
    struct tuned_name name;
    struct tune_search search;
    uint32_t i;

    if (message->type != MESSAGE_tune_saved ||
        tuned_name_read(message, saved->n_values, &name) != TM_OK ||
        saved->index >= name.n_values || saved->before >= name.n_values ||
        saved->until > ITERATION_MAX) {
        return;
    }
    if (saved->is_over) {
        tune_search_know(&search, name.n_values, saved->before);
    } else {
        tune_search_begin(&search, name.n_values, saved->before);
    }
    i = find_search(&node->tuning, &name);
    node->tuning.names[i] = name;
    tune_plan_resume(&node->tuning.plan, i, &search, saved->index,
                     saved->until);
}
