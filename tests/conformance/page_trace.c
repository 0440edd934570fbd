// SPDX-License-Identifier: BSD-3-Clause
// The story of one page, message by message: what one reads first when a seed
// fails.
#include "page_trace.h"

#include <stdio.h>

#include "protocol/updates.h"

static void say(const struct sim *sim, node_id from, node_id to,
                const char *what)
{
    fprintf(stderr, "%12llu ns  %u -> %u  %s\n",
            (unsigned long long)sim_now_ns(sim), from, to, what);
}

static void trace_update(const struct sim *sim, page_no page, node_id from,
                         node_id to, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    char what[128];

    while (reader.at < reader.end && !reader.failed) {
        page_no at = wire_get_u64(&reader);
        uint32_t version = wire_get_u32(&reader);
        uint32_t epoch = wire_get_u32(&reader);
        unsigned kind = wire_get_u8(&reader);
        unsigned size = wire_get_u16(&reader);

        wire_get_bytes(&reader, size);
        if (at == page) {
            snprintf(what, sizeof what,
                     "update, %s, version %u, epoch %u, origin %u, %u bytes",
                     kind == 0 ? "push" : "to owner", version, epoch,
                     message->u.update.origin, size);
            say(sim, from, to, what);
        }
    }
}

static void trace_ack(const struct sim *sim, page_no page, node_id from,
                      node_id to, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (reader.at < reader.end && !reader.failed) {
        page_no at = wire_get_u64(&reader);
        unsigned what = wire_get_u8(&reader);

        if (what == ACK_HANDED) {
            (void)wire_get_handed(&reader);
        } else if (what == ACK_APPLIED) {
            (void)wire_get_applied(&reader);
        }
        if (at == page) {
            say(sim, from, to,
                what == ACK_HANDED    ? "ownership"
                : what == ACK_APPLIED ? "applied"
                                      : "copy dropped");
        }
    }
}

static void trace_fetch(const struct sim *sim, page_no page, node_id from,
                        node_id to, const struct message_fetch *fetch)
{
    char what[128];

    if (page < fetch->page || page >= fetch->page + fetch->count) {
        return;
    }
    snprintf(what, sizeof what, "fetch %u, %s, for %u, %u of %u, hop %u",
             fetch->id, fetch->write ? "write" : "read", fetch->requester,
             (unsigned)(page - fetch->page + 1), fetch->count, fetch->hops);
    say(sim, from, to, what);
}

static void trace_answer(const struct sim *sim, node_id from, node_id to,
                         const struct message_page *answer)
{
    char what[128];

    snprintf(what, sizeof what, "page, version %u, epoch %u%s%s",
             answer->version, answer->epoch,
             answer->flags & 1 ? ", ownership" : "",
             answer->flags & 2 ? ", contents" : "");
    say(sim, from, to, what);
}

static void trace_range(const struct sim *sim, page_no page, node_id from,
                        node_id to, page_no first, unsigned count,
                        const char *what)
{
    if (page >= first && page < first + count) {
        say(sim, from, to, what);
    }
}

static void trace_refresh(const struct sim *sim, page_no page, node_id from,
                          node_id to, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    char what[128];

    while (wire_has_more(&reader)) {
        if (message->type == MESSAGE_refresh) {
            const struct wire_stale_copy copy = wire_get_stale_copy(&reader);

            snprintf(what, sizeof what, "refresh %u, %s, from version %u",
                     message->u.refresh.id,
                     message->u.refresh.write ? "write" : "read", copy.version);
            trace_range(sim, page, from, to, copy.page, 1, what);
        } else {
            const struct wire_refreshed_copy copy =
                wire_get_refreshed_copy(&reader);

            snprintf(what, sizeof what, "refreshed, version %u, %u bytes%s",
                     copy.version, copy.diff.size,
                     copy.flags & 4 ? ", subscribed" : "");
            trace_range(sim, page, from, to, copy.page, 1, what);
        }
    }
}

static void trace_mutex_pages(const struct sim *sim, page_no page, node_id from,
                              node_id to, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    char what[64];

    while (wire_has_more(&reader)) {
        const struct wire_mutex_page got = wire_get_mutex_page(&reader);

        snprintf(what, sizeof what, "with its mutex, version %u, epoch %u",
                 got.version, got.epoch);
        trace_range(sim, page, from, to, got.page, 1, what);
    }
}

static void trace_notices(const struct sim *sim, page_no page, node_id from,
                          node_id to, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    char what[64];

    while (wire_has_more(&reader)) {
        const struct wire_notice_entry entry = wire_get_notice_entry(&reader);

        snprintf(what, sizeof what, "notice of version %u%s", entry.version,
                 entry.owner == 0                 ? ""
                 : entry.owner & NOTICE_OF_WRITER ? ", a diff that is kept"
                                                  : ", of who owned it");
        trace_range(sim, page, from, to, entry.page, 1, what);
    }
}

void page_trace(const struct sim *sim, page_no page, node_id from, node_id to,
                const struct message *message)
{
    struct message pages[PAGES_MAX];
    char what[64];

    switch (message->type) {
    case MESSAGE_update:
        trace_update(sim, page, from, to, message);
        break;
    case MESSAGE_update_ack:
        trace_ack(sim, page, from, to, message);
        break;
    case MESSAGE_fetch:
        trace_fetch(sim, page, from, to, &message->u.fetch);
        break;
    case MESSAGE_page:
        if (message->u.page.page == page) {
            trace_answer(sim, from, to, &message->u.page);
        }
        break;
    case MESSAGE_pages:
        for (unsigned i = 0; i < page_batch_read(message, pages); i++) {
            page_trace(sim, page, from, to, &pages[i]);
        }
        break;
    case MESSAGE_fetch_done:
        trace_range(sim, page, from, to, message->u.fetch_done.page,
                    message->u.fetch_done.count, "fetch done");
        break;
    case MESSAGE_grant:
        trace_range(sim, page, from, to, message->u.grant.page,
                    message->u.grant.count, "grant");
        break;
    case MESSAGE_invalidate:
        trace_range(sim, page, from, to, message->u.invalidate.page, 1,
                    "invalidate");
        break;
    case MESSAGE_invalidate_ack:
        trace_range(sim, page, from, to, message->u.invalidate_ack.page, 1,
                    "invalidated");
        break;
    case MESSAGE_refresh:
    case MESSAGE_refreshed:
        trace_refresh(sim, page, from, to, message);
        break;
    case MESSAGE_mutex_pages:
        trace_mutex_pages(sim, page, from, to, message);
        break;
    case MESSAGE_notices:
        trace_notices(sim, page, from, to, message);
        break;
    case MESSAGE_copy:
        trace_range(sim, page, from, to, message->u.copy.page, 1, "copy");
        break;
    case MESSAGE_diffs_ask:
        snprintf(what, sizeof what, "asks for diffs of %u",
                 message->u.diffs_ask.count);
        trace_range(sim, page, from, to, message->u.diffs_ask.page, 1, what);
        break;
    case MESSAGE_diffs:
        snprintf(what, sizeof what, "diffs, %u bytes, %u", message->body_size,
                 message->u.diffs.what);
        trace_range(sim, page, from, to, message->u.diffs.page, 1, what);
        break;
    case MESSAGE_home:
        trace_range(sim, page, from, to, message->u.home.page, 1,
                    message->u.home.is_there ? "is at home" : "is to go home");
        break;
    default:
        break;
    }
}
