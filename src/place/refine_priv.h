// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLACE_REFINE_PRIV_H
#define PLACE_REFINE_PRIV_H

#include "place/refine.h"

#define NOBODY UINT32_MAX
#define EPSILON 1e-9 ///< relative: less is rounding

/** A move (partner NOBODY: to `node`) or a swap with a thread on `node`. */
struct change {
    uint32_t thread;
    uint32_t partner;
    uint32_t node;
    double score; ///< the lower the better
};

void change_apply(struct tally *tally, const struct change *change);

/** @param from  where the thread was */
void change_take_back(struct tally *tally, const struct change *change,
                      uint32_t from);

#endif
