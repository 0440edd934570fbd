// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGE_TRACE_H
#define PAGE_TRACE_H

#include "harness/sim_harness.h"

/** Say on stderr what a message does with a page, if it names it: the time, who
 * sends to whom, and the fields that matter to the protocol. */
void page_trace(const struct sim *sim, page_no page, node_id from, node_id to,
                const struct message *message);

#endif
