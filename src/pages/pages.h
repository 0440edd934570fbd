// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_PAGES_H
#define PAGES_PAGES_H

#include "base/map.h"
#include "base/pool.h"
#include "base/tokens.h"
#include "mem/heap.h"
#include "pages/page_steps.h"
#include "pages/protocol.h"
#include "pages/stall.h"

/*
 * Pages as protocols see them: where they are, how they are fetched and sent, who is told.
 * What is here knows no protocol but by its row.
 */

// Flags of the messages `page` and `refreshed`.
#define PAGE_WITH_OWNERSHIP 1u
#define PAGE_WITH_CONTENTS 2u
#define PAGE_SUBSCRIBED 4u ///< the receiver is in the copyset
#define PAGE_WILL_NOT_COME                                                     \
    8u ///< it was asked for ahead, and is not to be had at once

// Objects of causality.c that are none of the program's.
#define ORDER_HEAP (UINT64_C(1) << 62)
#define ORDER_ATOMICS (ORDER_HEAP + 1)

#define BASES_MAX 8u

#define FETCH_GROUP_MAX 64u

/** Copysets come in so many sizes. */
#define COPYSET_KINDS 4u

// So often an exclusive page moves from nodes that are short of memory and have no use
// for it. (Two of them that are wrong about that must not send it to and fro for ever.)
#define UNWANTED_MOVES 8u

/** A message, or a pushed diff, that waits until its page is ready for it. */
struct deferred {
    struct deferred *next;
    node_id from;
    struct message message; ///< without body; for a diff: type update
    uint32_t version;       ///< of the diff
    uint32_t size;
    uint8_t diff[];
};

struct page_list {
    page_no *at;
    size_t n;
    size_t room;
};

/** A page that is pinned, and until when: the later of the two. */
struct pinned {
    page_no page;
    uint64_t until_ns; ///< for a thread that it has come for; 0: none
    uint64_t held_ns;  ///< for one that waits for another page; 0: none
};

struct pinned_list {
    struct pinned *at;
    size_t n;
    size_t room;
    uint64_t due_ns; ///< the earliest; UINT64_MAX: none
};

/** Pages that are given away and have not been taken, at most. */
#define GIVEN_MAX 64u

/** Pages beyond a node's memory while it brings such for others from its disk. */
#define BROUGHT_MAX 64u

/** How far a node that leaves has come: roster_change.c. */
struct giving {
    int is_active;
    size_t extent; ///< index
    page_no at;
    unsigned n_out; ///< not yet taken
};

/** Pages in one message, at most. More in one would not be cheaper, and come later. */
#define PAGES_MAX 16u

/** Bytes of a message in front of its pages. */
#define PAGES_HEAD ((size_t)PAGES_MAX * WIRE_SIZE_page_entry)

/** Pages that go to a node together: page_batch.c. */
struct page_batch {
    int is_open;
    node_id to;
    unsigned n;
    struct wire_page_entry entries[PAGES_MAX];
    uint8_t *bytes; ///< [PAGES_HEAD + PAGES_MAX pages], NULL: not used yet
};

struct engine {
    const struct port *port;
    struct space *space;
    const struct protocols *protocols;
    const struct protocol_base *bases[BASES_MAX]; ///< of them, each once
    unsigned n_bases;
    /** By type: who has its messages; NULL: no protocol has. */
    const struct protocol_base *base_of[MESSAGES_END];
    void (*acquired[BASES_MAX])(struct engine *engine); ///< protocols' slots
    unsigned n_acquired;                                ///< of that name
    const struct protocol *default_row; ///< of pages that are in no extent
    /** Look at a message, also one that has waited. @return TM_OK, TM_EWIRE */
    tm_status (*deliver)(struct engine *engine, node_id from,
                         const struct message *message);
    tm_protocol default_protocol;
    struct tokens tokens; ///< waiters of calls to other nodes
    uint32_t last_fetch;
    uint32_t n_fetching; ///< pages being fetched

    struct extent *extents; ///< sorted by page
    size_t n_extents;
    size_t last_found; ///< index of the extent that was looked for last
    size_t *last;      ///< where that is noted, also if the engine is const
    size_t n_unpushed; ///< of them, those whose copies may be old (is_fresh)
    size_t extents_room;
    struct heap *heap;              ///< root only
    struct allocation *allocations; ///< root only: under way
    uint32_t last_allocation;
    struct map
        last_holders; ///< root only: of pages that were of slabs, by page
    struct small_blocks *small;

    struct pool copysets[COPYSET_KINDS]; ///< copyset.c
    /** Of the protocols that have them: protocol/updates.h. */
    struct updates *updates;
    struct bindings *bindings; ///< protocol/bound.h
    /** Of what a protocol has sent that names pages: no block is forgotten before that
     * has ended. */
    size_t n_unfinished;
    uint64_t faulter; ///< thread of the write fault that is being handled

    struct causality *causality; ///< NULL: nobody asks what comes after what

    struct pinned_list pinned; ///< pages pinned for a thread

    struct deferred *parked; ///< requests that wait for the disk: residence.c
    struct deferred *given;  ///< PAGE_GIVEN to be answered: roster_change.c
    int is_short;            ///< of memory: residence.c
    int keeps_copies;        ///< when memory is short: residence.c

    struct page_batch batch;

    struct page_list
        owner_updates[TM_MAX_NODES]; ///< for directory nodes, not yet sent
    page_no discard_page; ///< a run of pages whose memory goes back at the
    page_no discard_n;    ///< end of the call
    page_no map_page;     ///< a run of pages that came ahead, to be mapped
    page_no map_n;        ///< in one call of the system
    int is_frozen;        ///< roster_change.c: nothing begins by itself
    struct roster before; ///< and the roster that was in force before it
    struct giving giving;
    struct stall stall;    ///< threads that wait too long: debug builds
    struct steps *steps;   ///< NULL: nobody watches (page_steps.h)
    struct places *places; ///< NULL: nobody wants to know (places.h)
    struct tm_node_stats stats;
};

/** A page's record. */
static inline struct page *page_of(const struct engine *engine, page_no page)
{
    return &engine->space->pages[page];
}

/** Where the program has it. */
static inline uint64_t page_address(const struct engine *engine, page_no page)
{
    return (uint64_t)(uintptr_t)space_address(engine->space, page);
}

/** May there be messages that wait for the page? */
static inline int page_keeps_messages(const struct page *page)
{
    return page->pinned || page->busy || (page->queues && !page->is_owner);
}

/** Is what waits for the page pushes that have come before it? Then nothing else does. */
static inline int page_keeps_diffs(const struct page *page)
{
    return page->deferred != NULL &&
           page->deferred->message.type == MESSAGE_update;
}

/** A page's directory node, by the roster in force. */
static inline node_id directory_of(const struct engine *engine, page_no page)
{
    return roster_pick(&engine->port->roster, page / SPACE_BLOCK);
}

/** No request is forwarded so often: H2. Four times for each node, 1024 times among few. */
static inline unsigned hops_max(const struct engine *engine)
{
    const unsigned n = 4 * engine->port->roster.n_live;

    return n > 1024 ? n : 1024;
}

// ---- protocols.c
/** Of the extent that a page is in, or else the default. */
const struct protocol *protocol_of(const struct engine *engine, page_no page);
/** May small blocks of this protocol lie in cells of this kind (mem/slabs.h)? Any numbers may
 * be asked for. */
int protocols_have_cells(const struct protocols *protocols, tm_protocol id,
                         uint32_t kind);
/* Each slot of all bases. */
tm_status bases_open(struct engine *engine);
void bases_close(struct engine *engine);
void bases_release_early(struct engine *engine);
/** As engine_release(), which one of them carries out; told to nobody first. */
void bases_release(struct engine *engine, struct waiter *waiter);
void bases_brought(struct engine *engine);
void bases_closed(struct engine *engine, const struct extent *extent);
void bases_forget(struct engine *engine, const struct extent *extent);
void bases_frozen(struct engine *engine);
void bases_roster_changed(struct engine *engine);
void bases_order(struct engine *engine, node_id to,
                 uint64_t mutex); ///< not to itself
void bases_order_now(struct engine *engine, struct engine *before,
                     uint64_t mutex);
void bases_held(struct engine *engine, uint64_t mutex, int is_held);
int bases_are_quiet(const struct engine *engine);
int bases_are_valid(const struct engine *engine);

// ---- page.c
/** Where a request for a page goes from here. */
node_id fetch_route(const struct engine *engine, page_no page);
int fetch_is_untouched(const struct engine *engine, page_no page);
/** Should this node be able to say who owns the page, and is not? H3 excludes it. */
int fetch_has_lost_owner(const struct engine *engine, page_no page);
void hint_set(struct page *page, node_id owner, uint32_t epoch);
/** The contents of a message: of a page's bytes those that are its own. */
void page_put_bytes(const struct engine *engine, page_no page,
                    const char *bytes, struct message *message);
void engine_discard_later(struct engine *engine, page_no page);
void engine_discard_now(struct engine *engine);
/** Map a page that has come: at once if a thread waits for it, else together with
 * its neighbours in engine_finish_batch(). */
void engine_map(struct engine *engine, page_no page);
/** Let all who wait for a page try again. */
void engine_wake(struct page *page);
/** Fetching is over for a page: wake who waits. */
void engine_settle(struct engine *engine, page_no page);
/** Debug builds check the invariants of a page after each step. Any number may be asked
 * for. */
void engine_check_page(const struct engine *engine, page_no page);
void page_list_add(struct page_list *list, page_no page);
/** Take the extent's pages out. */
void page_list_leave_out(struct page_list *list, const struct extent *extent);

// ---- answers.c
/** A waiter for an answer of another node.
 * @return the token that the answer is to name */
uint32_t engine_await(struct engine *engine, struct waiter *waiter,
                      enum message_type answer);
/** An answer has come. @return who waits for one of this type, NULL: nobody */
struct waiter *engine_answered(struct engine *engine, enum message_type answer,
                               uint32_t token);
/** A part of a message is left out: it contradicts what is known. Counts it, and logs
 * the first ones. */
void engine_refuse_part(struct engine *engine, page_no page, const char *what);

// ---- copyset.c
void copysets_init(struct engine *engine);
void copysets_release(struct engine *engine);
/** Add a node to / take it off the copyset of a page. */
void copyset_add(struct engine *engine, struct page *page, node_id node);
/** Add those of a set that are there and are not this node. */
void copyset_add_others(struct engine *engine, struct page *page,
                        const struct node_set *nodes);
void copyset_remove(struct engine *engine, struct page *page, node_id node);
void copyset_clear(struct engine *engine, struct page *page);
int copyset_is_empty(const struct page *page);
/** Any node number may be asked for. */
int copyset_has(const struct page *page, node_id node);
int copyset_is_only(const struct page *page, node_id node);
/** @return the first node of it that is `from` or above, -1 if none */
int copyset_next(const struct page *page, unsigned from);
/** All of it, as a set that has room for every node. */
struct node_set copyset_of(const struct page *page);

// ---- extents.c
/** Has this node given away pages of the page's block, with their ownership, that it
 * needed again? Then no more of them should move for a single fault. */
int extent_asks_back(const struct engine *engine, page_no page);
/** Threads come or go: what was asked back says nothing any more. */
void extent_forget_asked_back(struct engine *engine, page_no page);
struct extent *extent_find(const struct engine *engine, page_no page);
/** Are n pages from `page` on in one extent? Any numbers may be asked for. */
int extent_has(const struct engine *engine, page_no page, page_no n);
/** The extent that begins at a page, but for TM_SHARED variables, which stay; NULL:
 * none does. */
struct extent *extent_at(const struct engine *engine, page_no page);
/** Its pages are in no other. Pointers to extents are void then. */
void extent_insert(struct engine *engine, const struct extent *extent);
void extent_remove(struct engine *engine, struct extent *extent);

// ---- fetch.c
void fetch_start(struct engine *engine, struct extent *extent, page_no page,
                 int is_write, struct fault_history *history);
tm_status fetch_receive(struct engine *engine, node_id from,
                        const struct message *message);
/** An untouched page, at its directory node: give it, and untouched ones behind
 * it, to whom it belongs. id: of the requester's fetch, 0 if it is none.
 * @return how many pages */
unsigned fetch_grant(struct engine *engine, page_no page, unsigned count,
                     node_id requester, uint32_t id);
/** Send a page's contents to a node as a copy.
 * @param is_subscribed  it joins the copyset, and hears that it has */
void fetch_send_copy(struct engine *engine, page_no page, node_id to,
                     int is_subscribed);
/** A page is asked for, by the fetch of the number last_fetch. */
void fetch_begin(struct engine *engine, struct extent *extent, page_no page);
/** A copy's bytes are here, those of version `base`. @param is_mapped  as arrived() does */
void fetch_install_copy(struct engine *engine, page_no page, node_id from,
                        uint32_t epoch, int is_mapped);
/** What came is of no use: if a thread needs the page by now, ask for it alone. */
void fetch_ask_again(struct engine *engine, page_no page);
/** One page, whole, as if the requester had sent a fetch: it is served, waits here or travels
 * on. */
void fetch_serve_whole(struct engine *engine, page_no page,
                       const struct fetch_request *request);
/** Send a page and its ownership; it becomes absent here, and its bytes go. */
void fetch_send_away(struct engine *engine, page_no page, node_id to,
                     int with_contents);
/** The same, but what stays is for the caller to say; nobody writes it.
 * @param moves  as of the page's record, for the next owner */
void fetch_send_ownership(struct engine *engine, page_no page, node_id to,
                          int with_contents, uint8_t moves);
/** A page's ownership has gone to a node. */
void fetch_end_ownership(struct engine *engine, page_no page, node_id to);
/** The page is this node's by now, and who waited for it goes on, while a fetch of it is still out: I1
 * of fetch.c. */
void fetch_is_overtaken(struct engine *engine, page_no page);
/** It has come from a node, as of this epoch. */
void fetch_take_ownership(struct engine *engine, page_no page, node_id from,
                          uint32_t epoch);

// ---- page_batch.c
/** From now on pages to this node are gathered. */
void page_batch_open(struct engine *engine, node_id to);
/** Those that were gathered go; no more are. */
void page_batch_send(struct engine *engine);
/** A page is about to be sent. @return 1 it is gathered, 0 send it */
int page_batch_takes(struct engine *engine, node_id to,
                     const struct message *message);
/** The pages of a message as messages, which point into it.
 * @param[out] pages  [PAGES_MAX]
 * @return how many, 0: it is malformed */
unsigned page_batch_read(const struct message *message, struct message *pages);
void page_batch_close(struct engine *engine);

// ---- pinning.c, pages that stay for a thread, and messages that wait for them
void pinning_open(struct engine *engine);
void pinning_close(struct engine *engine);
/** A page has come: pin it, if a thread waits for it. */
void pin_page(struct engine *engine, page_no page);
/** A thread begins to wait for a page: hold what its instruction needs with it. */
void pinning_await(struct engine *engine, page_no page,
                   struct fault_history *history);
/** Pages of the extent are pinned no longer; what waits for them is forgotten
 * elsewhere. */
void pinning_forget(struct engine *engine, const struct extent *extent);
/** A new one at the end of a list, of zeros. @param room  bytes behind it */
struct deferred *deferred_add(struct deferred **list, size_t room);
/** Keep a message at the end of a list, without its body. */
void deferred_keep(struct deferred **list, node_id from,
                   const struct message *message);
/** Forget all of a list. */
void deferred_drop(struct deferred **list);
/** Keep a message until the page is free for it. */
void page_defer(struct engine *engine, page_no page, node_id from,
                const struct message *message);
/** Handle the messages that waited for a page, if they may be by
 * now. */
void page_run_deferred(struct engine *engine, page_no page);

// ---- owner_updates.c
/** This node has become the owner. `from` gave it and knows. */
void owner_updates_announce(struct engine *engine, page_no page, node_id from);
/** Send what has been announced. */
void owner_updates_send(struct engine *engine);
/** OWNER_IS has come. */
tm_status owner_updates_receive(struct engine *engine, node_id from,
                                const struct message *message);

// ---- residence.c
/** The copy here is no more; its owner is not told. */
void paging_give_up(struct engine *engine, struct page *page);

/** Does a request for the page wait for the disk? */
int paging_has_parked(const struct engine *engine, page_no page);

/** An update has come for a page: is the copy of it here one that was given up
 * without telling its owner, or is given up now because its bytes are not in
 * memory? The owner is to be told. */
int paging_gives_up(struct engine *engine, page_no page);

/** Are a page's bytes in the swap file only? */
static inline int paging_is_out(const struct engine *engine, page_no page)
{
    const struct pager *pager = engine->space->pager;

    return pager != NULL && pager_is_out(pager, page);
}

/** The same, or are they on their way from there, or not up to date (pending_updates.c)? */
static inline int paging_is_away(const struct engine *engine, page_no page)
{
    const struct pager *pager = engine->space->pager;

    return page_of(engine, page)->updates_pending ||
           (pager != NULL &&
            (pager_is_out(pager, page) || pager_is_coming(pager, page, 1)));
}

/** Should the page live elsewhere, since memory is short and no thread here uses it? */
static inline int paging_is_unwanted(const struct engine *engine, page_no page)
{
    return engine->space->pager != NULL &&
           pager_is_unwanted(engine->space->pager, page);
}

/** See pager_takes(). */
static inline int paging_takes(const struct engine *engine, unsigned n_more)
{
    const struct pager *pager = engine->space->pager;

    return pager == NULL || pager_takes(pager, n_more);
}

/** Have pages that are out come in, and host.transfers_ended() called.
 * @param n  0 to SWAP_TRANSFER_MAX */
void paging_bring(struct engine *engine, page_no *pages, unsigned n);

/** A fetch or an atomic operation has come for a page that this node owns. Must it wait
 * for the disk? Then it is kept, and looked at again when pages have come. @return 1 if
 * so */
int paging_parks(struct engine *engine, node_id from,
                 const struct message *message);

// ---- blocks.c
tm_status blocks_receive(struct engine *engine, node_id from,
                         const struct message *message);
tm_status blocks_open(struct engine *engine);
void blocks_close(struct engine *engine);
/** A page of the extent has settled, or a flight has ended. */
void blocks_check_closing(struct engine *engine, struct extent *extent);
/** Something that counted as unfinished has ended. */
void engine_finished(struct engine *engine);

/** Ask the root to free a block of whole pages. Status as tm_free(). */
void blocks_ask_to_free(struct engine *engine, uint64_t address,
                        const struct heap_origin *place, struct waiter *waiter);
/** @param ask  token and is_cell of it */
void blocks_send_free_ask(struct engine *engine, node_id to, uint64_t address,
                          const struct heap_origin *place,
                          const struct message_free_ask *ask);
/** To a node that comes: an extent, which all others know. */
void blocks_describe(const struct port *port, const struct extent *extent,
                     node_id to);

// ---- free_done.c
void blocks_send_free_done(struct engine *engine, node_id to, uint32_t token,
                           tm_status status);
/** Say what heap_release() or slabs_release() has found. */
void blocks_log_bad_free(tm_status status, uint64_t address,
                         const struct heap_origin *place,
                         const struct heap_block *block, const char *freed_at);

// ---- roster_change.c
/** Answer for pages that were given to this node, if it has room for more. */
void roster_change_go_on(struct engine *engine);
tm_status roster_change_receive(struct engine *engine, node_id from,
                                const struct message *message);

// ---- blocks_root.c
/** A request, or an acknowledgement. On the root only. */
tm_status blocks_root_receive(struct engine *engine, node_id from,
                              const struct message *message);
/** Who held the slab that has closed since, and that an address was in? A node that
 * is there; NODE_NONE: nobody did, or this is not the root. */
node_id blocks_root_last_holder(const struct engine *engine, uint64_t address);
/** A block as it was described, at its pages: as a request for one. On the root only.
 * @return TM_OK and the waiter will be woken, TM_EWIRE: there can be none */
TM_CHECKED tm_status blocks_root_restore(struct engine *engine,
                                         const struct message *extent_is,
                                         struct waiter *waiter);
/** Make the heap. On the root only. */
tm_status blocks_root_open(struct engine *engine);
/** On each node. */
void blocks_root_close(struct engine *engine);

#endif
