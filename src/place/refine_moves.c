// SPDX-License-Identifier: BSD-3-Clause
//
// Changes of a mapping, and which of them were not needed.
#include "place/refine_priv.h"

void change_apply(struct load_table *table, const struct change *change)
{
    const uint32_t from = table->node_of[change->thread];

    load_table_move(table, change->thread, change->node);
    if (change->partner != NOBODY) {
        load_table_move(table, change->partner, from);
    }
}

void change_take_back(struct load_table *table, const struct change *change,
                      uint32_t from)
{
    load_table_move(table, change->thread, from);
    if (change->partner != NOBODY) {
        load_table_move(table, change->partner, change->node);
    }
}

// ---- fewer moves ----

/** Is the longest time at most limit_s with the changes made? */
static int stays_below(struct load_table *table, double limit_s)
{
    for (unsigned k = 0; k < table->n_changed; k++) {
        if (load_table_time(table, table->changed[k]) > limit_s) {
            return 0;
        }
    }
    return 1;
}

/** Would a node end too late by what a thread that comes computes? A guess, so that few
 * moves have to be tried: pages come too, but perhaps fewer updates. */
static int is_hopeless(const struct load_table *table, uint32_t thread,
                       uint32_t node, double limit_s)
{
    const double comp_s = table->view->threads[thread].computation_s *
                          table->rates[node].comp /
                          table->view->nodes[node].n_processors;

    return table->times[node] + comp_s > limit_s;
}

static int try_back(struct load_table *table, const struct change *change,
                    double limit_s)
{
    const uint32_t from = table->node_of[change->thread];
    const double from_s = table->loads[from].comp_s;
    const double to_s = table->loads[change->node].comp_s;

    change_apply(table, change);
    if (stays_below(table, limit_s)) {
        load_table_settle(table);
        return 1;
    }
    change_take_back(table, change, from);
    table->loads[from].comp_s = from_s;
    table->loads[change->node].comp_s = to_s;
    load_table_forget(table);
    return 0;
}

/** A thread that has come to where `thread` was, from where it is now. */
static uint32_t counterpart(const struct load_table *table,
                            const uint32_t *current, uint32_t thread)
{
    for (uint32_t j = table->head[current[thread]]; j != UNPLACED;
         j = table->next[j]) {
        if (current[j] == table->node_of[thread]) {
            return j;
        }
    }
    return NOBODY;
}

void refine_fewer_moves(struct load_table *table, const uint32_t *current,
                        uint64_t *n_trials)
{
    const double limit_s = load_table_longest(table, NULL) * (1 + EPSILON);

    for (uint32_t i = 0; i < table->view->n_threads; i++) {
        struct change change = {i, NOBODY, current[i], 0};

        if (table->node_of[i] == current[i] || *n_trials == 0) {
            continue;
        }
        --*n_trials;
        if (is_hopeless(table, i, current[i], limit_s) ||
            !try_back(table, &change, limit_s)) {
            change.partner = counterpart(table, current, i);
            if (change.partner != NOBODY) {
                try_back(table, &change, limit_s);
            }
        }
    }
}
