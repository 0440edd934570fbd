// SPDX-License-Identifier: BSD-3-Clause
// Blocks that are no more, for messages about accesses to them. Every node is
// told when a block of its own pages ends, and where tm_free() was called. The
// last FREED_KEPT are kept.
#include <stdio.h>
#include <string.h>

#include "runtime/error_report.h"
#include "runtime/node.h"

static void note_place(struct freed_place *place, const char *file,
                       uint32_t line)
{
    place->line = line;
    snprintf(place->file, sizeof place->file, "%s", file != NULL ? file : "");
}

void freed_note(struct node *node, const struct message *extent_close)
{
    struct freed_blocks *kept = &node->freed;
    const struct message_extent_close *close = &extent_close->u.extent_close;
    struct wire_reader reader = wire_read_body(extent_close);
    const struct extent *extent = engine_extent(node->engine, close->page);
    struct freed *freed = &kept->blocks[kept->n_blocks++ % FREED_KEPT];

    *freed = (struct freed){
        .page = extent->page,
        .n_pages = extent->n_pages,
        .size = extent->size,
    };
    memcpy(freed->name, extent->name, sizeof freed->name);
    note_place(&freed->begin, extent->file, extent->line);
    note_place(&freed->end, wire_get_file_name(&reader).file, close->line);
}

static const struct freed *find(struct node *node, page_no page)
{
    const struct freed_blocks *kept = &node->freed;
    uint64_t n = kept->n_blocks < FREED_KEPT ? kept->n_blocks : FREED_KEPT;

    for (uint64_t i = 1; i <= n; i++) {
        const struct freed *freed =
            &kept->blocks[(kept->n_blocks - i) % FREED_KEPT];

        if (page >= freed->page && page < freed->page + freed->n_pages) {
            return freed;
        }
    }
    return NULL;
}

static void describe_place(const char *what, const struct freed_place *place,
                           char *text, size_t size)
{
    if (place->file[0] != '\0') {
        snprintf(text, size, ", %s at %s:%u", what, place->file, place->line);
    }
}

int freed_describe(struct node *node, page_no page, char *text, size_t size)
{
    const struct freed *freed = find(node, page);
    char begin[96] = "";
    char end[96] = "";

    if (freed == NULL) {
        return 0;
    }
    describe_place("allocated", &freed->begin, begin, sizeof begin);
    describe_place("freed", &freed->end, end, sizeof end);
    snprintf(text, size, "in block '%s' of %llu bytes after it was freed%s%s",
             freed->name, (unsigned long long)freed->size, begin, end);
    return 1;
}
