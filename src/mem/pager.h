// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_PAGER_H
#define MEM_PAGER_H

#include "base/waiter.h"
#include "mem/replace.h"
#include "mem/space.h"
#include "os/swap_file.h"

/*
 * The pager keeps the pages of a space that are in memory within a budget:
 * docs/paging.md. It knows nothing of protocols; what may go,
 * and how, its host tells. Called under the node lock.
 */

/** What may be done to have a page's memory back. */
enum page_fate {
    FATE_STAY,    ///< nothing now
    FATE_SWAP,    ///< its bytes are needed: they go to the swap file
    FATE_DROP,    ///< a copy of what another node has: give it up
    FATE_DISCARD, ///< its bytes are of no use
};

/** What the pager asks of those above it. */
struct pager_host {
    void *owner;

    /** How may a page go that exists? */
    enum page_fate (*fate)(void *owner, page_no page);
    /** Give a copy up, whose fate is FATE_DROP. It is unmapped already; the pager
     * discards its bytes. */
    void (*drop)(void *owner, page_no page);
    /** Nothing can go: have pages that are being written become such as can. */
    void (*relieve)(void *owner);
    /** Pages that are on their way here from other nodes. */
    uint64_t (*n_coming)(void *owner);
    /** These pages, which are no more here, will be needed soon. */
    void (*fetch_ahead)(void *owner, page_no first, page_no n);
    /** Transfers have ended since the last call: pages have come from the swap file,
     * perhaps some of those of pager_bring(), or have gone there (pager_takes()). May
     * send messages. */
    void (*transfers_ended)(void *owner);
};

enum pager_answer {
    PAGER_GO_ON, ///< the page is in memory, or there is room for it
    PAGER_WAIT,  ///< the waiter will be woken; then ask again
};

/** The most workers of a node. */
#define PAGER_WORKERS 1024u

/** The most pages that one instruction needs at once: two operands in memory, each in
 * two pages. (Those that need more keep what they have done so far.) */
#define PAGER_CLAIMS 4u

/** What the instruction that a thread is at was given: pager_claims.c. The thread's, and
 * the pager's to write. Zeros: nothing. */
struct pager_claims {
    struct pager_claims *older;
    struct pager_claims *younger;
    uintptr_t instruction;
    unsigned worker;
    unsigned n;  ///< 0: in no list
    int is_away; ///< it waits for a page, and its worker runs others
    int stay;    ///< it is one of the oldest
    int keeps;   ///< its pages stay
    page_no pages[PAGER_CLAIMS]; ///< [n], the latest first
};

/** Who touches a page. */
struct pager_toucher {
    unsigned worker; ///< < PAGER_WORKERS
    uint32_t thread;
    uintptr_t instruction; ///< its address
    struct pager_claims *claims;
    int is_let_in;    ///< it has waited, and was promised room
    unsigned n_ahead; ///< set: pages read ahead that are handed to it now
};

/** Since the start, but for those that say otherwise. */
struct pager_stats {
    uint64_t budget;   ///< pages
    uint64_t resident; ///< pages in memory now, twins not counted
    uint64_t resident_max;
    uint64_t used; ///< what the budget is for: resident, twins, on their way
    uint64_t out;  ///< pages that are in the swap file only, now
    uint64_t ins;  ///< pages read from the swap file
    uint64_t ins_ahead;  ///< of these, before they were asked for
    uint64_t outs;       ///< pages written to it
    uint64_t outs_saved; ///< pages that went out without, for it had them
    uint64_t dropped;    ///< copies given up
    uint64_t over;       ///< times that a page was let in without room
    uint64_t waits;      ///< times that a thread waited
    uint64_t sync_ins;   ///< pages that the runtime itself waited for
};

/**
 * Let a space have a pager. What exists in it now counts.
 *
 * @param budget  pages that may be in memory, twins included; > 0
 * @param swap    must outlive it, and is used by nobody else
 * @param host    is copied; its functions are called under the node lock
 * @return NULL if memory is short
 */
struct pager *pager_new(struct space *space, struct swap_file *swap,
                        uint64_t budget, const struct pager_host *host);

/** The space has none any more. Transfers must not be under way, or the swap file
 * be closed already. */
void pager_free(struct pager *pager);

/** Change the budget, pages. Takes effect as pages go out. */
void pager_set_budget(struct pager *pager, uint64_t budget);

/**
 * A thread has touched a page and was not allowed to. To be asked before the
 * protocol.
 *
 * @param waiter  used if the answer is PAGER_WAIT. Its result is 1 if the thread has
 *                been promised room: it must ask again, with is_let_in
 */
enum pager_answer pager_fault(struct pager *pager, page_no page, int is_write,
                              struct pager_toucher *toucher,
                              struct waiter *waiter);

/** A thread that faulted waits for a page from elsewhere, so its worker may run others
 * before it goes on with its instruction. */
void pager_note_away(struct pager *pager, struct pager_claims *claims);

/** It is back, and tries its instruction again. */
void pager_note_back(struct pager *pager, struct pager_claims *claims);

/** It has gone on, ends here, or leaves the node: what it was given is not for it any
 * more. To be called before its claims cease to be, once it has faulted. */
void pager_release_claims(struct pager *pager, struct pager_claims *claims);

/** The turn of the thread that a worker runs is over, even if the same thread has
 * the next one. */
void pager_end_turn(struct pager *pager, unsigned worker);

/** Go on with what the disk has done, and with what is due. To be called often; costs
 * no system call while no transfer is under way. May send messages. */
void pager_poll(struct pager *pager);

/** The same, when the swap file's descriptor is readable. Whoever waited for a
 * transfer may have seen its end before that: it is made unreadable even if none is
 * under way, or who sleeps on it never would. May send messages. */
void pager_serve_disk(struct pager *pager);

/**
 * Have pages that are out come in: they will be asked for as bytes. host.transfers_ended()
 * is called when they are here; they may go again before that if their fate allows.
 *
 * @param first  comes even without room; those behind it only if there is some, and
 *               those that are not out are passed over
 * @param n      1 to SWAP_TRANSFER_MAX
 */
void pager_bring(struct pager *pager, page_no first, page_no n);

/** The same for pages that are out, each once, of which the first ones come, one at
 * least, as long as no more than `n_more` are in memory above what should be.
 * @param pages  [n] 1 to SWAP_TRANSFER_MAX; are sorted */
void pager_bring_all(struct pager *pager, page_no *pages, unsigned n,
                     uint64_t n_more);

/** May pages come that no thread of this node waits for, with so many more in memory
 * than there should be? If not, host.transfers_ended() will be called. */
int pager_takes(const struct pager *pager, uint64_t n_more);

/** Is one of these pages on its way in? */
int pager_is_coming(const struct pager *pager, page_no first, page_no n);

/** Let pages go if there are too many. To be called before the node lock is given
 * back. May send messages. */
void pager_settle(struct pager *pager);

/** The program has used all its pages once, about: after each round of the node's
 * threads, if there are such. */
void pager_end_sweep(struct pager *pager);

/** For the orders of use: see mem/replace.h. */
struct replace *pager_replace(struct pager *pager);

/** As replace_learn(), of pages that may share frames. */
void pager_learn(struct pager *pager, uint32_t thread, const page_no *pages,
                 size_t n);

/** Do threads wait for room? Then pager_poll() should be called soon. */
int pager_is_awaited(const struct pager *pager);

/** Is there less memory than the program needs, as far as is known now? */
int pager_is_short(const struct pager *pager);

/** Memory is short, it is known what threads use, and none of them uses the page. */
int pager_is_unwanted(const struct pager *pager, page_no page);

/** Read all counters. */
void pager_stats(const struct pager *pager, struct pager_stats *stats);

/** How often each page of the node has come back from the swap file since so many had
 * come in, in the mean and rounded down; 0 if there is no page. */
uint64_t pager_returns(const struct pager *pager, uint64_t ins_before);

// ---- for the space only

/** Bytes come to be, where there are none / all of them are set anew / they are no more. */
void pager_note_made(struct pager *pager, page_no page, page_no n);
void pager_note_filled(struct pager *pager, page_no page, page_no n);
void pager_note_gone(struct pager *pager, page_no page, page_no n);
/** The page's bytes are in memory when this returns; after it they may be
 * changed if so asked. */
void pager_need(struct pager *pager, page_no page, int is_to_change);
/** Are a page's bytes in memory? */
int pager_is_here(const struct pager *pager, page_no page);
/** Are a page's bytes in the swap file only? */
int pager_is_out(const struct pager *pager, page_no page);
/** Is a page mapped as far as pager_allows() says? Not if it is on its way, or here before
 * anybody asked. */
int pager_shows(const struct pager *pager, page_no page);
/** What may be mapped of a page that is allowed this, ACCESS_READ or more. A page
 * on its way out stays. */
enum page_access pager_allows(struct pager *pager, page_no page,
                              enum page_access access);
/** See space_room(). */
uint64_t pager_room(const struct pager *pager);

/** Checks the invariants of pager.c over all pages; for tests. */
int pager_is_valid(const struct pager *pager);

#endif
