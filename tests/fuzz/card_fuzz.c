// SPDX-License-Identifier: BSD-3-Clause
// cluster/node_card.c: a card that is decoded is encoded to one that is the same,
// and can be compared with others, whatever it says.
#include <stdlib.h>
#include <string.h>

#include "cluster/bootstrap.h"
#include "fuzz.h"
#include "net/address.h"

static void encode_again(const struct node_card *card)
{
    static uint8_t bytes[NODE_CARD_MAX];
    static struct node_card again;
    size_t size = node_card_encode(card, bytes, sizeof bytes);
    size_t used = 0;
    char text[256];

    FUZZ_CHECK(size > 0);
    FUZZ_CHECK(node_card_decode(bytes, size, &again, &used) == TM_OK);
    FUZZ_CHECK(used == size);
    FUZZ_CHECK(node_card_compare(card, &again, 0, 1, text, sizeof text) ==
               TM_OK);
    FUZZ_CHECK(again.address_size == card->address_size);
    FUZZ_CHECK(strcmp(again.layout, card->layout) == 0);
}

static void use(const struct node_card *card)
{
    static struct node_card other;
    struct address_parts parts;
    struct node_capacity capacity[2] = {card->capacity, {.mflops = 100}};
    double powers[2];
    uint32_t crowds[2];
    char text[256];

    strcpy(other.layout, "7f00 text\n7f01 data\n");
    if (node_card_compare(card, &other, 0, 1, text, sizeof text) != TM_OK) {
        FUZZ_CHECK(strlen(text) < sizeof text);
    }
    strcpy(other.version, card->version);
    strcpy(other.build_id, card->build_id);
    strcpy(other.options, card->options);
    other.page_size = card->page_size;
    other.layout_hash = ~card->layout_hash;
    FUZZ_CHECK(node_card_compare(card, &other, 0, 1, text, sizeof text) ==
               TM_EMISMATCH);
    if (address_split(card->address, card->address_size, &parts) == TM_OK) {
        address_unwrap(parts.bytes[0], parts.size[0]);
    }
    capacity_powers(capacity, 2, powers);
    capacity_crowds(capacity, 2, crowds);
    capacity_memory(capacity, 2, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct node_card card;
    size_t used = 0;

    if (node_card_decode(data, size, &card, &used) == TM_OK) {
        FUZZ_CHECK(used <= size);
        encode_again(&card);
        use(&card);
    }
    return 0;
}
