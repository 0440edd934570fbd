// SPDX-License-Identifier: BSD-3-Clause
//
// With --explain each node says at its end what `adaptive` has chosen for pages that it
// owned, block by block.
#include <stdio.h>

#include "protocol/protocol_calls.h"
#include "runtime/node.h"

static void say(void *owner, const char *text)
{
    const struct node *node = owner;

    fprintf(stderr, "teamster: node %u, %s\n", node->self, text);
}

static void close_choices(struct node *node)
{
    if (node->options.explain) {
        engine_explain_choices(node->engine, say, node);
    }
}

const struct part part_choices = {
    .save = parts_save_nothing,
    .close = close_choices,
};
