// SPDX-License-Identifier: BSD-3-Clause
//
// Cards, and the key of the job, as nodes get them.
#include "job.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/message.h"

// The launcher has compared these, and nodes have no use for them. There are as many cards on their way as
// pairs of nodes.
size_t cards_encode(struct node *node, uint8_t *at, size_t room)
{
    struct node_card *card = &node->card;
    char *const texts[] = {card->version, card->build_id, card->options,
                           card->layout};
    char first[sizeof texts / sizeof *texts];
    size_t size;

    for (unsigned i = 0; i < sizeof first; i++) {
        first[i] = texts[i][0];
        texts[i][0] = '\0';
    }
    size = node_card_encode(card, at, room);
    for (unsigned i = 0; i < sizeof first; i++) {
        texts[i][0] = first[i];
    }
    return size;
}

void cards_put_key(const struct job *job, struct wire_writer *writer)
{
    static const uint8_t no_key[BOOT_KEY_SIZE];

    wire_put_bytes(writer, job->key != NULL ? job->key : no_key, BOOT_KEY_SIZE);
}

/** Cards as all nodes get them. */
static size_t encode_cards(struct job *job, unsigned n_nodes, uint8_t *body,
                           size_t room)
{
    struct wire_writer writer = {.at = body, .end = body + room};

    cards_put_key(job, &writer);
    wire_put_u16(&writer, (uint16_t)n_nodes);
    for (unsigned i = 0; i < n_nodes; i++) {
        struct node *node = &job->nodes[i];

        // Of guests only the one that these are for, the last.
        if (!node->is_alive || node->has_left || node->is_leaving ||
            (node->is_guest && i + 1 < n_nodes)) {
            wire_put_u16(&writer, BOOT_NO_HOST);
            continue;
        }
        wire_put_u16(&writer, node->group);
        writer.at +=
            cards_encode(node, writer.at, (size_t)(writer.end - writer.at));
    }
    return (size_t)(writer.at - body);
}

static uint8_t *new_cards(struct job *job, unsigned n_nodes, size_t *size)
{
    size_t room = BOOT_KEY_SIZE + 2 + n_nodes * (2 + NODE_CARD_MAX);
    uint8_t *body = malloc(room);

    if (body == NULL) {
        job_refuse(job, EXIT_MEMORY, "the launcher has no memory for cards");
    } else {
        *size = encode_cards(job, n_nodes, body, room);
    }
    return body;
}

int cards_send(struct job *job, unsigned first, unsigned n_nodes)
{
    size_t size = 0;
    uint8_t *body = new_cards(job, n_nodes, &size);

    if (body == NULL) {
        return -1;
    }
    for (unsigned i = first; i < n_nodes; i++) {
        link_send(&job->nodes[i].link, BOOT_CARDS, body, size);
    }
    explicit_bzero(body, size); // the key
    free(body);
    return 0;
}
