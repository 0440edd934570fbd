// SPDX-License-Identifier: BSD-3-Clause
//
// Tasks between nodes. A node that has nothing to run asks others (task_ask), and each of
// these remembers it until it has a task to give: nobody asks twice, and nobody is asked
// again and again, so nodes that are idle together are silent ([Saraswat11], lifelines).
// Whom a node asks are those 1, 2, 4, ... behind it in the roster: work gets from any to
// any by way of them.
//
//   (not asked)   tasks_ask -> ASKED       task_ask goes to the other, which is `hungry`
//                                          for it from then on
//   ASKED         task_give comes -> (not asked)
//
// What goes is half of the tasks of the deque that has most, the oldest of them, which are
// mostly the largest. They leave the deque first, then the node releases, then they go
// (task_give): so whoever runs them sees what was written before they were made, for one
// release.
//
// A lent family. Those that come of one family are counted together there, with those that
// they make in turn; when all have ended, that node releases and says so (task_done). That
// may well be another lent family: so ends are added up on the way back. Results and
// values of reductions go with them.
//
// K1 A token is of a task that is with another node, and known to nobody but that node. It
//    is used up when its end is told.
// K2 What has left a deque to go is counted by its family until its end has come back.
// K3 The release that goes before a message begins after the tasks have left the deque, and
//    after the last task of the lent family has ended.
// K4 A node is hungry at another one exactly if that has asked it, and got nothing since;
//    at a change of members all forget it.
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "tasks/tasks_priv.h"

enum {
    BATCH_MAX = 64,                         // tasks
    BATCH_BYTES_MAX = MESSAGE_BODY_MAX / 2, // before the last one
    FLAG_GOES_BACK = 1,
    FLAG_IS_PINNED = 2,
};

/** Tasks on their way to a node, until the release is over. */
struct batch {
    struct waiter waiter; ///< first: found from it
    struct tasks *tasks;
    node_id to;
    uint8_t is_answer; ///< it has asked for tasks
    unsigned n;
    struct task *list[BATCH_MAX];
};

/** A lent family on its way home. */
struct departure {
    struct waiter waiter; ///< first: found from it
    struct tasks *tasks;
    struct family *family;
};

// ---- tasks go

static struct wire_task_entry entry_of(const struct task *task, uint32_t token)
{
    const struct family *reducer = family_reducer(task->family);
    struct wire_task_entry entry = {
        .function = (uint64_t)(uintptr_t)task->function,
        .family = (uint64_t)(uintptr_t)task->family,
        .token = token,
        .flags = (task->goes_back ? FLAG_GOES_BACK : 0) |
                 (task->is_pinned ? FLAG_IS_PINNED : 0),
        .argument = {task->argument, (uint16_t)task->size},
    };

    if (reducer != NULL) {
        entry.combine = (uint64_t)(uintptr_t)reducer->combine;
        entry.value_size = (uint16_t)reducer->value_size;
    }
    return entry;
}

// The release is over.
static void send_batch(struct waiter *waiter)
{
    struct batch *batch = (struct batch *)waiter;
    struct tasks *tasks = batch->tasks;
    uint8_t *body = malloc(MESSAGE_BODY_MAX);
    struct wire_writer writer = {body, body + MESSAGE_BODY_MAX, 0};
    struct message message = {.type = MESSAGE_task_give, .body = body};

    ensure_memory(body != NULL);
    message.u.task_give.is_answer = batch->is_answer;
    for (unsigned i = 0; i < batch->n; i++) {
        struct task *task = batch->list[i];
        struct wire_task_entry entry;

        task->lent_to = batch->to;
        entry = entry_of(task, tokens_give(&tasks->tokens, task)); // K1
        wire_put_task_entry(&writer, &entry);
    }
    ensure(!writer.failed);
    message.body_size = (uint32_t)(writer.at - body);
    tasks->ops.order(tasks->ops.owner, batch->to);
    port_send(tasks->port, batch->to, &message);
    tasks->n_releases--;
    free(body);
    free(batch);
}

static struct batch *new_batch(struct tasks *tasks, node_id to)
{
    struct batch *batch = calloc(1, sizeof *batch);

    ensure_memory(batch != NULL);
    batch->waiter.wake = send_batch;
    batch->tasks = tasks;
    batch->to = to;
    return batch;
}

static void depart(struct batch *batch)
{
    struct tasks *tasks = batch->tasks;

    tasks->n_releases++;
    tasks->ops.release(tasks->ops.owner, batch->to, &batch->waiter); // K3
}

// Half of the deque's, the oldest first.
static void fill_batch(struct batch *batch, struct deque *deque)
{
    const uint64_t half = (deque_size(deque) + 1) / 2;
    size_t size = 0;

    while (batch->n < half && batch->n < BATCH_MAX && size < BATCH_BYTES_MAX) {
        struct task *task = deque_steal(deque);

        if (task == NULL) {
            return;
        }
        size += WIRE_SIZE_task_entry + task->size;
        batch->list[batch->n++] = task;
    }
}

// @return 0: there was nothing
static int give_to(struct tasks *tasks, node_id to)
{
    struct deque *deque = tasks_fullest(tasks);
    struct batch *batch;

    if (deque == NULL) {
        return 0;
    }
    batch = new_batch(tasks, to);
    fill_batch(batch, deque);
    if (batch->n == 0) {
        free(batch);
        return 0;
    }
    tasks->hungry[to] = 0; // K4
    atomic_fetch_sub(&tasks->n_hungry, 1);
    batch->is_answer = 1;
    depart(batch);
    return 1;
}

void tasks_give(struct tasks *tasks)
{
    const struct roster *roster = &tasks->port->roster;

    // From the node behind this one on: not always the same first.
    for (unsigned i = 0; i < roster->n_ids && tasks_are_wanted(tasks); i++) {
        const node_id to =
            (node_id)((tasks->port->self + 1 + i) % roster->n_ids);

        if (tasks->hungry[to] && roster_takes(roster, to) &&
            !give_to(tasks, to)) {
            return;
        }
    }
}

void tasks_send(struct tasks *tasks, node_id to, struct task *task)
{
    struct batch *batch = new_batch(tasks, to);

    task->is_pinned = 1;
    batch->list[batch->n++] = task;
    depart(batch);
}

// ---- nodes ask

static void ask_node(struct tasks *tasks, node_id to)
{
    const struct message message = {
        .type = MESSAGE_task_ask,
        .u.task_ask = {.is_hungry = 1},
    };

    if (!tasks->asked[to]) {
        tasks->asked[to] = 1; // K4
        port_send(tasks->port, to, &message);
    }
}

void tasks_ask(struct tasks *tasks)
{
    const struct roster *roster = &tasks->port->roster;
    unsigned own;

    if (!roster_takes(roster, tasks->port->self)) {
        return; // this node is about to leave
    }
    own = roster_place(roster, tasks->port->self);
    for (unsigned step = 1; step < roster->n_live; step *= 2) {
        ask_node(tasks, roster->live[(own + step) % roster->n_live]);
    }
}

void tasks_announce(struct tasks *tasks)
{
    const struct roster *roster = &tasks->port->roster;
    const struct message message = {.type = MESSAGE_task_ask};

    if (tasks->has_announced) {
        return;
    }
    tasks->has_announced = 1;
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != tasks->port->self) {
            port_send(tasks->port, roster->live[i], &message);
        }
    }
}

static tm_status receive_ask(struct tasks *tasks, node_id from,
                             const struct message_task_ask *ask)
{
    if (from == tasks->port->self || (ask->is_hungry && tasks->hungry[from])) {
        return TM_EWIRE;
    }
    if (!ask->is_hungry) {
        tasks->ops.are_used(tasks->ops.owner);
        return TM_OK;
    }
    tasks->hungry[from] = 1; // K4
    atomic_fetch_add(&tasks->n_hungry, 1);
    return TM_OK;
}

// ---- tasks come

static struct family *lend_here(struct tasks *tasks, node_id home,
                                const struct wire_task_entry *entry)
{
    struct family *family = malloc(sizeof *family);

    ensure_memory(family != NULL);
    family_init(family, NULL, NULL);
    family->is_lent = 1;
    family->home = home;
    family->combine = (combine_fn *)(uintptr_t)entry->combine;
    family->value_size = entry->value_size;
    tasks->n_lent++;
    return family;
}

static int entry_is_good(const struct wire_task_entry *entry)
{
    return entry->function != 0 && entry->token != 0 &&
           entry->argument.size <= TASK_BYTES_MAX &&
           entry->value_size <= TASK_BYTES_MAX &&
           (entry->combine == 0) == (entry->value_size == 0);
}

static int entries_are_good(const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    unsigned n = 0;

    while (wire_has_more(&reader)) {
        const struct wire_task_entry entry = wire_get_task_entry(&reader);

        if (reader.failed || !entry_is_good(&entry)) {
            return 0;
        }
        n++;
    }
    return n > 0;
}

static struct task *make_entry(struct family *family,
                               const struct wire_task_entry *entry)
{
    struct task *task =
        task_new((void (*)(void *))(uintptr_t)entry->function, family,
                 entry->argument.at, entry->argument.size);

    task->token = entry->token;
    task->goes_back = (entry->flags & FLAG_GOES_BACK) != 0;
    task->is_pinned = (entry->flags & FLAG_IS_PINNED) != 0;
    family_add(family);
    return task;
}

// Neighbours of one family count together.
static tm_status receive_give(struct tasks *tasks, node_id from,
                              const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct family *family = NULL;
    struct task *list = NULL;
    uint64_t last = 0;

    if (!entries_are_good(message) ||
        (message->u.task_give.is_answer && !tasks->asked[from])) {
        return TM_EWIRE;
    }
    while (wire_has_more(&reader)) {
        const struct wire_task_entry entry = wire_get_task_entry(&reader);
        struct task *task;

        if (family == NULL || entry.family != last) {
            family = lend_here(tasks, from, &entry);
            last = entry.family;
        }
        task = make_entry(family, &entry);
        list_push(list, task);
    }
    if (message->u.task_give.is_answer) {
        tasks->asked[from] = 0; // K4
    }
    tasks_take_in(tasks, list);
    tasks->ops.has_come(tasks->ops.owner);
    return TM_OK;
}

// ---- ends come back

/** A message that is being written, in parts if it is long. */
struct done_writer {
    struct tasks *tasks;
    node_id to;
    struct wire_writer writer;
    uint8_t *body;
};

static void flush_done(struct done_writer *done, int is_last)
{
    const struct message message = {
        .type = MESSAGE_task_done,
        .u.task_done = {.is_last = is_last != 0},
        .body = done->body,
        .body_size = (uint32_t)(done->writer.at - done->body),
    };

    port_send(done->tasks->port, done->to, &message);
    done->writer.at = done->body;
}

static void put_done(struct done_writer *done, uint8_t kind, uint32_t token,
                     const void *bytes, uint32_t size)
{
    const struct wire_task_end end = {
        .token = token,
        .kind = kind,
        .bytes = {bytes, (uint16_t)size},
    };

    if ((size_t)(done->writer.end - done->writer.at) <
        WIRE_SIZE_task_end + size) {
        flush_done(done, 0);
    }
    wire_put_task_end(&done->writer, &end);
}

// Values first: a token that goes with one is used up by its end only.
static void put_values(struct done_writer *done, struct family *family,
                       const struct returned *all)
{
    const uint32_t token = all->token;

    if (family->value != NULL) {
        put_done(done, RETURNED_VALUE, token, family->value,
                 family->value_size);
    }
    for (const struct returned *kept = all; kept != NULL; kept = kept->next) {
        if (kept->kind == RETURNED_VALUE) {
            put_done(done, RETURNED_VALUE, token, kept->bytes, kept->size);
        }
    }
}

// Those that carry a value have no token that is known at the home: any task's will do.
static struct returned *first_end_first(struct returned *all)
{
    struct returned *first = all;

    while (first->kind == RETURNED_VALUE) {
        first = first->next;
    }
    list_remove(all, first);
    list_push(all, first);
    return all;
}

static void put_all(struct done_writer *done, struct family *family)
{
    struct returned *all = first_end_first(atomic_load(&family->returned));

    put_values(done, family, all);
    list_take_each (kept, all) {
        if (kept->kind != RETURNED_VALUE) {
            put_done(done, kept->kind, kept->token, kept->bytes, kept->size);
        }
        free(kept);
    }
}

// The release is over.
static void send_done(struct waiter *waiter)
{
    struct departure *departure = (struct departure *)waiter;
    struct tasks *tasks = departure->tasks;
    struct family *family = departure->family;
    struct done_writer done = {
        .tasks = tasks,
        .to = family->home,
        .body = malloc(MESSAGE_BODY_MAX),
    };

    ensure_memory(done.body != NULL);
    done.writer =
        (struct wire_writer){done.body, done.body + MESSAGE_BODY_MAX, 0};
    tasks->ops.order(tasks->ops.owner, family->home);
    put_all(&done, family);
    flush_done(&done, 1);
    tasks->n_lent--;
    tasks->n_releases--;
    free(done.body);
    free(family->value);
    free(family);
    free(departure);
}

void tasks_return(struct tasks *tasks, struct family *family)
{
    struct departure *departure = calloc(1, sizeof *departure);

    ensure_memory(departure != NULL);
    departure->waiter.wake = send_done;
    departure->tasks = tasks;
    departure->family = family;
    tasks->n_releases++;
    tasks->ops.release(tasks->ops.owner, family->home,
                       &departure->waiter); // K3
}

static int end_is_good(const struct tasks *tasks, node_id from,
                       const struct wire_task_end *end)
{
    const struct task *task = tokens_find(&tasks->tokens, end->token);
    const struct family *reducer;

    if (task == NULL || task->lent_to != from || end->kind > RETURNED_VALUE) {
        return 0;
    }
    reducer = family_reducer(task->family);
    switch ((enum returned_kind)end->kind) {
    case RETURNED_END:
        return !task->goes_back && end->bytes.size == 0;
    case RETURNED_RESULT:
        return task->goes_back && end->bytes.size == task->size;
    default:
        return reducer != NULL && end->bytes.size == reducer->value_size;
    }
}

static void take_end(struct tasks *tasks, const struct wire_task_end *end)
{
    struct task *task = tokens_find(&tasks->tokens, end->token);
    struct family *family = task->family;

    if (end->kind != RETURNED_END || task->token != 0) {
        family_keep(family, (enum returned_kind)end->kind, task, end->bytes.at,
                    end->bytes.size);
    }
    if (end->kind == RETURNED_VALUE) {
        return;
    }
    tokens_take(&tasks->tokens, end->token); // K1
    free(task);
    if (family_end(tasks, family, 1)) { // K2
        tasks_return(tasks, family);
    }
}

static tm_status receive_done(struct tasks *tasks, node_id from,
                              const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_task_end end = wire_get_task_end(&reader);

        if (reader.failed || !end_is_good(tasks, from, &end)) {
            return TM_EWIRE;
        }
        take_end(tasks, &end);
    }
    return TM_OK;
}

// ---- the node's

tm_status tasks_receive(struct tasks *tasks, node_id from,
                        const struct message *message)
{
    switch (message->type) {
    case MESSAGE_task_ask:
        return receive_ask(tasks, from, &message->u.task_ask);
    case MESSAGE_task_give:
        return receive_give(tasks, from, message);
    default:
        return receive_done(tasks, from, message);
    }
}

void tasks_roster_changed(struct tasks *tasks)
{
    memset(tasks->hungry, 0, sizeof tasks->hungry);
    memset(tasks->asked, 0, sizeof tasks->asked);
    atomic_store(&tasks->n_hungry, 0);
    tasks->has_announced = 0;
}

void tasks_count_family(struct tasks *tasks, int more)
{
    atomic_fetch_add(&tasks->n_families, (unsigned)more);
}

int tasks_are_pending(const struct tasks *tasks)
{
    return tasks->n_lent > 0 || tasks->n_releases > 0 ||
           atomic_load(&tasks->n_families) > 0;
}
