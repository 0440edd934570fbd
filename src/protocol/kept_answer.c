// SPDX-License-Identifier: BSD-3-Clause
//
// Who is asked for diffs of a page (gather.c) sends those that it has made, and of those that
// others have made what it has applied itself, and still keeps. It is told of each writer which
// ones are wanted.
#include "protocol/kept_answer.h"

#include "mem/diff.h"
#include "pages/places.h"
#include "protocol/notice_list.h"

static void send_diffs(struct engine *engine, node_id to, page_no page,
                       unsigned what, struct wire_writer *writer, uint8_t *body)
{
    const struct message message = {
        .type = MESSAGE_diffs,
        .u.diffs = {.page = page, .what = (uint8_t)what},
        .body = body,
        .body_size = (uint32_t)(writer->at - body),
    };

    steps_sent(engine, page, STEP_SENT_DIFFS, to);
    port_send(engine->port, to, &message);
    writer->at = body;
}

// Where what is asked for is not kept: up to where has the page's owner it (Z15)? 0: it is
// kept here. (Nodes have come or gone since who asks for what none of them has any more was
// told of it.)
static uint64_t dropped_of(const struct kept_page *record,
                           const struct wire_kept_wanted *wanted)
{
    const struct kept_diff *at = record == NULL ? NULL : record->own;

    while (at != NULL && at->stamp != wanted->until) {
        at = at->next;
    }
    if (at == NULL) {
        return wanted->until;
    }
    return record->dropped > wanted->since ? record->dropped : 0;
}

// An answer that is being made.
struct answer {
    node_id to;
    page_no page;
    unsigned what;
    struct wire_writer writer;
    uint8_t body[2 * (WIRE_SIZE_kept_diff + DIFF_MAX)];
};

static void make_room(struct engine *engine, struct answer *answer, size_t size)
{
    if ((size_t)(answer->writer.end - answer->writer.at) <
        WIRE_SIZE_kept_diff + size) {
        send_diffs(engine, answer->to, answer->page, DIFFS_MORE,
                   &answer->writer, answer->body);
    }
}

static void put_diff(struct engine *engine, struct answer *answer,
                     const struct kept_diff *diff)
{
    make_room(engine, answer, diff->size);
    wire_put_kept_diff(&answer->writer,
                       &(struct wire_kept_diff){diff->writer,
                                                diff->stamp,
                                                {diff->bytes, diff->size}});
    engine->stats.updates_sent++;
    place_note(engine, answer->page, PLACE_DIFF);
}

// Z11: no more than that is asked for.
static void put_own(struct engine *engine, struct answer *answer,
                    const struct kept_page *record,
                    const struct wire_kept_wanted *wanted)
{
    const uint64_t dropped = dropped_of(record, wanted);

    if (dropped != 0) {
        answer->what = DIFFS_DROPPED;
        make_room(engine, answer, 0);
        wire_put_kept_diff(
            &answer->writer,
            &(struct wire_kept_diff){engine->port->self, dropped, {0}});
        return;
    }
    for (const struct kept_diff *at = record->own; at != NULL; at = at->next) {
        if (at->stamp > wanted->since && at->stamp <= wanted->until) {
            put_diff(engine, answer, at);
        }
    }
}

static void put_others(struct engine *engine, struct answer *answer,
                       const struct kept_page *record,
                       const struct wire_kept_wanted *wanted)
{
    const struct kept_diff *at =
        kept_next(record, wanted->writer, wanted->since);

    while (at != NULL && at->stamp <= wanted->until) {
        put_diff(engine, answer, at);
        at = kept_next(record, wanted->writer, at->stamp);
    }
}

tm_status kept_answer(struct engine *engine, node_id from,
                      const struct message *message)
{
    const page_no page = message->u.diffs_ask.page;
    const struct kept_page *record = kept_find(engine, page);
    struct wire_reader reader = wire_read_body(message);
    struct answer answer = {.to = from, .page = page, .what = DIFFS_LAST};

    answer.writer =
        (struct wire_writer){answer.body, answer.body + sizeof answer.body, 0};
    while (wire_has_more(&reader)) {
        const struct wire_kept_wanted wanted = wire_get_kept_wanted(&reader);

        if (wanted.writer == engine->port->self) {
            put_own(engine, &answer, record, &wanted);
        } else if (record != NULL) {
            put_others(engine, &answer, record, &wanted);
        }
    }
    send_diffs(engine, from, page, answer.what, &answer.writer, answer.body);
    return TM_OK;
}
