// SPDX-License-Identifier: BSD-3-Clause
//
// Reports of iterations, which go into the history.
#include <stdlib.h>

#include "base/options.h"
#include "base/vector.h"
#include "reconfig/scheme_priv.h"

struct wire_reader scheme_rows(const struct message *report)
{
    struct wire_reader reader = wire_read_body(report);

    wire_get_bytes(&reader,
                   report->u.iteration.n_peers * (size_t)WIRE_SIZE_peer_bytes);
    return reader;
}

struct row scheme_row(struct wire_reader *reader)
{
    const struct wire_thread_iteration row = wire_get_thread_iteration(reader);

    return (struct row){
        .thread = row.thread,
        .comp_s = (double)row.comp_ns * 1e-9,
        .n_barriers = row.n_barriers,
        .place = row.place,
    };
}

// The rows of threads are all there, and one at least.
static int has_rows(const struct message *message)
{
    const size_t size = message->body_size;
    const size_t peers =
        message->u.iteration.n_peers * (size_t)WIRE_SIZE_peer_bytes;

    return size > peers && (size - peers) % WIRE_SIZE_thread_iteration == 0;
}

static int peers_are_good(const struct scheme *scheme, node_id from,
                          const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.iteration.n_peers; i++) {
        const uint16_t node = wire_get_peer_bytes(&reader).peer;

        if (node >= scheme->config.n_nodes || node == from) {
            return 0;
        }
    }
    return message->u.iteration.n_peers < scheme->config.n_nodes;
}

// The history has a row for each slot up to the highest.
static int slots_are_good(const struct message *message)
{
    struct wire_reader reader = scheme_rows(message);

    while (reader.at < reader.end) {
        if ((uint32_t)scheme_row(&reader).thread > OPTIONS_MAX_THREADS) {
            return 0;
        }
    }
    return 1;
}

static void read_peers(struct scheme *scheme, const struct message *message)
{
    struct wire_reader reader = wire_read_body(message);

    for (unsigned i = 0; i < message->u.iteration.n_peers; i++) {
        const struct wire_peer_bytes peer = wire_get_peer_bytes(&reader);

        scheme->peers[i].node = peer.peer;
        scheme->peers[i].bytes = peer.n_bytes;
    }
}

// @return the iteration that the threads have ended, as they count
static uint64_t read_arrivals(struct scheme *scheme,
                              const struct message *message, uint32_t n)
{
    uint64_t iteration = 0;
    struct wire_reader reader = scheme_rows(message);

    vector_reserve(scheme->arrivals, scheme->n_room, n);
    for (uint32_t i = 0; i < n; i++) {
        struct row row = scheme_row(&reader);

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
        scheme_see_change(scheme, CHANGE_TOLD, 0);
    }
}

static struct history_report report_of(node_id from,
                                       const struct message *message)
{
    const struct message_iteration *fields = &message->u.iteration;

    return (struct history_report){
        .node = from,
        .done = {.busy_s = (double)fields->busy_ns * 1e-9,
                 .comp_s = (double)fields->comp_ns * 1e-9,
                 .mem_s = (double)fields->mem_ns * 1e-9,
                 .out_s = (double)fields->out_ns * 1e-9,
                 .pages_in = (double)fields->pages_in,
                 .pages_out = (double)fields->pages_out,
                 .release_s = (double)fields->release_ns * 1e-9},
        .free_bytes = fields->free,
        .n_peers = fields->n_peers,
        .n_arrivals =
            (message->body_size - fields->n_peers * WIRE_SIZE_peer_bytes) /
            WIRE_SIZE_thread_iteration,
    };
}

void scheme_take(struct scheme *scheme, const struct history_report *report,
                 uint64_t now_ns)
{
    for (unsigned n = history_take(scheme->history, report, now_ns); n > 0;
         n--) {
        scheme_step(scheme);
    }
}

tm_status scheme_receive(struct scheme *scheme, node_id from,
                         const struct message *message, uint64_t now_ns)
{
    struct history_report report;

    if (!has_rows(message) || !peers_are_good(scheme, from, message) ||
        !slots_are_good(message)) {
        return TM_EWIRE;
    }
    if (!scheme_look_for_end(scheme, message)) {
        return TM_OK;
    }
    note_memory(scheme, from, message->u.iteration.memory / TM_PAGE_SIZE);
    report = report_of(from, message);
    read_peers(scheme, message);
    report.peers = scheme->peers;
    report.iteration = read_arrivals(scheme, message, report.n_arrivals);
    report.arrivals = scheme->arrivals;
    scheme_take(scheme, &report, now_ns);
    return TM_OK;
}
