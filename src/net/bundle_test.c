// SPDX-License-Identifier: BSD-3-Clause
#include "net/bundle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "net/message_equal_test.h"

enum { TO = 3, OTHER = 4 };

static struct bundle bundle;
static uint8_t text[BUNDLE_MAX];

static struct message stats_ask(uint32_t token)
{
    return (struct message){.type = MESSAGE_stats_ask,
                            .u.stats_ask = {.token = token}};
}

// A message that is `size` bytes by itself.
static struct message page_of_size(uint32_t size)
{
    struct message message = {.type = MESSAGE_page, .u.page = {.page = 7}};

    message.body = text;
    message.body_size = size - message_size(&message);
    return message;
}

static void expect_next(struct wire_reader *reader,
                        const struct message *expected)
{
    struct message message;

    assert_true(wire_has_more(reader));
    assert_int_equal(bundle_next(reader, &message), TM_OK);
    assert_true(message_is_equal(&message, expected));
}

static void messages_come_out_in_the_order_in_which_they_went_in(void **state)
{
    const struct message sent[] = {stats_ask(1), page_of_size(500),
                                   stats_ask(2)};
    struct message all;
    struct wire_reader reader;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(bundle_takes(&bundle, TO, &sent[i]));
        bundle_add(&bundle, TO, &sent[i]);
    }
    bundle_take(&bundle, &all);
    assert_int_equal(all.type, MESSAGE_bundle);
    assert_int_equal(all.u.bundle.count, 3);
    assert_true(message_body_is_good(&all));
    reader = wire_read_body(&all);
    for (unsigned i = 0; i < 3; i++) {
        expect_next(&reader, &sent[i]);
    }
    assert_false(wire_has_more(&reader));
    assert_int_equal(bundle.n, 0);
}

static void one_that_nothing_follows_goes_as_it_is(void **state)
{
    const struct message sent = page_of_size(100);
    struct message message;

    (void)state;
    bundle_add(&bundle, TO, &sent);
    bundle_take(&bundle, &message);
    assert_true(message_is_equal(&message, &sent));
    assert_int_equal(bundle.n, 0);
}

static void a_bundle_is_for_one_node(void **state)
{
    const struct message sent = stats_ask(1);
    struct message taken;

    (void)state;
    assert_true(bundle_takes(&bundle, OTHER, &sent));
    bundle_add(&bundle, TO, &sent);
    assert_true(bundle_takes(&bundle, TO, &sent));
    assert_false(bundle_takes(&bundle, OTHER, &sent)); // B1
    bundle_take(&bundle, &taken);
}

static void what_is_too_long_is_not_taken(void **state)
{
    const uint32_t most = BUNDLE_MAX - WIRE_SIZE_bundled;
    const struct message fits = page_of_size(most);
    const struct message one_more = page_of_size(most + 1);
    const struct message small = stats_ask(1);
    struct message taken;

    (void)state;
    assert_false(bundle_takes(&bundle, TO, &one_more));
    assert_true(bundle_takes(&bundle, TO, &fits));
    bundle_add(&bundle, TO, &fits);
    assert_false(bundle_takes(&bundle, TO, &small));
    bundle_take(&bundle, &taken);
    assert_true(message_is_equal(&taken, &fits));
}

// Put bytes into a bundle's body as if they were a message.
static tm_status next_of(const void *bytes, uint16_t size)
{
    uint8_t body[256];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct wire_reader reader;
    struct message message;

    wire_put_bundled(&writer, &(struct wire_bundled){{bytes, size}});
    reader = wire_read(body, (size_t)(writer.at - body));
    return bundle_next(&reader, &message);
}

static void what_is_no_message_is_refused(void **state)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    const struct message empty = {.type = MESSAGE_bundle};
    const struct message good = stats_ask(5);
    uint16_t size = (uint16_t)message_encode_header(&good, header);

    (void)state;
    assert_int_equal(next_of(header, size), TM_OK);
    assert_int_equal(next_of(header, (uint16_t)(size - 1)), TM_EWIRE);
    assert_int_equal(next_of(NULL, 0), TM_EWIRE);
    size = (uint16_t)message_encode_header(&empty, header);
    assert_int_equal(next_of(header, size), TM_EWIRE); // B3
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_the_order_in_which_they_went_in),
        cmocka_unit_test(one_that_nothing_follows_goes_as_it_is),
        cmocka_unit_test(a_bundle_is_for_one_node),
        cmocka_unit_test(what_is_too_long_is_not_taken),
        cmocka_unit_test(what_is_no_message_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
