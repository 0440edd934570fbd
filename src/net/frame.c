// SPDX-License-Identifier: BSD-3-Clause
//
// A frame lives from send() until the transport has no more use for it: often
// less than a microsecond, so malloc() would show. There are a few sizes, for
// messages without a body, with a page, with some pages, and the longest one; of
// each a number is kept for the next use.
#include "net/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"

static const struct frame_class {
    uint32_t room;
    unsigned n_kept;
} frame_classes[FRAME_N_CLASSES] = {
    {256, 256},      {TM_PAGE_SIZE + 256, 128}, {32 * 1024, 32},
    {96 * 1024, 16}, {FRAME_MAX, 16},
};

static unsigned class_of(uint32_t size)
{
    unsigned class = 0;

    while (frame_classes[class].room < size) {
        class ++;
    }
    return class;
}

static void free_list(struct frame *list)
{
    while (list != NULL) {
        struct frame *frame = list;

        list = frame->next_used;
        free(frame);
    }
}

void frame_pool_init(struct frame_pool *pool)
{
    *pool = (struct frame_pool){0};
}

void frame_pool_release(struct frame_pool *pool)
{
    for (unsigned i = 0; i < FRAME_N_CLASSES; i++) {
        free_list(pool->unused[i]);
    }
    free_list(pool->used);
    frame_pool_init(pool);
}

static struct frame *new_frame(struct frame_pool *pool, unsigned class)
{
    struct frame *frame = malloc(sizeof *frame + frame_classes[class].room);

    if (frame == NULL) {
        log_fatal(EXIT_MEMORY, "no memory for a message of %u bytes",
                  frame_classes[class].room);
    }
    frame->pool = pool;
    frame->class = class;
    return frame;
}

struct frame *frame_get(struct frame_pool *pool, uint32_t size)
{
    unsigned class;
    struct frame *frame;

    ensure(size > 0 && size <= FRAME_MAX);
    class = class_of(size);
    frame = pool->unused[class];
    if (frame == NULL) {
        frame = new_frame(pool, class);
    } else {
        pool->unused[class] = frame->next_used;
        pool->n_unused[class]--;
    }
    frame->size = size;
    frame->next = NULL;
    frame->previous_used = NULL;
    frame->next_used = pool->used;
    if (pool->used != NULL) {
        pool->used->previous_used = frame;
    }
    pool->used = frame;
    return frame;
}

void frame_put(struct frame *frame)
{
    struct frame_pool *pool = frame->pool;
    unsigned class = frame->class;

    if (frame->previous_used != NULL) {
        frame->previous_used->next_used = frame->next_used;
    } else {
        pool->used = frame->next_used;
    }
    if (frame->next_used != NULL) {
        frame->next_used->previous_used = frame->previous_used;
    }
    if (pool->n_unused[class] >= frame_classes[class].n_kept) {
        free(frame);
        return;
    }
    frame->next_used = pool->unused[class];
    pool->unused[class] = frame;
    pool->n_unused[class]++;
}

size_t frame_memory(const struct frame *frame)
{
    return sizeof *frame + frame_classes[frame->class].room;
}

struct frame *frame_encode(struct frame_pool *pool, uint32_t prefix,
                           uint32_t tail, const struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    uint32_t header_size = message_encode_header(message, header);
    struct frame *frame;

    ensure(prefix <= FRAME_PREFIX_MAX && tail <= FRAME_TAIL_MAX);
    ensure(message->body_size <= MESSAGE_BODY_MAX);
    frame = frame_get(pool, prefix + header_size + message->body_size + tail);
    memcpy(frame->bytes + prefix, header, header_size);
    if (message->body_size > 0) {
        memcpy(frame->bytes + prefix + header_size, message->body,
               message->body_size);
    }
    return frame;
}
