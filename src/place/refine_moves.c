// SPDX-License-Identifier: BSD-3-Clause
//
// Changes of a mapping, and which of them were not needed.
#include "place/refine_priv.h"

void change_apply(struct tally *tally, const struct change *change)
{
    const uint32_t from = tally->node_of[change->thread];

    tally_move(tally, change->thread, change->node);
    if (change->partner != NOBODY) {
        tally_move(tally, change->partner, from);
    }
}

void change_take_back(struct tally *tally, const struct change *change,
                      uint32_t from)
{
    tally_move(tally, change->thread, from);
    if (change->partner != NOBODY) {
        tally_move(tally, change->partner, change->node);
    }
}

// ---- fewer moves ----

/** Is the longest time at most limit_s with the changes made? */
static int stays_below(struct tally *tally, double limit_s)
{
    for (unsigned k = 0; k < tally->n_changed; k++) {
        if (tally_time(tally, tally->changed[k]) > limit_s) {
            return 0;
        }
    }
    return 1;
}

/** Would a node that gets a thread end too late? A guess, so that few changes have to
 * be tried. */
static int is_hopeless(const struct tally *tally, const struct change *change,
                       double limit_s)
{
    const uint32_t partner = change->partner;

    return tally_time_about(tally, change->node, change->thread, partner) >
               limit_s ||
           (partner != NOBODY &&
            tally_time_about(tally, tally->node_of[change->thread], partner,
                             change->thread) > limit_s);
}

static int try_back(struct tally *tally, const struct change *change,
                    double limit_s)
{
    const uint32_t from = tally->node_of[change->thread];
    const double from_s = tally->loads[from].comp_s;
    const double to_s = tally->loads[change->node].comp_s;

    if (is_hopeless(tally, change, limit_s)) {
        return 0;
    }
    change_apply(tally, change);
    if (stays_below(tally, limit_s)) {
        tally_settle(tally);
        return 1;
    }
    change_take_back(tally, change, from);
    tally->loads[from].comp_s = from_s;
    tally->loads[change->node].comp_s = to_s;
    tally_forget(tally);
    return 0;
}

/** A thread that has come to where `thread` was, from where it is now. */
static uint32_t counterpart(const struct tally *tally, const uint32_t *current,
                            uint32_t thread)
{
    for (uint32_t j = tally->head[current[thread]]; j != UNPLACED;
         j = tally->next[j]) {
        if (current[j] == tally->node_of[thread]) {
            return j;
        }
    }
    return NOBODY;
}

void refine_fewer_moves(struct tally *tally, const uint32_t *current,
                        uint64_t *n_trials)
{
    const double limit_s = tally_longest(tally, NULL) * (1 + EPSILON);

    for (uint32_t i = 0; i < tally->view->n_threads; i++) {
        struct change change = {i, NOBODY, current[i], 0};

        if (tally->node_of[i] == current[i] || *n_trials == 0) {
            continue;
        }
        --*n_trials;
        if (!try_back(tally, &change, limit_s)) {
            change.partner = counterpart(tally, current, i);
            if (change.partner != NOBODY) {
                try_back(tally, &change, limit_s);
            }
        }
    }
}
