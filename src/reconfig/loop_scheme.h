// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_LOOP_SCHEME_H
#define RECONFIG_LOOP_SCHEME_H

#include "reconfig/scheme.h"

/*
 * A loop that is entered again, on nodes that are short of memory: which node does which
 * piece of its range is decided by a scheme (scheme.h) of its own, for which pieces are
 * threads and entries are iterations. The same measurements, trigger, policy and model, then,
 * and the same steps back. Called under the node lock, but for scheme_think().
 */
struct loop_scheme;

/** What a node says of its part of an entry, in seconds. */
struct loop_report {
    double busy_s;    ///< from its beginning there to its end
    double comp_s;    ///< of its busiest worker
    double mem_s;     ///< waiting because memory is short
    double out_s;     ///< of it, until other pages had gone
    double pages_in;  ///< that came in from the swap file, or again from others
    double pages_out; ///< and went to make room
};

/** What the scheme asks of those around it. None may call it back at once. */
struct loop_scheme_ops {
    void *owner;

    /** Track an entry; then scheme_tracked(). */
    void (*track)(void *owner);

    /** What that is likely to cost, seconds. */
    double (*tracking_s)(void *owner);

    /** As ops.think of a scheme: loop_scheme_of() is to think. */
    void (*think)(void *owner);

    /** A piece changes nodes, from the next entry on. */
    void (*move)(void *owner, unsigned piece, unsigned node);

    /** What a node has to offer, as far as it is known by now. */
    void (*describe)(void *owner, unsigned node, struct node_view *view);

    /** The pages of a piece; of the latest tracking. NULL: it was not tracked. */
    const struct page_use *(*uses)(void *owner, unsigned piece, size_t *n);

    /** A text of one or more lines for who wants to know why. */
    void (*explain)(void *owner, const char *text);
};

/** Does an entry lose much to memory that is short, on some node?
 * @param reports  [n_nodes] */
int loop_is_short(const struct loop_report *reports, unsigned n_nodes);

/** @param config    as of a scheme
 *  @param name      of the loop, for explanations; must outlive it
 *  @return NULL if memory is short */
struct loop_scheme *loop_scheme_new(const struct scheme_config *config,
                                    const struct loop_scheme_ops *ops,
                                    unsigned n_pieces, const char *name);
void loop_scheme_free(struct loop_scheme *loop);

/** The scheme itself. */
struct scheme *loop_scheme_of(struct loop_scheme *loop);

/** An entry is over.
 * @param reports  [n_nodes]
 * @param node_of  [n_pieces] who has done which
 * @param piece_s  [n_pieces] processor time there */
void loop_scheme_take(struct loop_scheme *loop,
                      const struct loop_report *reports,
                      const uint32_t *node_of, const double *piece_s,
                      uint64_t now_ns);

#endif
