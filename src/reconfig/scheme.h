// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_SCHEME_H
#define RECONFIG_SCHEME_H

#include "place/trigger.h"
#include "reconfig/remap.h"

/*
 * The workload distribution scheme of [Liu06] section 4, on the root: reports in;
 * requests to track, to think and to move out. A state machine: the same reports
 * give the same requests. Called under the node lock, but for scheme_think().
 */
struct scheme;

/** What the scheme asks of those around it. None but track may call it back at
 * once. */
struct scheme_ops {
    void *owner;

    /** Track one iteration on all nodes; scheme_tracked() follows. */
    void (*track)(void *owner);

    /** What that is likely to cost, seconds: asked until it has been done once. */
    double (*tracking_s)(void *owner);

    /** Call scheme_think() on a thread that may take its time, without the node
     * lock; then scheme_thought() under it. */
    void (*think)(void *owner);

    /** This thread is to move at its next iteration end. */
    void (*move)(void *owner, uint64_t thread, node_id node);

    /** All nodes: an iteration ends at each barrier whose number is phase modulo
     * period. Period 0: what enum scheme_period says. Not asked if they are marked. */
    void (*set_period)(void *owner, uint64_t period, uint64_t phase);

    /** Threads will be told to move, or all have: `plan` says who uses what. What
     * nodes no longer need may go along, or be dropped.
     * @param from  [n_threads]  of the plan: nodes before
     * @param to    [n_threads]  and after */
    void (*leave)(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved);

    /** What a node has to offer, as far as it is known by now. */
    void (*describe)(void *owner, unsigned node, struct node_view *view);

    /** The pages of a thread, as remap_uses_fn; of the latest tracking. */
    remap_uses_fn *uses;

    /** A text of one or more lines for who wants to know why. */
    void (*explain)(void *owner, const char *text);
};

/** Where iterations end, if there is no period: what nodes are told instead. */
enum scheme_period {
    PERIOD_NONE,   ///< there are none until the program says so; report no more
    PERIOD_SEARCH, ///< not known: report every barrier
    PERIOD_MARKED, ///< the program says so
};

/** How a report's threads know that an iteration ends: `marked` of MESSAGE_iteration. */
enum scheme_mark {
    MARKED_NOT,       ///< they do not
    MARKED_BY_PERIOD, ///< set_period() has said so
    MARKED_BY_PROGRAM,
};

struct scheme_config {
    const struct policy *policy;
    struct cost_model model; ///< its equations; zeros: `measured`
    unsigned n_nodes;
    int explains;  ///< ops.explain is wanted
    int is_marked; ///< reports come by scheme_take()
    int only_watches; ///< nothing is decided: reports go into the history, that is all
    const uint32_t *crowds; ///< [n_nodes] see history_set_crowds(); NULL: none
    const uint32_t
        *counts; ///< [n_nodes] threads of each node, by hand; copied.
                 ///< NULL: the policy decides
};

/** Sums over the run. */
struct scheme_stats {
    uint64_t n_iterations;
    uint32_t n_tracked; ///< iterations tracked
    uint32_t n_plans;   ///< that a policy was asked for
    uint32_t n_remaps;  ///< of them, carried out
    uint32_t n_undone;
    uint64_t n_moves;
    uint64_t n_judged; ///< times that the mapping in force was held against its
                       ///< prediction, each time that an iteration ended
    double error_sum;  ///< of |predicted / measured - 1|
    double thinking_s;
    double overhead_s; ///< of tracking and moving, by slow iterations
};

/** Begin; scheme_free() ends it. @param config  copied, with its counts and crowds */
struct scheme *scheme_new(const struct scheme_config *config,
                          const struct scheme_ops *ops);
void scheme_free(struct scheme *scheme);

/** MESSAGE_iteration has come.
 * @return TM_OK, TM_EWIRE (its body makes no sense: nothing is changed) */
tm_status scheme_receive(struct scheme *scheme, node_id from,
                         const struct message *message, uint64_t now_ns);

/** A report of an iteration that is known to be one, of a scheme that is_marked. */
void scheme_take(struct scheme *scheme, const struct history_report *report,
                 uint64_t now_ns);

/** The iteration asked for has been tracked, or (with is_ok 0) could not be. */
void scheme_tracked(struct scheme *scheme, int is_ok);

/** Make the plan. Without the node lock; nothing else of the scheme may be
 * waited for meanwhile, but its other functions may be called. */
void scheme_think(struct scheme *scheme);

/** It is made. @param seconds  that scheme_think() took: only a statistic */
void scheme_thought(struct scheme *scheme, double seconds);

/** Is an iteration being tracked, a plan made or carried out? */
int scheme_is_busy(const struct scheme *scheme);
/** Have threads moved, so that the iterations now do not count? */
int scheme_is_settling(const struct scheme *scheme);

/** The sums so far. Under the node lock. */
void scheme_stats(const struct scheme *scheme, struct scheme_stats *stats);

/** Say what nodes have told besides times: pages that came and went, memory that is
 * free, bytes sent to whom. Nothing unless it explains. Under the node lock. */
void scheme_explain_collected(const struct scheme *scheme);

/** From now on ops.explain is wanted, or is not. Under the node lock. */
void scheme_set_explains(struct scheme *scheme, int explains);

/** What an iteration takes, or how long a node is busy in it; 0: not known. */
struct scheme_forecast {
    double
        predicted_s; ///< for the mapping in force, when that came about or was looked at last
    double measured_s; ///< usual by now
};

/** @param[out] whole  of the slowest node
 * @param[out] nodes  [n_nodes]
 * Under the node lock. */
void scheme_forecast(const struct scheme *scheme, struct scheme_forecast *whole,
                     struct scheme_forecast *nodes);

/** What the reports have told. The scheme's. */
struct history *scheme_history(struct scheme *scheme);

/**
 * What is known of the mapping in force, as of a plan that changes nothing, with
 * corrections as of now: what a profile is made of, for who asks what if.
 *
 * @param[out] plan         to be released with remap_release(); set on success
 * @param[out] corrections  [n_nodes] of the plan, the caller's
 * @return TM_OK
 * @return TM_ESTATE  threads were moving, or looked at, and there is no iteration since; or
 *                    no thread takes part in iterations
 * @return TM_EINVAL, TM_ELIMIT  as of remap_make()
 *
 * Context: under the node lock; takes as long as a prediction.
 */
TM_CHECKED tm_status scheme_look_back(struct scheme *scheme, struct remap *plan,
                                      struct correction *corrections);

/** The latest plan that was made, NULL if there is none. Until the next call of
 * the scheme. */
const struct remap *scheme_latest(const struct scheme *scheme);

#endif
