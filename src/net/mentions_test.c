// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/mentions.h"

enum { MENTIONS_MAX = 8 };

struct heard {
    struct mention mentions[MENTIONS_MAX];
    unsigned n;
};

static void hear(void *owner, const struct mention *mention)
{
    struct heard *heard = owner;

    assert_true(heard->n < MENTIONS_MAX);
    heard->mentions[heard->n++] = *mention;
}

static struct heard visit(const struct message *message)
{
    struct heard heard = {.n = 0};

    mentions_visit(message, hear, &heard);
    return heard;
}

static void a_request_names_its_pages(void **state)
{
    const struct message message = {
        .type = MESSAGE_fetch,
        .u.fetch = {.id = 5,
                    .page = 7,
                    .count = 3,
                    .write = 1,
                    .requester = 2,
                    .stride = (uint32_t)-2},
    };
    const struct heard heard = visit(&message);

    (void)state;
    assert_int_equal(heard.n, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(heard.mentions[i].page, 7 - 2 * i);
        assert_int_equal(heard.mentions[i].fetch, 5);
        assert_int_equal(heard.mentions[i].n, 1);
        assert_int_equal(heard.mentions[i].who, 2);
        assert_int_equal(heard.mentions[i].flags, MENTION_TO_WRITE);
    }
}

static void count_one(void *owner, const struct mention *mention)
{
    (void)mention;
    ++*(unsigned *)owner;
}

#define FIELD(type, name) +(strcmp(#name, "page") == 0)
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    {number, #name, 0 fields},

// But for those that are about blocks, or races.
static void each_message_with_a_page_is_told(void **state)
{
    static const char *const others[] = {"extent_new", "extent_close",
                                         "extent_gone", "extent_is",
                                         "extent_open", "race",
                                         // in files of checkpoints only
                                         "pages_saved", "pages_kept"};
    const struct {
        int type;
        const char *name;
        int names_page;
    } messages[] = {
#include "net/messages.def"
    };

    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct message message;
        unsigned n = 0;
        int is_other = 0;

        memset(&message, 1, sizeof message); // one page, or 257
        message.type = (enum message_type)messages[i].type;
        message.body = NULL;
        message.body_size = 0;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            is_other |= strcmp(messages[i].name, others[k]) == 0;
        }
        mentions_visit(&message, count_one, &n);
        if (messages[i].names_page && !is_other && n == 0) {
            fail_msg("a page's story does not know %s", messages[i].name);
        }
    }
}

static void each_diff_is_named(void **state)
{
    static const uint8_t bytes[5] = {1, 2, 3, 4, 5};
    uint8_t body[200];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_update,
                              .u.update = {.origin = 3}};
    struct heard heard;

    (void)state;
    for (uint8_t kind = 0; kind < 3; kind++) { // the last is about races
        wire_put_update_item(
            &writer, &(struct wire_update_item){.page = 40u + kind,
                                                .version = 9,
                                                .epoch = 2,
                                                .kind = kind,
                                                .diff = {bytes, sizeof bytes}});
    }
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    heard = visit(&message);
    assert_int_equal(heard.n, 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(heard.mentions[i].page, 40 + i);
        assert_int_equal(heard.mentions[i].n, 1);
        assert_int_equal(heard.mentions[i].version, 9);
        assert_int_equal(heard.mentions[i].n_bytes, sizeof bytes);
        assert_int_equal(heard.mentions[i].who, 3);
        assert_int_equal(heard.mentions[i].flags,
                         i == 1 ? MENTION_TO_OWNER : 0);
    }
}

static void what_an_acknowledgement_brings_is_passed(void **state)
{
    uint8_t body[200];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_update_ack};
    struct heard heard;

    (void)state;
    wire_put_ack_item(&writer, &(struct wire_ack_item){11, 1});
    wire_put_handed(&writer, &(struct wire_handed){.version = 5, .epoch = 6});
    wire_put_ack_item(&writer, &(struct wire_ack_item){12, 2});
    wire_put_applied(&writer, &(struct wire_applied){8});
    wire_put_ack_item(&writer, &(struct wire_ack_item){13, 3});
    message.body = body;
    message.body_size = (uint32_t)(writer.at - body);
    heard = visit(&message);
    assert_int_equal(heard.n, 3);
    assert_int_equal(heard.mentions[0].flags, MENTION_WITH_OWNERSHIP);
    assert_int_equal(heard.mentions[0].version, 5);
    assert_int_equal(heard.mentions[1].version, 8);
    assert_int_equal(heard.mentions[2].page, 13);
    assert_int_equal(heard.mentions[2].what, 3);
}

static void pages_in_one_message_are_named(void **state)
{
    static uint8_t body[2 * (WIRE_SIZE_page_entry + TM_PAGE_SIZE)];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_pages, .u.pages = {.count = 2}};
    struct heard heard;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        wire_put_page_entry(&writer, &(struct wire_page_entry){.page = 100 + i,
                                                               .version = 3,
                                                               .flags = 2});
    }
    message.body = body;
    message.body_size = sizeof body;
    heard = visit(&message);
    assert_int_equal(heard.n, 2);
    assert_int_equal(heard.mentions[1].page, 101);
    assert_int_equal(heard.mentions[1].n_bytes, TM_PAGE_SIZE);
    assert_int_equal(heard.mentions[1].flags, MENTION_WITH_CONTENTS);
}

static void a_torn_body_is_read_as_far_as_it_goes(void **state)
{
    uint8_t body[2 * WIRE_SIZE_owner_entry];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_owner_is,
                              .u.owner_is = {.owner = 4}};
    struct heard heard;

    (void)state;
    wire_put_owner_entry(&writer, &(struct wire_owner_entry){.page = 1});
    wire_put_owner_entry(&writer, &(struct wire_owner_entry){.page = 2});
    message.body = body;
    message.body_size = sizeof body - 3;
    heard = visit(&message);
    assert_int_equal(heard.n, 1);
    assert_int_equal(heard.mentions[0].page, 1);
    assert_int_equal(heard.mentions[0].who, 4);
}

static void others_name_none(void **state)
{
    const struct message message = {.type = MESSAGE_lock_ask};

    (void)state;
    assert_int_equal(visit(&message).n, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_names_its_pages),
        cmocka_unit_test(each_message_with_a_page_is_told),
        cmocka_unit_test(each_diff_is_named),
        cmocka_unit_test(what_an_acknowledgement_brings_is_passed),
        cmocka_unit_test(pages_in_one_message_are_named),
        cmocka_unit_test(a_torn_body_is_read_as_far_as_it_goes),
        cmocka_unit_test(others_name_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
