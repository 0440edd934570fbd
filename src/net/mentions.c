// SPDX-License-Identifier: BSD-3-Clause
//
// Which pages a message is about. One row for each message whose fields name a page, one
// function for each whose body does.
#include "net/mentions.h"

#include "net/roster.h"

struct visit {
    mention_fn *visit;
    void *owner;
};

// n: 0 of an entry that was torn
static void tell(const struct visit *visit, struct mention mention)
{
    if (mention.n > 0) {
        visit->visit(visit->owner, &mention);
    }
}

static void visit_page(const struct visit *visit, const struct message *message)
{
    const struct message_page *page = &message->u.page;

    tell(visit, (struct mention){.page = page->page,
                                 .n = 1,
                                 .version = page->version,
                                 .epoch = page->epoch,
                                 .n_bytes = message->body_size,
                                 .who = NODE_NONE,
                                 .flags = page->flags & 7u});
}

static void visit_pages(const struct visit *visit,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.pages.count && !reader.failed; i++) {
        const struct wire_page_entry entry = wire_get_page_entry(&reader);

        tell(visit, (struct mention){.page = entry.page,
                                     .n = !reader.failed,
                                     .version = entry.version,
                                     .epoch = entry.epoch,
                                     .n_bytes = TM_PAGE_SIZE,
                                     .who = NODE_NONE,
                                     .flags = entry.flags & 7u});
    }
}

static void visit_owners(const struct visit *visit,
                         const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_owner_entry entry = wire_get_owner_entry(&reader);

        tell(visit, (struct mention){.page = entry.page,
                                     .n = !reader.failed,
                                     .epoch = entry.epoch,
                                     .who = message->u.owner_is.owner});
    }
}

static void visit_updates(const struct visit *visit,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_update_item item = wire_get_update_item(&reader);

        if (item.kind < 2) { // the other is of races
            tell(visit, (struct mention){
                            .page = item.page,
                            .n = !reader.failed,
                            .version = item.version,
                            .epoch = item.epoch,
                            .n_bytes = item.diff.size,
                            .who = message->u.update.origin,
                            .flags = item.kind == 1 ? MENTION_TO_OWNER : 0});
        }
    }
}

static void visit_acks(const struct visit *visit, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_ack_item item = wire_get_ack_item(&reader);
        struct mention mention = {.page = item.page,
                                  .n = !reader.failed,
                                  .who = NODE_NONE,
                                  .what = item.what};

        if (item.what == 1) {
            const struct wire_handed handed = wire_get_handed(&reader);

            mention.version = handed.version;
            mention.epoch = handed.epoch;
            mention.flags = MENTION_WITH_OWNERSHIP;
        } else if (item.what == 2) {
            mention.version = wire_get_applied(&reader).version;
        }
        tell(visit, mention);
    }
}

static node_id who_of(unsigned owner)
{
    owner &= ~NOTICE_OF_WRITER;
    return owner == 0 ? NODE_NONE : (node_id)(owner - 1);
}

static void visit_notices(const struct visit *visit,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.notices.count && !reader.failed; i++) {
        const struct wire_notice_entry entry = wire_get_notice_entry(&reader);

        tell(visit, (struct mention){.page = entry.page,
                                     .n = !reader.failed,
                                     .version = entry.version,
                                     .epoch = entry.epoch,
                                     .who = who_of(entry.owner)});
    }
}

static void visit_stale(const struct visit *visit,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_stale_copy copy = wire_get_stale_copy(&reader);

        tell(visit, (struct mention){.page = copy.page,
                                     .n = !reader.failed,
                                     .version = copy.version,
                                     .who = NODE_NONE,
                                     .flags = message->u.refresh.write
                                                  ? MENTION_TO_WRITE
                                                  : 0});
    }
}

static void visit_refreshed(const struct visit *visit,
                            const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_refreshed_copy copy =
            wire_get_refreshed_copy(&reader);

        tell(visit, (struct mention){.page = copy.page,
                                     .n = !reader.failed,
                                     .version = copy.version,
                                     .epoch = copy.epoch,
                                     .n_bytes = copy.diff.size,
                                     .who = NODE_NONE,
                                     .flags = copy.flags & 7u});
    }
}

static void visit_mutex_pages(const struct visit *visit,
                              const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        const struct wire_mutex_page got = wire_get_mutex_page(&reader);

        tell(visit, (struct mention){.page = got.page,
                                     .n = !reader.failed,
                                     .version = got.version,
                                     .epoch = got.epoch,
                                     .n_bytes = got.diff.size,
                                     .who = NODE_NONE,
                                     .flags = MENTION_WITH_OWNERSHIP |
                                              MENTION_WITH_CONTENTS});
    }
}

static void visit_numbers(const struct visit *visit,
                          const struct message *message, uint8_t flags)
{
    struct wire_reader reader = wire_read_body(message);

    while (wire_has_more(&reader)) {
        tell(visit, (struct mention){.page = wire_get_page_number(&reader).page,
                                     .n = !reader.failed,
                                     .who = NODE_NONE,
                                     .flags = flags});
    }
}

// Of count pages, each `stride` behind the one before: two's complement.
static void visit_stride(const struct visit *visit, struct mention mention,
                         unsigned count, uint32_t stride)
{
    mention.n = 1;
    for (unsigned i = 0; i < count; i++) {
        tell(visit, mention);
        mention.page += (page_no)(int32_t)stride;
    }
}

static void visit_fetch(const struct visit *visit,
                        const struct message *message)
{
    const struct message_fetch *fetch = &message->u.fetch;

    visit_stride(
        visit,
        (struct mention){.page = fetch->page,
                         .fetch = fetch->id,
                         .who = fetch->requester,
                         .flags = (fetch->write ? MENTION_TO_WRITE : 0) |
                                  (fetch->has_copy ? MENTION_HAS_COPY : 0)},
        fetch->count, fetch->stride);
}

static void visit_done(const struct visit *visit, const struct message *message)
{
    const struct message_fetch_done *done = &message->u.fetch_done;

    visit_stride(visit,
                 (struct mention){
                     .page = done->page, .fetch = done->id, .who = NODE_NONE},
                 done->count, done->stride);
}

static void visit_copy(const struct visit *visit, const struct message *message)
{
    tell(visit, (struct mention){.page = message->u.copy.page,
                                 .n = 1,
                                 .epoch = message->u.copy.epoch,
                                 .n_bytes = TM_PAGE_SIZE,
                                 .who = NODE_NONE,
                                 .flags = MENTION_WITH_CONTENTS});
}

static void visit_diffs(const struct visit *visit,
                        const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);
    struct mention mention = {
        .page = message->u.diffs.page, .n = 1, .who = NODE_NONE};

    while (wire_has_more(&reader)) {
        const struct wire_kept_diff diff = wire_get_kept_diff(&reader);

        mention.n_bytes += diff.diff.size;
        mention.who = diff.writer;
    }
    tell(visit, mention);
}

static void visit_home(const struct visit *visit, const struct message *message)
{
    tell(visit, (struct mention){
                    .page = message->u.home.page,
                    .n = 1,
                    .version = message->u.home.stamp,
                    .who = NODE_NONE,
                    .flags = message->u.home.is_there ? 0 : MENTION_TO_OWNER});
}

static void visit_given(const struct visit *visit,
                        const struct message *message)
{
    const struct message_page_given *given = &message->u.page_given;
    struct wire_reader reader = wire_read_body(message);

    (void)wire_get_nodes(&reader);
    tell(visit, (struct mention){.page = given->page,
                                 .n = 1,
                                 .version = given->version,
                                 .epoch = given->epoch,
                                 .n_bytes = (uint32_t)(reader.end - reader.at),
                                 .who = NODE_NONE,
                                 .flags = MENTION_WITH_OWNERSHIP});
}

// Nothing but pages is named.
static void visit_one(const struct visit *visit, page_no page)
{
    tell(visit, (struct mention){.page = page, .n = 1, .who = NODE_NONE});
}

void mentions_visit(const struct message *message, mention_fn *each,
                    void *owner)
{
    const struct visit visit = {each, owner};

    switch (message->type) {
    case MESSAGE_fetch:
        visit_fetch(&visit, message);
        break;
    case MESSAGE_page:
        visit_page(&visit, message);
        break;
    case MESSAGE_pages:
        visit_pages(&visit, message);
        break;
    case MESSAGE_fetch_done:
        visit_done(&visit, message);
        break;
    case MESSAGE_copy:
        visit_copy(&visit, message);
        break;
    case MESSAGE_diffs_ask:
        visit_one(&visit, message->u.diffs_ask.page);
        break;
    case MESSAGE_diffs:
        visit_diffs(&visit, message);
        break;
    case MESSAGE_home:
        visit_home(&visit, message);
        break;
    case MESSAGE_grant:
        tell(&visit, (struct mention){.page = message->u.grant.page,
                                      .n = message->u.grant.count,
                                      .fetch = message->u.grant.id,
                                      .who = NODE_NONE});
        break;
    case MESSAGE_owner_is:
        visit_owners(&visit, message);
        break;
    case MESSAGE_update:
        visit_updates(&visit, message);
        break;
    case MESSAGE_update_ack:
        visit_acks(&visit, message);
        break;
    case MESSAGE_invalidate:
        visit_one(&visit, message->u.invalidate.page);
        break;
    case MESSAGE_invalidate_ack:
        visit_one(&visit, message->u.invalidate_ack.page);
        break;
    case MESSAGE_atomic:
        tell(&visit, (struct mention){.page = message->u.atomic.page,
                                      .n = 1,
                                      .who = message->u.atomic.requester});
        break;
    case MESSAGE_page_given:
        visit_given(&visit, message);
        break;
    case MESSAGE_page_taken:
        visit_one(&visit, message->u.page_taken.page);
        break;
    case MESSAGE_notices:
        visit_notices(&visit, message);
        break;
    case MESSAGE_refresh:
        visit_stale(&visit, message);
        break;
    case MESSAGE_refreshed:
        visit_refreshed(&visit, message);
        break;
    case MESSAGE_mutex_pages:
        visit_mutex_pages(&visit, message);
        break;
    case MESSAGE_recall:
        visit_numbers(&visit, message,
                      message->u.recall.to_read ? 0 : MENTION_TO_WRITE);
        break;
    case MESSAGE_recalled:
        visit_numbers(&visit, message, 0);
        break;
    default:
        break;
    }
}
