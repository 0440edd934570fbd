// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_THREAD_REGISTRY_PRIV_H
#define SYNC_THREAD_REGISTRY_PRIV_H

#include "sync/sync_priv.h"

enum thread_state { THREAD_FREE, THREAD_HELD, THREAD_LIVE, THREAD_ENDED };

struct thread_record {
    uint64_t number;
    enum thread_state state;
    char name[16];
    uint64_t start;
    uint64_t arg;
    uint64_t result;

    node_id node;
    uint32_t moves;

    bool has_target; ///< that has to be sent when it is known where to
    node_id target;
    uint32_t target_order;

    uint64_t creator;
    uint16_t
        placed; ///< 1 + the node it was started on by thread_launch.c; 0: by hand
    uint32_t next_held; ///< slot; 0: none
    uint32_t first_held;
    uint32_t last_held;
    uint32_t n_held;

    bool is_detached; ///< nobody will join it
    bool is_waited_for;
    node_id joiner_node;
    uint64_t joiner_token;
};

/** @return the thread if it is LIVE, else NULL */
struct thread_record *thread_registry_find_live(
    struct thread_registry *registry, uint64_t number);

/** @return the lowest free slot, still FREE; NULL if all threads there may be
 *          are alive */
struct thread_record *thread_registry_take_slot(
    struct thread_registry *registry);

/** One more slot behind all others, FREE; the caller keeps I1 to I5. */
struct thread_record *thread_registry_add_slot(
    struct thread_registry *registry);

/** What a thread returned that has no slot any more. */
void thread_registry_keep_result(struct thread_registry *registry,
                                 uint64_t number, uint64_t result);

/** thread_launch.c: start the first n of those that a thread has created. */
void thread_launch_held(struct sync *sync, struct thread_record *creator,
                        uint32_t n);

bool thread_launch_chain_is_valid(const struct thread_registry *registry,
                                  const struct thread_record *creator);

#endif
