// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

// The library itself has no TM_SHARED variables.
#define TM_NO_SHARED_SECTION
#include "teamster.h"

/** A node's number, < TM_MAX_NODES; 0 is the root. */
typedef uint16_t node_id;

/** A page's number in the shared space (mem/space.h). */
typedef uint64_t page_no;

#define NODE_NONE ((node_id)0xffff)

#endif
