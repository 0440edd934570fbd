// SPDX-License-Identifier: BSD-3-Clause
#include "model/explain.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/correct.h"

#define MIB_PER_PAGE (TM_PAGE_SIZE / 1048576.0)

// ---- one prediction ----

static int name_width(const struct cluster_view *view)
{
    int width = 4;

    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const int length = (int)strlen(view->nodes[x].name);

        width = length > width ? length : width;
    }
    return width;
}

/** A column: its head, and how what it shows of a node is written. */
static const struct column {
    const char *head;
    int width;
    int decimals;
} columns[] = {
    {"threads", 8, 0},     {"comp ms", 10, 3},    {"mem ms", 10, 3},
    {"comm ms", 10, 3},    {"sum ms", 10, 3},     {"max+mem ms", 11, 3},
    {"demand MiB", 11, 1}, {"memory MiB", 11, 1}, {"lack MiB", 9, 1},
    {"in", 8, 0},          {"out", 8, 0},         {"fetched", 8, 0},
    {"packets", 9, 0},
};

#define N_COLUMNS (sizeof columns / sizeof columns[0])

/** What the columns show of a node. */
struct cells {
    double values[N_COLUMNS];
};

static struct cells cells_of(const struct node_view *node,
                             const struct node_prediction *terms)
{
    return (struct cells){{
        terms->n_threads,
        terms->comp_s * 1e3,
        terms->mem_s * 1e3,
        terms->comm_s * 1e3,
        terms->sum_s * 1e3,
        terms->overlapped_s * 1e3,
        (double)terms->demand_pages * MIB_PER_PAGE,
        (double)node->memory_pages * MIB_PER_PAGE,
        terms->lack_pages * MIB_PER_PAGE,
        terms->pages_in,
        terms->pages_out,
        terms->pages_fetched,
        terms->packets,
    }};
}

/** Columns that are not 0 everywhere. @param[out] shown  [N_COLUMNS] */
static void find_shown(const struct cluster_view *view,
                       const struct prediction *prediction, int *shown)
{
    memset(shown, 0, N_COLUMNS * sizeof *shown);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        const struct cells cells =
            cells_of(&view->nodes[x], &prediction->nodes[x]);

        for (size_t c = 0; c < N_COLUMNS; c++) {
            shown[c] |= cells.values[c] != 0;
        }
    }
}

static void add_row(struct text *text, const struct node_view *node,
                    const struct node_prediction *terms, const int *shown)
{
    const struct cells cells = cells_of(node, terms);

    for (size_t c = 0; c < N_COLUMNS; c++) {
        if (shown[c]) {
            text_add(text, "%*.*f", columns[c].width, columns[c].decimals,
                     cells.values[c]);
        }
    }
}

static void add_heads(struct text *text, const int *shown, int width,
                      int is_measured)
{
    text_add(text, "%-*s", width, "node");
    for (size_t c = 0; c < N_COLUMNS; c++) {
        if (shown[c]) {
            text_add(text, "%*s", columns[c].width, columns[c].head);
        }
    }
    if (is_measured) {
        text_add(text, "  |%13s%10s%10s", "measured ms", "comp ms", "other ms");
    }
    text_add(text, "\n");
}

static void add_measured(struct text *text, const struct node_measurement *node)
{
    text_add(text, "  |%13.3f%10.3f%10.3f", node->time_s * 1e3,
             node->comp_s * 1e3, (node->time_s - node->comp_s) * 1e3);
}

size_t explain_prediction(const struct cluster_view *view,
                          const struct prediction *prediction,
                          const struct measurement *measured, char *text,
                          size_t size)
{
    struct text out = {text, size, 0};
    const int width = name_width(view);
    int shown[N_COLUMNS];

    find_shown(view, prediction, shown);
    add_heads(&out, shown, width, measured != NULL);
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        text_add(&out, "%-*s", width, view->nodes[x].name);
        add_row(&out, &view->nodes[x], &prediction->nodes[x], shown);
        if (measured != NULL) {
            add_measured(&out, &measured->nodes[x]);
        }
        text_add(&out, "\n");
    }
    text_add(&out, "iteration: %.3f ms predicted, %s is the slowest",
             prediction->iteration_s * 1e3,
             view->nodes[prediction->slowest].name);
    if (measured != NULL && measured->iteration_s > 0) {
        text_add(&out, "; %.3f ms measured, %+.1f %%",
                 measured->iteration_s * 1e3,
                 prediction_error(prediction, measured) * 100);
    }
    text_add(&out, "\n");
    return out.length;
}

// ---- a change ----

static void add_terms(struct text *text, const struct node_prediction *terms)
{
    text_add(text, "%8u%10.3f%10.3f%10.3f%10.3f", terms->n_threads,
             terms->comp_s * 1e3, terms->mem_s * 1e3, terms->comm_s * 1e3,
             terms->time_s * 1e3);
}

size_t explain_change(const struct cluster_view *view,
                      const struct prediction *before,
                      const struct prediction *after, char *text, size_t size)
{
    struct text out = {text, size, 0};
    const int width = name_width(view);

    text_add(&out, "%-*s%48s  |%48s\n", width, "", "before", "after");
    text_add(&out, "%-*s", width, "node");
    for (int side = 0; side < 2; side++) {
        text_add(&out, "%8s%10s%10s%10s%10s%s", "threads", "comp ms", "mem ms",
                 "comm ms", "time ms", side == 0 ? "  |" : "\n");
    }
    for (uint32_t x = 0; x < view->n_nodes; x++) {
        text_add(&out, "%-*s", width, view->nodes[x].name);
        add_terms(&out, &before->nodes[x]);
        text_add(&out, "  |");
        add_terms(&out, &after->nodes[x]);
        text_add(&out, "\n");
    }
    text_add(&out, "iteration: %.3f ms -> %.3f ms predicted\n",
             before->iteration_s * 1e3, after->iteration_s * 1e3);
    return out.length;
}

// ---- moves ----

struct move {
    uint32_t from;
    uint32_t to;
    uint64_t thread;
};

static int compare_moves(const void *left, const void *right)
{
    const struct move *a = left;
    const struct move *b = right;

    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    if (a->to != b->to) {
        return a->to < b->to ? -1 : 1;
    }
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static int same_way(const struct move *a, const struct move *b)
{
    return a->from == b->from && a->to == b->to;
}

/** The moves between two nodes; threads in a row are written as a range.
 * @return the first move that is not one of them */
static size_t add_way(struct text *text, const struct cluster_view *view,
                      const struct move *moves, size_t n, size_t first)
{
    size_t k = first;

    text_add(text, "%s -> %s: threads", view->nodes[moves[first].from].name,
             view->nodes[moves[first].to].name);
    while (k < n && same_way(&moves[k], &moves[first])) {
        size_t end = k + 1;

        while (end < n && same_way(&moves[end], &moves[k]) &&
               moves[end].thread == moves[end - 1].thread + 1) {
            end++;
        }
        text_add(text, end - k > 1 ? " %llu-%llu" : " %llu",
                 (unsigned long long)moves[k].thread,
                 (unsigned long long)moves[end - 1].thread);
        k = end;
    }
    text_add(text, "\n");
    return k;
}

size_t explain_moves(const struct cluster_view *view, const uint64_t *numbers,
                     const uint32_t *from, const uint32_t *to, char *text,
                     size_t size)
{
    struct text out = {text, size, 0};
    struct move *moves;
    size_t n = 0;

    text_add(&out, "%s", "");
    moves = memory_new(view->n_threads, sizeof *moves);
    for (uint32_t i = 0; i < view->n_threads; i++) {
        if (from[i] != to[i]) {
            moves[n++] =
                (struct move){from[i], to[i], numbers != NULL ? numbers[i] : i};
        }
    }
    qsort(moves, n, sizeof *moves, compare_moves);
    for (size_t k = 0; k < n;) {
        k = add_way(&out, view, moves, n, k);
    }
    free(moves);
    return out.length;
}
