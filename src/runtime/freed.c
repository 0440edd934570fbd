// SPDX-License-Identifier: BSD-3-Clause
// Blocks that are no more, for messages about accesses to them. Every node is
// told when a block of its own pages ends; where tm_free() was called is known to
// the node that called it and to the root. The last N_FREED are kept.
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"

#define N_FREED 256u
#define N_PLACES 16u

/** Where tm_free() was called, until the block's end is announced. */
struct free_place {
    uint64_t address;
    uint32_t line;
    char file[64];
};

struct freed {
    page_no page;
    page_no n_pages;
    uint64_t size;
    uint32_t line;
    char file[64];
    char name[32];
    struct free_place end;
};

// Under the node lock; the latest n % N_... are valid.
static struct {
    struct freed blocks[N_FREED];
    uint64_t n_blocks;
    struct free_place places[N_PLACES];
    uint64_t n_places;
} kept;

static void note(uint64_t address, const char *file, uint32_t line)
{
    struct free_place *place = &kept.places[kept.n_places++ % N_PLACES];
    size_t length = strlen(file);

    place->address = address;
    place->line = line;
    snprintf(place->file, sizeof place->file, "%s",
             length > 63 ? file + length - 63 : file);
}

void freed_note_place(const void *block, const char *file, int line)
{
    note((uint64_t)(uintptr_t)block, file, (uint32_t)line);
}

static void take_place(uint64_t address, struct free_place *end)
{
    for (unsigned i = 0; i < N_PLACES; i++) {
        if (kept.places[i].address == address) {
            *end = kept.places[i];
            kept.places[i].address = 0;
        }
    }
}

static void note_end(page_no page)
{
    const struct extent *extent = engine_extent(runtime.engine, page);
    struct freed *freed;

    if (extent == NULL) {
        return;
    }
    freed = &kept.blocks[kept.n_blocks++ % N_FREED];
    *freed = (struct freed){
        .page = extent->page,
        .n_pages = extent->n_pages,
        .size = extent->size,
        .line = extent->line,
    };
    memcpy(freed->file, extent->file, sizeof freed->file);
    memcpy(freed->name, extent->name, sizeof freed->name);
    take_place((uint64_t)(uintptr_t)space_address(&runtime.space, extent->page),
               &freed->end);
}

static void watch_free_ask(const struct message *message)
{
    struct wire_reader reader = {
        message->body, (const uint8_t *)message->body + message->body_size, 0};
    const char *file = wire_get_string(&reader);

    if (!reader.failed) {
        note(message->u.free_ask.address, file, message->u.free_ask.line);
    }
}

void freed_watch(const struct message *message)
{
    if (message->type == MESSAGE_extent_close) {
        note_end(message->u.extent_close.page);
    } else if (message->type == MESSAGE_free_ask) {
        watch_free_ask(message);
    }
}

static const struct freed *find(page_no page)
{
    uint64_t n = kept.n_blocks < N_FREED ? kept.n_blocks : N_FREED;

    for (uint64_t i = 1; i <= n; i++) {
        const struct freed *freed = &kept.blocks[(kept.n_blocks - i) % N_FREED];

        if (page >= freed->page && page < freed->page + freed->n_pages) {
            return freed;
        }
    }
    return NULL;
}

int freed_describe(page_no page, char *text, size_t size)
{
    const struct freed *freed = find(page);
    char begin[96] = "";
    char end[96] = "";

    if (freed == NULL) {
        return 0;
    }
    if (freed->file[0] != '\0') {
        snprintf(begin, sizeof begin, ", allocated at %s:%u", freed->file,
                 freed->line);
    }
    if (freed->end.file[0] != '\0') {
        snprintf(end, sizeof end, ", freed at %s:%u", freed->end.file,
                 freed->end.line);
    }
    snprintf(text, size, "in block '%s' of %llu bytes after it was freed%s%s",
             freed->name, (unsigned long long)freed->size, begin, end);
    return 1;
}
