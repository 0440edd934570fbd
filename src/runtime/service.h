// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SERVICE_H
#define RUNTIME_SERVICE_H

#include "base/status.h"

struct node;

/** @param end_process  what it does when the run is over for this node: finish_now() */
tm_status service_start(struct node *node,
                        void (*end_process)(struct node *node));
void service_join(struct node *node);
/** What a worker does when it has nothing to run. */
int service_idle(void *owner, unsigned worker);

#endif
