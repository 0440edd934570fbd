// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_TUNING_H
#define RUNTIME_TUNING_H

#include "base/waiter.h"
#include "place/tune_plan.h"
#include "runtime/tuned_name.h"

struct node;

/*
 * Parameters of the program that are tuned while it runs, tm_tune(). Each node knows for
 * which iterations the root has said which value; the root says it (tuning_root.c).
 */

/** What a node knows of one. */
struct tuned {
    struct tuned_name name;
    uint64_t
        from; ///< iterations for which `index` is the value: from this one ...
    uint64_t until; ///< ... to before this one
    uint32_t index;
    int is_asked;           ///< the root is; until it answers
    struct waiter *waiters; ///< threads that wait for that
};

struct tuning {
    struct tuned **all; ///< [n]: each stays where it is
    uint32_t n;
    uint32_t n_room;
    struct tune_plan plan;    ///< on the root
    struct tuned_name *names; ///< [plan.n]
    uint32_t n_names_room;
};

// ---- tuning_root.c: under the node lock, on the root

/** A node asks. */
tm_status tuning_answer(struct node *node, node_id from,
                        const struct message *message);
/** For a checkpoint. */
void tuning_save(struct node *node, const struct port *to);
void tuning_load(struct node *node, const struct message *message);
/** At the end: what was found, for --explain and --stats. */
void tuning_tell(struct node *node);

// ---- tuning.c

/** tm_tune(), of a thread. Not under the node lock. */
int64_t tuning_value(struct node *node, const char *name, const int64_t *values,
                     unsigned n);

/** The answer to who has other values than others. */
#define TUNED_OTHERWISE UINT32_MAX

#endif
