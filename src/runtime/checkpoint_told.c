// SPDX-License-Identifier: BSD-3-Clause
// What the root is told of a node's file of a checkpoint.
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <stdio.h>

static const char *place_of(const struct node *node)
{
    return node->options.buddy ? "memory" : node->options.checkpoint.folder;
}

void told_saved(struct node *node, const struct checkpoint_sum *sum,
                const char *why)
{
    char text[CHECKPOINT_PATH_MAX + 160];
    const struct message message = {
        .type = MESSAGE_cut_saved,
        .u.cut_saved =
            {
                .cut = node->checkpoint.cut,
                .is_whole = why == NULL,
                .n_bytes = sum->n_bytes,
                .hash = sum->hash,
                .n_head = sum->n_head,
            },
        .body = why == NULL ? NULL : text,
        .body_size = why == NULL
                         ? 0
                         : (uint32_t)snprintf(text, sizeof text, "%s: %s",
                                              place_of(node), why),
    };

    port_send(&node->port, 0, &message);
}
