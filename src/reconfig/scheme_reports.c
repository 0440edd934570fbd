// SPDX-License-Identifier: BSD-3-Clause
//
// Reports of iterations, which go into the book; and where iterations end, if the
// program does not say so.
#include <stdlib.h>

#include "base/ensure.h"
#include "base/options.h"
#include "reconfig/scheme_priv.h"

enum {
    ARRIVAL_BYTES = 28, // see runtime/iteration.c
    PEER_BYTES = 10,
    SOON = 64,     // iterations
    HASTY_MAX = 4, // periods that were lost soon
};

// One row of a report's body: a thread that has arrived.
struct row {
    uint64_t thread;
    double comp_s;
    uint64_t n_barriers; // its own, or iterations where the program marks them
    uint32_t place;      // in the program, of the barrier
};

static struct row read_row(struct wire_reader *reader)
{
    struct row row;

    row.thread = wire_get_u64(reader);
    row.comp_s = (double)wire_get_u64(reader) * 1e-9;
    row.n_barriers = wire_get_u64(reader);
    row.place = wire_get_u32(reader);
    return row;
}

// ---- where iterations end

static void give_up_search(struct scheme *scheme)
{
    scheme_say(scheme,
               "no regularity in the program's barriers: its threads stay "
               "where they are");
    scheme->state = UNKNOWN;
    scheme->ops.set_period(scheme->ops.owner, 0, 0);
}

// A thread has arrived at a barrier of which it is not known what it ends.
static void search(struct scheme *scheme, const struct row *row)
{
    uint32_t p;

    if (scheme->period.n == 0) {
        scheme->leader = row->thread;
    }
    if (row->thread != scheme->leader) {
        return;
    }
    p = period_feed(&scheme->period, row->place);
    if (p != 0) {
        scheme_say(scheme, "an iteration is found to be %u barriers", p);
        scheme->end_place = row->place;
        scheme->found_at = book_n_closed(scheme->book);
        scheme->state = WATCHING;
        scheme->ops.set_period(scheme->ops.owner, p, row->n_barriers % p);
    } else if (period_is_hopeless(&scheme->period)) {
        give_up_search(scheme);
    }
}

// The rows of a report that is good.
static struct wire_reader read_rows(const struct message *report)
{
    struct wire_reader reader = wire_read_body(report);

    wire_get_bytes(&reader, report->u.iteration.n_peers * (size_t)PEER_BYTES);
    return reader;
}

static void look_for_period(struct scheme *scheme, const struct message *report)
{
    struct wire_reader reader = read_rows(report);

    while (scheme->state == SEARCHING && reader.at < reader.end) {
        struct row row = read_row(&reader);

        search(scheme, &row);
    }
}

// The program has gone on to other barriers.
static void search_again(struct scheme *scheme)
{
    const uint64_t n = book_n_closed(scheme->book);

    scheme->n_hasty = n - scheme->found_at < SOON ? scheme->n_hasty + 1 : 0;
    scheme_begin_anew(scheme);
    if (scheme->n_hasty > HASTY_MAX) {
        give_up_search(scheme);
        return;
    }
    scheme_say(scheme,
               "iteration %llu: the program's barriers are others now; their "
               "period is looked for",
               (unsigned long long)n);
    scheme->state = SEARCHING;
    scheme->period = (struct period){0};
    scheme->ops.set_period(scheme->ops.owner, 0, 1);
}

// Has who leads gone, or come to an iteration's end at another barrier than before?
static int has_lost_period(const struct scheme *scheme,
                           const struct message *report)
{
    struct wire_reader reader = read_rows(report);

    if (book_n_since_restart(scheme->book) > 0 &&
        !book_has(scheme->book, scheme->leader)) {
        return 1;
    }
    while (reader.at < reader.end) {
        struct row row = read_row(&reader);

        if (row.thread == scheme->leader) {
            return row.place != scheme->end_place;
        }
    }
    return 0;
}

// @return 0 if there is nothing to be learned from what the report says of it
static int look_at_marks(struct scheme *scheme, const struct message *report)
{
    const int by_program = report->u.iteration.marked == MARKED_BY_PROGRAM;

    switch (scheme->state) {
    case SEARCHING:
    case UNKNOWN:
        scheme->state = by_program ? WATCHING : scheme->state;
        return by_program; // by a period: that was lost
    case WATCHING:
    case SETTLING:
        if (by_program || !has_lost_period(scheme, report)) {
            return 1;
        }
        search_again(scheme);
        return 0;
    default:
        return 1;
    }
}

// ---- reports

static void make_room(struct scheme *scheme, uint32_t n)
{
    if (n > scheme->n_room) {
        scheme->arrivals =
            realloc(scheme->arrivals, n * sizeof *scheme->arrivals);
        ensure_memory(scheme->arrivals != NULL);
        scheme->n_room = n;
    }
}

// The rows of threads are all there, and one at least.
static int has_rows(const struct message *message)
{
    const size_t size = message->body_size;
    const size_t peers = message->u.iteration.n_peers * (size_t)PEER_BYTES;

    return size > peers && (size - peers) % ARRIVAL_BYTES == 0;
}

static int peers_are_good(const struct scheme *scheme, node_id from,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.iteration.n_peers; i++) {
        uint16_t node = wire_get_u16(&reader);

        wire_get_u64(&reader);
        if (node >= scheme->config.n_nodes || node == from) {
            return 0;
        }
    }
    return message->u.iteration.n_peers < scheme->config.n_nodes;
}

// The book has a row for each slot up to the highest.
static int slots_are_good(const struct message *message)
{
    struct wire_reader reader = read_rows(message);

    while (reader.at < reader.end) {
        if ((uint32_t)read_row(&reader).thread > OPTIONS_MAX_THREADS) {
            return 0;
        }
    }
    return 1;
}

static void read_peers(struct scheme *scheme, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.iteration.n_peers; i++) {
        scheme->peers[i].node = wire_get_u16(&reader);
        scheme->peers[i].bytes = wire_get_u64(&reader);
    }
}

// @return the iteration that the threads have ended, as they count
static uint64_t read_arrivals(struct scheme *scheme,
                              const struct message *message, uint32_t n)
{
    uint64_t iteration = 0;
    struct wire_reader reader = read_rows(message);

    make_room(scheme, n);
    for (uint32_t i = 0; i < n; i++) {
        struct row row = read_row(&reader);

        scheme->arrivals[i].thread = row.thread;
        scheme->arrivals[i].comp_s = row.comp_s;
        // Who has just come to the others may be behind: they meet now.
        iteration = row.n_barriers > iteration ? row.n_barriers : iteration;
    }
    return iteration;
}

static void note_memory(struct scheme *scheme, node_id node, uint64_t pages)
{
    struct told_memory *memory = &scheme->memory[node];

    memory->now = pages;
    if (scheme_is_other_memory(pages, memory->noted)) {
        memory->noted = pages;
        trigger_wake(&scheme->trigger);
    }
}

static struct book_report report_of(node_id from, const struct message *message)
{
    const struct message_iteration *fields = &message->u.iteration;

    return (struct book_report){
        .node = from,
        .busy_s = (double)fields->busy_ns * 1e-9,
        .comp_s = (double)fields->comp_ns * 1e-9,
        .mem_s = (double)fields->mem_ns * 1e-9,
        .out_s = (double)fields->out_ns * 1e-9,
        .pages_in = (double)fields->pages_in,
        .pages_out = (double)fields->pages_out,
        .free_bytes = fields->free,
        .release_s = (double)fields->release_ns * 1e-9,
        .n_peers = fields->n_peers,
        .n_arrivals =
            (message->body_size - fields->n_peers * (uint32_t)PEER_BYTES) /
            ARRIVAL_BYTES,
    };
}

tm_status scheme_receive(struct scheme *scheme, node_id from,
                         const struct message *message, uint64_t now_ns)
{
    struct book_report report;

    if (!has_rows(message) || !peers_are_good(scheme, from, message) ||
        !slots_are_good(message)) {
        return TM_EWIRE;
    }
    if (!message->u.iteration.marked) {
        look_for_period(scheme, message);
        return TM_OK;
    }
    if (!look_at_marks(scheme, message)) {
        return TM_OK;
    }
    note_memory(scheme, from, message->u.iteration.memory / TM_PAGE_SIZE);
    report = report_of(from, message);
    read_peers(scheme, message);
    report.peers = scheme->peers;
    report.iteration = read_arrivals(scheme, message, report.n_arrivals);
    report.arrivals = scheme->arrivals;
    for (unsigned n = book_take(scheme->book, &report, now_ns); n > 0; n--) {
        scheme_step(scheme);
    }
    return TM_OK;
}
