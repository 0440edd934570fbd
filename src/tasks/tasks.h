// SPDX-License-Identifier: BSD-3-Clause
#ifndef TASKS_TASKS_H
#define TASKS_TASKS_H

#include <stdatomic.h>

#include "base/waiter.h"
#include "net/port.h"

/*
 * Tasks: functions with a copy of their argument, which run to their end on one node. The
 * tasks of a *family* are waited for together: it is that of a tm_group, or, on a node to
 * which some of them were given, counts those there, and answers for them. Which worker
 * runs a task is found out by the deques of tasks.c, which node by the messages of
 * lending.c. Runs on no kernel thread of its own.
 */
struct tasks;
struct returned; ///< family.c

/** The longest argument, and the longest value of a reduction, in bytes. */
#define TASK_BYTES_MAX 4096u

/** How values are combined: *into = *into and *value. The program's. */
typedef void combine_fn(void *into, const void *value);

/** See family.c for its states. */
struct family {
    _Atomic uint64_t word;
    void *waiter;         ///< who ops.wake() is to wake; NULL: nobody waits
    struct family *above; ///< of the task that has made it, or NULL
    combine_fn *combine;  ///< NULL: the one above combines, if there is one
    uint32_t value_size;  ///< bytes
    uint8_t is_local;     ///< its tasks stay on this node
    uint8_t is_lent;      ///< it is another node's: for ends told to `home`
    node_id home;
    void *_Atomic value; ///< for free(), combined so far; NULL: nothing yet
    struct returned *_Atomic returned; ///< what other nodes have sent back
};

struct task {
    struct task *next; ///< in the list that it is in
    void (*function)(void *argument);
    struct family *family;
    void
        *out; ///< of a task of this node: its argument goes back there, or NULL
    uint32_t token; ///< of the node that gave it; 0: it is from here
    uint32_t size;  ///< of the argument, bytes
    node_id lent_to;
    uint8_t goes_back; ///< its argument is a result
    uint8_t is_pinned; ///< it stays on this node, though its family need not
    _Alignas(16) unsigned char argument[];
};

/** What this layer needs of those above. None of these may call it back. */
struct tasks_ops {
    void *owner;

    /** As the slot of sync_ops: push what this node has written, then wake `done`. Node
     * lock. */
    void (*release)(void *owner, node_id next, struct waiter *done);

    /** The next message to a node lets go on there what comes after all that this node
     * has released. Node lock. */
    void (*order)(void *owner, node_id to);

    /** Wake the waiter of a family, which looks again; it may not be waiting. Any kernel
     * thread, with or without the node lock. */
    void (*wake)(void *owner, void *waiter);

    /** There are tasks here that somebody should run. Node lock. */
    void (*has_come)(void *owner);

    /** Some node has tasks: who could run some here should be there, and ask. Node lock. */
    void (*are_used)(void *owner);
};

/** The port must outlive it, ops are copied. @return NULL if memory is short */
struct tasks *tasks_new(const struct port *port, const struct tasks_ops *ops,
                        unsigned n_workers);
/** Workers have stopped. NULL is accepted. */
void tasks_free(struct tasks *tasks);

// ---- tasks.c: which worker runs what; without the node lock

/** Make a task, which is in no deque yet. Without memory the process ends.
 * @param argument  [size] copied, <= TASK_BYTES_MAX
 * Context: any. */
struct task *task_new(void (*function)(void *), struct family *family,
                      const void *argument, size_t size);

/** Give a task to the deques. Its family counts it already.
 * Context: the kernel thread of that worker. */
void tasks_push(struct tasks *tasks, unsigned worker, struct task *task);

/** Take a task: the worker's latest, else one that has come from another node, else
 * another worker's oldest. @return NULL: there is none
 * Context: the kernel thread of that worker. */
struct task *tasks_take(struct tasks *tasks, unsigned worker);

/** Might tasks_take() find something? Sequentially consistent. Context: any. */
int tasks_has_some(const struct tasks *tasks);

/** Is there a node that waits for tasks, and has this worker more than one that it could
 * give? tasks_give() is to be called then. Context: any; cheap. */
int tasks_should_give(const struct tasks *tasks, unsigned worker);

// ---- family.c; without the node lock

/** Prepare a family that counts no task. @param waiter  for ops.wake() */
void family_init(struct family *family, struct family *above, void *waiter);

/** One more task, before it is in a deque. Context: a task of the family, or who waits for
 * it. */
void family_add(struct family *family);

/** How many have not ended. Context: who waits for it. */
uint64_t family_n_left(const struct family *family);

/** Some of its tasks have ended: wake who waits for the last.
 * @return 1: it was the last of a family that is lent: tasks_return() is to be called.
 *         0: the family may be gone */
int family_end(struct tasks *tasks, struct family *family, uint64_t n);

/** Say that the waiter is about to wait. @return 0: all have ended
 * Context: who waits for it. */
int family_begin_wait(struct family *family);

/** The family of this one, or above it, whose reduction its tasks add to; NULL: none. */
struct family *family_reducer(struct family *family);

/** Combine a value with what there is. Calls the program's function, holds no lock.
 * @param reducer  has a reduction; `value` is of its size */
void family_contribute(struct family *reducer, const void *value);

/** Put what other nodes have sent back to where it belongs: results to the program's
 * variables, values to the family's. Context: who waits for it, when all have ended. */
void family_collect(struct family *family);

/** A task's function has returned: keep its result, and count it. The task is gone.
 * @return as family_end(). Context: the thread that has run it. */
int task_end(struct tasks *tasks, struct task *task);

// ---- lending.c: between nodes; under the node lock

/** Give tasks to nodes that wait for some, as long as there are any. */
void tasks_give(struct tasks *tasks);

/** Send a task to a node, where it stays. Its family counts it already. */
void tasks_send(struct tasks *tasks, node_id to, struct task *task);

/** Nobody here has anything to do: ask other nodes, if they have not been asked. */
void tasks_ask(struct tasks *tasks);

/** This node has tasks that others could run: tell them, once. */
void tasks_announce(struct tasks *tasks);

/** A family that is lent has ended here: release, then tell its home. */
void tasks_return(struct tasks *tasks, struct family *family);

/** A message of OWNER_tasks. @return TM_OK, TM_EWIRE: nothing has changed */
tm_status tasks_receive(struct tasks *tasks, node_id from,
                        const struct message *message);

/** Nodes have come or gone; nothing is under way. */
void tasks_roster_changed(struct tasks *tasks);

/** A tm_group or loop begins or ends on this node. Also without the lock. */
void tasks_count_family(struct tasks *tasks, int more);

/** Is there anything for which this node must stay? */
int tasks_are_pending(const struct tasks *tasks);

/** Is there a node that waits for tasks? Also without the lock. */
int tasks_are_wanted(const struct tasks *tasks);

#endif
