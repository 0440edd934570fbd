// SPDX-License-Identifier: BSD-3-Clause
//
// Several pages in one message (`pages`): what is ahead of a request is gathered while it is
// looked at page by page, and leaves together. The first page, which somebody waits for, goes by
// itself, before the others.
//
// B1 Between page_batch_open() and page_batch_send() nothing else is sent to that node, so
//    nothing is overtaken. (Where clocks go in front of pages, they are not gathered.)
#include "base/ensure.h"
#include "pages/pages.h"

#include <stdlib.h>
#include <string.h>

void page_batch_open(struct engine *engine, node_id to)
{
    engine->batch.is_open = engine->causality == NULL;
    engine->batch.to = to;
}

static void send_one(struct engine *engine, node_id to,
                     const struct wire_page_entry *entry, const void *bytes)
{
    const struct message message = {
        .type = MESSAGE_page,
        .u.page = {.page = entry->page,
                   .version = entry->version,
                   .epoch = entry->epoch,
                   .flags = entry->flags,
                   .moves = entry->moves},
        .body = bytes,
        .body_size = TM_PAGE_SIZE,
    };

    port_send(engine->port, to, &message);
}

static void send_gathered(struct engine *engine)
{
    struct page_batch *batch = &engine->batch;
    struct message message = {
        .type = MESSAGE_pages,
        .u.pages = {.count = (uint8_t)batch->n},
    };
    uint8_t *start =
        batch->bytes + (PAGES_MAX - batch->n) * (size_t)WIRE_SIZE_page_entry;
    struct wire_writer writer = {start, batch->bytes + PAGES_HEAD, 0};

    if (batch->n == 1) {
        send_one(engine, batch->to, &batch->entries[0],
                 batch->bytes + PAGES_HEAD);
    } else if (batch->n > 1) {
        for (unsigned i = 0; i < batch->n; i++) {
            wire_put_page_entry(&writer, &batch->entries[i]);
        }
        message.body = start;
        message.body_size =
            (uint32_t)(PAGES_HEAD - (size_t)(start - batch->bytes) +
                       batch->n * (size_t)TM_PAGE_SIZE);
        port_send(engine->port, batch->to, &message);
    }
    batch->n = 0;
}

void page_batch_send(struct engine *engine)
{
    send_gathered(engine);
    engine->batch.is_open = 0;
}

int page_batch_takes(struct engine *engine, node_id to,
                     const struct message *message)
{
    struct page_batch *batch = &engine->batch;
    const struct message_page *page = &message->u.page;

    if (!batch->is_open || batch->to != to ||
        message->body_size != TM_PAGE_SIZE) {
        return 0;
    }
    if (batch->bytes == NULL) {
        batch->bytes = malloc(PAGES_HEAD + PAGES_MAX * (size_t)TM_PAGE_SIZE);
        ensure_memory(batch->bytes != NULL);
    }
    memcpy(batch->bytes + PAGES_HEAD + batch->n * (size_t)TM_PAGE_SIZE,
           message->body, TM_PAGE_SIZE);
    batch->entries[batch->n++] = (struct wire_page_entry){
        .page = page->page,
        .version = page->version,
        .epoch = page->epoch,
        .flags = page->flags,
        .moves = page->moves,
    };
    if (batch->n == PAGES_MAX) {
        send_gathered(engine);
    }
    return 1;
}

unsigned page_batch_read(const struct message *message, struct message *pages)
{
    const unsigned n = message->u.pages.count;
    const size_t size = n * ((size_t)WIRE_SIZE_page_entry + TM_PAGE_SIZE);
    struct wire_reader reader = wire_read_body(message);
    const uint8_t *bytes;

    if (n == 0 || n > PAGES_MAX || message->body_size != size) {
        return 0;
    }
    bytes = (const uint8_t *)message->body + n * (size_t)WIRE_SIZE_page_entry;
    for (unsigned i = 0; i < n; i++) {
        const struct wire_page_entry entry = wire_get_page_entry(&reader);

        pages[i] = (struct message){
            .type = MESSAGE_page,
            .u.page = {.page = entry.page,
                       .version = entry.version,
                       .epoch = entry.epoch,
                       .flags = entry.flags,
                       .moves = entry.moves},
            .body = bytes + i * (size_t)TM_PAGE_SIZE,
            .body_size = TM_PAGE_SIZE,
        };
        if (!(entry.flags & PAGE_WITH_CONTENTS)) {
            return 0;
        }
    }
    return n;
}

void page_batch_close(struct engine *engine)
{
    free(engine->batch.bytes);
}
