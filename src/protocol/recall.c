// SPDX-License-Identifier: BSD-3-Clause
//
// Copies that are called back. Who has a copy that is not pushed to hears by notices that it is
// old, and its owner does not hear whether it is used: it makes versions and notices as long as
// it has not been asked for another copy (A1). If it should not be, since the page is written
// by one node alone (readers.c) or goes from node to node (migration.c), the owner says `recall`;
// the copy becomes stale, as if a notice had come, and the answer is `recalled`.
//
// V2 `recalled` comes behind the diff of the copy, on the same way: A3.
// V3 A copy that was sent to the node since it was called is not what the answer speaks of, also
//    if that copy was called too: answers come in the order of the calls. (If the node asks after
//    its answer, its request comes behind that.) So a call goes before such a copy, or never.
// V4 A call that has no answer yet is unfinished: nodes neither come nor go.
#include "protocol/recall.h"

#include <stdlib.h>

#include "base/ensure.h"

#define PAGES_OF_MESSAGE 1024u

struct recalls {
    struct page_list to[RECALL_KINDS][TM_MAX_NODES]; ///< yet to be sent
    uint32_t n_out[TM_MAX_NODES]; ///< messages not yet answered: V4
    struct page_list called;      ///< that one message names
    size_t n;                     ///< pages to be sent
};

static struct recalls *recalls_of(struct engine *engine)
{
    struct updates *updates = engine->updates;

    if (updates->recalls == NULL) {
        updates->recalls = calloc(1, sizeof *updates->recalls);
        ensure_memory(updates->recalls != NULL);
    }
    return updates->recalls;
}

void recall_add(struct engine *engine, page_no page, node_id node,
                enum recall_kind kind)
{
    struct recalls *recalls = recalls_of(engine);

    page_list_add(&recalls->to[kind][node], page);
    recalls->n++;
}

static int take_from(struct page_list *pages, page_no page)
{
    for (size_t i = 0; i < pages->n; i++) {
        if (pages->at[i] == page) {
            pages->at[i] = pages->at[--pages->n];
            return 1;
        }
    }
    return 0;
}

int recall_withdraw(struct engine *engine, page_no page, node_id node)
{
    struct recalls *recalls = engine->updates->recalls;
    int is_taken = 0;

    if (recalls != NULL) {
        is_taken = take_from(&recalls->to[RECALL_ALL][node], page) ||
                   take_from(&recalls->to[RECALL_WRITES][node], page);
        recalls->n -= (size_t)is_taken;
    }
    return is_taken;
}

void recall_forget(struct engine *engine, const struct extent *extent)
{
    struct recalls *recalls = engine->updates->recalls;
    size_t n = 0;

    for (unsigned i = 0; recalls != NULL && recalls->n > 0 && i < TM_MAX_NODES;
         i++) {
        for (unsigned kind = 0; kind < RECALL_KINDS; kind++) {
            page_list_leave_out(&recalls->to[kind][i], extent);
            n += recalls->to[kind][i].n;
        }
    }
    if (recalls != NULL) {
        recalls->n = n;
    }
}

// ---- asking

static void send_some(struct engine *engine, node_id to, enum recall_kind kind,
                      const page_no *pages, size_t n)
{
    uint8_t body[PAGES_OF_MESSAGE * WIRE_SIZE_page_number];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_recall, .body = body};

    for (size_t i = 0; i < n; i++) {
        wire_put_page_number(&writer, &(struct wire_page_number){pages[i]});
    }
    message.u.recall.to_read = kind == RECALL_WRITES;
    message.u.recall.count = (uint16_t)n;
    message.body_size = (uint32_t)(writer.at - body);
    recalls_of(engine)->n_out[to]++;
    engine->n_unfinished++; // V4
    port_send(engine->port, to, &message);
}

static void send_all(struct engine *engine, node_id to, enum recall_kind kind)
{
    struct page_list *pages = &recalls_of(engine)->to[kind][to];

    for (size_t i = 0; i < pages->n; i += PAGES_OF_MESSAGE) {
        const size_t rest = pages->n - i;

        send_some(engine, to, kind, &pages->at[i],
                  rest < PAGES_OF_MESSAGE ? rest : PAGES_OF_MESSAGE);
    }
    pages->n = 0;
}

void recall_send(struct engine *engine)
{
    struct recalls *recalls = engine->updates->recalls;
    const struct roster *roster = &engine->port->roster;

    if (recalls == NULL || recalls->n == 0 || engine->is_frozen) {
        return;
    }
    for (unsigned i = 0; i < roster->n_live; i++) {
        send_all(engine, roster->live[i], RECALL_ALL);
        send_all(engine, roster->live[i], RECALL_WRITES);
    }
    recalls->n = 0;
}

// ---- answering

static int is_called_copy(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->state != PAGE_ABSENT && !page->is_owner && !page->subscribed;
}

static const struct update_rules *rules_of_called(const struct engine *engine,
                                                  page_no page)
{
    const struct extent *extent = extent_find(engine, page);
    const struct update_rules *rules =
        extent != NULL ? extent->row->updates : NULL;

    return rules != NULL && rules->recalled != NULL ? rules : NULL;
}

static void receive_call(struct engine *engine, node_id from,
                         const struct message *message)
{
    struct page_list *called = &recalls_of(engine)->called;
    struct message answer = *message;
    struct wire_reader reader = wire_read_body(message);
    const struct update_rules *rules = NULL;

    while (wire_has_more(&reader)) {
        const page_no page = wire_get_page_number(&reader).page;

        if (rules_of_called(engine, page) != NULL &&
            is_called_copy(engine, page)) {
            rules = rules_of_called(engine, page);
            page_list_add(called, page);
        }
    }
    if (rules != NULL) {
        rules->called(engine, called, message->u.recall.to_read); // V2
    }
    called->n = 0;
    answer.type = MESSAGE_recalled;
    answer.u.recalled.count = message->u.recall.count;
    port_send(engine->port, from, &answer);
}

static tm_status receive_answer(struct engine *engine, node_id from,
                                const struct message *message)
{
    struct recalls *recalls = recalls_of(engine);
    struct wire_reader reader = wire_read_body(message);

    if (recalls->n_out[from] == 0) {
        return TM_EWIRE;
    }
    while (wire_has_more(&reader)) {
        const page_no page = wire_get_page_number(&reader).page;
        const struct update_rules *rules = rules_of_called(engine, page);

        if (rules != NULL) {
            rules->recalled(engine, page, from);
        }
    }
    recalls->n_out[from]--;
    engine->n_unfinished--;
    engine_finished(engine);
    return TM_OK;
}

tm_status recall_receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    if (message->type == MESSAGE_recalled) {
        return receive_answer(engine, from, message);
    }
    if (from == engine->port->self) {
        return TM_EWIRE;
    }
    receive_call(engine, from, message);
    return TM_OK;
}

void recall_free(struct updates *updates)
{
    struct recalls *recalls = updates->recalls;

    if (recalls == NULL) {
        return;
    }
    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        free(recalls->to[RECALL_ALL][i].at);
        free(recalls->to[RECALL_WRITES][i].at);
    }
    free(recalls->called.at);
    free(recalls);
    updates->recalls = NULL;
}
