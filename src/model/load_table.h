// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_LOAD_TABLE_H
#define MODEL_LOAD_TABLE_H

#include "model/terms.h"

/*
 * The nodes' loads under a mapping, kept up to date while threads are moved: predict()
 * reads them, and a search that tries thousands of changes pays for what each one
 * concerns, not for a new prediction. Times are by the rule of replacement
 * (terms_time()).
 */

#define UNPLACED UINT32_MAX

/** What a node's threads together do with a group. */
struct held {
    uint32_t node;
    uint32_t n_users;
    uint32_t n_writers;
    uint32_t diff_bytes; ///< sum; the union is at most a page
};

struct load_table {
    const struct cluster_view *view;
    int by_page;               ///< packets are counted page by page
    struct node_rates *rates;  ///< [n_nodes]
    uint32_t *node_of;         ///< [n_threads]; UNPLACED: on none
    uint32_t *next;            ///< [n_threads]: lists of the nodes' threads,
    uint32_t *previous;        ///< [n_threads]: UNPLACED at their ends
    uint32_t *head;            ///< [n_nodes]
    struct held *held;         ///< who holds each group, in any order
    uint32_t *first_held;      ///< [n_groups + 1]: where a group's begin
    uint32_t *n_holders;       ///< [n_groups]: how many these are
    struct node_load *loads;   ///< [n_nodes]; comp_s is the sum over threads,
                               ///< packets are not kept here
    int64_t *bytes;            ///< [n_nodes][n_nodes]: sent from, to
    int64_t *packets;          ///< [n_nodes]
    double *times;             ///< [n_nodes]: T_x when last asked for
    double *scratch;           ///< [n_threads]
    uint32_t *changed;         ///< [n_nodes]: nodes whose load has changed
    unsigned char *is_changed; ///< [n_nodes]
    uint32_t n_changed;
};

/** Is a view small enough to be searched with a table? */
int load_table_fits(const struct cluster_view *view);

/**
 * Begin with all threads on no node.
 * @param[out] table  load_table_release() frees it
 */
void load_table_init(struct load_table *table, const struct cluster_view *view,
                     const struct cost_model *model);
void load_table_release(struct load_table *table);

/** Put a thread that is on no node onto one. */
void load_table_put(struct load_table *table, uint32_t thread, uint32_t node);

/** Take a thread from its node. */
void load_table_take(struct load_table *table, uint32_t thread);

/** Take and put. */
void load_table_move(struct load_table *table, uint32_t thread, uint32_t node);

/** Put all threads, which are all on nodes or none is, as a mapping says: in time
 * proportional to the uses, and to the pairs of nodes that share. All nodes have changed
 * then.
 * @param node_of  [n_threads] */
void load_table_put_all(struct load_table *table, const uint32_t *node_of);

/** What a node does with a group, until the next call for that group; NULL: it does not
 * hold it. */
struct held *load_table_find(struct load_table *table, uint32_t group,
                             uint32_t node);

/** A node's load as it is now, all of it. */
struct node_load load_table_load(struct load_table *table, uint32_t node);

/** T_x as the loads are now. */
double load_table_time(struct load_table *table, uint32_t node);

/** Bring `times` of all changed nodes up to date; none are changed then. */
void load_table_settle(struct load_table *table);

/** Forget which nodes have changed: all changes have been taken back. */
void load_table_forget(struct load_table *table);

/** The largest of `times`. @param[out] node  whose it is; may be NULL */
double load_table_longest(const struct load_table *table, uint32_t *node);

#endif
