// SPDX-License-Identifier: BSD-3-Clause
//
//   root, before threads are told     migration_pages_withdraw: PAGES_UNUSED to old nodes
//   old node                          engine_leaving
//   root, threads are told to move    migration_pages_announce: PAGES_SOON to the new node
//   new node, the thread comes        migration_pages_thread_arrived: fetch ahead
//   root, all have moved              migration_pages_withdraw: PAGES_UNUSED to old nodes
//   old node                          engine_unused
//
// All is advice: lost, late or wrong ones cost time and nothing else.
//
// The first word to the old nodes is why pages follow their threads instead of being
// copied. A page whose owner keeps a copy is shared: it is written with a fault and
// a twin and compared at each release, for a node that has no use for it. The
// second word ends that with the next update; but where a program writes what is
// there already no update comes.
#include "reconfig/migration_pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/list.h"
#include "base/vector.h"

#define BATCH (MESSAGE_BODY_MAX / WIRE_SIZE_page_run)

/** Announced, and not come yet; one a thread. */
struct expected {
    struct expected *next;
    uint64_t thread;
    uint32_t n;
    struct wire_page_run runs[];
};

struct migration_pages {
    const struct port *port;
    struct engine *engine;
    struct expected *expected;
};

struct migration_pages *migration_pages_new(const struct port *port,
                                            struct engine *engine)
{
    struct migration_pages *pages = calloc(1, sizeof *pages);

    if (pages != NULL) {
        pages->port = port;
        pages->engine = engine;
    }
    return pages;
}

void migration_pages_free(struct migration_pages *pages)
{
    if (pages != NULL) {
        list_take_each (expected, pages->expected) {
            free(expected);
        }
    }
    free(pages);
}

// ---- sending

struct batch {
    const struct port *port;
    node_id to;
    struct message message;
    struct wire_writer writer;
    uint8_t body[BATCH * WIRE_SIZE_page_run];
};

static void batch_begin(struct batch *batch)
{
    batch->writer =
        (struct wire_writer){batch->body, batch->body + sizeof batch->body, 0};
}

static void batch_send(struct batch *batch)
{
    batch->message.body = batch->body;
    batch->message.body_size = (uint32_t)(batch->writer.at - batch->body);
    if (batch->message.type == MESSAGE_pages_unused) {
        batch->message.u.pages_unused.n_runs =
            batch->message.body_size / WIRE_SIZE_page_run;
    }
    if (batch->message.body_size > 0) {
        port_send(batch->port, batch->to, &batch->message);
    }
    batch_begin(batch);
}

static void batch_add(struct batch *batch, const struct wire_page_run *run)
{
    if (batch->writer.end - batch->writer.at < WIRE_SIZE_page_run) {
        batch_send(batch);
    }
    wire_put_page_run(&batch->writer, run);
}

void migration_pages_announce(struct migration_pages *pages, node_id to,
                              uint64_t thread, const struct page_use *uses,
                              size_t n)
{
    struct batch *batch = malloc(sizeof *batch);
    struct wire_page_run run = {0};

    ensure_memory(batch != NULL);
    *batch = (struct batch){
        .port = pages->port,
        .to = to,
        .message = {.type = MESSAGE_pages_soon,
                    .u.pages_soon = {.thread = thread}},
    };
    batch_begin(batch);
    for (size_t i = 0; i < n && i < PAGES_SOON_MAX; i++) {
        uint8_t is_write = (uses[i].flags & USE_WRITE) != 0;

        if (run.n > 0 && uses[i].page == run.page + run.n &&
            is_write == run.is_write) {
            run.n++;
            continue;
        }
        if (run.n > 0) {
            batch_add(batch, &run);
        }
        run = (struct wire_page_run){uses[i].page, 1, is_write};
    }
    if (run.n > 0) {
        batch_add(batch, &run);
    }
    batch_send(batch);
    free(batch);
}

// ---- what a node has no use for any more

/** The pages of some threads of a plan. */
struct numbers {
    uint64_t *at;
    size_t n;
    size_t room;
};

static void numbers_add(struct numbers *numbers, const struct page_use *uses,
                        size_t n)
{
    vector_reserve(numbers->at, numbers->room, numbers->n + n);
    for (size_t i = 0; i < n; i++) {
        numbers->at[numbers->n++] = uses[i].page;
    }
}

static void numbers_sort(struct numbers *numbers)
{
    size_t n = 0;

    if (numbers->n == 0) {
        return;
    }
    qsort(numbers->at, numbers->n, sizeof *numbers->at, page_no_compare);
    for (size_t i = 0; i < numbers->n; i++) {
        if (n == 0 || numbers->at[i] != numbers->at[n - 1]) {
            numbers->at[n++] = numbers->at[i];
        }
    }
    numbers->n = n;
}

// Both sorted.
static void numbers_subtract(struct numbers *numbers,
                             const struct numbers *others)
{
    size_t n = 0;
    size_t j = 0;

    for (size_t i = 0; i < numbers->n; i++) {
        while (j < others->n && others->at[j] < numbers->at[i]) {
            j++;
        }
        if (j == others->n || others->at[j] != numbers->at[i]) {
            numbers->at[n++] = numbers->at[i];
        }
    }
    numbers->n = n;
}

/** A change of the mapping, as a node sees it. */
struct move {
    const uint32_t *from; ///< [n_threads]
    const uint32_t *to;   ///< [n_threads]
    enum pages_stage stage;
    uint32_t node;
};

// Pages of the threads that leave a node, and of those that are there now.
// @return 0 if not all is known
static int sort_pages(const struct remap *plan, const struct move *move,
                      struct numbers *left, struct numbers *here)
{
    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        const struct page_use *uses;
        size_t n;

        if (move->from[i] != move->node && move->to[i] != move->node) {
            continue;
        }
        uses = plan->uses(plan->uses_owner, plan->numbers[i], &n);
        if (uses == NULL) {
            return 0;
        }
        numbers_add(move->to[i] == move->node ? here : left, uses, n);
    }
    return 1;
}

size_t migration_pages_next_run(const uint64_t *numbers, size_t n, size_t at,
                                uint32_t *run_n)
{
    size_t end = at + 1;

    while (end < n && numbers[end] == numbers[end - 1] + 1) {
        end++;
    }
    *run_n = (uint32_t)(end - at);
    return end;
}

static void withdraw_from(struct migration_pages *pages,
                          const struct remap *plan, const struct move *move,
                          struct batch *batch)
{
    struct numbers left = {0};
    struct numbers here = {0};

    if (sort_pages(plan, move, &left, &here)) {
        numbers_sort(&left);
        numbers_sort(&here);
        numbers_subtract(&left, &here);
        *batch = (struct batch){
            .port = pages->port,
            .to = pages->port->roster.live[move->node],
            .message = {.type = MESSAGE_pages_unused},
        };
        batch_begin(batch);
        for (size_t at = 0; at < left.n;) {
            struct wire_page_run run = {.page = left.at[at],
                                        .is_write =
                                            move->stage == PAGES_WILL_LEAVE};

            at = migration_pages_next_run(left.at, left.n, at, &run.n);
            batch_add(batch, &run);
        }
        batch_send(batch);
    }
    free(left.at);
    free(here.at);
}

void migration_pages_withdraw(struct migration_pages *pages,
                              const struct remap *plan, const uint32_t *from,
                              const uint32_t *to, enum pages_stage stage)
{
    struct batch *batch = malloc(sizeof *batch);

    ensure_memory(batch != NULL);
    for (uint32_t x = 0; plan->uses != NULL && x < plan->view.n_nodes; x++) {
        const struct move move = {from, to, stage, x};

        withdraw_from(pages, plan, &move, batch);
    }
    free(batch);
}

// ---- receiving

static struct expected *find_expected(const struct migration_pages *pages,
                                      uint64_t thread)
{
    struct expected *expected = pages->expected;

    while (expected != NULL && expected->thread != thread) {
        expected = expected->next;
    }
    return expected;
}

static void drop_expected(struct migration_pages *pages, uint64_t thread)
{
    struct expected *expected = find_expected(pages, thread);

    if (expected != NULL) {
        list_remove(pages->expected, expected);
        free(expected);
    }
}

// A thread that was announced before has not come then: it had a mutex, or was sent
// elsewhere. The latest counts.
static tm_status expect(struct migration_pages *pages,
                        const struct message *message)
{
    uint32_t n = message->body_size / WIRE_SIZE_page_run;
    struct expected *expected =
        calloc(1, sizeof *expected + n * sizeof expected->runs[0]);
    struct wire_reader reader = wire_read_body(message);

    ensure_memory(expected != NULL);
    for (uint32_t i = 0; i < n; i++) {
        expected->runs[i] = wire_get_page_run(&reader);
    }
    expected->n = n;
    expected->thread = message->u.pages_soon.thread;
    drop_expected(pages, expected->thread);
    list_push(pages->expected, expected);
    return TM_OK;
}

static tm_status forget(struct migration_pages *pages,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    if (message->u.pages_unused.n_runs !=
        message->body_size / WIRE_SIZE_page_run) {
        return TM_EWIRE;
    }
    while (wire_has_more(&reader)) {
        const struct wire_page_run run = wire_get_page_run(&reader);

        if (run.is_write) {
            engine_leaving(pages->engine, run.page, run.n);
        } else {
            engine_unused(pages->engine, run.page, run.n);
        }
    }
    return TM_OK;
}

tm_status migration_pages_receive(struct migration_pages *pages,
                                  const struct message *message)
{
    return message->type == MESSAGE_pages_soon ? expect(pages, message)
                                               : forget(pages, message);
}

size_t migration_pages_announced(const struct migration_pages *pages,
                                 uint64_t thread, page_no *list)
{
    const struct expected *expected = find_expected(pages, thread);
    size_t n = 0;

    for (uint32_t i = 0; expected != NULL && i < expected->n; i++) {
        for (uint32_t k = 0; k < expected->runs[i].n && n < PAGES_SOON_MAX;
             k++) {
            list[n++] = expected->runs[i].page + k;
        }
    }
    return n;
}

void migration_pages_thread_arrived(struct migration_pages *pages,
                                    uint64_t thread)
{
    const struct expected *expected = find_expected(pages, thread);

    for (uint32_t i = 0; expected != NULL && i < expected->n; i++) {
        engine_fetch_ahead(pages->engine, expected->runs[i].page,
                           expected->runs[i].n, expected->runs[i].is_write);
    }
    drop_expected(pages, thread);
}
