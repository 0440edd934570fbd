// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_RACES_H
#define PROTOCOL_RACES_H

#include "pages/engine.h"

/** Bytes that threads of two nodes have written, and nothing orders the writes. */
struct race_found {
    page_no page;
    uint16_t offset; ///< of the first one in the page
    uint16_t length; ///< to the last one; not each between need be
    node_id nodes[2];
    uint64_t threads[2]; ///< of each node, which wrote the page first
};

/** On the root, under the node lock. */
typedef void race_found_fn(void *owner, const struct race_found *found);

/** Look for data races on pages of eager-release from now on. On all nodes, before
 * engine_add_globals(). @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status engine_look_for_races(struct engine *engine,
                                           race_found_fn *found, void *owner);

#endif
