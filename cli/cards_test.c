// SPDX-License-Identifier: BSD-3-Clause
#include "job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// What the launcher has compared stays with it.
static void a_card_goes_to_nodes_without_its_texts(void **state)
{
    struct node *node = calloc(1, sizeof *node);
    struct node_card *sent = calloc(1, sizeof *sent);
    uint8_t bytes[400];
    size_t size;
    size_t used;

    (void)state;
    assert_non_null(node);
    assert_non_null(sent);
    node_card_set_version(&node->card);
    memset(node->card.build_id, 'b', 40);
    memset(node->card.options, 'o', 100);
    memset(node->card.layout, 'l', 10000);
    node->card.canary = 17;
    node->card.pid = 4711;
    node->card.address_size = 74;
    memset(node->card.address, 'a', 74);
    size = cards_encode(node, bytes, sizeof bytes);
    assert_in_range(size, 74, 240);
    assert_int_equal(node_card_decode(bytes, size, sent, &used), TM_OK);
    assert_int_equal(used, size);
    assert_string_equal(sent->version, "");
    assert_string_equal(sent->build_id, "");
    assert_string_equal(sent->options, "");
    assert_string_equal(sent->layout, "");
    assert_int_equal(sent->canary, 17);
    assert_int_equal(sent->pid, 4711);
    assert_int_equal(sent->address_size, 74);
    assert_memory_equal(sent->address, node->card.address, 74);
    assert_int_equal(strlen(node->card.version),
                     strspn(node->card.version, "0123456789. wire"));
    assert_int_equal(strlen(node->card.build_id), 40);
    assert_int_equal(strlen(node->card.options), 100);
    assert_int_equal(strlen(node->card.layout), 10000);
    free(sent);
    free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_goes_to_nodes_without_its_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
