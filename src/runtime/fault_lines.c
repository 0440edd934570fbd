// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/fault_lines.h"

#include <stdlib.h>

#include "base/ensure.h"

#define FILLED_MOST (FAULT_LINES_MAX * 3 / 4)

struct fault_lines {
    struct fault_line others; ///< that have no place
    unsigned n;
    struct fault_line lines[FAULT_LINES_MAX]; ///< by hash; pc 0: free
};

_Static_assert((FAULT_LINES_MAX & (FAULT_LINES_MAX - 1)) == 0, "a power of 2");

struct fault_lines *fault_lines_new(void)
{
    return calloc(1, sizeof(struct fault_lines));
}

void fault_lines_free(struct fault_lines *lines)
{
    free(lines);
}

static struct fault_line *find_line(struct fault_lines *lines, uint64_t pc)
{
    uint64_t at = pc * 0x9e3779b97f4a7c15u >> 32;

    if (pc == 0) {
        return &lines->others;
    }
    for (;; at++) {
        struct fault_line *line = &lines->lines[at & (FAULT_LINES_MAX - 1)];

        if (line->pc == pc) {
            return line;
        }
        if (line->pc == 0) {
            if (lines->n == FILLED_MOST) {
                return &lines->others;
            }
            lines->n++;
            line->pc = pc;
            return line;
        }
    }
}

struct fault_line *fault_lines_note(struct fault_lines *lines, uint64_t pc,
                                    int is_write)
{
    struct fault_line *line = find_line(lines, pc);

    line->writes += is_write != 0;
    line->reads += is_write == 0;
    return line;
}

static void add_counts(struct fault_line *to, const struct fault_line *from)
{
    to->reads += from->reads;
    to->writes += from->writes;
    fault_line_waited(
        to, atomic_load_explicit(&from->wait_ns, memory_order_relaxed));
}

void fault_lines_add(struct fault_lines *lines, const struct fault_line *line)
{
    add_counts(find_line(lines, line->pc), line);
}

static int compare_lines(const void *left, const void *right)
{
    const struct fault_line *a = left;
    const struct fault_line *b = right;
    const uint64_t x = atomic_load_explicit(&a->wait_ns, memory_order_relaxed);
    const uint64_t y = atomic_load_explicit(&b->wait_ns, memory_order_relaxed);

    if (x != y) {
        return x < y ? 1 : -1;
    }
    if (a->reads + a->writes != b->reads + b->writes) {
        return a->reads + a->writes < b->reads + b->writes ? 1 : -1;
    }
    return a->pc < b->pc ? -1 : a->pc > b->pc;
}

unsigned fault_lines_sorted(const struct fault_lines *lines,
                            struct fault_line *sorted, unsigned n)
{
    struct fault_line *all = calloc(lines->n + 1u, sizeof *all);
    struct fault_line rest = {0};
    unsigned n_all = 0;
    unsigned n_kept;

    ensure_memory(all != NULL);
    for (unsigned i = 0; i < FAULT_LINES_MAX; i++) {
        if (lines->lines[i].pc != 0) {
            all[n_all++] = lines->lines[i];
        }
    }
    qsort(all, n_all, sizeof *all, compare_lines);
    add_counts(&rest, &lines->others);
    n_kept = n_all < n ? n_all : n - 1;
    for (unsigned i = 0; i < n_all; i++) {
        if (i < n_kept) {
            sorted[i] = all[i];
        } else {
            add_counts(&rest, &all[i]);
        }
    }
    free(all);
    if (n_kept < n && rest.reads + rest.writes > 0) {
        sorted[n_kept++] = rest;
    }
    return n_kept;
}
