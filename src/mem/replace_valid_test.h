// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_REPLACE_VALID_TEST_H
#define MEM_REPLACE_VALID_TEST_H

#include "mem/replace_priv.h"

/* Whether the records of struct replace are whole, for tests. */

static inline int member_is_valid(const struct replace *replace,
                                  const struct replace_thread *thread,
                                  uint32_t q)
{
    const struct page_note *note = replace_note_find(replace, thread->pages[q]);

    return note->is_resident && note->ring != 0 &&
           note->place == thread->first_use + q;
}

static inline int thread_is_valid(const struct replace *replace,
                                  const struct replace_thread *thread)
{
    uint32_t n = 0;

    for (uint32_t q = 0; q < thread->n_uses; q++) {
        if ((thread->members[q / 64] >> q % 64 & 1) != 0) {
            if (!member_is_valid(replace, thread, q)) {
                return 0;
            }
            n++;
        }
    }
    return n == thread->n_members &&
           (!thread->is_open || thread->worker->turn == thread);
}

static inline int strays_are_valid(const struct replace *replace)
{
    for (size_t i = 0; i < replace->n_strays; i++) {
        const struct page_note *note =
            replace_note_find(replace, replace->strays[i]);

        if (!note->is_resident || note->ring != 0 || note->place != i) {
            return 0;
        }
    }
    return 1;
}

static inline int worker_is_valid(const struct replace_worker *worker)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < worker->n; i++) {
        const struct replace_thread *thread = worker->order[i];

        if (thread->worker != worker || thread->index != i ||
            thread->start != total) {
            return 0;
        }
        total += thread->n_uses;
    }
    return total == worker->total &&
           (worker->turn == NULL || worker->turn->worker == worker) &&
           (total == 0 || worker->here < total);
}

/** Do the records agree with each other? */
static inline int replace_is_valid(const struct replace *replace)
{
    size_t n_known = 0;

    if (replace->is_stale) {
        return 1;
    }
    for (uint32_t i = 0; i < replace->n_threads; i++) {
        if (!thread_is_valid(replace, replace->threads[i])) {
            return 0;
        }
        n_known += replace->threads[i]->n_members;
    }
    for (uint32_t i = 0; i < replace->n_workers; i++) {
        if (!worker_is_valid(replace->workers[i])) {
            return 0;
        }
    }
    return strays_are_valid(replace) && n_known == replace->n_known &&
           n_known + replace->n_strays == replace->n_resident;
}

#endif
