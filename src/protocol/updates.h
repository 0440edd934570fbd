// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_UPDATES_H
#define PROTOCOL_UPDATES_H

#include "pages/pages.h"
#include "protocol/race.h"

/*
 * Diffs and their ways: what protocols have in common whose writers keep a twin. A release
 * collects what this node has written and sends it in UPDATE; owners pass it on to copies;
 * UPDATE_ACK says that all have it.
 */

// Kinds of an item of the message `update`.
#define ITEM_PUSH 0u
#define ITEM_TO_OWNER 1u
#define ITEM_WRITER 2u ///< of the next one: race.c

// Items of the message `update_ack`.
#define ACK_DROPPED 0u
#define ACK_HANDED 1u
#define ACK_APPLIED 2u
#define ACK_LEFT 3u

/** So many updates in a row that nobody has looked at end a copy. */
#define UNREAD_MAX 2u

/** Mutexes, by address. */
struct held_list {
    uint64_t *at;
    size_t n;
    size_t room;
};

struct choices;
struct flight;
struct guards;
struct kept;
struct notices;
struct pending_update;
struct recalls;
struct recent;
struct refresh_answer;
struct update_item;

/** Collects the diffs for one node. */
struct outbox {
    uint8_t *bytes; ///< [MESSAGE_BODY_MAX]
    uint32_t used;
};

/** Of an engine. */
struct updates {
    struct page_list dirty; ///< pages that the next release looks at
    uint32_t release;       ///< number of the one that is or would be under way
    unsigned n_flushes;     ///< its flights; 0: none is under way
    unsigned n_next;        ///< those that count for the one after
    struct waiter *flush_waiters; ///< of the release under way
    struct waiter *next_waiters;  ///< of the one after
    struct flight **flights;
    size_t n_flights; ///< slots
    struct outbox outboxes[TM_MAX_NODES];
    node_id filled[TM_MAX_NODES]; ///< [n_filled] that have something, rising
    unsigned n_filled;
    struct {
        struct pending_update *first;
        struct pending_update *last;
    } pending;               ///< updates that wait for the disk
    struct race *race;       ///< NULL: nobody looks for data races
    struct page_list copies; ///< implicit: that the next acquire drops
    uint32_t acquired_fetch; ///< the last fetch before the last acquire
    uint32_t
        n_acquires; ///< adaptive: times that a thread here may have gone on
    struct notices *notices; ///< NULL: there have been none
    uint64_t stamp;        ///< the highest that was made or heard of: notices.c
    uint8_t is_relieved;   ///< of diffs that it kept, when memory was short
    unsigned notices_most; ///< in a message; 0: NOTICES_MOST
    struct kept *kept;     ///< NULL: nobody keeps diffs: kept.h
    struct held_list held; ///< mutexes, by threads of this node
    struct scopes *scopes; ///< NULL: nobody needs them: scopes.c
    struct guards *guards; ///< NULL: no mutex is known to guard pages
    struct readers *readers;       ///< NULL: all copies have been pushed to
    struct recent *recent;         ///< NULL: no copies can be old
    struct choices *choices;       ///< NULL: there have been none
    struct recalls *recalls;       ///< NULL: there have been none
    struct refresh_answer *answer; ///< to be filled; NULL: none yet
};

/** What protocols of this base keep in the bytes of a page's record that are theirs. */
struct page_use {
    uint8_t hot : 4;    ///< releases that may find it unwritten; 0: not hot
    uint8_t unread : 2; ///< pushes since it was unmapped
    uint8_t period : 2; ///< of the last push: the node's acquires, modulo 4
    uint8_t probe_in;   ///< pushes until it is unmapped again
    uint8_t
        probe_steps : 4;    ///< 2 to so many, less one, is the last such number
    uint8_t migrations : 2; ///< its owner's: of late (migration.c)
    uint8_t has_written : 1; ///< its owner's: since the page came
    uint8_t is_left : 1;  ///< a copy that stayed when the page went (hand_on.c)
    uint8_t n_pushes : 5; ///< lately, at most 31
    uint8_t n_periods : 3; ///< in which they came
};

_Static_assert(sizeof(struct page_use) <= PAGE_OWN_BYTES, "there is room");

static inline struct page_use *page_use_of(struct page *page)
{
    return (struct page_use *)page->own;
}

/** What becomes of the owner's copy. */
enum handing { HAND_NOT, HAND_AND_DROP, HAND_AND_KEEP };

/** What a diff means for a page of a protocol that has them; under the node lock. */
struct update_rules {
    /** A push has come: this node is thought to have a copy. NULL: there are none. */
    void (*pushed)(struct engine *engine, struct flight *flight, node_id from,
                   const struct update_item *item);
    /** Another node's diff has come: this node is thought to be the owner. */
    void (*to_owner)(struct engine *engine, struct flight *flight, node_id from,
                     const struct update_item *item);
    /** May ownership go to the node, which has sent an update of the page? NULL: never. */
    enum handing (*may_hand)(const struct engine *engine, page_no page,
                             node_id to);
    /** The node has given up its copy, and has left the copyset. NULL: so be it. */
    void (*dropped)(struct engine *engine, page_no page, node_id node);
    /** The node keeps its copy, and has left the copyset. NULL: that is not done. */
    void (*left)(struct engine *engine, page_no page, node_id node);
    /** The owner of these pages calls back copies that are here, and not pushed to. The list may be
     * reordered. @param to_read  they may be read on. NULL: that is not done */
    void (*called)(struct engine *engine, struct page_list *pages, int to_read);
    /** The node has given up the copy that it was called for: recall.c. NULL: as above */
    void (*recalled)(struct engine *engine, page_no page, node_id node);
    /** NULL for the three below: it has no write notices. The owner has applied this node's
     * diff; versions of a page rise by one with each. */
    void (*applied)(struct engine *engine, page_no page, uint32_t version);
    /** This owner has written to the page, and made its version: copies that nobody pushes
     * to are old. */
    void (*wrote)(struct engine *engine, page_no page);
    /** Others have written to pages, of all protocols: their versions are those of
     * notices.c. The list may be reordered. */
    void (*noticed)(struct engine *engine, struct page_list *pages);
    /** What this node has written to the page stays here, and nothing is sent; the rest of
     * this table but the three below is not asked then, and the page's owner too writes
     * against a twin. NULL: it goes to the owner. @param diff  [size] */
    void (*keep)(struct engine *engine, page_no page, const void *diff,
                 size_t size);
    /** Are the bytes of a page here, which is not absent, older than that diff of a writer
     * that keeps it? NULL: none does */
    int (*is_behind)(const struct engine *engine, page_no page, node_id writer,
                     uint64_t stamp);
    /** An atomic operation has come for a page that this node owns. Must it wait until the
     * page is up to date? Then the message is kept. NULL: it always is. */
    int (*puts_off)(struct engine *engine, page_no page, node_id from,
                    const struct message *message);
    /** NULL for both: no pages go along with mutexes. A mutex's token goes to another node with
     * the next message: send, in front of it, the pages that the mutex guards. */
    void (*token_goes)(struct engine *engine, node_id to, uint64_t mutex);
    /** Such have come. @return TM_OK, TM_EWIRE */
    tm_status (*came_along)(struct engine *engine, node_id from,
                            const struct message *message);
    /** Its notices go with the tokens of those mutexes only under which pages were written:
     * scopes.c. */
    int is_scoped;
};

/** The base of all protocols that have them. */
extern const struct protocol_base updates_base;

/** Of the page's protocol; NULL: that has no diffs, or the page is in no block any more. */
static inline const struct update_rules *update_rules_of(
    const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent == NULL ? NULL : extent->row->updates;
}

static inline struct race *race_of(const struct engine *engine)
{
    return engine->updates->race;
}

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

struct flight_page {
    page_no page;
    uint8_t is_pushed; ///< its `pushing` counts this flight
    uint8_t may_hand;  ///< ownership may go to the origin
    uint8_t tells;     ///< the origin is told the version
    uint32_t version;
};

/** What flights differ in. */
struct flight_kind {
    /** All that there is goes to this node. @return whether departed() is going to let somebody
     * go on who sends a message there, too */
    int (*has_follower)(const struct engine *engine,
                        const struct flight *flight, node_id to);
    /** All has been sent, and somebody has to acknowledge. */
    void (*departed)(struct engine *engine, const struct flight *flight);
    /** All have acknowledged: what is to be said. The flight is still there. */
    void (*arrived)(struct engine *engine, struct flight *flight);
    /** It is not any more. */
    void (*ended)(struct engine *engine);
    /** Its pages that were not pushed are this node's diffs on the way to owners. */
    int is_own;
};

struct flight {
    uint32_t generation;
    uint32_t slot;
    const struct flight_kind *kind; ///< NULL: the slot is free
    uint32_t release;               ///< that it belongs to, if it is of one
    node_id reply_to;
    node_id origin;
    uint64_t batch; ///< relay: to name in the acknowledgement
    unsigned
        outstanding; ///< messages not acknowledged, and items that are pending
    unsigned n_pending; ///< of these, items
    node_id sent_to;    ///< all of them; NODE_NONE: several nodes
    int is_followed;    ///< the message being sent, by another to that node
    int goes_on;        ///< flush: who gets it may have to pass it on
    struct flight_page *pages;
    size_t n_pages;
    size_t room;
    struct page_list dropped; ///< relay: copies given up here
    struct page_list handed;  ///< relay: go to the origin at once
    struct page_list
        left;       ///< relay: pages that are not to be pushed here any more
    uint32_t token; ///< atomic
    uint64_t before;
};

/** Slots of a kind of flight that has nothing to do then. */
int flight_goes_alone(const struct engine *engine, const struct flight *flight,
                      node_id to);
void flight_leaves_it(struct engine *engine, const struct flight *flight);
void flight_ends_so(struct engine *engine);

struct flight *flight_new(struct engine *engine,
                          const struct flight_kind *kind);
void flight_add_page(struct flight *flight, page_no page, int is_pushed,
                     int may_hand);
/** The origin is to be told which version its diff has made of the page. */
void flight_tell_version(struct flight *flight, page_no page, uint32_t version);
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
/** The flight that an acknowledgement names, if it waits for any; NULL */
struct flight *flight_find(const struct engine *engine, uint64_t batch);
/** One more has acknowledged. */
void flight_acknowledged(struct engine *engine, struct flight *flight);
void flights_free(struct updates *updates);

// ---- updates.c: what a node does with updates of others
/** This node, the owner or one that keeps its diffs, has written to a page: that is a new
 * version, which others are to know of from now on.
 * @param diff  [size] NULL: nobody knows what has changed */
void update_wrote(struct engine *engine, page_no page, const void *diff,
                  size_t size);
/** An exclusive page is about to be given to others. If its owner has written to it and not
 * released that, nobody is to have it in a version that others have without: it is in one of
 * its own. */
void update_seal(struct engine *engine, page_no page);
/** A copy was unmapped to see whether it is used, and is: look less often. */
void update_note_use(struct page *page);
/** One item of an update, which may be pending. Part of a flight that is being made. */
void update_receive_item(struct engine *engine, struct flight *flight,
                         node_id from, const struct update_item *item);

/** Change this node's bytes of a page, and its twin.
 * @return 1, or 0 if the diff is malformed: it is refused */
int update_apply(struct engine *engine, page_no page, const void *diff,
                 size_t size);

/** Items that were pending have been applied: what is to be told of them, and passed on,
 * goes. */
void update_go_on(struct engine *engine, struct flight *flight);

// ---- pending_updates.c: updates that wait for the disk
/** An item must wait until its page has come: it is copied, and its flight stays open.
 * pending_updates_bring() is to follow. */
void pending_updates_add(struct engine *engine, struct flight *flight,
                         node_id from, const struct update_item *item);
/** The same of one that is about to be applied, if its page is away. @return 1 if so */
static inline int pending_updates_keep(struct engine *engine,
                                       struct flight *flight, node_id from,
                                       const struct update_item *item)
{
    if (!paging_is_away(engine, item->page)) {
        return 0;
    }
    pending_updates_add(engine, flight, from, item);
    return 1;
}
/** Have pages come that items wait for. */
void pending_updates_bring(struct engine *engine);
/** Pages have come: apply what waited for them, as `receive` does. */
void pending_updates_apply(struct engine *engine);
void pending_updates_free(struct updates *updates);

// ---- release.c
/** Begin a release that nobody waits for, if none is under way. */
void release_early(struct engine *engine);

/** What was written to the extent is released no more: blocks.c, B1. */
void release_leave_out(struct engine *engine, const struct extent *extent);
/** What a node is about to write gets a twin, and is dirty: the next release looks at it. */
void release_make_twin(struct engine *engine, page_no page);
/** What is dirty has no twin any more; the caller says what it is. */
void release_drop_twin(struct engine *engine, struct page *page);
/** The next release looks at a page. */
void release_look_at(struct engine *engine, page_no page);
/** Send the diffs of those pages that are dirty, which are unmapped, whatever is under
 * way; they become clean. What is asked to be released from now on has been when these
 * diffs are acknowledged, too. For protocols whose diffs of one page all go to one node,
 * so that none overtakes another. Nobody looks for data races. */
void release_now(struct engine *engine, const struct page_list *pages);

// ---- atomic.c
tm_status atomic_receive(struct engine *engine, node_id from,
                         const struct message *message);

#endif
