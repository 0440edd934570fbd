// SPDX-License-Identifier: BSD-3-Clause
#ifndef SYNC_THREAD_REGISTRY_H
#define SYNC_THREAD_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "net/roster.h"

/** The root's list of all threads; see thread_registry.c. */
struct thread_registry {
    struct thread_record *threads; ///< [n_threads], by slot; 0 is main()
    uint32_t n_threads;            ///< slots ever used, main()'s included
    uint32_t n_room;
    uint32_t max_threads;
    uint32_t lowest_free; ///< no slot below is free
    uint64_t last_number; ///< of the thread that was created last
    uint32_t n_alive;     ///< held or living, main() included
    uint32_t n_joiners;   ///< threads that wait for the end of another
    bool holds_all;       ///< none starts: sync_save.c
    bool main_waits;      ///< for the end of all others
    uint64_t main_token;
    const struct roster *roster;
    uint32_t n_on_node[TM_MAX_NODES]; ///< living threads, without main()
    struct table ended; ///< struct ended_thread: of slots that were needed
};

/** @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status thread_registry_init(struct thread_registry *registry,
                                          const struct roster *roster,
                                          uint32_t max_threads);
void thread_registry_release(struct thread_registry *registry);

#endif
