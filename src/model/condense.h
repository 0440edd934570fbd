// SPDX-License-Identifier: BSD-3-Clause
#ifndef MODEL_CONDENSE_H
#define MODEL_CONDENSE_H

#include "model/cluster_view.h"

/** A view without the uses that say nothing of where threads should run. */
struct condensed {
    struct cluster_view view;    ///< shares with the original what is not below
    struct thread_view *threads; ///< NULL: nothing was left out
    uint32_t *group_pages;
    struct use *uses;
};

/**
 * Leave out of a view the uses that only read a group which all threads use: each
 * node with a thread holds such a group, whichever thread it is. The group is
 * *common* in the result, which predict() and everything in place/ take for the
 * original. If less than half of the uses are of such groups, all stay.
 *
 * The order of first use is lost: a model that looks at it needs the original,
 * see cost_model_needs_order(). Groups are numbered anew.
 *
 * @param view  valid, and not changed or released before the result is released
 * @param[out] condensed  condensed_release() frees it, in any case
 *
 * Context: any thread; allocates. Goes over the uses twice; over those of a few
 * threads if there are no such groups.
 */
void condense(struct condensed *condensed, const struct cluster_view *view);

/** Free the result. Zeros are fine. */
void condensed_release(struct condensed *condensed);

#endif
