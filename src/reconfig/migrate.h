// SPDX-License-Identifier: BSD-3-Clause
#ifndef RECONFIG_MIGRATE_H
#define RECONFIG_MIGRATE_H

#include "net/port.h"
#include "ult/ult.h"

/*
 * Moving a suspended thread to another node: the used parts of its stack and arena are
 * sent in messages and put at the same addresses there. Called under the node lock.
 */
struct migration;

/** What travels with a thread besides its stack. */
struct moved_thread {
    uint64_t number;
    uint64_t compute_ns; ///< processor time it has used so far
    uint32_t moves;      ///< this one included
    uint64_t n_barriers; ///< that it has arrived at
    const char *name;
    struct ult_packed packed;
};

/** All of a thread has come, as another node says it is: nothing of it has been looked
 * at. The packed bytes live until the call returns.
 * @return TM_OK, TM_EWIRE (there can be no such thread here) */
typedef tm_status migration_arrived_fn(void *owner,
                                       const struct moved_thread *moved);

/** @return NULL if memory is short */
struct migration *migration_new(const struct port *port,
                                migration_arrived_fn *arrived, void *owner);
void migration_free(struct migration *migration);

/** The messages that a thread is, in a row, to a node of a port. What it points to is
 * copied. */
void migration_write(const struct port *port, node_id to,
                     const struct moved_thread *thread);

/** Send a thread: the same by the machine's port. */
void migration_send(struct migration *migration, node_id to,
                    const struct moved_thread *thread);

/** thread_move or thread_stack has arrived. @return TM_OK, TM_EWIRE */
tm_status migration_receive(struct migration *migration, node_id from,
                            const struct message *message);

#endif
