// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_SCOPES_H
#define PROTOCOL_SCOPES_H

#include "protocol/notice_list.h"
#include "protocol/updates.h"

/*
 * What is told with the tokens of mutexes of pages whose protocol is scoped: which of them
 * were written while the mutex was held ([Iftode96]). Under the node lock.
 */

/** Is a page of a protocol that is scoped? */
int scopes_have(const struct engine *engine, page_no page);

/** Pages of such may be written on this node from now on. */
void scopes_begin(struct engine *engine);

/** A page is written by an atomic operation. */
void scopes_note(struct engine *engine, page_no page);

/** A release begins: the list of dirty pages is about to change. */
void scopes_begin_release(struct engine *engine);

/** The token of a mutex goes to another node next, behind a release: what is to go with it.
 * @param known  the notices of all that this node has heard of, or NULL
 * @return NULL  nothing; else valid until the next call */
struct notice_list *scopes_list(const struct engine *engine, uint64_t mutex,
                                const struct notice_list *known);

/** A notice has come with the token. */
void scopes_hear(struct engine *engine, uint64_t mutex,
                 const struct notice *notice);

/* Slots of updates_base. */
void scopes_held(struct engine *engine, uint64_t mutex, int is_held);
void scopes_forget(struct engine *engine, const struct extent *extent);
void scopes_forget_all(struct engine *engine);
void scopes_free(struct updates *updates);

#endif
