// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_MUTEX_PAGES_H
#define PROTOCOL_MUTEX_PAGES_H

#include "protocol/updates.h"

/*
 * Pages that migrate (migration.c) go along with the token of the mutex that guards them. Which
 * these are is found out. Under the node lock.
 */

/** A page that migrates has come, because threads here missed it. */
void mutex_pages_missed(struct engine *engine, page_no page);

/** A thread here has locked a mutex. */
void mutex_pages_locked(struct engine *engine, uint64_t mutex);

/** A mutex's token goes to another node with the next message, and its pages in front of it. */
void mutex_pages_send(struct engine *engine, node_id to, uint64_t mutex);

/** `mutex_pages` has come. @return TM_OK, TM_EWIRE */
tm_status mutex_pages_receive(struct engine *engine, node_id from,
                              const struct message *message);

/** Checks that each is found under its page; for tests and debug builds. */
int mutex_pages_are_valid(const struct engine *engine);

/* Slots of updates_base. */
void mutex_pages_forget(struct engine *engine, const struct extent *extent);
void mutex_pages_free(struct updates *updates);

#endif
