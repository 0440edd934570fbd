// SPDX-License-Identifier: BSD-3-Clause
//
// The pager of a space: docs/paging.md. Protocols decide what a page's state
// and access are; the pager decides where the page's bytes are, and a page may be
// mapped less than its access says. So protocols need not know: whoever wants
// bytes asks for them (space_bytes), and who faults asks the pager first.
//
//              note_made                write           written
//   nowhere --------------> resident ----------> going ---------> out
//      ^                     |  ^  ^  touched:     |               |
//      |  note_gone          |  |  `--- stays -----'     read      |
//      `---------------------'  `------------------ coming <-------'
//
// A page that came in and was not written since keeps its slot in the swap file: it
// can go again without being written. It is mapped read-only meanwhile, so that a
// write is noticed: once for some neighbours, which are taken to be written too.
//
//   pager.c      what there is, faults, the needs of the runtime
//   pager_io.c   transfers
//   pager_out.c  who goes
//   pager_claims.c  who does not, for now
//   replace.c    who should
//
// G1 `exists` of a page is 1 exactly if its bytes take memory of the memfd, or are
//    about to (coming); stats.resident is their number.
// G2 If a resident page that is not coming has a slot, the slot has the same bytes,
//    and the program's view does not allow to write.
// G3 A page that does not exist and has a slot is out; no view maps it. Only pages
//    that are not absent are out, or frames that other pages show too (mem/grain.h).
// G4 A page in a transfer has io set, and the other way round.
// G5 Memory in use is at most the budget, but for what comes without being asked
//    for (grants, pages that the runtime itself needs: some 64) and for threads let
//    in because nothing can go.
// G6 The host has been told that pages have come before a thread can touch one: there
//    may be updates that wait for them, and what comes after these (the grant of a
//    lock) is here already.
//    Who waits for room is let in in turn, and its room is nobody else's meanwhile.
// G7 Forward progress. What an instruction was given stays until its thread has gone on:
//    a page that the oldest claims name, as many as half the budget has room for, or that
//    of a thread at its worker, is nobody's victim. So who is at a worker, and the oldest of
//    all instructions that wait, faults on each of its pages once for reading and once for
//    writing, as far as the pager is concerned, and is done (pager_claims.c).
#include "base/ensure.h"
#include "base/map.h"
#include "mem/pager_priv.h"

#include <stdlib.h>
#include <string.h>

uint64_t pager_used(const struct pager *pager)
{
    return pager->stats.resident + pager->n_promised +
           pager->space->twins.n_used + pager->host.n_coming(pager->host.owner);
}

uint64_t pager_room(const struct pager *pager)
{
    uint64_t used = pager_used(pager);

    return used < pager->budget ? pager->budget - used : 0;
}

int pager_is_here(const struct pager *pager, page_no page)
{
    const struct page *record = pager_page(pager, pager_frame(pager, page));

    return record->exists && record->io != IO_IN;
}

static int is_frame_out(const struct pager *pager, page_no frame)
{
    const struct page *record = pager_page(pager, frame);

    return !record->exists && record->swap_slot != 0;
}

int pager_is_out(const struct pager *pager, page_no page)
{
    return is_frame_out(pager, pager_frame(pager, page));
}

int pager_is_short(const struct pager *pager)
{
    return pager->stats.out > 0 || pager->stats.dropped > 0;
}

int pager_is_unwanted(const struct pager *pager, page_no page)
{
    return pager_is_short(pager) && replace_needs(pager->replace).n_pages > 0 &&
           replace_next_use(pager->replace, pager_frame(pager, page)) ==
               REPLACE_NEVER;
}

int pager_is_awaited(const struct pager *pager)
{
    return pager->outside.first != NULL;
}

void pager_drop_slot(struct pager *pager, page_no page)
{
    struct page *record = pager_page(pager, page);

    if (record->swap_slot != 0) {
        swap_file_release(pager->swap, record->swap_slot - 1, 1);
        record->swap_slot = 0;
        pager->is_full = 0;
    }
}

void pager_enters(struct pager *pager, page_no page, int is_ahead)
{
    pager_page(pager, page)->exists = 1;
    pager->stats.resident++;
    if (pager->stats.resident > pager->stats.resident_max) {
        pager->stats.resident_max = pager->stats.resident;
    }
    if (is_ahead) {
        replace_add_ahead(pager->replace, page);
    } else {
        replace_add(pager->replace, page);
    }
}

void pager_leaves(struct pager *pager, page_no page)
{
    struct page *record = pager_page(pager, page);

    record->exists = 0;
    if (record->ahead) {
        record->ahead = 0;
        pager->n_ahead--;
    }
    pager->stats.resident--;
    replace_remove(pager->replace, page);
}

// It is on its way in.
static void wait_for_page(struct pager *pager, page_no page)
{
    swap_file_wait(pager->swap, &pager_transfer_of(pager, page)->swap);
}

// ---- the space tells

void pager_note_made(struct pager *pager, page_no page, page_no n)
{
    for (page_no at = page; at < page + n; at++) {
        const page_no frame = pager_frame(pager, at);
        struct page *record = pager_page(pager, frame);

        if (record->exists) {
            continue;
        }
        ensure(record->swap_slot == 0 && record->io == IO_NONE);
        pager_enters(pager, frame, 0);
    }
}

// G2
void pager_note_filled(struct pager *pager, page_no page, page_no n)
{
    for (page_no at = page; at < page + n; at++) {
        const page_no frame = pager_frame(pager, at);
        struct page *record = pager_page(pager, frame);

        if (record->exists) {
            record->stays |= (uint8_t)(record->io == IO_OUT);
            pager_drop_slot(pager, frame);
        }
    }
    pager_note_made(pager, page, n);
}

// A page on its way out: the transfer gives its slot back when it is done.
static void leave_transfer(struct pager *pager, page_no page)
{
    struct page *record = pager_page(pager, page);
    struct transfer *transfer = pager_transfer_of(pager, page);

    for (unsigned i = 0; i < transfer->swap.n_pages; i++) {
        if (transfer->pages[i] == page) {
            transfer->pages[i] = NO_PAGE;
        }
    }
    pager->n_going--;
    record->io = IO_NONE;
    record->stays = 0;
}

void pager_note_gone(struct pager *pager, page_no page, page_no n)
{
    for (page_no at = page; at < page + n; at++) {
        struct page *record = pager_page(pager, at);

        if (!record->exists && record->swap_slot == 0) {
            continue; // most were never touched: they are only read
        }
        if (record->io == IO_IN) {
            wait_for_page(pager, at); // it is being written to
        }
        if (record->io == IO_OUT) {
            leave_transfer(pager, at);
        }
        if (record->exists) {
            pager_leaves(pager, at);
        } else {
            pager->stats.out--;
        }
        pager_drop_slot(pager, at);
    }
}

int pager_shows(const struct pager *pager, page_no page)
{
    const struct page *record = pager_page(pager, pager_frame(pager, page));

    return pager_is_here(pager, page) && !record->ahead &&
           (record->io != IO_OUT || record->stays);
}

enum page_access pager_allows(struct pager *pager, page_no page,
                              enum page_access access)
{
    struct page *record = pager_page(pager, pager_frame(pager, page));

    if (!pager_is_here(pager, page)) {
        return ACCESS_NONE;
    }
    if (record->io == IO_OUT) {
        record->stays = 1;
    }
    return record->swap_slot != 0 ? ACCESS_READ : access;
}

// ---- bytes that the runtime needs

void pager_need(struct pager *pager, page_no page, int is_to_change)
{
    page_no frame = pager_frame(pager, page);
    struct page *record = pager_page(pager, frame);

    if (is_frame_out(pager, frame)) {
        pager_read(pager, &frame, 1, frame);
        pager->stats.sync_ins++;
    }
    if (record->io == IO_IN) {
        wait_for_page(pager, frame);
    }
    if (is_to_change) {
        record->stays |= (uint8_t)(record->io == IO_OUT);
        pager_drop_slot(pager, frame);
    }
}

void pager_bring(struct pager *pager, page_no first, page_no n)
{
    page_no pages[SWAP_TRANSFER_MAX];
    uint64_t room = pager_room(pager);
    unsigned n_pages = 0;

    for (page_no at = first; at < first + n; at++) {
        if (pager_is_out(pager, at) && (at == first || n_pages < room)) {
            pages[n_pages++] = pager_frame(pager, at);
        }
    }
    pager_read(pager, pages, n_pages, ALL_PAGES);
}

int pager_takes(const struct pager *pager, uint64_t n_more)
{
    return pager->in_flight == NULL ||
           pager_used(pager) < pager->budget + n_more;
}

void pager_bring_all(struct pager *pager, page_no *pages, unsigned n,
                     uint64_t n_more)
{
    const uint64_t used = pager_used(pager);
    const uint64_t most = pager->budget + n_more;
    const uint64_t room = used + 1 < most ? most - used : 1;

    pager_read(pager, pages, n < room ? n : (unsigned)room, ALL_PAGES);
}

int pager_is_coming(const struct pager *pager, page_no first, page_no n)
{
    for (page_no at = first; at < first + n; at++) {
        if (pager_page(pager, pager_frame(pager, at))->io == IO_IN) {
            return 1;
        }
    }
    return 0;
}

// ---- threads

static void note_touch(struct pager *pager, page_no page,
                       const struct pager_toucher *toucher)
{
    if (pager->last_thread[toucher->worker] != toucher->thread + 1) {
        pager->last_thread[toucher->worker] = toucher->thread + 1;
        replace_turn(pager->replace, toucher->worker, toucher->thread);
    }
    replace_touch(pager->replace, toucher->worker, page);
}

void pager_end_turn(struct pager *pager, unsigned worker)
{
    pager->last_thread[worker] = 0;
}

// Pages that may be read before they are asked for. Each takes the room of one that
// could have stayed, so a small memory reads few.
static uint64_t most_ahead(const struct pager *pager)
{
    enum { LEAST = 8, MOST = 4 * SWAP_TRANSFER_MAX };

    return within(pager->budget / 24, LEAST, MOST);
}

// How many may be begun now, in one transfer with the page that is wanted, if any.
static unsigned room_ahead(const struct pager *pager, unsigned n_wanted)
{
    const uint64_t most = most_ahead(pager);
    uint64_t room = pager_room(pager);

    if (room <= n_wanted || pager->n_ahead >= most) {
        return 0;
    }
    room = smaller(room - n_wanted, most - pager->n_ahead);
    return (unsigned)smaller(room, SWAP_TRANSFER_MAX - n_wanted);
}

// How many uses to look ahead.
static uint32_t horizon(const struct pager *pager)
{
    enum { LEAST = 4 * SWAP_TRANSFER_MAX, MOST = 16 * SWAP_TRANSFER_MAX };

    return (uint32_t)within(pager->budget / 32, LEAST, MOST);
}

// What a worker will use next and is not here.
static unsigned next_pages(struct pager *pager, unsigned worker, page_no *pages,
                           unsigned most)
{
    return most == 0 ? 0
                     : replace_ahead(pager->replace, worker, horizon(pager),
                                     pages, most);
}

// Pages that are out, of those that follow one in memory: for want of an order. More of them
// where a worker asks for what is behind those that it got the last time.
static unsigned neighbours(struct pager *pager, unsigned worker, page_no page,
                           page_no *pages, unsigned room)
{
    enum { LEAST = 16 };
    struct pager_stretch *last = &pager->stretches[worker];
    unsigned most;
    unsigned n = 0;

    last->most = page == last->end && last->most > 0
                     ? (unsigned)smaller(2 * last->most, SWAP_TRANSFER_MAX)
                     : LEAST;
    most = room < last->most ? room : last->most;
    while (n < most && page + 1 + n < pager->space->n_pages &&
           is_frame_out(pager, page + 1 + n)) {
        pages[n] = page + 1 + n;
        n++;
    }
    last->end = page + 1 + n;
    return n;
}

// Begin to read pages, or ask other nodes for them.
// @param wanted  asked for now, or NO_PAGE
// @param next    [n_next] will be
static void bring(struct pager *pager, page_no wanted, const page_no *next,
                  unsigned n_next)
{
    page_no out[SWAP_TRANSFER_MAX];
    unsigned n = 0;

    if (wanted != NO_PAGE) {
        out[n++] = wanted;
    }
    for (unsigned i = 0; i < n_next; i++) {
        if (next[i] == wanted) {
            continue;
        }
        if (is_frame_out(pager, next[i])) {
            out[n++] = next[i];
        } else if (!pager_page(pager, next[i])->exists) {
            pager->host.fetch_ahead(pager->host.owner, next[i], 1);
        }
    }
    if (n > 0) {
        pager_read(pager, out, n, wanted);
    }
}

// Is it worth a transfer to read so many of what a worker will need? Else it is if there is hurry.
static int are_enough(struct pager *pager, unsigned worker, unsigned n)
{
    const uint64_t most = most_ahead(pager);
    page_no first;

    return n >= most * 3 / 16 ||
           (n > 0 && pager->n_ahead <= most / 4 &&
            replace_ahead(pager->replace, worker, horizon(pager) / 4, &first,
                          1) > 0);
}

// A page that is out is needed now; what a worker will need comes with it. If that is here or
// on its way, this one was not expected, and its neighbours may not be either.
static void read_with_next(struct pager *pager, page_no wanted, unsigned worker)
{
    const unsigned room = room_ahead(pager, 1);
    page_no next[SWAP_TRANSFER_MAX];
    unsigned n = next_pages(pager, worker, next, room);

    if (n == 0 || !are_enough(pager, worker, n)) {
        n = neighbours(pager, worker, wanted, next, room);
    }
    bring(pager, wanted, next, n);
}

// What a worker will need comes before it is asked for, but not a few pages at a
// time, which would be many transfers.
static void read_ahead(struct pager *pager, unsigned worker)
{
    const uint64_t most = most_ahead(pager);
    page_no next[SWAP_TRANSFER_MAX];
    unsigned n;

    if (pager->n_ahead + most / 4 > most || pager_room(pager) < most / 8) {
        return;
    }
    n = next_pages(pager, worker, next, room_ahead(pager, 0));
    if (are_enough(pager, worker, n)) {
        bring(pager, NO_PAGE, next, n);
    }
}

// A page that was read ahead is used now: so will be those that came with it.
// @return how many these are
static unsigned use_ahead(struct pager *pager, page_no page, int is_write)
{
    const struct page *first = pager_page(pager, page);
    page_no n = 0;

    while (n < SWAP_TRANSFER_MAX && page + n < pager->space->n_pages) {
        struct page *record = pager_page(pager, page + n);

        if (!record->ahead || record->io != IO_NONE ||
            record->access != first->access) {
            break;
        }
        record->ahead = 0;
        pager->n_ahead--;
        if (is_write) {
            pager_drop_slot(pager, page + n);
        }
        replace_trust(pager->replace, page + n);
        n++;
    }
    if (n > 0 && first->access != ACCESS_NONE) {
        space_restore(pager->space, page, n);
    }
    return (unsigned)n;
}

// A page is written that was only read since it came: so will be those behind it
// that came too, and each would cost a fault.
static void write_around(struct pager *pager, page_no page)
{
    enum { MOST = 16 };
    const struct page *first = pager_page(pager, page);
    page_no n = 1;

    while (first->access == ACCESS_WRITE && n < MOST &&
           page + n < pager->space->n_pages) {
        const struct page *record = pager_page(pager, page + n);

        if (!record->exists || record->swap_slot == 0 || record->ahead ||
            record->io != IO_NONE || record->access != first->access) {
            break;
        }
        pager_drop_slot(pager, page + n);
        n++;
    }
    if (n > 1) {
        pager_drop_slot(pager, page);
        space_restore(pager->space, page, n);
    }
}

static enum pager_answer wait_outside(struct pager *pager,
                                      struct waiter *waiter)
{
    list_append(&pager->outside, waiter);
    pager->stats.waits++;
    return PAGER_WAIT;
}

static enum pager_answer touch_frame(struct pager *pager, page_no page,
                                     int is_write,
                                     struct pager_toucher *toucher,
                                     struct waiter *waiter)
{
    struct page *record = pager_page(pager, page);

    toucher->n_ahead = 0;
    pager->n_promised -= toucher->is_let_in && pager->n_promised > 0;
    pager_tell(pager); // G6
    note_touch(pager, page, toucher);
    pager_claim(pager, toucher, page);
    if (!record->exists) {
        if (!toucher->is_let_in &&
            pager_room(pager) < pager_least_room(pager)) {
            return wait_outside(pager, waiter);
        }
        if (record->swap_slot == 0) {
            return PAGER_GO_ON; // it will come from elsewhere
        }
        read_with_next(pager, page, toucher->worker);
    }
    if (record->io == IO_IN) {
        struct transfer *transfer = pager_transfer_of(pager, page);

        list_push(transfer->waiters, waiter);
        pager->stats.waits++;
        return PAGER_WAIT;
    }
    if (record->io == IO_OUT) {
        record->stays = 1;
    }
    if (record->ahead) {
        toucher->n_ahead = use_ahead(pager, page, is_write);
    } else if (is_write && record->swap_slot != 0) {
        write_around(pager, page);
    }
    if (is_write) {
        pager_drop_slot(pager, page);
    }
    if (pager->stats.out > 0) {
        read_ahead(pager, toucher->worker);
    }
    return PAGER_GO_ON;
}

enum pager_answer pager_fault(struct pager *pager, page_no page, int is_write,
                              struct pager_toucher *toucher,
                              struct waiter *waiter)
{
    return touch_frame(pager, pager_frame(pager, page), is_write, toucher,
                       waiter);
}

// ---- from outside

static void go_on(struct pager *pager)
{
    pager->is_blocked = 0;
    pager_settle(pager);
}

void pager_poll(struct pager *pager)
{
    if (swap_file_in_flight(pager->swap) > 0) {
        swap_file_poll(pager->swap);
    }
    go_on(pager);
}

void pager_serve_disk(struct pager *pager)
{
    swap_file_poll(pager->swap);
    go_on(pager);
}

struct replace *pager_replace(struct pager *pager)
{
    return pager->replace;
}

// Each frame once, when the first of its pages is used.
// @param[out] frames  [n]. @return how many
static size_t frames_of(const struct pager *pager, const page_no *pages,
                        size_t n, page_no *frames)
{
    struct map seen = {0};
    size_t n_frames = 0;

    for (size_t i = 0; i < n; i++) {
        const page_no frame = pager_frame(pager, pages[i]);

        if (map_find_index(&seen, frame) == MAP_NONE) {
            map_add_index(&seen, frame, 0);
            frames[n_frames++] = frame;
        }
    }
    map_release(&seen);
    return n_frames;
}

void pager_learn(struct pager *pager, uint32_t thread, const page_no *pages,
                 size_t n)
{
    page_no *frames;

    if (pager->space->grain.n == 0) {
        replace_learn(pager->replace, thread, pages, n);
        return;
    }
    frames = malloc(n * sizeof *frames);
    ensure_memory(frames != NULL || n == 0);
    replace_learn(pager->replace, thread, frames,
                  frames_of(pager, pages, n, frames));
    free(frames);
}

void pager_set_budget(struct pager *pager, uint64_t budget)
{
    pager->budget = budget;
    pager->stats.budget = budget;
    pager_review_claims(pager);
}

void pager_stats(const struct pager *pager, struct pager_stats *stats)
{
    *stats = pager->stats;
    stats->used = pager_used(pager);
}

uint64_t pager_returns(const struct pager *pager, uint64_t ins_before)
{
    const struct pager_stats *stats = &pager->stats;
    const uint64_t n_pages = stats->resident + stats->out;

    return n_pages > 0 ? (stats->ins - ins_before) / n_pages : 0;
}

struct pager *pager_new(struct space *space, struct swap_file *swap,
                        uint64_t budget, const struct pager_host *host)
{
    struct pager *pager = calloc(1, sizeof *pager);

    if (pager == NULL) {
        return NULL;
    }
    pager->replace = replace_new(space->n_pages, NULL);
    if (pager->replace == NULL) {
        free(pager);
        return NULL;
    }
    pager->space = space;
    pager->swap = swap;
    pager->host = *host;
    pager_end_sweep(pager);
    pager_set_budget(pager, budget);
    space->pager = pager;
    pager_note_made(pager, 0, space->n_globals);
    return pager;
}

static void free_list(struct transfer *transfers)
{
    list_take_each (transfer, transfers) {
        free(transfer);
    }
}

void pager_free(struct pager *pager)
{
    if (pager == NULL) {
        return;
    }
    pager->space->pager = NULL;
    free_list(pager->in_flight);
    free_list(pager->unused);
    replace_free(pager->replace);
    free(pager);
}

static int is_good(const struct pager *pager, page_no page)
{
    const struct page *record = pager_page(pager, page);

    if (record->io != IO_NONE && pager_transfer_of(pager, page) == NULL) {
        return 0; // G4
    }
    if (is_frame_out(pager, page) && record->state == PAGE_ABSENT &&
        space_grain(pager->space, page) == NULL) {
        return 0; // G3
    }
    return !record->stays || record->io == IO_OUT;
}

int pager_is_valid(const struct pager *pager)
{
    uint64_t n_resident = 0;
    uint64_t n_out = 0;
    uint64_t n_going = 0;
    uint64_t n_ahead = 0;

    for (page_no at = 0; at < pager->space->n_pages; at++) {
        const struct page *record = pager_page(pager, at);

        if (!is_good(pager, at) ||
            (record->exists && pager_frame(pager, at) != at)) {
            return 0;
        }
        n_resident += record->exists; // G1
        n_out += is_frame_out(pager, at) || record->io == IO_IN;
        n_going += record->io == IO_OUT;
        n_ahead += record->ahead;
    }
    return n_resident == pager->stats.resident && n_out == pager->stats.out &&
           n_going == pager->n_going && n_ahead == pager->n_ahead &&
           pager_claims_are_valid(pager);
}
