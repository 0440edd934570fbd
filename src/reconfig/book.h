// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_BOOK_H
#define RECONFIG_BOOK_H

#include "base/status.h"
#include "net/port.h"

/*
 * What the root knows of the latest iterations: the basic information of [Liu06]
 * 4.1. Nodes report what their threads did; when all threads that take part have
 * been heard of, the iteration is closed. A *sample* is an iteration, or the mean of
 * several if they are short. Kept are the latest BOOK_WINDOW samples; what is told
 * of them are medians, so that a few in which the machine did something else change
 * nothing.
 */

#define BOOK_WINDOW 16u
#define BOOK_FEW 4u ///< samples that a median is worth taking of

/** Iterations are taken together until they last so long: what a machine does beside
 * comes in slices of some milliseconds. */
#define BOOK_SAMPLE_S 0.01

/** A part of a report: a thread that has arrived at the iteration's end. */
struct book_arrival {
    uint64_t thread;
    double comp_s; ///< its computation on the node that reports
};

/** Another part: how much the node has sent to another one. */
struct book_peer {
    node_id node; ///< not itself
    uint64_t bytes;
};

/** A node's report. All times in seconds. */
struct book_report {
    node_id node;
    uint64_t iteration; ///< as its threads count: all alike, and rising
    double busy_s;   ///< from the barrier before to the arrival, waits at other
                     ///< barriers left out
    double comp_s;   ///< of its busiest worker
    double mem_s;    ///< waiting for swapped pages
    double out_s;    ///< of it, until others had gone
    double pages_in; ///< how many have come
    double pages_out; ///< and gone
    uint64_t
        free_bytes;   ///< what the node can get without swapping; 0: not known
    double release_s; ///< in releases at barriers
    uint32_t n_peers;
    const struct book_peer *peers; ///< [n_peers]
    uint32_t n_arrivals;
    const struct book_arrival *arrivals; ///< [n_arrivals]
};

/** A thread that takes part. */
struct book_thread {
    uint64_t number;
    node_id node; ///< where it last reported from
    uint8_t has_reported;
    uint8_t n_kept;           ///< values in `work`
    double comp_s;            ///< in the iteration that is open
    double open_work_s;       ///< in those of the sample that is open
    uint32_t n_open;          ///< how many these are
    double work[BOOK_WINDOW]; ///< comp_s times its node's power, as a ring
};

/** A node's medians over the window; zeros if none of its threads takes part. */
struct book_node {
    double busy_s;
    double comp_s;
    double mem_s;
    double out_s;
    double pages_in;
    double pages_out;
    double release_s;
};

struct book;

/** @param power  [n_nodes]  C of each; copied
 *  @return NULL if memory is short */
struct book *book_new(unsigned n_nodes, const double *power);
void book_free(struct book *book);

/**
 * Nodes that take processors from each other. What an iteration of one of them took
 * besides its threads' processor time and its memory is mostly waiting for the others,
 * and whom it hits is chance: each is given the mean of it.
 *
 * @param crowds     [n_nodes]  1 + the first node of those that share; 0: with none;
 *                   copied
 * @param n_workers  [n_nodes]  of each; copied
 */
void book_set_crowds(struct book *book, const uint32_t *crowds,
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
unsigned book_take(struct book *book, const struct book_report *report,
                   uint64_t now_ns);

/** The mapping has changed, or something else has: the iterations so far tell
 * nothing any more of nodes and of times. What they tell of a thread's work counts
 * until BOOK_FEW new ones have been closed. */
void book_restart(struct book *book);

/** Forget the iteration and the sample that are open: others begin. */
void book_drop_open(struct book *book);

/** Threads that take part, in no order; [n] until the next book_take(). */
const struct book_thread *book_threads(const struct book *book, uint32_t *n);

/** Median work of a thread in an iteration: seconds at power 1.0. */
double book_work_s(const struct book *book, const struct book_thread *thread);

/** How far its work is off that, in the median: what is within a few times it is
 * noise. */
double book_noise_s(const struct book *book, const struct book_thread *thread);

/** Iterations closed in all. */
uint64_t book_n_closed(const struct book *book);

/** Samples closed in all, and since book_restart(). */
uint64_t book_n_samples(const struct book *book);
uint32_t book_n_since_restart(const struct book *book);

/** Iterations in the latest sample. */
uint32_t book_n_together(const struct book *book);

/** Of the latest 16 iterations, those in which threads were missing. Many mean
 * that the threads have no iterations in common. */
unsigned book_n_ragged(const struct book *book);

/** Time of an iteration, from close to close: in the latest sample, and the median
 * over the window. */
double book_latest_s(const struct book *book);
double book_iteration_s(const struct book *book);

/** Medians of a node over the window (or since book_restart(), if that is less),
 * each by itself. */
void book_node(const struct book *book, node_id node, struct book_node *usual);

/** What a node can get without swapping, bytes, as it said last; 0: not known. */
uint64_t book_free_bytes(const struct book *book, node_id node);

/** Bytes that a node has sent to another in an iteration: the mean since
 * book_restart(), whatever they were for. */
double book_sent_bytes(const struct book *book, node_id from, node_id to);

/**
 * How far what is usual may be off, as standard errors, from what the samples of the
 * window differ by; 0 if there are less than BOOK_FEW.
 *
 * book_node_error_s()  busy_s of a node beside the others: what makes all of them
 *                      longer or shorter at once, another job or less work, is no error
 * book_slowest_error_s()  busy_s of who is slowest, whatever the reason
 */
double book_node_error_s(const struct book *book, node_id node);
double book_slowest_error_s(const struct book *book);

/** A node's busy_s over the latest n samples, or as many as there are. */
double book_busy_s(const struct book *book, node_id node, unsigned n);

#endif
