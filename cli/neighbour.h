// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_NEIGHBOUR_H
#define CLI_NEIGHBOUR_H

#include "cluster/node_capacity.h"

/**
 * Measure what messages cost between two processes of this machine, over the
 * transport that nodes use and as nodes do it: a child is made for it, and has ended
 * on return. To be called before this process has loaded UCX.
 *
 * @param[out] costs  the fields of messages, set on TM_OK
 * @return TM_OK
 * @return TM_ESYSTEM  no child, or no transport (logged)
 * @return TM_EPEER    no answer within some seconds
 */
TM_CHECKED tm_status neighbour_measure(struct node_costs *costs);

#endif
