// SPDX-License-Identifier: BSD-3-Clause
#ifndef TASKS_TASKS_PRIV_H
#define TASKS_TASKS_PRIV_H

#include "base/tokens.h"
#include "tasks/deque.h"
#include "tasks/tasks.h"

/** Of a worker: tasks that may go to other nodes, and those that may not. */
struct task_deques {
    struct deque open;
    struct deque local;
};

struct tasks {
    const struct port *port;
    struct tasks_ops ops;
    unsigned n_workers;
    struct task_deques *deques;   ///< [n_workers]
    struct task *_Atomic arrived; ///< from other nodes, latest first
    _Atomic unsigned n_families;  ///< of this node, that are not waited for yet

    // Guarded by the node lock: lending.c.
    struct tokens tokens; ///< of tasks that are with other nodes
    unsigned n_lent;      ///< families of other nodes
    unsigned n_releases;  ///< that are under way
    _Atomic unsigned
        n_hungry; ///< nodes that wait for tasks; read without the lock
    uint8_t hungry[TM_MAX_NODES];
    uint8_t asked[TM_MAX_NODES]; ///< this node waits for tasks of theirs
    uint8_t has_announced;
};

/** Something for a family that a task has left behind, or another node has sent: a
 * result, a value, or only that a task of another node has ended. */
enum returned_kind {
    RETURNED_END,    ///< a task has ended
    RETURNED_RESULT, ///< the same, and the bytes are its argument now
    RETURNED_VALUE,  ///< the bytes are to be combined
};

struct returned {
    struct returned *next;
    enum returned_kind kind;
    uint32_t token; ///< of a family that is lent: of the task, at its home
    void *out;      ///< of another: where a result goes
    uint32_t size;
    _Alignas(16) unsigned char bytes[];
};

/** Leave something behind. @param bytes  [size] copied */
void family_keep(struct family *family, enum returned_kind kind,
                 const struct task *task, const void *bytes, uint32_t size);

/** Tasks for the workers here. @param tasks_list  linked by `next`, which changes */
void tasks_take_in(struct tasks *tasks, struct task *tasks_list);

/** Bytes of a task that may go to another node; the deque with the most of them.
 * @return NULL: there are none */
struct deque *tasks_fullest(struct tasks *tasks);

#endif
