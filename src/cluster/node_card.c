// SPDX-License-Identifier: BSD-3-Clause
// What a node says of itself before it may take part: encoding for the control
// socket, and the comparison that refuses nodes that cannot work together.
#include "cluster/bootstrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/message.h"

void node_card_set_version(struct node_card *card)
{
    snprintf(card->version, sizeof card->version, "%d.%d.%d wire %u",
             TM_VERSION_MAJOR, TM_VERSION_MINOR, TM_VERSION_PATCH,
             WIRE_VERSION);
}

size_t node_card_encode(const struct node_card *card, void *bytes, size_t room)
{
    uint8_t *start = bytes;
    struct wire_writer writer = {.at = start, .end = start + room};

    wire_put_string(&writer, card->version);
    wire_put_string(&writer, card->build_id);
    wire_put_u64(&writer, card->layout_hash);
    wire_put_u64(&writer, card->canary);
    wire_put_u32(&writer, card->page_size);
    wire_put_u32(&writer, card->pid);
    wire_put_string(&writer, card->options);
    node_capacity_put(&writer, &card->capacity);
    wire_put_u32(&writer, card->address_size);
    wire_put_bytes(&writer, card->address, card->address_size);
    wire_put_string(&writer, card->layout);
    return writer.failed ? 0 : (size_t)(writer.at - start);
}

static void take_address(struct wire_reader *reader, struct node_card *card)
{
    const void *address;

    card->address_size = wire_get_u32(reader);
    if (card->address_size > sizeof card->address) {
        reader->failed = 1;
        return;
    }
    address = wire_get_bytes(reader, card->address_size);
    if (address != NULL && card->address_size > 0) {
        memcpy(card->address, address, card->address_size);
    }
}

tm_status node_card_decode(const void *bytes, size_t size,
                           struct node_card *card, size_t *used)
{
    const uint8_t *start = bytes;
    struct wire_reader reader = {.at = start, .end = start + size};

    // No memset(): most of it is never touched.
    wire_get_text(&reader, card->version, sizeof card->version);
    wire_get_text(&reader, card->build_id, sizeof card->build_id);
    card->layout_hash = wire_get_u64(&reader);
    card->canary = wire_get_u64(&reader);
    card->page_size = wire_get_u32(&reader);
    card->pid = wire_get_u32(&reader);
    wire_get_text(&reader, card->options, sizeof card->options);
    node_capacity_get(&reader, &card->capacity);
    take_address(&reader, card);
    wire_get_text(&reader, card->layout, sizeof card->layout);
    if (reader.failed) {
        return TM_EWIRE;
    }
    *used = (size_t)(reader.at - start);
    return TM_OK;
}

static int line_length(const char *line)
{
    return (int)strcspn(line, "\n");
}

/** The first line that differs; both ends stay at "" if there is none. */
static void first_difference(const char **a, const char **b)
{
    while (**a != '\0' && **b != '\0') {
        int length_a = line_length(*a);
        int length_b = line_length(*b);

        if (length_a != length_b || strncmp(*a, *b, (size_t)length_a) != 0) {
            return;
        }
        *a += length_a + ((*a)[length_a] == '\n');
        *b += length_b + ((*b)[length_b] == '\n');
    }
}

static void describe_layout(const struct node_card *a,
                            const struct node_card *b, node_id node_a,
                            node_id node_b, char *text, size_t size)
{
    const char *line_a = a->layout;
    const char *line_b = b->layout;

    first_difference(&line_a, &line_b);
    if (*line_a == '\0' && *line_b == '\0') {
        snprintf(text, size,
                 "the address layout differs: node %u has %016" PRIx64
                 ", node %u has %016" PRIx64
                 "; all nodes need the same libraries",
                 node_a, a->layout_hash, node_b, b->layout_hash);
        return;
    }
    snprintf(text, size,
             "the address layout differs: node %u has \"%.*s\" where node %u "
             "has \"%.*s\"; all nodes need the same libraries",
             node_a, line_length(line_a), line_a, node_b, line_length(line_b),
             line_b);
}

tm_status node_card_compare(const struct node_card *a,
                            const struct node_card *b, node_id node_a,
                            node_id node_b, char *text, size_t size)
{
    const struct {
        const char *what, *a, *b, *hint;
    } rows[] = {
        {"the version of Teamster", a->version, b->version,
         "link all nodes' programs with the same one"},
        {"the program's build-id", a->build_id, b->build_id,
         "all nodes must run the same program file"},
        {"the set of options", a->options, b->options,
         "give all nodes the same TEAMSTER_* variables"},
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].a, rows[i].b) != 0) {
            snprintf(text, size,
                     "%s differs: node %u has \"%s\", node %u has "
                     "\"%s\"; %s",
                     rows[i].what, node_a, rows[i].a, node_b, rows[i].b,
                     rows[i].hint);
            return TM_EMISMATCH;
        }
    }
    if (a->page_size != b->page_size) {
        snprintf(text, size,
                 "the page size differs: node %u has %u, node %u "
                 "has %u bytes; they cannot share memory",
                 node_a, a->page_size, node_b, b->page_size);
        return TM_EMISMATCH;
    }
    if (a->layout_hash != b->layout_hash) {
        describe_layout(a, b, node_a, node_b, text, size);
        return TM_EMISMATCH;
    }
    return TM_OK;
}
