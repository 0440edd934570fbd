// SPDX-License-Identifier: BSD-3-Clause
//
// What goes along with a lock's token: a parcel. It has
//
//   bound_head                 incarnation and list of the lock
//   bound_known, n_known       which incarnation each node has had
//   bound_range, n_ranges      which bytes are bound, if the receiver has not heard it
//   bound_bytes, to the end    lines that it has not got
//
// The last parcel is the body of the message with the token; what does not fit into one
// is sent before it, in `bound`, each a parcel as well. Invariants are those of entry.c.
#include "protocol/bound.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

static struct wire_bound_head head_of(const struct parcel *parcel,
                                      uint16_t n_known)
{
    return (struct wire_bound_head){
        .incarnation = parcel->lock->incarnation,
        .list = parcel->lock->list,
        .has_list = parcel->has_list != 0,
        .is_lent = parcel->is_lent != 0,
        .n_known = n_known,
        .n_ranges = parcel->n_ranges,
    };
}

/* Nodes that have left do not count. */
static uint16_t put_known(struct parcel *parcel)
{
    const struct bound *lock = parcel->lock;
    uint16_t n = 0;

    for (uint32_t i = 0; i < lock->n_known; i++) {
        if (roster_has(&parcel->engine->port->roster, lock->known[i].node)) {
            wire_put_bound_known(&parcel->writer,
                                 &(struct wire_bound_known){
                                     lock->known[i].node,
                                     lock->known[i].incarnation,
                                 });
            n++;
        }
    }
    return n;
}

static void begin_parcel(struct parcel *parcel)
{
    uint8_t *out = parcel->engine->bindings->out;
    struct wire_writer head = {out, out + WIRE_SIZE_bound_head, 0};
    struct wire_bound_head first;

    parcel->n_ranges = 0;
    parcel->writer = (struct wire_writer){out + WIRE_SIZE_bound_head,
                                          out + MESSAGE_BODY_MAX, 0};
    first = head_of(parcel, put_known(parcel));
    wire_put_bound_head(&head, &first);
}

/* @return its bytes */
static uint32_t end_parcel(const struct parcel *parcel)
{
    uint8_t *out = parcel->engine->bindings->out;
    struct wire_reader reader = wire_read(out, WIRE_SIZE_bound_head);
    struct wire_writer head = {out, out + WIRE_SIZE_bound_head, 0};
    struct wire_bound_head last = wire_get_bound_head(&reader);

    last.n_ranges = parcel->n_ranges;
    wire_put_bound_head(&head, &last);
    ensure(!parcel->writer.failed);
    return (uint32_t)(parcel->writer.at - out);
}

static void send_parcel(const struct parcel *parcel, node_id to, int is_part)
{
    struct message message = {
        .type = MESSAGE_bound,
        .u.bound = {.key = parcel->lock->key, .is_part = is_part != 0},
        .body = parcel->engine->bindings->out,
        .body_size = end_parcel(parcel),
    };

    port_send(parcel->engine->port, to, &message);
}

/* Have room for more bytes. */
static void make_room(struct parcel *parcel, size_t n)
{
    if ((size_t)(parcel->writer.end - parcel->writer.at) < n) {
        send_parcel(parcel, parcel->to, 1);
        begin_parcel(parcel);
    }
}

static void open_parcel(struct parcel *parcel)
{
    struct bindings *bindings = parcel->engine->bindings;

    if (bindings->out == NULL) {
        bindings->out = malloc(MESSAGE_BODY_MAX);
        ensure_memory(bindings->out != NULL);
    }
    begin_parcel(parcel);
}

// ---- what is in it

static void put_range(struct parcel *parcel, const struct range *range)
{
    make_room(parcel, WIRE_SIZE_bound_range);
    wire_put_bound_range(
        &parcel->writer,
        &(struct wire_bound_range){range->start, range->size, range->serial});
    parcel->n_ranges++;
}

/* Lines of a piece from one on whose stamps are equal, and newer. @param lines  they begin
 * at its end or behind. @return whether there are any */
static int next_lines(const struct range *range, const struct piece *piece,
                      uint64_t since, struct piece *lines)
{
    struct piece line = {.page = piece->page, .end = lines->end};
    uint64_t stamp = 0;

    while (next_line(piece, &line)) {
        const uint64_t own = range->stamps[line_of(range, piece_at(&line))];

        if (stamp == 0 && own > since) {
            stamp = own;
            lines->from = line.from;
        } else if (stamp != 0 && own != stamp) {
            break;
        }
        lines->end = line.end;
    }
    return stamp != 0;
}

static void put_piece(struct parcel *parcel, const struct range *range,
                      const struct piece *piece, uint64_t since)
{
    struct piece lines = {.page = piece->page, .end = piece->from};

    while (next_lines(range, piece, since, &lines)) {
        const char *bytes = space_bytes(parcel->engine->space, piece->page);
        const uint16_t n = (uint16_t)(lines.end - lines.from);
        const uint64_t at = piece_at(&lines);

        make_room(parcel, WIRE_SIZE_bound_bytes + n);
        wire_put_bound_bytes(
            &parcel->writer,
            &(struct wire_bound_bytes){at,
                                       range->stamps[line_of(range, at)],
                                       {bytes + lines.from, n}});
        bound_tell_sent(parcel->engine, parcel->lock, piece->page,
                        range->stamps[line_of(range, at)], parcel->to);
    }
}

/* B2: lines that are newer than what the node has had. */
static void put_lines(struct parcel *parcel, uint64_t since)
{
    for (const struct range *range = parcel->lock->first; range != NULL;
         range = range->next) {
        struct piece piece = {0};

        while (next_piece(range, &piece)) {
            put_piece(parcel, range, &piece, since);
        }
    }
}

const void *parcel_write(struct engine *engine, const struct bound *lock,
                         node_id to, int is_lent, uint32_t *size)
{
    const uint64_t since = bound_known(lock, to);
    struct parcel parcel = {.engine = engine,
                            .lock = lock,
                            .to = to,
                            .is_lent = is_lent,
                            .has_list = lock->list > since}; // B5

    open_parcel(&parcel);
    for (const struct range *range = parcel.has_list ? lock->first : NULL;
         range != NULL; range = range->next) {
        put_range(&parcel, range);
    }
    put_lines(&parcel, since);
    *size = end_parcel(&parcel);
    return engine->bindings->out;
}

void parcel_announce(struct engine *engine, const struct bound *lock,
                     const struct range *range)
{
    const struct roster *roster = &engine->port->roster;
    struct parcel parcel = {.engine = engine, .lock = lock};

    open_parcel(&parcel);
    put_range(&parcel, range);
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != engine->port->self) {
            send_parcel(&parcel, roster->live[i], 0);
        }
    }
}

// ---- reading it

int parcel_is_good(struct wire_reader reader)
{
    const struct wire_bound_head head = wire_get_bound_head(&reader);

    for (unsigned i = 0; i < head.n_known && !reader.failed; i++) {
        (void)wire_get_bound_known(&reader);
    }
    for (uint32_t i = 0; i < head.n_ranges && !reader.failed; i++) {
        (void)wire_get_bound_range(&reader);
    }
    while (wire_has_more(&reader)) {
        (void)wire_get_bound_bytes(&reader);
    }
    return !reader.failed;
}

struct wire_bound_head parcel_take_head(struct bound *lock,
                                        struct wire_reader *reader,
                                        int is_token)
{
    const struct wire_bound_head head = wire_get_bound_head(reader);

    if (is_token) {
        lock->n_known = 0;
    }
    for (unsigned i = 0; i < head.n_known; i++) {
        const struct wire_bound_known known = wire_get_bound_known(reader);

        if (is_token) {
            bound_knows(lock, known.node, known.incarnation);
        }
    }
    return head;
}
