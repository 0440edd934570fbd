// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_STALL_H
#define PAGES_STALL_H

#include "base/waiter.h"
#include "mem/page.h"
#include "net/message.h"

/*
 * A watchdog for debug builds: no thread waits for a page while its node handles
 * message after message. See stall.c.
 */
struct engine;
struct fault_history;

/** One message about a page, as far as the story needs it. */
struct stall_note {
    uint64_t number; ///< of the node's messages by then
    page_no page;
    uint32_t version;
    uint32_t epoch;
    uint32_t fetch; ///< its number, of a message that has one
    node_id node;   ///< that sent it, or that it was sent to
    node_id who;    ///< for whom, or whose
    uint8_t type;   ///< enum message_type; 0: no note
    uint8_t flags;  ///< enum mention_flag
    uint8_t is_sent;
    uint32_t n_more; ///< like it, before it
};

struct stall {
    uint64_t n_messages; ///< that the engine has received
    uint64_t patience;   ///< so many of them a wait may take; 0: any number
    page_no *awaited;    ///< [n_awaited] pages that a thread waits for, or did
    size_t n_awaited;
    size_t room;
    struct stall_note *notes; ///< [STALL_PLACES][STALL_NOTES], NULL: none yet
};

void stall_close(struct stall *stall);

// ---- what stall.c does of them, in debug builds

void stall_watch_begin(struct engine *engine, page_no page,
                       struct waiter *waiter, struct fault_history *history);
void stall_watch_receive(struct engine *engine, node_id from,
                         const struct message *message);
void stall_watch_sent(struct engine *engine, node_id to,
                      const struct message *message);

// ---- hooks of the engine

enum {
#ifdef TM_DEBUG
    STALL_IS_WATCHED = 1,
#else
    STALL_IS_WATCHED = 0, // nobody pays for it
#endif
};

/** A thread begins to wait for a page, or goes on with it if it has missed the page.
 * @param history  NULL: it is no thread of the program */
static inline void stall_begin(struct engine *engine, page_no page,
                               struct waiter *waiter,
                               struct fault_history *history)
{
    if (STALL_IS_WATCHED) {
        stall_watch_begin(engine, page, waiter, history);
    }
}

/** A message is about to be handled. Every so often all waits are looked at. */
static inline void stall_receive(struct engine *engine, node_id from,
                                 const struct message *message)
{
    if (STALL_IS_WATCHED) {
        stall_watch_receive(engine, from, message);
    }
}

/** Note a message about n pages that this node sends. */
static inline void stall_note_sent(struct engine *engine, node_id to,
                                   const struct message *message)
{
    if (STALL_IS_WATCHED) {
        stall_watch_sent(engine, to, message);
    }
}

#endif
