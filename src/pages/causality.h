// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_CAUSALITY_H
#define PAGES_CAUSALITY_H

#include "net/message.h"
#include "pages/engine.h"

/*
 * What comes after what: told to protocols, and by vector clocks of nodes if somebody asks
 * for these.
 */

enum order_way {
    ORDER_GIVES,  ///< the object comes after what this node has released
    ORDER_TAKES,  ///< the node comes after what came before the object
    ORDER_MOVES,  ///< the node comes after what this node has released
    ORDER_PASSES, ///< the object there comes after what the one here does
    ORDER_COMES, ///< this node comes after what the object here does: no message
};

/** The next message to a node orders what the program does: have it heard what comes
 * before, as the protocols want it (struct protocol_base, order), and by clocks if
 * causality_open() was called.
 * @param object  of the program, or a number that is no address; any if `way` moves
 * @param to      gives: where the object is managed */
void engine_order(struct engine *engine, uint64_t object, node_id to,
                  enum order_way way);

/** The same where the object is a mutex, whose token goes with the next message: who has
 * that is to hear at least of what was written while the mutex was held (engine_held()).
 * Protocols may tell more. */
void engine_order_mutex(struct engine *engine, uint64_t mutex, node_id to,
                        enum order_way way);

/** A thread of this node has locked a mutex whose token is here, or is about to unlock
 * it. Alternately, for each mutex. */
void engine_held(struct engine *engine, uint64_t mutex, int is_held);

/** Does a message let threads of this node go on, or begin, that come after what others have
 * released? engine_acquired() is to be called before it is handled. */
int causality_is_acquire(enum message_type type);

/* The same as ORDER_MOVES, at once, over a simulated network: `before` tells. */
void engine_order_now(struct engine *engine, struct engine *before);
void engine_order_mutex_now(struct engine *engine, uint64_t mutex,
                            struct engine *before);

// ---- for those that use clocks

/** A clock in bytes: items of node u16, its releases u32, by node. */
#define CLOCK_BYTES_MAX (TM_MAX_NODES * WIRE_SIZE_clock_entry)

/** Note from now on what comes after what. @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status causality_open(struct engine *engine);
void causality_close(struct engine *engine);

/** This node begins a release: its own clock goes on. */
void causality_begin_release(struct engine *engine);

/** The node's clock as of the release under way. @param[out] size  bytes */
const void *causality_of_release(const struct engine *engine, uint16_t *size);

/** CLOCK has come. */
tm_status causality_receive(struct engine *engine,
                            const struct message *message);

/** Are these the bytes of a clock? */
int clock_bytes_are_good(const void *bytes, size_t size);

/** The releases of a node in a clock. */
uint32_t clock_count(const void *bytes, size_t size, node_id node);

#endif
