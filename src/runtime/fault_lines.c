// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/fault_lines.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/map.h"

struct fault_lines {
    struct fault_line others; ///< that have no place
    struct map place;         ///< of an instruction, in `lines`
    unsigned n;
    struct fault_line lines[FAULT_LINES_MAX]; ///< [n]
};

struct fault_lines *fault_lines_new(void)
{
    return calloc(1, sizeof(struct fault_lines));
}

void fault_lines_free(struct fault_lines *lines)
{
    if (lines != NULL) {
        map_release(&lines->place);
        free(lines);
    }
}

static struct fault_line *find_line(struct fault_lines *lines, uint64_t pc)
{
    const uint32_t place = map_find_index(&lines->place, pc);

    if (place != MAP_NONE) {
        return &lines->lines[place];
    }
    if (pc == 0 || lines->n == FAULT_LINES_MAX) {
        return &lines->others;
    }
    map_add_index(&lines->place, pc, lines->n);
    lines->lines[lines->n].pc = pc;
    return &lines->lines[lines->n++];
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
    fault_line_waited(to, fault_line_wait_ns(from));
}

void fault_lines_add(struct fault_lines *lines, const struct fault_line *line)
{
    add_counts(find_line(lines, line->pc), line);
}

static int compare_lines(const void *left, const void *right)
{
    const struct fault_line *a = left;
    const struct fault_line *b = right;
    const uint64_t x = fault_line_wait_ns(a);
    const uint64_t y = fault_line_wait_ns(b);

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
    unsigned n_kept;

    ensure_memory(all != NULL);
    for (unsigned i = 0; i < lines->n; i++) {
        all[i] = lines->lines[i];
    }
    qsort(all, lines->n, sizeof *all, compare_lines);
    add_counts(&rest, &lines->others);
    n_kept = lines->n < n ? lines->n : n - 1;
    for (unsigned i = 0; i < lines->n; i++) {
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
