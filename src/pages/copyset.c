// SPDX-License-Identifier: BSD-3-Clause
//
// Copysets: which nodes have copies of a page, at its owner. There may be one for every page,
// so it has no more words than the highest node that has been in it needs: 16 bytes with its
// record as long as all are below 64.
#include "base/ensure.h"
#include "pages/pages.h"

#include <string.h>

struct copyset {
    uint32_t kind; ///< of n_words[]
    uint64_t words[];
};

/** By kind. With `kind` each but the last is a multiple of 16 bytes, which pools round to. */
static const uint8_t n_words[COPYSET_KINDS] = {1, 3, 7, NODE_SET_WORDS};

_Static_assert(NODE_SET_WORDS > 7, "n_words[] rises");

void copysets_init(struct engine *engine)
{
    for (unsigned i = 0; i < COPYSET_KINDS; i++) {
        pool_init(&engine->copysets[i],
                  sizeof(struct copyset) + n_words[i] * sizeof(uint64_t));
    }
}

void copysets_release(struct engine *engine)
{
    for (unsigned i = 0; i < COPYSET_KINDS; i++) {
        pool_release(&engine->copysets[i]);
    }
}

static unsigned words_of(const struct copyset *copyset)
{
    return n_words[copyset->kind];
}

static unsigned kind_for(node_id node)
{
    unsigned kind = 0;

    while (node / 64u >= n_words[kind]) {
        kind++;
    }
    return kind;
}

// It gets room for the node.
static void make_room(struct engine *engine, struct page *page, node_id node)
{
    struct copyset *before = page->copyset;
    const unsigned kind = kind_for(node);

    if (before != NULL && before->kind >= kind) {
        return;
    }
    page->copyset = pool_take(&engine->copysets[kind]);
    page->copyset->kind = kind;
    if (before != NULL) {
        memcpy(page->copyset->words, before->words,
               words_of(before) * sizeof before->words[0]);
        pool_give(&engine->copysets[before->kind], before);
    }
}

void copyset_add(struct engine *engine, struct page *page, node_id node)
{
    ensure(node < TM_MAX_NODES);
    make_room(engine, page, node);
    page->copyset->words[node / 64] |= (uint64_t)1 << node % 64;
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
    if (page->copyset != NULL) {
        pool_give(&engine->copysets[page->copyset->kind], page->copyset);
        page->copyset = NULL;
    }
}

void copyset_remove(struct engine *engine, struct page *page, node_id node)
{
    if (!copyset_has(page, node)) {
        return;
    }
    page->copyset->words[node / 64] &= ~((uint64_t)1 << node % 64);
    if (!words_any(page->copyset->words, words_of(page->copyset))) {
        copyset_clear(engine, page);
    }
}

int copyset_is_empty(const struct page *page)
{
    return page->copyset == NULL;
}

int copyset_has(const struct page *page, node_id node)
{
    const struct copyset *copyset = page->copyset;

    return copyset != NULL && node / 64u < words_of(copyset) &&
           (copyset->words[node / 64] >> node % 64 & 1);
}

int copyset_next(const struct page *page, unsigned from)
{
    const struct copyset *copyset = page->copyset;

    return copyset == NULL
               ? -1
               : words_next(copyset->words, words_of(copyset), from);
}

int copyset_is_only(const struct page *page, node_id node)
{
    return copyset_has(page, node) && copyset_next(page, 0) == node &&
           copyset_next(page, node + 1u) < 0;
}

struct node_set copyset_of(const struct page *page)
{
    struct node_set set = {{0}};

    if (page->copyset != NULL) {
        memcpy(set.words, page->copyset->words,
               words_of(page->copyset) * sizeof set.words[0]);
    }
    return set;
}
