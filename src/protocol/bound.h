// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_BOUND_H
#define PROTOCOL_BOUND_H

#include "base/table.h"
#include "pages/pages.h"
#include "protocol/protocol_calls.h"

/*
 * Which bytes are bound to which lock, and how they travel: for entry.c. Bytes are named
 * by their position in the space, page * TM_PAGE_SIZE + offset, the same on all nodes.
 */

/** Bytes of a line are sent together, and have one stamp. */
#define BOUND_LINE 64u

/** Bound bytes. */
struct range {
    uint64_t start;
    uint64_t size;
    uint64_t list;      ///< the lock's, when this was last in it
    uint32_t serial;    ///< of the extent
    struct bound *lock; ///< that they are bound to
    struct range *next; ///< of the same lock
    uint64_t stamps[];  ///< of each line: when it was written last; 0: never
};

/** A node, and the last incarnation of a lock that it has had. */
struct known {
    uint64_t incarnation;
    node_id node;
};

/** A lock that bytes are bound to. */
struct bound {
    uint64_t key;
    uint64_t incarnation;
    uint64_t list; ///< the incarnation in which its ranges were changed last
    struct range *first;
    struct known *known; ///< [n_known] where it is
    uint32_t n_known;
    uint32_t known_room;
    uint32_t n_lent; ///< threads of this node that have borrowed it
    uint8_t is_here; ///< its bytes are the last ones, and may be used
    uint8_t
        is_home; ///< it is for this node to pass them on; if it is not here, a
                 ///< writer elsewhere has borrowed it
};

/** Of an engine. */
struct bindings {
    struct table locks;    ///< struct bound, by key
    struct range **ranges; ///< [n] of all locks, by start; they do not overlap
    size_t n;
    size_t room;
    struct lock_ops ops;
    uint8_t *out; ///< [MESSAGE_BODY_MAX] what is being written, or NULL
};

/** Bytes of one page. */
struct piece {
    page_no page;
    unsigned from;
    unsigned end;
};

static inline uint64_t piece_at(const struct piece *piece)
{
    return piece->page * TM_PAGE_SIZE + piece->from;
}

static inline uint64_t range_end(const struct range *range)
{
    return range->start + range->size;
}

/** The next part of a range that is in one page. @param piece  all zero at first */
static inline int next_piece(const struct range *range, struct piece *piece)
{
    const uint64_t at = piece->end == 0
                            ? range->start
                            : piece->page * TM_PAGE_SIZE + piece->end;
    uint64_t left;

    if (at >= range_end(range)) {
        return 0;
    }
    left = range_end(range) - at;
    piece->page = at / TM_PAGE_SIZE;
    piece->from = at % TM_PAGE_SIZE;
    piece->end = left < TM_PAGE_SIZE - piece->from
                     ? piece->from + (unsigned)left
                     : (unsigned)TM_PAGE_SIZE;
    return 1;
}

/** The next line of a piece, or what is in that of one. @param line  the first begins at
 * its end */
static inline int next_line(const struct piece *piece, struct piece *line)
{
    const unsigned end = (line->end / BOUND_LINE + 1) * BOUND_LINE;

    line->from = line->end;
    line->end = end < piece->end ? end : piece->end;
    return line->from < piece->end;
}

/** What a page's record has of this protocol. */
struct bound_use {
    uint16_t n_here; ///< ranges of locks that are here: B4
};

_Static_assert(sizeof(struct bound_use) <= PAGE_OWN_BYTES, "there is room");

static inline struct bound_use *bound_use_of(struct page *page)
{
    return (struct bound_use *)page->own;
}

/** Which line of a range a position is in. */
static inline size_t line_of(const struct range *range, uint64_t at)
{
    return at / BOUND_LINE - range->start / BOUND_LINE;
}

static inline size_t n_lines_of(uint64_t start, uint64_t size)
{
    return (start + size - 1) / BOUND_LINE - start / BOUND_LINE + 1;
}

// ---- bound.c: which bytes are bound to which lock

/** @return TM_OK, TM_ENOMEM */
tm_status bindings_open(struct engine *engine);
void bindings_close(struct engine *engine);

/** Does the thread hold the lock? @param is_write  so that it may write */
int bound_is_held(const struct bindings *bindings, uint64_t key,
                  uint64_t thread, int is_write);

/** The lock of a key, new if need be. */
struct bound *bound_get(struct bindings *bindings, uint64_t key);

/** Index of the first range that ends behind a position. */
size_t bound_from(const struct bindings *bindings, uint64_t at);
/** The range that a position is in, or NULL. */
struct range *bound_around(const struct bindings *bindings, uint64_t at);

/** Are these bytes of one block whose bytes are bound, which all nodes know? */
const struct extent *bound_extent(const struct engine *engine, uint64_t start,
                                  uint64_t size);

/** Add a range, which overlaps none. @return it, its stamps 0 */
struct range *bound_add(struct bindings *bindings, struct bound *lock,
                        const struct wire_bound_range *what, uint64_t list);
/** Take a range out. No page counts it any more. */
void bound_remove(struct engine *engine, struct range *range);

/** The range's lock has come (1) or goes (-1). */
void bound_count(struct engine *engine, const struct range *range, int by);

/** Another node says that a range is bound to a lock.
 * @param is_token  it has had the lock; else it has only said so to all, some time ago */
void bound_note(struct engine *engine, struct bound *lock,
                const struct wire_bound_range *what, uint64_t list,
                int is_token);
/** Take out the ranges that are not in the lock's list any more. */
void bound_drop_older(struct engine *engine, struct bound *lock);

/** What the lock knows of a node; 0: nothing. */
uint64_t bound_known(const struct bound *lock, node_id node);
void bound_knows(struct bound *lock, node_id node, uint64_t incarnation);

/** Is what is bound here all right? */
int bindings_are_valid(const struct engine *engine);

// ---- bound_pages.c: their pages

/** A page has bytes of a lock from now on. */
void bound_make(struct engine *engine, page_no page);
/** It is about to be written. */
void bound_begin_writing(struct engine *engine, page_no page);
/** B3: stamp what was written under a lock that is here. */
void bound_stamp(struct engine *engine, struct bound *lock);
/** The lock's bytes may be used here, or may not any more. */
void bound_begin_here(struct engine *engine, struct bound *lock);
void bound_end_here(struct engine *engine, struct bound *lock);
/** Memory is short: what is written now need not stay. */
void bound_relieve(struct engine *engine);

// ---- bound_steps.c: what is told of them

/** Fill in what a page's record has of this protocol. */
void bound_describe(const struct engine *engine, page_no page,
                    struct step_record *to);

#ifdef TM_DEBUG

/** Something has happened to each page of a range. */
void bound_tell(struct engine *engine, const struct range *range,
                enum step_event event);
/** A run of lines of a page that have one stamp goes to a node, or has come.
 * @param before  the newest stamp that they had */
void bound_tell_sent(struct engine *engine, const struct bound *lock,
                     page_no page, uint64_t stamp, node_id to);
void bound_tell_taken(struct engine *engine, page_no page, uint64_t stamp,
                      uint64_t before);
/** How many lines of a page that has a twin have been written and have no stamp of that? 0 if nobody watches. */
unsigned bound_n_unstamped(const struct engine *engine, page_no page);
/** Its twin has gone; so many had. */
void bound_tell_twin(struct engine *engine, page_no page, unsigned n_lines);

#else

#define bound_tell(engine, range, event) ((void)(engine), (void)(range))
#define bound_tell_sent(...) ((void)0)
#define bound_tell_taken(engine, page, stamp, before) ((void)(before))
#define bound_n_unstamped(...) 0
#define bound_tell_twin(engine, page, n_lines) ((void)(n_lines))

#endif

// ---- bound_parcel.c: what goes along with a token

/** Being written. */
struct parcel {
    struct engine *engine;
    const struct bound *lock;
    node_id to;
    int has_list; ///< all ranges of the lock go along
    int is_lent;  ///< a writer elsewhere has borrowed the lock
    uint32_t n_ranges;
    struct wire_writer writer;
};

/** Write what a node has not got of a lock: what does not fit into one body is sent, in
 * `bound`. @param is_lent  a writer elsewhere has borrowed it
 * @return [*size] the rest, until the next parcel is written */
const void *parcel_write(struct engine *engine, const struct bound *lock,
                         node_id to, int is_lent, uint32_t *size);

/** Tell all nodes of one range: for what they say of errors. */
void parcel_announce(struct engine *engine, const struct bound *lock,
                     const struct range *range);

/** Is it as parcel_write() writes? */
int parcel_is_good(struct wire_reader reader);

/** Read its head. @param is_token  and have the lock know what the token does */
struct wire_bound_head parcel_take_head(struct bound *lock,
                                        struct wire_reader *reader,
                                        int is_token);

#endif
