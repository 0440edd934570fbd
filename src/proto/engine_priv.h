// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTO_ENGINE_PRIV_H
#define PROTO_ENGINE_PRIV_H

#include "base/tokens.h"
#include "mem/heap.h"
#include "proto/protocol.h"
#include "proto/race.h"
#include "proto/stall.h"

// Flags of the message `page`.
#define PAGE_WITH_OWNERSHIP 1u
#define PAGE_WITH_CONTENTS 2u

// Kinds of an item of the message `update`.
#define ITEM_PUSH 0u
#define ITEM_TO_OWNER 1u
#define ITEM_WRITER 2u ///< of the next one: race.c

// Objects of order.c that are none of the program's.
#define ORDER_HEAP (UINT64_C(1) << 62)
#define ORDER_ATOMICS (ORDER_HEAP + 1)

// Items of the message `update_ack`.
#define ACK_DROPPED 0u
#define ACK_HANDED 1u

#define FETCH_GROUP_MAX 64u

/** No request is forwarded so often: H2. */
#define HOPS_MAX (4u * TM_MAX_NODES)

// So often an exclusive page moves from nodes that are short of memory and have no use
// for it. (Two of them that are wrong about that must not send it to and fro for ever.)
#define UNWANTED_MOVES 8u

/** So many updates in a row that nobody has looked at end a copy. */
#define UNREAD_MAX 2u

/** A message, or a pushed diff, that waits until its page is ready for it. */
struct deferred {
    struct deferred *next;
    node_id from;
    struct message message; ///< without body; for a diff: type update
    uint32_t version;       ///< of the diff
    uint32_t size;
    uint8_t diff[];
};

/** A page's copyset, or an entry of the list of free ones. */
struct copyset {
    union {
        struct node_set nodes; ///< first: struct page points to it
        struct copyset *next;
    };
};

#define COPYSETS_A_CHUNK 127u

struct copyset_chunk {
    struct copyset_chunk *next;
    struct copyset copysets[COPYSETS_A_CHUNK];
};

struct page_list {
    page_no *at;
    size_t n;
    size_t room;
};

/** A page that is held, and until when. */
struct held {
    page_no page;
    uint64_t until_ns;
};

struct held_list {
    struct held *at;
    size_t n;
    size_t room;
    uint64_t due_ns; ///< the earliest until_ns; UINT64_MAX: none
};

/** Pages that are given away and have not been taken, at most. */
#define GIVEN_MAX 64u

/** Pages beyond a node's memory while it brings such for others from its disk. */
#define BROUGHT_MAX 64u

/** How far a node that leaves has come: handover.c. */
struct giving {
    int is_active;
    size_t extent; ///< index
    page_no at;
    unsigned n_out; ///< not yet taken
};

struct flight; ///< updates that are out and not acknowledged: flight.c

/** Collects the diffs for one node. */
struct outbox {
    uint8_t *bytes; ///< [MESSAGE_BODY_MAX]
    uint32_t used;
};

struct engine {
    const struct port *port;
    struct space *space;
    tm_protocol default_protocol;
    struct tokens tokens; ///< waiters of calls to other nodes
    uint32_t last_fetch;
    uint32_t n_pending; ///< pages being fetched

    struct extent *extents; ///< sorted by page
    size_t n_extents;
    size_t extents_room;
    struct heap *heap;              ///< root only
    struct allocation *allocations; ///< root only: under way
    uint32_t last_allocation;

    struct copyset *free_copysets;
    struct copyset_chunk *copyset_chunks;
    struct page_list dirty; ///< pages that the next release looks at
    int flush_is_active;
    struct waiter *flush_waiters; ///< of the release under way
    struct waiter *next_waiters;  ///< of the one after
    struct flight **flights;
    size_t n_flights; ///< slots
    size_t n_flying;  ///< slots in use
    struct outbox outboxes[TM_MAX_NODES];

    struct race *race; ///< NULL: nobody looks for data races
    uint64_t faulter;  ///< thread of the write fault that is being handled

    struct held_list held; ///< sequential pages held for a thread

    struct deferred *parked; ///< requests that wait for the disk: paging.c
    struct deferred *given;  ///< PAGE_GIVEN to be answered: handover.c
    struct late *first_late; ///< updates that do: late.c
    struct late *last_late;
    int is_short;     ///< of memory: paging.c
    int keeps_copies; ///< when memory is short: paging.c

    struct page_list news[TM_MAX_NODES]; ///< for directory nodes, not yet sent
    page_no discard_page; ///< a run of pages whose memory goes back at the
    page_no discard_n;    ///< end of the call
    page_no map_page;     ///< a run of pages that came ahead, to be mapped
    page_no map_n;        ///< in one call of the system
    int is_frozen;        ///< handover.c: nothing begins by itself
    struct roster before; ///< and the roster that was in force before it
    struct giving giving;
    struct stall stall; ///< threads that wait too long: debug builds
    struct tm_node_stats stats;
};

static inline struct page *page_of(const struct engine *engine, page_no page)
{
    return &engine->space->pages[page];
}

/** May there be messages that wait for the sequential page? */
static inline int page_keeps_messages(const struct page *page)
{
    return page->held || page->busy || (page->queues && !page->is_owner);
}

static inline node_id directory_of(const struct engine *engine, page_no page)
{
    return roster_pick(&engine->port->roster, page / SPACE_BLOCK);
}

// ---- engine.c
/** A waiter for an answer of another node.
 * @return the token that the answer is to name */
uint32_t engine_await(struct engine *engine, struct waiter *waiter,
                      enum message_type answer);
/** An answer has come. @return who waits for one of this type, NULL: nobody */
struct waiter *engine_answered(struct engine *engine, enum message_type answer,
                               uint32_t token);
void page_list_add(struct page_list *list, page_no page);
/** Let all who wait for a page try again. */
void engine_wake(struct page *page);
/** Fetching is over for a page: wake who waits. */
void engine_settle(struct engine *engine, page_no page);
void engine_discard_later(struct engine *engine, page_no page);
void engine_discard_now(struct engine *engine);
/** Map a page that has come: at once if a thread waits for it, else together with
 * its neighbours in engine_finish_batch(). */
void engine_map(struct engine *engine, page_no page);
/** Add a page to / take it off the copyset. */
void copyset_add(struct engine *engine, struct page *page, node_id node);
/** Add those of a set that are there and are not this node. */
void copyset_add_others(struct engine *engine, struct page *page,
                        const struct node_set *nodes);
void copyset_remove(struct engine *engine, struct page *page, node_id node);
void copyset_clear(struct engine *engine, struct page *page);
int copyset_is_empty(const struct page *page);
int copyset_is_only(const struct page *page, node_id node);
/** A part of a message is left out: it contradicts what is known. Counts it, and logs
 * the first ones. */
void engine_refuse_part(struct engine *engine, page_no page, const char *what);

// ---- extents.c
struct extent *extent_find(const struct engine *engine, page_no page);
/** Are n pages from `page` on in one extent? Any numbers may be asked for. */
int extent_has(const struct engine *engine, page_no page, page_no n);
/** Is it a page of an extent of this protocol? */
int extent_is_of(const struct engine *engine, page_no page,
                 tm_protocol protocol);
/** The extent that begins at a page, but for TM_SHARED variables, which stay; NULL:
 * none does. */
struct extent *extent_at(const struct engine *engine, page_no page);
/** Its pages are in no other. Pointers to extents are void then. */
void extent_insert(struct engine *engine, const struct extent *extent);
void extent_remove(struct engine *engine, struct extent *extent);

// ---- fetch.c
void fetch_start(struct engine *engine, page_no page, int is_write,
                 struct fault_history *history);
tm_status fetch_receive(struct engine *engine, node_id from,
                        const struct message *message);
/** Where a request for a page goes from here. */
node_id fetch_route(const struct engine *engine, page_no page);
/** An untouched page, at its directory node: give it, and untouched ones behind
 * it, to whom it belongs. id: of the requester's fetch, 0 if it is none.
 * @return how many pages */
unsigned fetch_grant(struct engine *engine, page_no page, unsigned count,
                     node_id requester, uint32_t id);
int fetch_is_untouched(const struct engine *engine, page_no page);
/** Should this node be able to say who owns the page, and is not? H3 excludes it. */
int fetch_has_lost_owner(const struct engine *engine, page_no page);
void hint_set(struct page *page, node_id owner, uint32_t epoch);
/** Send a page's contents to a node as a copy, which joins the copyset. */
void fetch_send_copy(struct engine *engine, page_no page, node_id to);
/** Send a page and its ownership; it becomes absent here. */
void fetch_send_away(struct engine *engine, page_no page, node_id to,
                     int with_contents);
/** A request has arrived, or is looked at again. */
void fetch_receive_request(struct engine *engine, node_id from,
                           const struct message *message);

// ---- hold.c
void hold_open(struct engine *engine);
void hold_close(struct engine *engine);
/** A page has come: hold it, if a thread waits for it. */
void hold_page(struct engine *engine, page_no page);
/** Pages of the extent are held no longer; what waits for them is forgotten
 * elsewhere. */
void hold_forget(struct engine *engine, const struct extent *extent);
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
/** Handle the messages that waited for a sequential page, if they may be by
 * now. */
void page_run_deferred(struct engine *engine, page_no page);

// ---- flight.c: updates that are out
/** What an update says of one page. */
struct update_item {
    page_no page;
    uint32_t version;
    uint32_t epoch;
    unsigned kind; ///< ITEM_PUSH or ITEM_TO_OWNER
    uint16_t size;
    const void *diff; ///< [size]
    struct race_writer writer;
};

enum flight_kind { FLIGHT_FLUSH, FLIGHT_RELAY, FLIGHT_ATOMIC };

struct flight_page {
    page_no page;
    uint8_t is_pushed; ///< its `pushing` counts this flight
    uint8_t may_hand;  ///< ownership may go to the origin
};

struct flight {
    uint32_t generation;
    uint32_t slot;
    int is_used;
    enum flight_kind kind;
    node_id reply_to;
    node_id origin;
    uint64_t batch; ///< relay: to name in the acknowledgement
    unsigned
        outstanding; ///< messages not acknowledged, and items that are late
    unsigned n_late; ///< of these, items
    node_id sent_to; ///< all of them; NODE_NONE: several nodes
    int goes_on;     ///< flush: who gets it may have to pass it on
    struct flight_page *pages;
    size_t n_pages;
    size_t room;
    struct page_list dropped; ///< relay: copies given up here
    struct page_list handed;  ///< relay: go to the origin at once
    uint32_t token;           ///< atomic
    uint64_t before;
};

struct flight *flight_new(struct engine *engine, enum flight_kind kind);
void flight_add_page(struct flight *flight, page_no page, int is_pushed,
                     int may_hand);
/** Put the diff of an item into the outbox of a node, with what is known of its writer,
 * and the page's version and epoch. */
void flight_add(struct engine *engine, struct flight *flight, node_id to,
                unsigned kind, const struct update_item *item);
/** Push it to the copyset, but `except`. @return 1 if anybody got it */
int flight_push(struct engine *engine, struct flight *flight, node_id except,
                const struct update_item *item);
/** Send all outboxes; finishes the flight if nobody has to acknowledge. */
void flight_depart(struct engine *engine, struct flight *flight);
/** Pages of the extent are forgotten, and may come to be others'. (Flights have some if
 * the program still wrote to what it freed.) */
void flight_forget(struct engine *engine, const struct extent *extent);
tm_status flight_receive_ack(struct engine *engine, node_id from,
                             const struct message *message);

// ---- late.c: updates that wait for the disk
/** An item is about to be applied. Must it wait until its page has come? Then it is
 * copied, and its flight stays open. late_bring() is to follow. @return 1 if so */
int late_keeps(struct engine *engine, struct flight *flight, node_id from,
               const struct update_item *item);
/** Have pages come that items wait for. */
void late_bring(struct engine *engine);
/** Pages have come: apply what waited for them. */
void late_look(struct engine *engine);
void late_close(struct engine *engine);

// ---- release.c
void release_flushed(struct engine *engine);
/** The diffs of a release have been sent. */
void release_sent(struct engine *engine, const struct flight *flight);
/** Begin a release that nobody waits for, if none is under way. */
void release_early(struct engine *engine);
void release_list(struct engine *engine, page_no page);

// ---- eager_release.c
tm_status eager_receive_update(struct engine *engine, node_id from,
                               const struct message *message);
/** One item of an update, which may be late. Part of a flight that is being made. */
void eager_receive_item(struct engine *engine, struct flight *flight,
                        node_id from, const struct update_item *item);
/** Ownership of a page has come with an acknowledgement. */
void eager_take(struct engine *engine, page_no page, node_id from,
                uint32_t version, uint32_t epoch, uint8_t moves,
                const struct node_set *copyset);
/** May the page's ownership go to the node, which has sent an update of it? */
int eager_may_hand(const struct engine *engine, page_no page, node_id to);

// ---- news.c
/** This node has become the owner. `from` gave it and knows. */
void news_announce(struct engine *engine, page_no page, node_id from);
/** Send what has been announced. */
void news_send(struct engine *engine);
/** OWNER_IS has come. */
tm_status news_receive(struct engine *engine, node_id from,
                       const struct message *message);

// ---- sequential.c
tm_status sequential_receive(struct engine *engine, node_id from,
                             const struct message *message);

// ---- paging.c
/** An update has come for a page: is the copy of it here one that was given up
 * without telling its owner, or is given up now because its bytes are not in
 * memory? The owner is to be told. */
int paging_gives_up(struct engine *engine, page_no page);

/** Are a page's bytes in the swap file only? */
int paging_is_out(const struct engine *engine, page_no page);

/** The same, or are they on their way from there? */
int paging_is_away(const struct engine *engine, page_no page);

/** Should the page live elsewhere, since memory is short and no thread here uses it? */
int paging_is_unwanted(const struct engine *engine, page_no page);

/** See pager_takes(). */
int paging_takes(const struct engine *engine, unsigned n_more);

/** Have pages that are out come in, and host.transfers_ended() called.
 * @param n  0 to SWAP_CLUSTER */
void paging_bring(struct engine *engine, page_no *pages, unsigned n);

/** A fetch or an atomic operation has come for a page that this node owns. Must it wait
 * for the disk? Then it is kept, and looked at again when pages have come. @return 1 if
 * so */
int paging_parks(struct engine *engine, node_id from,
                 const struct message *message);

// ---- atomic.c
tm_status atomic_receive(struct engine *engine, node_id from,
                         const struct message *message);
void atomic_finish(struct engine *engine, const struct flight *flight);

// ---- blocks.c
tm_status blocks_receive(struct engine *engine, node_id from,
                         const struct message *message);
tm_status blocks_open(struct engine *engine);
void blocks_close(struct engine *engine);
/** A page of the extent has settled, or a flight has ended. */
void blocks_check_closing(struct engine *engine, struct extent *extent);
void blocks_check_all(struct engine *engine);

/** To a node that comes: an extent, which all others know. */
void blocks_describe(struct engine *engine, const struct extent *extent,
                     node_id to);

// ---- handover.c
/** Answer for pages that were given to this node, if it has room for more. */
void handover_go_on(struct engine *engine);
tm_status handover_receive(struct engine *engine, node_id from,
                           const struct message *message);

// ---- blocks_root.c
/** A request, or an acknowledgement. On the root only. */
tm_status blocks_root_receive(struct engine *engine, node_id from,
                              const struct message *message);
/** Make the heap. On the root only. */
tm_status blocks_root_open(struct engine *engine);
/** On each node. */
void blocks_root_close(struct engine *engine);

#endif
