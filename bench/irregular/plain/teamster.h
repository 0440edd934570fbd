// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_PLAIN_TEAMSTER_H
#define BENCH_PLAIN_TEAMSTER_H
/*
 * Teamster's functions as POSIX threads have them, so that a program of bench/irregular
 * is also one of plain threads, in one process, from the same source: this folder comes first
 * where headers are looked for. Only what those programs use is here. With PLAIN_SPINS threads
 * wait for each other without sleeping (spin.h).
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLAIN_SPINS
#include "spin.h"
#else
#include "sleep.h"
#endif

#define TM_PAGE_SIZE 4096u
#define TM_SHARED
#define TM_OK 0

typedef int tm_status;
typedef uint64_t tm_thread;
typedef enum tm_op { TM_SUM = 0 } tm_op;
typedef enum tm_placement { TM_ANYWHERE = 0, TM_BLOCK = 1 } tm_placement;

typedef struct tm_alloc_attr {
    const char *name;
    tm_placement placement;
} tm_alloc_attr;

struct tm_node_stats {
    uint64_t messages_sent;
    uint64_t pages_fetched;
    uint64_t bytes_sent;
};

tm_status tm_thread_create(tm_thread *thread, const void *attr,
                           void *(*start)(void *), void *arg);
tm_status tm_thread_join(tm_thread thread, void **result);
void tm_barrier_init(tm_barrier *barrier, unsigned count);
tm_status tm_reduce_double(tm_barrier *barrier, tm_op op, double value,
                           double *result);

static inline tm_status tm_init(const int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return TM_OK;
}

static inline unsigned tm_node_count(void)
{
    return 1;
}

static inline tm_status tm_stats(unsigned node, struct tm_node_stats *stats)
{
    (void)node;
    memset(stats, 0, sizeof *stats);
    return TM_OK;
}

static inline void *tm_alloc(size_t size, const tm_alloc_attr *attr)
{
    const size_t rounded = (size + TM_PAGE_SIZE - 1) & -(size_t)TM_PAGE_SIZE;
    void *block = aligned_alloc(TM_PAGE_SIZE, rounded);

    (void)attr;
    return block == NULL ? NULL : memset(block, 0, rounded);
}

static inline int64_t tm_fetch_add(int64_t *word, int64_t addend)
{
    return __atomic_fetch_add(word, addend, __ATOMIC_SEQ_CST);
}

static inline int64_t tm_atomic_load(const int64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

#endif
