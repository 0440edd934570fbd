// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PROGRESS_TOLD_H
#define RUNTIME_PROGRESS_TOLD_H

#include "cluster/bootstrap.h"
#include "net/message.h"

struct node;

/** How far the launcher believes this node to be. */
struct told {
    uint64_t at_ns;
    struct wire_boot_progress progress;
};

/** Tell it how far this node is, if it is time. Under the node lock.
 * @param is_urgent  it is time */
void progress_tell(struct node *node, int is_urgent);

#endif
