// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_CLUSTER_VIEW_H
#define MODEL_CLUSTER_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*
 * What is known of the cluster and of the program when it is decided who runs
 * where: plain data that the runtime measures, a profile holds, or a test makes
 * up. All of model/ and place/ works on it. Nodes and threads are numbered from
 * 0 without gaps; who fills the view in keeps the table from these numbers to
 * his own. A thread that does not take part in the iterations (main() that only
 * waits) is left out.
 *
 * Pages with the same set of readers and writers are one *page group*: 512
 * threads that share 100,000 pages in a grid make a thousand groups. A thread's
 * *uses* are its groups in the order in which it first touches them in an
 * iteration.
 *
 * A mapping, everywhere, is an array node_of [n_threads] of node numbers.
 */

#define VIEW_NAME_MAX 64 ///< bytes of a node's name, with the 0 at its end

/** A node. Letters are [Liu06]'s; docs/model.md has them all. */
struct node_view {
    char name[VIEW_NAME_MAX]; ///< for what is printed; not empty
    double power;             ///< C: relative to the reference, 1.0; > 0. Of
                              ///< one processor, not of all
    uint32_t n_processors;    ///< p: workers; at least 1
    uint64_t memory_pages;    ///< M: what the program may use
    uint64_t free_pages;      ///< M_free, as last told; for `liu06` only
    uint64_t total_pages;     ///< M_total: physical memory; for `liu06` only
    double swap_in_s;         ///< t_spi: seconds for one page
    double swap_out_s;        ///< t_spo: the same, to find one and write it
    double fetch_s;           ///< seconds to fetch one page from a peer
    double packet_s;          ///< t_packet: seconds for one packet
    double update_s;       ///< beyond its packets, for a page that is written
                           ///< here and held elsewhere
    uint32_t packet_bytes; ///< Size_packet: bytes that fit one; at least 1
};

enum use_flags { USE_READ = 1, USE_WRITE = 2 };

/** A thread's use of a group. */
struct use {
    uint32_t group;      ///< < n_groups
    uint16_t flags;      ///< of enum use_flags, at least one
    uint16_t diff_bytes; ///< of one page, in one iteration; <= TM_PAGE_SIZE; 0
                         ///< if the thread does not write or nothing changes
};

/** A thread. */
struct thread_view {
    double computation_s; ///< t: seconds for one iteration at power 1.0
    uint32_t first_use;   ///< its uses are [first_use, first_use + n_uses)
    uint32_t n_uses;      ///< no group twice
    int is_pinned;        ///< must stay where the current mapping has it
};

struct cluster_view {
    uint32_t n_nodes;   ///< N, at least 1
    uint32_t n_threads; ///< K, at least 1
    uint32_t n_groups;  ///< 0 while nothing is known of the uses
    uint32_t n_uses;
    struct node_view *nodes;     ///< [n_nodes]
    struct thread_view *threads; ///< [n_threads]
    uint32_t *group_pages;       ///< [n_groups], at least 1 each
    struct use *uses;            ///< [n_uses], by thread
};

/**
 * Make a view with all nodes and threads zero and no groups. The caller fills
 * in nodes and threads; groups_build() adds the uses.
 *
 * @return TM_OK
 * @return TM_EINVAL  n_nodes or n_threads is 0
 *
 * Context: any thread; allocates.
 */
TM_CHECKED tm_status cluster_view_init(struct cluster_view *view,
                                       uint32_t n_nodes, uint32_t n_threads);

/** Free the arrays. A view of zeros is fine. */
void cluster_view_release(struct cluster_view *view);

/**
 * Make a copy with room for more nodes, for what-if questions.
 *
 * @param n_more_nodes  added behind the others, as copies of node 0
 * @param[out] copy     the caller releases it
 *
 * Context: any thread; allocates.
 */
void cluster_view_copy(struct cluster_view *copy,
                       const struct cluster_view *view, uint32_t n_more_nodes);

/**
 * Say whether a view is whole: all numbers in the ranges given above, finite,
 * no thread with a group twice. Views out of files are checked with it before
 * anything else gets them.
 *
 * @param[out] reason  why not, a sentence; untouched if it is valid
 * @param size         bytes of reason; with 0 it may be NULL
 * @return 1 if valid, else 0
 *
 * Context: any thread; allocates n_groups * 4 bytes.
 */
int cluster_view_check(const struct cluster_view *view, char *reason,
                       size_t size);

/** The same without a reason. */
int cluster_view_is_valid(const struct cluster_view *view);

/** The pages that a thread uses, added up over all threads. */
double cluster_view_sum_pages(const struct cluster_view *view);

/** What all threads together do with a group. */
struct group_users {
    uint32_t n_users;
    uint32_t n_writers;
    uint32_t n_senders;  ///< of diffs
    uint64_t diff_bytes; ///< sum of one page
};

/** @return [n_groups], for free() */
struct group_users *cluster_view_users(const struct cluster_view *view);

/** Are all entries of node_of [n_threads] numbers of nodes? */
int mapping_is_valid(const struct cluster_view *view, const uint32_t *node_of);

/**
 * List threads by their nodes, those of a node in order of number.
 *
 * @param node_of         [n_threads]
 * @param[in,out] first   [n_nodes + 1], zeros; then where each node's begin in
 *                        `threads`, and the end of the last one's
 * @param[out] threads    [n_threads]
 */
void cluster_view_list_threads(const struct cluster_view *view,
                               const uint32_t *node_of, uint32_t *first,
                               uint32_t *threads);

#endif
