// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_ENGINE_H
#define PAGES_ENGINE_H

#include "base/waiter.h"
#include "mem/heap.h"
#include "mem/pager.h"
#include "mem/snapshot.h"
#include "mem/space.h"
#include "net/port.h"

/*
 * The engine that keeps one node's copies of shared pages consistent with the
 * others', by the protocols of docs/protocols.md, and that keeps the list of
 * blocks. A deterministic state machine: faults, releases and messages in; page
 * operations, messages and wake-ups out. Called under the node lock. The same
 * code runs over the simulated network.
 */
struct engine;
struct protocols; ///< pages/protocol.h

/* Where a thread's faults have been running through memory in order, and what
 * it has missed; kept with the thread, all zero at first. */
#define N_STREAMS 16u

/** Where an instruction's faults lie equally far apart; so many instructions. */
#define N_STRIDES 8u

struct fault_stride {
    uint64_t instruction;
    page_no last;    ///< that it has fetched
    page_no next;    ///< that would go on
    int32_t stride;  ///< pages from one to the next; 0: not known
    uint16_t group;  ///< pages of its last group; 0: the record is not used
    uint8_t n_alike; ///< that were where they were expected
};

/** An instruction needs so many pages at once: what it copies from and to may each lie in
 * two. */
#define NEEDED_MAX 4u

struct fault_history {
    page_no missed; ///< a page, + 1, that had gone again when the thread went
                    ///< on after waiting for it; 0: none
    uint64_t instruction; ///< that faults: whoever calls engine_fault() says it
    struct {
        uint64_t instruction;
        page_no pages[NEEDED_MAX]; ///< that it has waited for, lately
        unsigned n;                ///< how often; each page once
        unsigned held;             ///< a bit for each: it is held (pinning.c)
    } needed;
    struct {
        page_no next;   ///< the page that would go on
        uint16_t group; ///< pages of its last group
    } streams[N_STREAMS];
    unsigned oldest;
    struct fault_stride strides[N_STRIDES];
    unsigned oldest_stride;
    uint64_t since; ///< when it began to wait for `missed` (stall.c)
};

/** A run of pages with common attributes: a block, a slab of small blocks, or
 * the TM_SHARED variables. */
struct extent {
    page_no page;
    page_no n_pages;
    uint64_t size; ///< bytes of the block, <= n_pages pages
    tm_protocol protocol;
    tm_placement placement;
    tm_sharing sharing;
    const struct protocol *row; ///< its protocol's: extent_insert() sets it
    node_id on_node;            ///< of a slab: its holder
    uint32_t cell_kind;  ///< of a slab of small blocks; 0: it is one block
    uint32_t serial;     ///< unique among all extents of the run; 0: TM_SHARED
    uint8_t is_open;     ///< all nodes know it: B3 in blocks.c
    uint8_t is_closed;   ///< being freed: faults are errors
    uint32_t n_fetching; ///< pages of it that are being fetched
    uint32_t n_away; ///< that this node has given away with their ownership,
    uint32_t n_asked_back; ///< and of them, those it has asked back (pushes.c)
    uint32_t closing; ///< token of the extent_close to acknowledge, 0: none
    uint8_t place;    ///< places.c: its row
    uint32_t line;
    char file[64];
    char name[32];
};

/** What is counted of pages by the place where their block was allocated. */
enum place_event {
    PLACE_READ_FAULT,
    PLACE_WRITE_FAULT,
    PLACE_FETCH, ///< its contents came from another node
    PLACE_DIFF,  ///< a diff of it went to another one
    PLACE_EVENTS,
};

#define PLACES_MAX 64u ///< that are counted apart

/** Into so many parts of equal length a block is cut, to tell where in it something happens. */
#define PLACE_PARTS 32u

/** A place in the program that allocates blocks. */
struct place {
    char name[32]; ///< of the block, if it was given one
    char file
        [64]; ///< "": no block has one: TM_SHARED variables, small blocks, all others
    uint32_t line;
    uint64_t n_pages; ///< at most at one time
    uint64_t n[PLACE_EVENTS];
    uint32_t heat[PLACE_PARTS]; ///< events of all kinds, by part of the block
};

enum fault_result {
    FAULT_ALLOWED,   ///< access has been raised, or was enough: try again
    FAULT_WAIT,      ///< the waiter will be woken; then try again
    FAULT_OUTSIDE,   ///< the page is in no block, or needs a lock that the
                     ///< thread does not hold: an error of the program
    FAULT_READ_ONLY, ///< its block is read-only, and this a write: the same
};

/** @param protocols  all that blocks may have
 *  @param default_protocol  of extents that name none; not TM_PROTOCOL_DEFAULT
 *  @return NULL if memory is short. Port, space and protocols must outlive it. */
struct engine *engine_new(const struct port *port, struct space *space,
                          const struct protocols *protocols,
                          tm_protocol default_protocol);
void engine_free(struct engine *engine);

/**
 * A thread accessed a page and was not allowed to. Not while nodes come and go: what is
 * written then would be in no release (engine_freeze()).
 *
 * @param history  of the thread; NULL: read nothing ahead
 * @param waiter   used if the result is FAULT_WAIT
 */
enum fault_result engine_fault(struct engine *engine, page_no page,
                               int is_write, struct fault_history *history,
                               struct waiter *waiter);

/** A thread that waited for a page goes on: note in its history whether the page
 * has gone again. It then comes first of its node's next time. May be called
 * without the node lock. */
void engine_note_missed(const struct engine *engine, page_no page, int is_write,
                        struct fault_history *history);

/** Has a thread to say that it goes on: is the page that it has waited for pinned, or are
 * others that it needs with it held? May be asked without the node lock. */
int engine_is_to_hear(const struct engine *engine, page_no page,
                      const struct fault_history *history);

/** A thread that waited for a page goes on now, and will use it as soon as the
 * node lock is given back.
 * @param history  of the thread; NULL: it holds nothing
 * @return 1 others wait for the page, or for one that was held with it: it stays a
 *         moment, and engine_let_go() is to be called at engine_due_ns();
 *         0 nobody waits */
int engine_resumed(struct engine *engine, page_no page,
                   struct fault_history *history);

/** Let others have the pages that have been pinned for their time. To be called
 * often; costs nothing while no page is pinned. */
void engine_let_go(struct engine *engine);

/** A message has come that lets a thread go on after what others have released, or
 * begin: call it before the thread can. */
void engine_acquired(struct engine *engine);

/** When the next page's time is over, on the port's clock; UINT64_MAX: no page is
 * pinned. */
uint64_t engine_due_ns(const struct engine *engine);

/** A message of OWNER_pages has arrived. Parts of it that contradict what is known
 * are left out and counted in `bad_messages` of engine_stats().
 * @return TM_OK
 * @return TM_EWIRE  it does as a whole, and nothing was done; not counted there */
tm_status engine_receive(struct engine *engine, node_id from,
                         const struct message *message);

/** Finish what messages have left to be done together: to be called after each
 * batch of them, before the node lock is given back. */
void engine_finish_batch(struct engine *engine);

/** Do what is due. To be called about every millisecond.
 * @return 1 if it wants to be called again soon, 0 if nothing is under way */
int engine_tick(struct engine *engine);

/** Threads that will use these pages soon have come to this node: fetch those
 * that are absent, as far as there is room. Pages that are in no block are passed
 * over. */
void engine_fetch_ahead(struct engine *engine, page_no first, page_no n,
                        int is_write);

/** The threads of this node that use these pages are about to leave it, and
 * others will not use them. Protocols may give what is exclusive here to the next
 * node that asks, also if it only reads, so that no copy stays behind. */
void engine_leaving(struct engine *engine, page_no first, page_no n);

/** No thread of this node is expected to use these pages. Protocols may have copies
 * leave their owner's copyset with the next update, and what is owned here go to the
 * next node that writes it. */
void engine_unused(struct engine *engine, page_no first, page_no n);

/** What a pager of the engine's space is to ask it: see residence.c. Valid as long as
 * the engine. */
struct pager_host engine_pager_host(struct engine *engine);

/** Debug builds: if a thread waits for a page while the engine of its node handles more
 * than so many messages, the node ends with what is known of the page (exit code 70).
 * @param n_messages  0, the default: it may wait for ever */
void engine_set_patience(struct engine *engine, uint64_t n_messages);

/** Debug builds: log what is known of a page here, and the last messages about it. */
void engine_tell_page(const struct engine *engine, page_no page);

/** The same of each page that a thread waits for. */
void engine_tell_waits(const struct engine *engine);

/** When memory is short, are copies of others' pages kept in the swap file (1), or
 * given up and fetched again (0, the default)? */
void engine_keep_copies(struct engine *engine, int keep);

/** Allocate. Result: the address, 0 with a status; result2: capacity.
 * @param attr  may be NULL */
void engine_alloc(struct engine *engine, uint64_t size,
                  const tm_alloc_attr *attr, const char *file, int line,
                  struct waiter *waiter);

/** Free. Status as tm_free(), but TM_OK for a small block that another node holds: a bad
 * free is only logged then, as any is where the block is known.
 * @param place  of the call; without a name */
void engine_release_block(struct engine *engine, uint64_t address,
                          const struct heap_origin *place,
                          struct waiter *waiter);

/** Free a small block of which its cell says that it has been freed, or nothing that makes
 * sense, and wait for the answer. Status as tm_free().
 * @param freed_by  the node that has, as the cell says; this one: it does not */
void engine_release_freed(struct engine *engine, uint64_t address,
                          node_id freed_by, const struct heap_origin *place,
                          struct waiter *waiter);

/** Ask for the block that an address lies in. Status: TM_OK, TM_ENOBLOCK.
 * @param[out] block  set on success, until the waiter is woken */
void engine_block(struct engine *engine, uint64_t address,
                  struct heap_block *block, struct waiter *waiter);

/** The cell that an address lies in, in a slab of whatever node. Any number may be asked
 * for. @return 0 it lies in none */
int engine_cell(const struct engine *engine, uint64_t address, uint64_t *start,
                uint32_t *size);

/** Make the TM_SHARED pages an extent of the root's. Once, before anything. */
void engine_add_globals(struct engine *engine, page_no n_flags);

/** The extent of a page, or NULL. Valid until the next message. */
const struct extent *engine_extent(const struct engine *engine, page_no page);

/** What this node has of a page, in short. */
struct page_view {
    uint32_t version;  ///< of the bytes that are here
    uint16_t n_copies; ///< that others have, as far as an owner knows
    uint8_t state;     ///< enum page_state
    uint8_t access;    ///< enum page_access
    uint8_t is_owner;
    uint8_t is_stale; ///< its bytes are old, and kept
};

/** @param page  of an extent */
struct page_view engine_view_page(const struct engine *engine, page_no page);

/** The last extent that starts at or below a page, or NULL: for messages about
 * accesses that missed. */
const struct extent *engine_extent_below(const struct engine *engine,
                                         page_no page);

/** The pages of all blocks that are allocated, and of the TM_SHARED variables. */
page_no engine_n_pages(const struct engine *engine);

/** Have a core file hold the blocks' pages that the program's view shows here. The
 * node lock is held, or nobody else runs. */
void engine_keep_in_core(struct engine *engine);

/** Are loads and stores of that block as on one machine, so that they order threads, and
 * atomic instructions work? */
int engine_is_coherent(const struct engine *engine, page_no page);

/** The protocol of a block with a grain for which this one is wanted.
 * @return TM_PROTOCOL_DEFAULT: there is none, such a block has no grain */
tm_protocol engine_grain_protocol(const struct engine *engine,
                                  tm_protocol wanted);

/** May the pages of that block be used with a lock only? */
int engine_needs_lock(const struct engine *engine, page_no page);

/** Why a thread may not use such a byte now, for reports: "which is ...". Else "". */
void engine_explain(const struct engine *engine, page_no page, unsigned offset,
                    uint64_t thread, char *text, size_t size);

/** Count what happens to pages by place, from now on or from before. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status engine_count_places(struct engine *engine);

/** Forget what was counted, until it is wanted again. */
void engine_count_places_no_more(struct engine *engine);

/** @param[out] n  places; one more if there are others, which the last row is of
 *  @return [n], the engine's; NULL: nothing is counted */
const struct place *engine_places(const struct engine *engine, unsigned *n);

/** The page part of the node's numbers. */
void engine_stats(const struct engine *engine, struct tm_node_stats *stats);

/* A change of the roster: roster_change.c. Under the node lock, while all nodes have
 * stopped (reconfig/membership.h). */

/** Let nothing begin by itself, or let it again. */
void engine_freeze(struct engine *engine, int is_frozen);

/** Send what is only waiting to be sent. @return 1 nothing is under way here, and
 * nothing will be by the passing of time */
int engine_is_still(struct engine *engine);

/** The port's roster is another now. @param before  the one until now; copied */
void engine_roster_changed(struct engine *engine, const struct roster *before);

/** After that on all nodes: tell the new directory nodes what this node owns; or,
 * if it is not in the roster any more, give that away. */
void engine_spread(struct engine *engine);

/** On the root: tell a node that comes of all blocks. */
void engine_describe_blocks(struct engine *engine, node_id to);

/** Checks what one node can check of the invariants of a page, and of the
 * engine's own records; for tests and debug builds. */
int engine_page_is_valid(const struct engine *engine, page_no page);
int engine_is_valid(const struct engine *engine);

/** Nothing under way here: no fetch, release or push. */
int engine_is_quiet(const struct engine *engine);

// ---- saved_blocks.c: checkpoints

/** So many pages, and which: a checksum that knows no order. */
struct page_count {
    uint64_t n;
    uint64_t sum;
};

/** Why may no checkpoint be made, as far as this node knows? NULL: it may. */
const char *engine_why_unsaved(const struct engine *engine);
/** As engine_is_still(); what waits for something to happen is done meanwhile. */
int engine_settles(struct engine *engine);
/** Send what this node knows of blocks, as messages to node 0 of a port that keeps them. All
 * nodes stand still; the root says which there are. */
void engine_save_blocks(const struct engine *engine, const struct port *to);
/** The next page that this node owns. @param page  from here on; behind it, then
 * @return 0: there is none */
int engine_next_owned(const struct engine *engine, page_no *page,
                      struct snapshot_page *saved);
void engine_count_page(struct page_count *count, page_no page);
/** Those that somebody owns, as far as this is their directory node. */
struct page_count engine_known_pages(const struct engine *engine);

/* On the root, while no thread runs but main(). */
/** Is there a block? @param[out] page  its first */
int engine_first_block(const struct engine *engine, page_no *page);
/** Free it, whatever it is. The waiter is woken. */
void engine_drop_block(struct engine *engine, page_no page,
                       struct waiter *waiter);
/** There are no blocks: there have never been any. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status engine_forget_heap(struct engine *engine);
/** A block as it was saved (extent_is). @return TM_OK: the waiter is woken; TM_EWIRE */
TM_CHECKED tm_status engine_restore_block(struct engine *engine,
                                          const struct message *message,
                                          struct waiter *waiter);
/** If it was a slab: hold it. @return TM_OK, TM_EINVAL, TM_ENOMEM */
TM_CHECKED tm_status engine_restore_slab(struct engine *engine,
                                         const struct message *message);
/** What is in slabs (cells_given). */
void engine_restore_cells(struct engine *engine, const struct message *message);

#endif
