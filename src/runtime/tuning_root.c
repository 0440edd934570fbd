// SPDX-License-Identifier: BSD-3-Clause
//
// Tuned parameters, on the root: which value in which iterations, and how long these took.
//
// A node asks when one of its threads comes to an iteration of which nobody has asked yet.
// The first one to ask for it begins it: what lies between that and the first one to ask
// for the iterations before is how long these took, and goes to the search
// (place/tune_search.h), which says what is next, and for how many iterations. For each
// iteration there is this one answer, whoever asks; a thread that lags behind gets that of
// before.
//
// One parameter is searched at a time, in the order in which the program has named them:
// the others keep their values, and look away, as times are not theirs. While the scheme
// moves threads, nodes come or go, times tell nothing.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "runtime/balancing.h"
#include "runtime/node.h"
#include "runtime/tuning.h"

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

static int64_t value_of(const struct tuned_search *tuned, uint32_t index)
{
    return tuned->name.values[index];
}

/** Each value that was tried in the round: "8 4.123 ms". */
static void list_round(const struct tune_search *search, const uint32_t *left,
                       uint32_t n_left, const struct tuned_search *tuned,
                       char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t k = 0; k < n_left && used < size; k++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64 " %.3f ms",
                             k > 0 ? ", " : "", value_of(tuned, left[k]),
                             search->values[left[k]].median_s * 1e3);
    }
}

/** @param search  as it was before the sample that has led to the event; its values
 *                 are those of now */
static void explain_event(struct node *node, const struct tuned_search *tuned,
                          const struct tune_search *before,
                          enum tune_event event, uint64_t iteration)
{
    const char *name = tuned->name.name;
    char text[TUNE_VALUES_MAX * 40];

    if (event == TUNE_AGAIN) {
        explain(node,
                "iteration %" PRIu64 ": tune %s: iterations take %s than the "
                "usual %.3f ms: searched anew from %" PRId64,
                iteration, name, before->n_off > 0 ? "longer" : "less",
                before->usual_s * 1e3, value_of(tuned, tuned->search.before));
        return;
    }
    if (event == TUNE_GOES_ON || !node->options.explain) {
        return;
    }
    list_round(&tuned->search, before->left, before->n_left, tuned, text,
               sizeof text);
    explain(node, "iteration %" PRIu64 ": tune %s, round %u: %s", iteration,
            name, before->round + 1, text);
    if (event == TUNE_FOUND) {
        explain(node, "iteration %" PRIu64 ": tune %s: %" PRId64 " is taken",
                iteration, name, value_of(tuned, tuned->search.index));
    } else if (event == TUNE_KEPT) {
        explain(node,
                "iteration %" PRIu64 ": tune %s: nothing is better for sure: "
                "%" PRId64 " stays",
                iteration, name, value_of(tuned, tuned->search.index));
    }
}

void tuning_tell(struct node *node)
{
    for (uint32_t i = 0; i < node->tuning.n_searches; i++) {
        const struct tuned_search *tuned = &node->tuning.searches[i];
        const struct tune_search *search = &tuned->search;

        if (node->options.explain || node->options.stats) {
            fprintf(stderr,
                    "teamster: tune %s: %" PRId64 ", of %u values%s; %u "
                    "search%s, %" PRIu64 " iterations in them\n",
                    tuned->name.name, value_of(tuned, search->index),
                    search->n_values,
                    search->is_over ? "" : ", the search is not over",
                    search->n_searches, search->n_searches == 1 ? "" : "es",
                    search->n_tried);
        }
    }
}

// ---- searches

static struct tuned_search *add_search(struct tuning *tuning,
                                       const struct tuned_name *name)
{
    struct tuned_search *tuned;

    vector_reserve(tuning->searches, tuning->n_searches_room,
                   tuning->n_searches + 1);
    tuned = &tuning->searches[tuning->n_searches++];
    *tuned = (struct tuned_search){.name = *name};
    tune_search_begin(&tuned->search, name->n_values, 0);
    return tuned;
}

static struct tuned_search *find_search(struct tuning *tuning,
                                        const struct tuned_name *name)
{
    for (uint32_t i = 0; i < tuning->n_searches; i++) {
        if (strcmp(tuning->searches[i].name.name, name->name) == 0) {
            return &tuning->searches[i];
        }
    }
    return add_search(tuning, name);
}

/** Is it this one's turn to be searched, or to watch? */
static int has_the_turn(const struct tuning *tuning,
                        const struct tuned_search *tuned)
{
    for (uint32_t i = 0; i < tuning->n_searches; i++) {
        if (!tuning->searches[i].search.is_over) {
            return &tuning->searches[i] == tuned;
        }
    }
    return 1;
}

/** A search has ended: iterations take another time, for all others as well. */
static void forget_times(struct tuning *tuning)
{
    for (uint32_t i = 0; i < tuning->n_searches; i++) {
        if (tuning->searches[i].search.is_over) {
            tune_search_forget(&tuning->searches[i].search);
        }
        tuning->searches[i].began_ns = 0;
    }
}

static void take_sample(struct node *node, struct tuned_search *tuned,
                        uint64_t iteration, uint64_t now_ns)
{
    const struct tune_search before = tuned->search;
    const uint64_t n = iteration - tuned->from;
    enum tune_event event;

    if (tuned->began_ns == 0 || tuned->was_busy || n == 0) {
        return;
    }
    event = tune_search_take(&tuned->search,
                             (double)(now_ns - tuned->began_ns) * 1e-9 / n,
                             n < UINT32_MAX ? (uint32_t)n : UINT32_MAX);
    explain_event(node, tuned, &before, event, iteration);
    if (event == TUNE_FOUND || event == TUNE_KEPT) {
        forget_times(&node->tuning);
    }
}

/** An iteration begins for which there is no answer yet. */
static void begin_iteration(struct node *node, struct tuned_search *tuned,
                            uint64_t iteration)
{
    const uint64_t now_ns = clock_now_ns();
    const int is_busy = balancing_is_busy(node) || node_is_changing(node);

    if (has_the_turn(&node->tuning, tuned)) {
        tuned->was_busy |= is_busy;
        take_sample(node, tuned, iteration, now_ns);
        tuned->began_ns = now_ns;
    } else {
        tuned->began_ns = 0;
    }
    tuned->from_before = tuned->from;
    tuned->index_before = tuned->index;
    tuned->from = iteration;
    tuned->until = iteration + tune_search_span(&tuned->search);
    tuned->index = tuned->search.is_over || has_the_turn(&node->tuning, tuned)
                       ? tuned->search.index
                       : tuned->search.before;
    tuned->was_busy = is_busy;
}

static struct message_tune_is answer_for(const struct tuned_search *tuned,
                                         uint64_t iteration)
{
    if (iteration >= tuned->from) {
        return (struct message_tune_is){
            .from = tuned->from, .until = tuned->until, .index = tuned->index};
    }
    // Who is still there lags behind, or counts for itself.
    return (struct message_tune_is){
        .from = iteration < tuned->from_before ? iteration : tuned->from_before,
        .until = iteration < tuned->from_before ? iteration + 1 : tuned->from,
        .index = tuned->index_before};
}

tm_status tuning_answer(struct node *node, node_id from,
                        const struct message *message)
{
    const struct message_tune_ask *ask = &message->u.tune_ask;
    struct tuned_name name;
    struct tuned_search *tuned;
    struct message answer = {.type = MESSAGE_tune_is};

    if (tuned_name_read(message, ask->n_values, &name) != TM_OK) {
        return TM_EWIRE;
    }
    tuned = find_search(&node->tuning, &name);
    if (tuned_name_same_values(&tuned->name, &name)) {
        if (ask->iteration >= tuned->until) {
            begin_iteration(node, tuned, ask->iteration);
        }
        answer.u.tune_is = answer_for(tuned, ask->iteration);
    } else {
        answer.u.tune_is.index = TUNED_OTHERWISE;
    }
    answer.u.tune_is.number = ask->number;
    port_send(&node->port, from, &answer);
    return TM_OK;
}

// ---- checkpoints

void tuning_save(struct node *node, const struct port *to)
{
    for (uint32_t i = 0; i < node->tuning.n_searches; i++) {
        const struct tuned_search *tuned = &node->tuning.searches[i];
        const struct tune_search *search = &tuned->search;
        uint8_t body[TUNED_BYTES];
        struct wire_writer writer = {body, body + sizeof body, 0};
        struct message message = {
            .type = MESSAGE_tune_saved,
            .u.tune_saved = {.index = search->is_over ? search->index
                                                      : search->before,
                             .is_over = search->is_over != 0,
                             .n_values = (uint16_t)tuned->name.n_values},
            .body = body,
        };

        tuned_name_put(&writer, &tuned->name);
        message.body_size = (uint32_t)(writer.at - body);
        port_send(to, 0, &message);
    }
}

void tuning_load(struct node *node, const struct message *message)
{
    const struct message_tune_saved *saved = &message->u.tune_saved;
    struct tuned_name name;
    struct tuned_search *tuned;

    if (message->type != MESSAGE_tune_saved ||
        tuned_name_read(message, saved->n_values, &name) != TM_OK ||
        saved->index >= name.n_values) {
        return;
    }
    tuned = find_search(&node->tuning, &name);
    *tuned = (struct tuned_search){.name = name};
    if (saved->is_over) {
        tune_search_know(&tuned->search, name.n_values, saved->index);
    } else {
        tune_search_begin(&tuned->search, name.n_values, saved->index);
    }
}
