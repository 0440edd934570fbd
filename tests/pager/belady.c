// SPDX-License-Identifier: BSD-3-Clause
/*
 * Belady's rule and LRU both let that page go whose key is greatest: the time of
 * its next use, or the age of its last. Keys change only when a page is used, so
 * a heap serves both: each use adds a pair (key, page), and pairs whose key is
 * no longer their page's are skipped when they come to the top.
 */
#include "belady.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX
#define ABSENT 0 // a key; those of resident pages are greater

struct pair {
    uint64_t key;
    uint32_t page;
};

struct memory {
    struct pair *heap; ///< [n_heap], the greatest first
    size_t n_heap;
    uint64_t *keys; ///< [n_pages]
    uint32_t n_resident;
};

static void *must(void *pointer)
{
    assert(pointer != NULL);
    return pointer;
}

static void heap_push(struct memory *memory, struct pair pair)
{
    size_t i = memory->n_heap++;

    while (i > 0 && memory->heap[(i - 1) / 2].key < pair.key) {
        memory->heap[i] = memory->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    memory->heap[i] = pair;
}

static struct pair heap_pop(struct memory *memory)
{
    struct pair top = memory->heap[0];
    struct pair last = memory->heap[--memory->n_heap];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < memory->n_heap &&
            memory->heap[child + 1].key > memory->heap[child].key) {
            child++;
        }
        if (child >= memory->n_heap || memory->heap[child].key <= last.key) {
            break;
        }
        memory->heap[i] = memory->heap[child];
        i = child;
    }
    memory->heap[i] = last;
    return top;
}

static void evict_greatest(struct memory *memory)
{
    struct pair top;

    do {
        top = heap_pop(memory);
    } while (memory->keys[top.page] != top.key);
    memory->keys[top.page] = ABSENT;
    memory->n_resident--;
}

/** @param keys_of_uses  [trace->n]: what a page's key is after that event */
static size_t page_ins(const struct trace *trace, uint32_t budget, size_t first,
                       const uint64_t *keys_of_uses)
{
    struct memory memory = {
        .heap = must(malloc((trace->n + 1) * sizeof *memory.heap)),
        .keys = must(calloc(trace->n_pages + 1, sizeof *memory.keys)),
    };
    size_t n = 0;

    for (size_t i = 0; i < trace->n; i++) {
        uint32_t page = trace->events[i].page;

        if (page == TRACE_TURN) {
            continue;
        }
        if (memory.keys[page] == ABSENT) {
            if (memory.n_resident == budget) {
                evict_greatest(&memory);
            }
            memory.n_resident++;
            n += i >= first;
        }
        memory.keys[page] = keys_of_uses[i];
        heap_push(&memory, (struct pair){keys_of_uses[i], page});
    }
    free(memory.heap);
    free(memory.keys);
    return n;
}

/** @return [trace->n]: the event at which an event's page is used next, + 1 */
static uint64_t *next_uses(const struct trace *trace)
{
    uint64_t *next = must(malloc((trace->n + 1) * sizeof *next));
    uint64_t *of_page = must(malloc((trace->n_pages + 1) * sizeof *of_page));

    memset(of_page, 0xff, trace->n_pages * sizeof *of_page);
    for (size_t i = trace->n; i-- > 0;) {
        uint32_t page = trace->events[i].page;

        if (page != TRACE_TURN) {
            // Never again: different keys, so that the first of them goes.
            next[i] = of_page[page] == NEVER ? NEVER - i : of_page[page];
            of_page[page] = i + 1;
        }
    }
    free(of_page);
    return next;
}

size_t belady_page_ins(const struct trace *trace, uint32_t budget, size_t first)
{
    uint64_t *next = next_uses(trace);
    size_t n = page_ins(trace, budget, first, next);

    free(next);
    return n;
}

size_t lru_page_ins(const struct trace *trace, uint32_t budget, size_t first)
{
    uint64_t *ages = must(malloc((trace->n + 1) * sizeof *ages));
    size_t n;

    for (size_t i = 0; i < trace->n; i++) {
        ages[i] = NEVER - i;
    }
    n = page_ins(trace, budget, first, ages);
    free(ages);
    return n;
}

size_t random_page_ins(const struct trace *trace, uint32_t budget, size_t first,
                       uint64_t seed)
{
    uint32_t *resident = must(malloc((budget + 1) * sizeof *resident));
    char *is_resident = must(calloc(trace->n_pages + 1, 1));
    uint32_t n_resident = 0;
    size_t n = 0;

    seed = seed * 2 + 1;
    for (size_t i = 0; i < trace->n; i++) {
        uint32_t page = trace->events[i].page;

        if (page == TRACE_TURN || is_resident[page]) {
            continue;
        }
        if (n_resident == budget) {
            uint32_t *victim;

            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            victim = &resident[(seed >> 11) % budget];
            is_resident[*victim] = 0;
            *victim = resident[--n_resident];
        }
        resident[n_resident++] = page;
        is_resident[page] = 1;
        n += i >= first;
    }
    free(resident);
    free(is_resident);
    return n;
}

static size_t event_of_next_use(const struct trace *trace, size_t after,
                                uint32_t page)
{
    while (++after < trace->n && trace->events[after].page != page) {
    }
    return after;
}

size_t belady_page_ins_slowly(const struct trace *trace, uint32_t budget,
                              size_t first)
{
    char *is_resident = must(calloc(trace->n_pages + 1, 1));
    uint32_t n_resident = 0;
    size_t n = 0;

    for (size_t i = 0; i < trace->n; i++) {
        uint32_t page = trace->events[i].page;
        uint32_t victim = TRACE_TURN;
        size_t farthest = 0;

        if (page == TRACE_TURN || is_resident[page]) {
            continue;
        }
        for (uint32_t p = 0; n_resident == budget && p < trace->n_pages; p++) {
            size_t next = is_resident[p] ? event_of_next_use(trace, i, p) : 0;

            if (next > farthest) {
                farthest = next;
                victim = p;
            }
        }
        if (victim != TRACE_TURN) {
            is_resident[victim] = 0;
            n_resident--;
        }
        is_resident[page] = 1;
        n_resident++;
        n += i >= first;
    }
    free(is_resident);
    return n;
}
