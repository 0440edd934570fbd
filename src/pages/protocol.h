// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_PROTOCOL_H
#define PAGES_PROTOCOL_H

#include "pages/engine.h"

/*
 * What differs between consistency protocols. All slots are called under the node lock
 * and must not block. Those that say so may be NULL.
 *
 * Three slots that one might look for are not here, for nobody would fill them:
 *   time          What waits for it, waits for the sake of pages, whatever their protocol:
 *                 owner updates, pinned pages, freed cells (engine_tick()). A protocol
 *                 waits for answers only; nodes come and go when all have come.
 *   give away     A node that leaves gives its pages' bytes, version and copyset
 *                 (roster_change.c, K1). What a protocol keeps of a page beside these is
 *                 void by then: `own` begins anew, and state_alone() says how.
 *   forget a node The engine takes it out of copysets and hints; what a base knows of nodes
 *                 besides goes in its roster_changed().
 */

struct refresh_answer; ///< protocol/refresh.c
struct step_record;    ///< page_steps.h

/** A request for a page, at its owner. */
struct fetch_request {
    node_id requester;
    int is_write;
    int has_copy; ///< the requester, and it needs no contents
    int is_ahead; ///< not needed yet: serve it only if nothing must wait
    uint32_t id;  ///< of the fetch
    uint32_t
        base; ///< version of the requester's stale copy, if there is an answer
    struct refresh_answer *answer; ///< that is being made; NULL: none
};

enum serve_result {
    SERVED,   ///< PAGE is sent
    LATER,    ///< PAGE will be sent; nothing else to do for the caller
    DEFERRED, ///< try the whole request again when the page's queue is run
    REFUSED,  ///< ahead: not now; this node's own: it has what it asked for
};

/** What the distribution of threads knows of a page: see advice.c. */
enum page_advice {
    ADVICE_LEAVING, ///< its threads here are about to go
    ADVICE_UNUSED,  ///< no thread here is expected to use it
};

/** In the place of a mutex, whose address is never this. */
#define NO_MUTEX UINT64_C(0)

/** What protocols may have in common, updates for example: there is one of each in an
 * engine, however many protocols use it. All slots but receive() may be NULL: nothing is
 * to be done, or it is so. protocols.c alone calls them. */
struct protocol_base {
    /** Of an engine that is being made. @return TM_OK, TM_ENOMEM */
    tm_status (*open)(struct engine *engine);
    /** Free all. open() may have failed, or not been called. */
    void (*close)(struct engine *engine);

    /** Which messages go to receive(): a bit for each type. */
    uint64_t messages;
    /** One of them has come. It is yet to be looked at whether it makes sense.
     * @return TM_OK, TM_EWIRE and nothing was done */
    tm_status (*receive)(struct engine *engine, node_id from,
                         const struct message *message);

    /** Make what this node has written known, and wake the waiter; at once if there is
     * nothing. Of at most one base. */
    void (*release)(struct engine *engine, struct waiter *waiter);
    /** Begin a release that nobody waits for, if there is something to release. */
    void (*release_early)(struct engine *engine);
    /** Pages have come in from the disk, as this node or another asked. */
    void (*brought)(struct engine *engine);
    /** The extent's block is being freed: nobody is told any more what was written to it. */
    void (*closed)(struct engine *engine, const struct extent *extent);
    /** The extent's block is freed everywhere: its pages will be another's. */
    void (*forget)(struct engine *engine, const struct extent *extent);
    /** Nodes may be about to come or go. What is sent now arrives before; then nothing is,
     * until that is over. */
    void (*frozen)(struct engine *engine);
    /** They have come or gone. Nothing was under way. */
    void (*roster_changed)(struct engine *engine);

    /** The next message to another node orders what the program does: have it heard of
     * what comes before.
     * @param mutex  whose token goes with it: what was written under others need not be
     *               told; NO_MUTEX: all is */
    void (*order)(struct engine *engine, node_id to, uint64_t mutex);
    /** The same at once, over a simulated network: hear all that `before` has heard of. */
    void (*order_now)(struct engine *engine, struct engine *before,
                      uint64_t mutex);
    /** As engine_held(). */
    void (*held)(struct engine *engine, uint64_t mutex, int is_held);

    /** Is nothing under way? */
    int (*is_quiet)(const struct engine *engine);
    /** Do its own records make sense? For tests and debug builds. */
    int (*is_valid)(const struct engine *engine);
};

struct update_rules; ///< protocol/updates.h

struct protocol {
    const char *name; ///< as in --protocol=NAME
    tm_protocol id;
    const struct protocol_base *base;
    const struct update_rules *updates; ///< NULL: it has no diffs

    /** A node keeps a page for a thread that waited for it until it has run, and the requests
     * of others behind its own. */
    int pins_pages;
    /** Does it keep this page so, but for the requests behind its own? NULL: pins_pages says
     * it. */
    int (*pins)(const struct engine *engine, page_no page);
    /** Loads and stores are as on one machine: they order what the program does, and
     * processors' atomic instructions work. */
    int is_coherent;
    /** It looks at no bytes of a page but its own, so its pages may share frames
     * (mem/grain.h): blocks may have a grain. */
    int has_grain;

    /** A thread here is about to write to a page that is here. May it not, by what the
     * program has said of the block? NULL: it may. */
    int (*forbids_write)(const struct engine *engine, page_no page);

    /** NULL: pages have owners, of whom they are asked for. Else all slots from serve() on
     * but explain() are NULL, and pages are absent or bound. A thread here lacks access:
     * may it have it? @return FAULT_ALLOWED: it has it now; FAULT_OUTSIDE */
    enum fault_result (*admit)(struct engine *engine, page_no page,
                               int is_write, uint64_t thread);
    /** Why not: see engine_explain(). Or NULL. */
    void (*explain)(const struct engine *engine, page_no page, unsigned offset,
                    uint64_t thread, char *text, size_t size);

    /** Why no checkpoint can have such a block. NULL: it can. */
    const char *why_unsaved;

    /** A thread here lacks access. Raise it if that needs nobody else.
     * @return 1 raised, 0 the page must be fetched */
    int (*local_fault)(struct engine *engine, page_no page, int is_write);

    /** This node owns the page; another (or, to upgrade, this one) wants it. */
    enum serve_result (*serve)(struct engine *engine, page_no page,
                               const struct fetch_request *request);

    /** A copy has come that this node has asked for. May it be used? If not it is asked
     * for again. NULL: copies are kept up to date by those who write. Others are clean while
     * nodes may come or go, and there are none when they have.
     * @param version  of its contents */
    int (*is_fresh)(const struct engine *engine, page_no page,
                    uint32_t version);

    /** The page is needed, and its bytes are kept here though it is absent (`stale`), or it is
     * owned here and local_fault() has said no: ask for what has changed since. NULL: there
     * are no such. */
    void (*refetch)(struct engine *engine, page_no page, int is_write);

    /** The page's contents have just been installed; set its access. */
    void (*arrived)(struct engine *engine, page_no page, int want_write);

    /** A thread here is about to go on after what others have released: see
     * engine_acquired(). Or NULL. */
    void (*acquired)(struct engine *engine);

    /** The state of a page that this node owns and nobody else has: PAGE_EXCLUSIVE, or
     * PAGE_CLEAN if writes to it are to be seen. */
    enum page_state (*state_alone)(const struct engine *engine, page_no page);

    /** The pager has given up a copy of another's page, which was not told. NULL: its
     * owner does not know who has copies, or need not. */
    void (*evicted)(struct engine *engine, page_no page);

    /** For who watches what pages do (page_steps.h), in debug builds: what is kept of the page
     * beside its record. NULL: there is nothing. @param[out] record  of that page */
    void (*describe)(const struct engine *engine, page_no page,
                     struct step_record *record);

    /** Or NULL. */
    void (*advised)(struct engine *engine, page_no page,
                    enum page_advice advice);
};

/** state_alone: nobody has to see what it writes */
enum page_state protocol_state_alone(const struct engine *engine, page_no page);

/** All protocols that an engine knows. */
struct protocols {
    const struct protocol *const *rows; ///< [n]
    unsigned n;
};

/** @return NULL if there is none of that id */
const struct protocol *protocol_by_id(const struct protocols *protocols,
                                      tm_protocol id);

#endif
