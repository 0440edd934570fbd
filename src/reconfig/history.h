// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_HISTORY_H
#define RECONFIG_HISTORY_H

#include "base/status.h"
#include "net/port.h"

/*
 * The sample history: what the root knows of the latest iterations, the basic
 * information of [Liu06] 4.1. Nodes report what their threads did; when all threads
 * that take part have been heard of, the iteration is closed. A *sample* is an
 * iteration, or the mean of several if they are short. Kept are the latest
 * HISTORY_WINDOW samples; what is told of them are medians, so that a few in which the
 * machine did something else change nothing.
 */

#define HISTORY_WINDOW 16u
#define HISTORY_FEW                                                            \
    2u ///< samples of a thread's work that are worth more than older ones

/** What samples are taken to differ by, as a part, until that is known. */
#define HISTORY_SPREAD 0.1

/** Iterations are taken together until they last so long: what a machine does beside
 * comes in slices of some milliseconds. */
#define HISTORY_SAMPLE_S 0.01

/** Or longer, up to twice this, where times go up and down: what a quota or another job takes
 * comes in slices of a tenth of a second. */
#define HISTORY_SAMPLE_MOST_S 0.3

/** What a node did in an iteration; seconds, and pages. */
struct history_node {
    double
        busy_s; ///< from the barrier before to the arrival of its last thread,
                ///< waits at other barriers left out
    double comp_s;    ///< of its busiest worker
    double mem_s;     ///< waiting for swapped pages
    double out_s;     ///< of it, until others had gone
    double pages_in;  ///< how many have come
    double pages_out; ///< and gone
    double release_s; ///< in releases at barriers
};

/** A part of a report: a thread that has arrived at the iteration's end. */
struct history_arrival {
    uint64_t thread;
    double comp_s; ///< its computation on the node that reports
};

/** Another part: how much the node has sent to another one. */
struct history_peer {
    node_id node; ///< not itself
    uint64_t bytes;
};

/** A node's report. */
struct history_report {
    node_id node;
    uint64_t iteration; ///< as its threads count: all alike, and rising
    struct history_node done;
    uint64_t
        free_bytes; ///< what the node can get without swapping; 0: not known
    uint32_t n_peers;
    const struct history_peer *peers; ///< [n_peers]
    uint32_t n_arrivals;
    const struct history_arrival *arrivals; ///< [n_arrivals]
};

/** A thread that takes part. */
struct history_thread {
    uint64_t number;
    node_id node; ///< where it last reported from
    uint8_t has_reported;
    uint8_t n_kept;              ///< values in `work`
    double comp_s;               ///< in the iteration that is open
    double open_work_s;          ///< in those of the sample that is open
    uint32_t n_open;             ///< how many these are
    double work[HISTORY_WINDOW]; ///< comp_s times its node's power, as a ring
};

struct history;

/** @param power  [n_nodes]  C of each; copied */
struct history *history_new(unsigned n_nodes, const double *power);
void history_free(struct history *history);

/**
 * Nodes that take processors from each other. What an iteration of one of them took
 * besides its threads' processor time and its memory is mostly waiting for the others,
 * and whom it hits is chance: each is given the mean of it.
 *
 * @param crowds     [n_nodes]  1 + the first node of those that share; 0: with none;
 *                   copied
 * @param n_workers  [n_nodes]  of each; copied
 */
void history_set_crowds(struct history *history, const uint32_t *crowds,
                        const uint32_t *n_workers);

/**
 * Take a report.
 *
 * An iteration is closed when all threads that take part have reported it, or when
 * one reports a later one: those missing then no longer take part (the first
 * iteration of all is always closed so, since nobody knows how many they will be).
 * What is reported of an iteration that is closed already counts for nothing, but
 * its threads take part from the next one on.
 *
 * @param now_ns  the root's clock
 * @return how many samples this has closed: 0, 1 or 2
 *
 * Context: under the node lock; may allocate.
 */
unsigned history_take(struct history *history,
                      const struct history_report *report, uint64_t now_ns);

/** A sample has been closed, and nothing has forgotten yet what was added up for it.
 * @param n_iterations  in it
 * @param length_s      of all of them; 0: not known, there was none before */
typedef void history_sample_fn(void *owner, const struct history *history,
                               uint32_t n_iterations, double length_s);

/** Call this with each sample from now on; NULL: nobody. */
void history_watch(struct history *history, history_sample_fn *watcher,
                   void *owner);

/** For a watcher: what a node did in the sample's iterations, in all.
 * @param[out] sum  sums, where elsewhere are medians
 * @return computation of all its threads, seconds */
double history_sample_sum(const struct history *history, node_id node,
                          struct history_node *sum);

/** The mapping has changed, or something else has: the iterations so far tell
 * nothing any more of nodes and of times. What they tell of a thread's work counts
 * until HISTORY_FEW new ones have been closed. */
void history_restart(struct history *history);

/** The same, but the latest n samples are of what is now. */
void history_restart_at(struct history *history, uint32_t n);

/** The next n samples are not as others are: they are not kept, nor counted. */
void history_skip(struct history *history, uint32_t n);

/**
 * A node that gets its processor in bursts, as under a quota, takes now a fifth, now all of
 * what it takes in the mean, and medians tell the one or the other. If samples since the
 * restart differ so, make them longer, up to twice HISTORY_SAMPLE_MOST_S, and begin anew;
 * shorter again when they have long been alike. After each sample that is like the others.
 */
void history_follow_bursts(struct history *history);

/** Forget the iteration and the sample that are open: others begin. */
void history_drop_open(struct history *history);

/** Threads that take part, in no order; [n] until the next history_take(). */
const struct history_thread *history_threads(const struct history *history,
                                             uint32_t *n);

/** Median work of a thread in an iteration: seconds at power 1.0. */
double history_work_s(const struct history *history,
                      const struct history_thread *thread);

/** How far its work is off that, in the median: what is within a few times it is
 * noise. */
double history_noise_s(const struct history *history,
                       const struct history_thread *thread);

/** Iterations closed in all. */
uint64_t history_n_closed(const struct history *history);

/** Samples closed in all, and since history_restart(). */
uint64_t history_n_samples(const struct history *history);
uint32_t history_n_since_restart(const struct history *history);

/** Iterations in the latest sample. */
uint32_t history_n_together(const struct history *history);

/** Of the latest 16 iterations, those in which threads were missing. Many mean
 * that the threads have no iterations in common. */
unsigned history_n_ragged(const struct history *history);

/** Time of an iteration, from close to close: in the latest sample, and the median
 * over the window. */
double history_latest_s(const struct history *history);
double history_iteration_s(const struct history *history);

/** Medians of a node over the window (or since history_restart(), if that is less),
 * each by itself; zeros if none of its threads takes part. */
void history_node(const struct history *history, node_id node,
                  struct history_node *usual);

/** The same, to be told: where no sample has been closed since history_restart(), those
 * before it; they may be of another mapping. */
void history_node_lately(const struct history *history, node_id node,
                         struct history_node *usual);

/** What a node can get without swapping, bytes, as it said last; 0: not known. */
uint64_t history_free_bytes(const struct history *history, node_id node);

/** Bytes that a node has sent to another in an iteration: the mean since
 * history_restart(), whatever they were for. */
double history_sent_bytes(const struct history *history, node_id from,
                          node_id to);

/**
 * How far what is usual may be off, as standard errors, from what the samples of the
 * window differ by; as long as there are few, from what samples usually differ by.
 *
 * history_node_error_s()  busy_s of a node beside the others: what makes all of them
 *                      longer or shorter at once, another job or less work, is no error
 * history_slowest_error_s()  busy_s of who is slowest, whatever the reason, over the
 *                      latest n samples
 */
double history_node_error_s(const struct history *history, node_id node);
double history_slowest_error_s(const struct history *history, unsigned n);

/**
 * Does a node, in its latest n samples, take clearly longer, or less long, than it did
 * before?
 *
 * @param[out] is_rough  whether samples before those were as far off, for once
 */
int history_has_shifted(const struct history *history, unsigned n,
                        int *is_rough);

/** A node's busy_s over the latest n samples, or as many as there are. */
double history_busy_s(const struct history *history, node_id node, unsigned n);

#endif
