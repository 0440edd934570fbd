// SPDX-License-Identifier: BSD-3-Clause
//
// What an instruction was given stays till it goes on: G7 of pager.c.
//
// An instruction may need several pages at once: a word that lies in two, or the source
// and the destination of a copy. It faults on one after the other, and each has to be there
// still when the last has come. So each page that a thread faults on becomes one of
// its *claims*, and a page with a claim is no victim.
//
//   no claims -> claims   pager_claim: a fault
//   claims    -> claims   pager_claim: of the same instruction on another page
//             -> none     release_claims: the thread has gone on
//
// Nothing says that an instruction is done, but what the thread does next shows it:
//   - it faults at another instruction;
//   - it has faulted on more pages than an instruction needs: the oldest of these, then,
//     are not for this time round the loop;
//   - its worker runs another thread, though this one waits for no page: it is in a
//     call of the runtime, or has ended.
// Claims of one that does nothing of this stay, four pages for each worker at most.
//
// So threads could claim more than there is. Then it counts who came first: claims are
// in the order in which instructions began, and those of the oldest *stay*, as many as
// half of the budget holds; the others are *loose*, and their pages may go as any
// may. A budget has 8 pages for each worker and 16 more, so of those that stay two at least
// are not just what a worker has left behind.
//
// The oldest may be away, though, or be back and wait for its worker, which waits in place
// for a page of a younger one. So the claims of those that are not away stay as well,
// one thread's for each worker. Those get on in any case; then workers come to the oldest,
// and the next is the oldest. Nobody waits for others' claims: if nothing else can go either,
// a thread is let in without room (G5), in its turn.
//
// C1 first_loose and those younger than it are loose, those older than it stay.
// C2 The claims of a page's record are those that name it and stay, or are of a thread
//    that is not away.
// C3 Whoever has claims is away, or was seen last on its worker.
#include "mem/pager_priv.h"

#include <string.h>

static uint64_t most_staying(const struct pager *pager)
{
    return within(pager->budget / 2 / PAGER_CLAIMS, 2, UINT16_MAX);
}

// ---- the order of those that claim

static void count_pages(struct pager *pager, struct pager_claims *claims,
                        int keeps)
{
    for (unsigned i = 0; claims->keeps != keeps && i < claims->n; i++) {
        pager_page(pager, claims->pages[i])->claims += keeps ? 1 : -1;
    }
    claims->keeps = keeps;
}

// C2, after a change of what it is made of.
static void settle(struct pager *pager, struct pager_claims *claims)
{
    count_pages(pager, claims,
                claims->n > 0 && (claims->stay || !claims->is_away));
}

static void set_stay(struct pager *pager, struct pager_claims *claims, int stay)
{
    claims->stay = stay;
    pager->n_staying += stay ? 1 : -1;
    settle(pager, claims);
}

void pager_review_claims(struct pager *pager)
{
    const uint64_t most = most_staying(pager);

    while (pager->first_loose != NULL && pager->n_staying < most) {
        set_stay(pager, pager->first_loose, 1);
        pager->first_loose = pager->first_loose->younger;
    }
    while (pager->n_staying > most) {
        pager->first_loose = pager->first_loose == NULL
                                 ? pager->youngest
                                 : pager->first_loose->older;
        set_stay(pager, pager->first_loose, 0);
    }
}

static void append_claims(struct pager *pager, struct pager_claims *claims)
{
    claims->younger = NULL;
    claims->older = pager->youngest;
    if (pager->youngest != NULL) {
        pager->youngest->younger = claims;
    } else {
        pager->oldest = claims;
    }
    pager->youngest = claims;
    if (pager->first_loose == NULL) {
        pager->first_loose = claims;
    }
    settle(pager, claims);
    pager_review_claims(pager);
}

static void take_out(struct pager *pager, struct pager_claims *claims)
{
    count_pages(pager, claims, 0);
    if (claims->stay) {
        claims->stay = 0;
        pager->n_staying--;
    } else if (pager->first_loose == claims) {
        pager->first_loose = claims->younger;
    }
    if (claims->older != NULL) {
        claims->older->younger = claims->younger;
    } else {
        pager->oldest = claims->younger;
    }
    if (claims->younger != NULL) {
        claims->younger->older = claims->older;
    } else {
        pager->youngest = claims->older;
    }
    pager_review_claims(pager);
}

// ---- threads go on

static void release_claims(struct pager *pager, struct pager_claims *claims)
{
    if (claims->n > 0) {
        take_out(pager, claims);
        claims->n = 0;
    }
}

void pager_release_claims(struct pager *pager, struct pager_claims *claims)
{
    release_claims(pager, claims);
    if (pager->running[claims->worker] == claims) {
        pager->running[claims->worker] = NULL;
    }
}

// A thread is seen on a worker; so the one before it there has gone on, or waits.
static void note_running(struct pager *pager, struct pager_claims *claims,
                         unsigned worker)
{
    struct pager_claims *before = pager->running[worker];

    claims->is_away = 0;
    settle(pager, claims);
    if (before == claims) {
        return;
    }
    if (before != NULL && !before->is_away) {
        release_claims(pager, before);
    }
    if (pager->running[claims->worker] == claims) {
        pager->running[claims->worker] = NULL;
    }
    claims->worker = worker;
    pager->running[worker] = claims;
}

void pager_note_away(struct pager *pager, struct pager_claims *claims)
{
    claims->is_away = 1;
    settle(pager, claims);
}

void pager_note_back(struct pager *pager, struct pager_claims *claims)
{
    note_running(pager, claims, claims->worker);
}

// ---- faults

// Make a page the latest, in place of the one at this index if there is one.
static void set_latest(struct pager_claims *claims, unsigned at, page_no page)
{
    memmove(claims->pages + 1, claims->pages, at * sizeof *claims->pages);
    claims->pages[0] = page;
}

static unsigned index_of(const struct pager_claims *claims, page_no page)
{
    unsigned i = 0;

    while (i < claims->n && claims->pages[i] != page) {
        i++;
    }
    return i;
}

void pager_claim(struct pager *pager, const struct pager_toucher *toucher,
                 page_no page)
{
    struct pager_claims *claims = toucher->claims;
    unsigned at;

    note_running(pager, claims, toucher->worker);
    if (claims->instruction != toucher->instruction) {
        release_claims(pager, claims);
        claims->instruction = toucher->instruction;
    }
    at = index_of(claims, page);
    if (at == PAGER_CLAIMS) { // it has gone on: others come first
        take_out(pager, claims);
        set_latest(claims, PAGER_CLAIMS - 1, page);
        append_claims(pager, claims);
    } else if (at < claims->n) {
        set_latest(claims, at, page);
    } else {
        set_latest(claims, claims->n++, page);
        if (claims->n == 1) {
            append_claims(pager, claims);
        } else {
            pager_page(pager, page)->claims += claims->keeps != 0;
        }
    }
}

// ---- validity

static uint64_t count_claims(const struct pager *pager, page_no page)
{
    uint64_t n = 0;

    for (const struct pager_claims *at = pager->oldest; at != NULL;
         at = at->younger) {
        n += (at->stay || !at->is_away) && index_of(at, page) < at->n;
    }
    return n;
}

static int is_valid(const struct pager *pager,
                    const struct pager_claims *claims, int stay)
{
    if (claims->n == 0 || claims->n > PAGER_CLAIMS || claims->stay != stay ||
        (!claims->is_away && pager->running[claims->worker] != claims)) {
        return 0; // C1, C3
    }
    for (unsigned i = 0; i < claims->n; i++) {
        page_no page = claims->pages[i];

        if (pager_page(pager, page)->claims != count_claims(pager, page)) {
            return 0; // C2
        }
    }
    return 1;
}

int pager_claims_are_valid(const struct pager *pager)
{
    const struct pager_claims *before = NULL;
    uint64_t n_staying = 0;
    int stay = 1;

    for (const struct pager_claims *at = pager->oldest; at != NULL;
         at = at->younger) {
        stay &= at != pager->first_loose;
        if (at->older != before || !is_valid(pager, at, stay)) {
            return 0;
        }
        n_staying += (uint64_t)stay;
        before = at;
    }
    return before == pager->youngest && n_staying == pager->n_staying &&
           n_staying <= most_staying(pager) &&
           (pager->first_loose == NULL || n_staying == most_staying(pager));
}
