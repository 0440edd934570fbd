// SPDX-License-Identifier: BSD-3-Clause
//
// What the pager (mem/pager.h) may do with the pages of this node.
//
// A page stays while something is under way for it, and while it is dirty: then
// its bytes and its twin belong together. A release makes dirty pages clean, and may
// begin at any time, so one begins when nothing else can go.
//
// A copy whose owner is elsewhere can be given up without a word: the page is absent
// here, and the copyset still has this node.
//   eager-release  the next push says nothing to an absent page, as ever; the
//                  answer to it tells the owner (`untold`), which sends no more
//   sequential     an invalidation is acknowledged, as ever; a request to write
//                  says that there is no copy (has_copy), so the contents come
// Either way a request that comes first brings a new copy, and the copyset is right
// again.
#include "proto/engine_priv.h"

static int is_idle(const struct page *page)
{
    return !page->pending && !page->held && !page->busy && !page->in_flight &&
           !page->queues && page->waiters == NULL && page->deferred == NULL;
}

static enum page_fate fate(void *owner, page_no page_number)
{
    const struct engine *engine = owner;
    const struct page *page = page_of(engine, page_number);

    if (!is_idle(page) || page->state == PAGE_DIRTY) {
        return FATE_STAY;
    }
    if (page->state == PAGE_ABSENT) {
        return FATE_DISCARD;
    }
    return page->is_owner || engine->keeps_copies ? FATE_SWAP : FATE_DROP;
}

static void give_up(struct engine *engine, struct page *page)
{
    page->state = PAGE_ABSENT;
    // It is unmapped; threads that go on look without the lock.
    __atomic_store_n(&page->access, (uint8_t)ACCESS_NONE, __ATOMIC_RELAXED);
    engine->stats.copies_dropped++;
}

static void drop(void *owner, page_no page_number)
{
    struct engine *engine = owner;
    struct page *page = page_of(engine, page_number);

    give_up(engine, page);
    page->untold = engine_protocol(engine, page_number) == TM_EAGER_RELEASE;
}

static void relieve(void *owner)
{
    struct engine *engine = owner;

    engine->is_short = 1; // hot pages are protected like others from now on
    release_early(engine);
}

static uint64_t n_coming(void *owner)
{
    const struct engine *engine = owner;

    return engine->n_pending;
}

static void fetch_ahead(void *owner, page_no first, page_no n)
{
    engine_fetch_ahead(owner, first, n, 0);
}

struct pager_host engine_pager_host(struct engine *engine)
{
    return (struct pager_host){
        .owner = engine,
        .fate = fate,
        .drop = drop,
        .relieve = relieve,
        .n_coming = n_coming,
        .fetch_ahead = fetch_ahead,
    };
}

void engine_keep_copies(struct engine *engine, int keep)
{
    engine->keeps_copies = keep;
}

int paging_gives_up(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);

    if (page->untold) {
        page->untold = 0;
        return 1;
    }
    if (page->state != PAGE_CLEAN || page->is_owner ||
        engine->space->pager == NULL ||
        !pager_is_out(engine->space->pager, page_number)) {
        return 0;
    }
    give_up(engine, page);
    engine_discard_later(engine, page_number);
    return 1;
}
