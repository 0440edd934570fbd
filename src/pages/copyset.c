// SPDX-License-Identifier: BSD-3-Clause
//
// Copysets: which nodes have a copy of a page, kept by its owner. They come from chunks,
// and go to a list: pages begin and cease to be shared all the time.
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "pages/pages.h"

static struct node_set *new_copyset(struct engine *engine)
{
    struct copyset *copyset = engine->free_copysets;

    if (copyset == NULL) {
        struct copyset_chunk *chunk = malloc(sizeof *chunk);

        ensure_memory(chunk != NULL);
        chunk->next = engine->copyset_chunks;
        engine->copyset_chunks = chunk;
        for (unsigned i = 0; i < COPYSETS_A_CHUNK; i++) {
            chunk->copysets[i].next = engine->free_copysets;
            engine->free_copysets = &chunk->copysets[i];
        }
        copyset = engine->free_copysets;
    }
    engine->free_copysets = copyset->next;
    memset(&copyset->nodes, 0, sizeof copyset->nodes);
    return &copyset->nodes;
}

void copyset_add(struct engine *engine, struct page *page, node_id node)
{
    if (page->copyset == NULL) {
        page->copyset = new_copyset(engine);
    }
    node_set_add(page->copyset, node);
}

void copyset_add_others(struct engine *engine, struct page *page,
                        const struct node_set *nodes)
{
    for (int node = node_set_next(nodes, 0); node >= 0;
         node = node_set_next(nodes, (unsigned)node + 1)) {
        if (node != engine->port->self &&
            roster_has(&engine->port->roster, (node_id)node)) {
            copyset_add(engine, page, (node_id)node);
        }
    }
}

void copyset_clear(struct engine *engine, struct page *page)
{
    struct copyset *copyset = (struct copyset *)page->copyset;

    if (copyset != NULL) {
        copyset->next = engine->free_copysets;
        engine->free_copysets = copyset;
        page->copyset = NULL;
    }
}

void copyset_remove(struct engine *engine, struct page *page, node_id node)
{
    if (page->copyset == NULL) {
        return;
    }
    node_set_remove(page->copyset, node);
    if (node_set_is_empty(page->copyset)) {
        copyset_clear(engine, page);
    }
}

int copyset_is_empty(const struct page *page)
{
    return page->copyset == NULL;
}

int copyset_is_only(const struct page *page, node_id node)
{
    struct node_set only = {{0}};

    node_set_add(&only, node);
    return page->copyset != NULL &&
           memcmp(page->copyset, &only, sizeof only) == 0;
}

void copysets_free(struct engine *engine)
{
    while (engine->copyset_chunks != NULL) {
        struct copyset_chunk *next = engine->copyset_chunks->next;

        free(engine->copyset_chunks);
        engine->copyset_chunks = next;
    }
}
