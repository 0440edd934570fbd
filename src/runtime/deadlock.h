// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_DEADLOCK_H
#define RUNTIME_DEADLOCK_H

#include "net/message.h"

void deadlock_tick(void);
/** Nodes have come or gone: what was found out until now counts for nothing. */
void deadlock_restart(void);
void deadlock_receive(node_id from, const struct message *message);

#endif
