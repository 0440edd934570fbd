// SPDX-License-Identifier: BSD-3-Clause
//
// Who goes when memory is short. Pages go a little before there is no room, so that
// a thread that needs one seldom waits for a page to be written: from the low mark
// on, in transfers of several pages, those first that replace.c takes to be needed last.
//
// Transfers of a small budget are small: a whole one would be most of what there is. But
// if the budget has been lowered, because others take memory, what is too much goes in
// whole ones, and few at a time: a transfer takes memory itself.
//
// What an instruction was given stays until its thread has gone on (G7): else it could
// take its own pages for each other, and two threads each other's, for ever.
//
// What a page's fate is its host says. Whose bytes are in the swap file already goes
// at once; so does a copy that another node has, if to fetch it again is no dearer.
//
// When nothing can go, because all pages are being written or are on their way, the
// host is asked for relief (a release makes written pages clean). If nothing is
// under way either, a thread is let in all the same: it might be the one who ends
// that (G5).
#include "base/ensure.h"
#include "base/log.h"
#include "mem/pager_priv.h"
#include "mem/snapshot.h"

#include <stdlib.h>

// Pages that are kept free: a sixteenth of what comes in in a sweep, so that a node
// that lacks little, or only seems to, does not page for the sake of free pages.
// Small budgets keep a 32nd of themselves at most.
#define LEAST_FREE 8u
#define MOST_FREE 128u
// Transfers to the disk at a time.
#define WRITES_MAX 16u

void pager_end_sweep(struct pager *pager)
{
    uint64_t n_in = pager->stats.ins + pager->stats.dropped - pager->n_before;

    pager->low_mark = within(n_in / 16, LEAST_FREE, MOST_FREE);
    pager->n_before += n_in;
    pager->is_full = 0; // others may have made room on the disk since
}

static uint64_t low_mark(const struct pager *pager)
{
    return smaller(pager->low_mark, pager->budget / 32);
}

// Who is let in with room for one page reads one page: then the disk does nothing
// but small transfers.
uint64_t pager_least_room(const struct pager *pager)
{
    uint64_t least = low_mark(pager) / 8 + 1;

    return pager->n_going < least ? 1 : least;
}

// @return pages in use that should go, but for those that are on their way
static uint64_t too_many(const struct pager *pager)
{
    uint64_t mark = pager->budget - low_mark(pager);
    uint64_t used = pager_used(pager) - pager->n_going;

    if (pager->outside.first != NULL) {
        mark = mark > 0 ? mark - 1 : 0;
    }
    return used > mark ? used - mark : 0;
}

// How many pages go at once.
static unsigned transfer_size(const struct pager *pager)
{
    const uint64_t least = smaller(too_many(pager), SWAP_TRANSFER_MAX);

    return (unsigned)within(pager->budget / 16 + 1, least, SWAP_TRANSFER_MAX);
}

static enum page_fate fate_of(const struct pager *pager, page_no page)
{
    const struct page *record = pager_page(pager, page);
    enum page_fate fate;

    if (record->io != IO_NONE || record->claims > 0 || record->read_next) {
        return FATE_STAY;
    }
    fate = pager->host.fate(pager->host.owner, page);
    if (fate == FATE_SWAP && record->swap_slot == 0 && pager->is_full) {
        return FATE_STAY;
    }
    return fate;
}

static int may_go(void *owner, page_no page)
{
    return fate_of(owner, page) != FATE_STAY;
}

static void unmap(struct pager *pager, const page_no *pages, unsigned n)
{
    size_t run;

    for (size_t i = 0; i < n; i += run) {
        run = pager_run(pages + i, n - i);
        space_unmap(pager->space, pages[i], run);
    }
}

// Their bytes are not needed here any more, or are in the swap file.
static void give_back(struct pager *pager, const page_no *pages, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (pager_page(pager, pages[i])->swap_slot != 0) {
            pager->stats.out++;
            pager->stats.outs_saved++;
        }
        pager_leaves(pager, pages[i]);
    }
    pager_discard(pager, pages, n);
}

static void let_go(struct pager *pager, page_no *pages, unsigned n)
{
    page_no to_write[SWAP_TRANSFER_MAX];
    page_no gone[SWAP_TRANSFER_MAX];
    unsigned n_to_write = 0;
    unsigned n_gone = 0;

    qsort(pages, n, sizeof *pages, page_no_compare);
    unmap(pager, pages, n);
    for (unsigned i = 0; i < n; i++) {
        const struct page *record = pager_page(pager, pages[i]);
        enum page_fate fate = fate_of(pager, pages[i]);

        ensure(record->claims == 0); // G7
        if (fate == FATE_SWAP && record->swap_slot == 0) {
            to_write[n_to_write++] = pages[i];
            continue;
        }
        if (fate != FATE_SWAP) {
            snapshot_keep_frame(pager->space, pages[i]);
        }
        if (fate == FATE_DROP) {
            pager->host.drop(pager->host.owner, pages[i]);
            pager->stats.dropped++;
        }
        if (fate != FATE_SWAP) {
            pager_drop_slot(pager, pages[i]);
        }
        gone[n_gone++] = pages[i];
    }
    give_back(pager, gone, n_gone);
    pager_write(pager, to_write, n_to_write);
}

static void end_without_memory(const struct pager *pager)
{
    log_fatal(EXIT_MEMORY,
              "memory is short: the node may use %llu KiB for shared data, and "
              "its swap file %s; more --memory or space in --swap-dir helps",
              (unsigned long long)(pager->budget * TM_PAGE_SIZE >> 10),
              pager->is_disk_bad ? "has failed" : "is full");
}

// ---- those who wait for room

static void let_in(struct pager *pager, uint64_t n)
{
    while (n > 0 && pager->outside.first != NULL) {
        struct waiter *waiter = pager->outside.first;

        pager->outside.first = waiter->next;
        pager->n_promised++;
        waiter_wake(waiter, TM_OK, 1);
        n--;
    }
}

// Nothing is under way that could make room.
static int is_stuck(const struct pager *pager)
{
    return pager->in_flight == NULL && pager->n_promised == 0 &&
           pager->host.n_coming(pager->host.owner) == 0;
}

static void serve_outside(struct pager *pager)
{
    uint64_t room = pager_room(pager);

    if (room >= pager_least_room(pager)) {
        let_in(pager, room / pager_least_room(pager));
    } else if (is_stuck(pager)) {
        if (pager->is_full) {
            end_without_memory(pager);
        }
        pager->stats.over++;
        let_in(pager, 1);
    }
}

/** Have so many pages go that there is room. */
static void make_room(struct pager *pager)
{
    page_no victims[SWAP_TRANSFER_MAX];

    while (too_many(pager) > 0 && pager->n_writes < WRITES_MAX) {
        unsigned n = replace_victims(pager->replace, victims,
                                     transfer_size(pager), may_go, pager);

        if (n == 0) {
            pager->is_blocked = 1; // until pager_poll()
            pager->host.relieve(pager->host.owner);
            break;
        }
        let_go(pager, victims, n);
    }
}

void pager_tell(struct pager *pager)
{
    if (pager->has_ended) {
        pager->has_ended = 0;
        pager->host.transfers_ended(pager->host.owner);
    }
}

void pager_settle(struct pager *pager)
{
    pager_tell(pager);
    if (pager->outside.first != NULL) {
        pager->is_blocked = 0;
    }
    if (!pager->is_blocked && too_many(pager) > 0) {
        make_room(pager);
    }
    if (pager->outside.first != NULL) {
        serve_outside(pager);
    }
}
