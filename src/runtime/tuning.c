// SPDX-License-Identifier: BSD-3-Clause
//
// tm_tune(), at each node: which value a parameter has in the iteration in which the
// calling thread is. Threads that meet at the ends of iterations count these alike
// (iteration.c), so "iteration 17" is the same for all of them, wherever they are. For each
// iteration the root has one answer (tuning_root.c), which it gives for several iterations
// ahead; a node keeps it, and asks again when a thread comes to an iteration beyond. So a
// value changes at the end of an iteration, for all threads at once, and nothing has to
// reach all nodes at the same time.
//
//   covers()   what is known holds for the thread's iteration: that is the value
//   ask_root() else one thread asks, the others of the node wait with it
//   accept()   the answer: all of them look again
//
// N1  A node tells its threads only what the root has said for their iteration.
#include "runtime/tuning.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/vector.h"
#include "runtime/error_report.h"
#include "runtime/node.h"
#include "runtime/parts.h"
#include "runtime/tasking.h"
#include "runtime/threads.h"

// ---- what the program may ask

static void refuse(struct node *node, const char *name, const char *why)
{
    char text[256];

    snprintf(text, sizeof text,
             "thread %" PRIu64 " calls tm_tune(\"%.*s\"): %s",
             thread_self()->number, (int)TUNED_NAME_MAX,
             name != NULL ? name : "", why);
    report_program_error(node, text);
}

static int has_two_alike(const struct tuned_name *name)
{
    for (unsigned i = 0; i < name->n_values; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (name->values[i] == name->values[k]) {
                return 1;
            }
        }
    }
    return 0;
}

/** Copy it, since the program's arrays may lie in shared memory: not under the lock.
 * @return why not, NULL: it is fine */
static const char *copy_name(const char *name, const int64_t *values,
                             unsigned n, struct tuned_name *copy)
{
    const size_t length = name != NULL ? strnlen(name, TUNED_NAME_MAX) : 0;

    if (length == 0 || length == TUNED_NAME_MAX) {
        return "a name has 1 to 31 bytes";
    }
    if (values == NULL || n < 1 || n > TUNE_VALUES_MAX) {
        return "there have to be 1 to 64 values";
    }
    memcpy(copy->name, name, length + 1);
    memcpy(copy->values, values, n * sizeof *values);
    copy->n_values = n;
    return has_two_alike(copy) ? "two of the values are alike" : NULL;
}

static struct tuned *add_tuned(struct tuning *tuning,
                               const struct tuned_name *name)
{
    struct tuned *tuned = calloc(1, sizeof *tuned);

    ensure_memory(tuned != NULL);
    tuned->name = *name;
    vector_reserve(tuning->all, tuning->n_room, tuning->n + 1);
    tuning->all[tuning->n++] = tuned;
    return tuned;
}

static struct tuned *find_tuned(struct node *node,
                                const struct tuned_name *name)
{
    struct tuning *tuning = &node->tuning;

    for (uint32_t i = 0; i < tuning->n; i++) {
        if (strcmp(tuning->all[i]->name.name, name->name) == 0) {
            if (!tuned_name_same_values(&tuning->all[i]->name, name)) {
                refuse(node, name->name, "another call has other values");
            }
            return tuning->all[i];
        }
    }
    return add_tuned(tuning, name);
}

// ---- asking

static int covers(const struct tuned *tuned, uint64_t iteration)
{
    return iteration >= tuned->from && iteration < tuned->until; // N1
}

static uint32_t number_of(const struct tuning *tuning,
                          const struct tuned *tuned)
{
    uint32_t i = 0;

    while (tuning->all[i] != tuned) {
        i++;
    }
    return i;
}

static void ask_root(struct node *node, struct tuned *tuned, uint64_t iteration)
{
    uint8_t body[TUNED_BYTES];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_tune_ask,
        .u.tune_ask = {.number = number_of(&node->tuning, tuned),
                       .iteration = iteration,
                       .n_values = (uint16_t)tuned->name.n_values},
        .body = body,
    };

    tuned_name_put(&writer, &tuned->name);
    message.body_size = (uint32_t)(writer.at - body);
    tuned->is_asked = 1;
    port_send(&node->port, 0, &message);
}

static tm_status accept(struct node *node, const struct message_tune_is *is)
{
    struct tuned *tuned;

    if (is->number >= node->tuning.n ||
        !node->tuning.all[is->number]->is_asked) {
        return TM_EWIRE;
    }
    tuned = node->tuning.all[is->number];
    if (is->index != TUNED_OTHERWISE && is->index >= tuned->name.n_values) {
        return TM_EWIRE;
    }
    tuned->is_asked = 0;
    tuned->from = is->from;
    tuned->until = is->until;
    tuned->index = is->index;
    list_take_each (waiter, tuned->waiters) {
        waiter_wake(waiter, TM_OK, 0);
    }
    return TM_OK;
}

/** The value in the calling thread's iteration, or wait until more is known.
 * @return whether there is one */
static int look_up(struct node *node, const struct tuned_name *name,
                   uint32_t *index)
{
    struct tuned *tuned;
    struct wait wait;
    uint64_t iteration;

    wait_begin(node, &wait);
    wait.call = "tm_tune";
    tasking_forbid(node, "tm_tune");
    iteration = iteration_ended_by(&node->iteration, thread_self());
    tuned = find_tuned(node, name);
    if (tuned->index == TUNED_OTHERWISE) {
        refuse(node, name->name, "another node has other values");
    }
    if (covers(tuned, iteration)) {
        *index = tuned->index;
        node_leave(node);
        return 1;
    }
    list_push(tuned->waiters, &wait.waiter);
    if (!tuned->is_asked) {
        ask_root(node, tuned, iteration);
    }
    (void)wait_end(node, &wait);
    return 0;
}

int64_t tuning_value(struct node *node, const char *name, const int64_t *values,
                     unsigned n)
{
    struct tuned_name copy;
    const char *why = copy_name(name, values, n, &copy);
    uint32_t index;

    if (why != NULL) {
        refuse(node, name, why);
    }
    while (!look_up(node, &copy, &index)) {
    }
    return copy.values[index];
}

// ---- the part

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    if (message->type == MESSAGE_tune_is) {
        return from == 0 ? accept(node, &message->u.tune_is) : TM_EWIRE;
    }
    if (message->type == MESSAGE_tune_ask && node->self == 0) {
        return tuning_answer(node, from, message);
    }
    return TM_EWIRE;
}

static void save(struct node *node, const struct port *to)
{
    if (node->self == 0) {
        tuning_save(node, to);
    }
}

/** What main() has asked for before counts no more. */
static void load(struct node *node, const struct message *message)
{
    for (uint32_t i = 0; i < node->tuning.n; i++) {
        node->tuning.all[i]->until = 0;
    }
    tuning_load(node, message);
}

static void finish(struct node *node)
{
    node_enter(node);
    tuning_tell(node);
    node_leave(node);
}

static void close_tuning(struct node *node)
{
    struct tuning *tuning = &node->tuning;

    for (uint32_t i = 0; i < tuning->n; i++) {
        free(tuning->all[i]);
    }
    free(tuning->all);
    free(tuning->names);
    tune_plan_release(&tuning->plan);
    *tuning = (struct tuning){0};
}

const struct part part_tuning = {
    .owns = OWNER_tuning,
    .receive = receive,
    .save = save,
    .load = load,
    .finish = finish,
    .close = close_tuning,
};
