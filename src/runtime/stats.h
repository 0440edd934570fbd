// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_STATS_H
#define RUNTIME_STATS_H

#include "net/message.h"

struct node;

void stats_collect(struct node *node, struct tm_node_stats *stats);

#endif
