// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_CALL_H
#define SYNC_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/waiter.h"
#include "net/message.h"
#include "net/port.h"

/*
 * Calls of threads that need a message: perhaps a release, then the message,
 * then perhaps an answer. A call is named on the wire by a token, which is
 * checked when it comes back.
 */

struct sync;

enum call_kind {
    CALL_UNLOCK,
    CALL_COND_WAIT,
    CALL_COND_SIGNAL,
    CALL_SEM_INIT,
    CALL_SEM_WAIT,
    CALL_SEM_POST,
    CALL_SEM_ADD, ///< a post that needs no answer
    CALL_RDLOCK,
    CALL_WRLOCK,
    CALL_RWUNLOCK,
    CALL_ONCE,
    CALL_ONCE_END,
    CALL_BARRIER_INIT,
    CALL_CREATE,
    CALL_LAUNCH,
    CALL_EXIT,
    CALL_JOIN,
    CALL_DETACH,
    CALL_KEY,
    CALL_MIGRATE,
};

enum call_state {
    CALL_FREE,
    CALL_MADE,  ///< until the message is sent
    CALL_SENT,  ///< waits for its answer
    CALL_NOTED, ///< of sync_cond_wait(): waits for a signal
};

struct call;

/** An answer has come, with a body. @return TM_OK, TM_EWIRE */
typedef tm_status take_answer_fn(struct sync *sync, const struct call *call,
                                 node_id from, const struct message *message);

struct call {
    struct waiter release; ///< first member: of the release under way
    struct sync *sync;
    struct call *next_free;
    enum call_state state;
    enum call_kind kind;
    uint64_t token;
    uint64_t thread;       ///< the caller
    struct waiter *caller; ///< NULL: nobody waits
    uint64_t key;          ///< of the object; the thread that is joined
    uint64_t mutex;        ///< of sync_cond_wait()
    uint64_t until_ns;     ///< when the caller gives up; 0: never
    bool is_cancelled;     ///< that has been told
    bool gives_back;       ///< a lock, with what is bound to it
    take_answer_fn *take;  ///< of its answer; NULL: that has no body
    node_id to;
    struct message message;
    char name[16]; ///< the body, if body_size is not 0
};

enum { CALLS_PER_CHUNK = 64 };

struct calls {
    struct call **chunks; ///< [n_chunks], CALLS_PER_CHUNK calls each: a call
                          ///< keeps its address
    uint32_t n_chunks;
    struct call *free;
};

/** Begin a call to an object's manager. The caller of this sets the fields of message
 * (with call->token), and what else counts, then calls call_send(). */
struct call *call_manager(struct sync *sync, enum call_kind kind, uint64_t key,
                          struct waiter *waiter);

/** The same, to the root. @param waiter  NULL: nobody waits for its end */
struct call *call_root(struct sync *sync, enum call_kind kind, uint64_t thread,
                       struct waiter *waiter);

/** Send the message, after a release if `release` is not 0. */
void call_send(struct call *call, int release);

/** @return the call in flight with this token, NULL if there is none */
struct call *call_find(struct sync *sync, uint64_t token);

/** The call is over: frees it, then wakes its caller. */
void call_end(struct call *call, tm_status status, uint64_t result);

/** The time of a thread's call that may be interrupted is over. */
void calls_interrupt(struct sync *sync, uint64_t thread);

/** Calls whose time is over are cancelled at the object's manager, which answers. */
void calls_poll(struct sync *sync, uint64_t now_ns);

/** The roster is another: calls that wait for an object's manager wait for the
 * new one. */
void calls_turn(struct sync *sync);

bool calls_are_valid(const struct sync *sync);
void calls_release(struct calls *calls);

#endif
