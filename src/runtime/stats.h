// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_STATS_H
#define RUNTIME_STATS_H

#include "net/message.h"

void stats_collect(struct tm_node_stats *stats);
void stats_receive(node_id from, const struct message *message);
void stats_print_table(void);

#endif
