// SPDX-License-Identifier: BSD-3-Clause
//
// A loop as a scheme sees threads. Piece p is thread p + 1: thread 0 would be main(), which
// never moves. An entry is an iteration that the program has marked, of which each node that
// has pieces makes a report; what a node would put into a message for the root is put
// into one here.
#include "reconfig/loop_scheme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

/** More than this part of a node's time is paging: it is short of memory. */
#define SHORT 0.05

/** Pages that may come in by chance. */
#define LEAST_PAGES 8.0

struct loop_scheme {
    struct scheme *scheme;
    struct loop_scheme_ops ops;
    const char *name;
    unsigned n_nodes;
    unsigned n_pieces;
    uint64_t n_entries;
    uint8_t *rows; ///< of a report, all pieces at most
};

int loop_is_short(const struct loop_report *reports, unsigned n_nodes)
{
    for (unsigned i = 0; i < n_nodes; i++) {
        if (reports[i].pages_in > LEAST_PAGES &&
            reports[i].mem_s > SHORT * reports[i].busy_s) {
            return 1;
        }
    }
    return 0;
}

// ---- what the scheme asks

static void track(void *owner)
{
    const struct loop_scheme *loop = owner;

    loop->ops.track(loop->ops.owner);
}

static double tracking_s(void *owner)
{
    const struct loop_scheme *loop = owner;

    return loop->ops.tracking_s(loop->ops.owner);
}

static void think(void *owner)
{
    const struct loop_scheme *loop = owner;

    loop->ops.think(loop->ops.owner);
}

static void move(void *owner, uint64_t thread, node_id node)
{
    const struct loop_scheme *loop = owner;

    loop->ops.move(loop->ops.owner, (unsigned)thread - 1, node);
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    (void)owner; // entries are marked
    (void)period;
    (void)phase;
}

static void leave(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved)
{
    (void)
        owner; // pages go where they are used: the node may use them in other loops
    (void)plan;
    (void)from;
    (void)to;
    (void)has_moved;
}

static void describe(void *owner, unsigned node, struct node_view *view)
{
    const struct loop_scheme *loop = owner;

    loop->ops.describe(loop->ops.owner, node, view);
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    const struct loop_scheme *loop = owner;

    return loop->ops.uses(loop->ops.owner, (unsigned)thread - 1, n);
}

// Which loop it is.
static void explain(void *owner, const char *text)
{
    const struct loop_scheme *loop = owner;
    const size_t size = strlen(text) + strlen(loop->name) + sizeof "loop : ";
    char *named = malloc(size);

    if (named != NULL) {
        snprintf(named, size, "loop %s: %s", loop->name, text);
        loop->ops.explain(loop->ops.owner,
                          strncmp(text, "iteration ", 10) == 0 ? named : text);
    }
    free(named);
}

// ---- entries

static uint32_t put_rows(const struct loop_scheme *loop, uint32_t node,
                         const uint32_t *node_of, const double *piece_s)
{
    const size_t room = loop->n_pieces * (size_t)WIRE_SIZE_thread_iteration;
    struct wire_writer writer = {loop->rows, loop->rows + room, 0};

    for (unsigned i = 0; i < loop->n_pieces; i++) {
        if (node_of[i] == node) {
            wire_put_thread_iteration(
                &writer, &(struct wire_thread_iteration){
                             .thread = i + 1ull,
                             .comp_ns = (uint64_t)(piece_s[i] * 1e9),
                             .n_barriers = loop->n_entries,
                         });
        }
    }
    return (uint32_t)(writer.at - loop->rows);
}

static uint64_t in_ns(double s)
{
    return (uint64_t)(s * 1e9);
}

static void report_node(struct loop_scheme *loop, uint32_t node,
                        const struct loop_report *report, uint32_t size,
                        uint64_t now_ns)
{
    const struct message message = {
        .type = MESSAGE_iteration,
        .u.iteration = {.busy_ns = in_ns(report->busy_s),
                        .comp_ns = in_ns(report->comp_s),
                        .mem_ns = in_ns(report->mem_s),
                        .out_ns = in_ns(report->out_s),
                        .pages_in = (uint64_t)report->pages_in,
                        .pages_out = (uint64_t)report->pages_out,
                        .marked = MARKED_BY_PROGRAM},
        .body = loop->rows,
        .body_size = size,
    };

    ensure(scheme_receive(loop->scheme, (node_id)node, &message, now_ns) ==
           TM_OK);
}

void loop_scheme_take(struct loop_scheme *loop,
                      const struct loop_report *reports,
                      const uint32_t *node_of, const double *piece_s,
                      uint64_t now_ns)
{
    loop->n_entries++;
    for (uint32_t i = 0; i < loop->n_nodes; i++) {
        const uint32_t size = put_rows(loop, i, node_of, piece_s);

        if (size > 0) {
            report_node(loop, i, &reports[i], size, now_ns);
        }
    }
}

// ---- life

struct scheme *loop_scheme_of(struct loop_scheme *loop)
{
    return loop->scheme;
}

struct loop_scheme *loop_scheme_new(const struct scheme_config *config,
                                    const struct loop_scheme_ops *ops,
                                    unsigned n_pieces, const char *name)
{
    struct loop_scheme *loop = calloc(1, sizeof *loop);
    const struct scheme_ops own = {
        .owner = loop,
        .track = track,
        .tracking_s = tracking_s,
        .think = think,
        .move = move,
        .set_period = set_period,
        .leave = leave,
        .describe = describe,
        .uses = uses,
        .explain = explain,
    };

    if (loop == NULL) {
        return NULL;
    }
    loop->ops = *ops;
    loop->name = name;
    loop->n_nodes = config->n_nodes;
    loop->n_pieces = n_pieces;
    loop->rows = calloc(n_pieces, WIRE_SIZE_thread_iteration);
    loop->scheme = scheme_new(config, &own);
    if (loop->rows == NULL || loop->scheme == NULL) {
        loop_scheme_free(loop);
        return NULL;
    }
    return loop;
}

void loop_scheme_free(struct loop_scheme *loop)
{
    if (loop != NULL) {
        scheme_free(loop->scheme);
        free(loop->rows);
        free(loop);
    }
}
