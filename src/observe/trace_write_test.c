// SPDX-License-Identifier: BSD-3-Clause
//
// Slices as they are written; tests/cluster/test_trace.py reads whole traces.
#include "observe/trace_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/** What a trace says of its events, in words: "begin 10, end 15". */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t get_varint(struct reader *reader)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        assert_true(reader->at < reader->end);
        byte = *reader->at++;
        value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    return value;
}

/** The next field. @return its number; 0: there is none */
static unsigned get_field(struct reader *reader, uint64_t *value,
                          struct reader *block)
{
    uint64_t tag;

    if (reader->at == reader->end) {
        return 0;
    }
    tag = get_varint(reader);
    if ((tag & 7) == 1) {
        reader->at += 8;
    } else {
        *value = get_varint(reader);
    }
    if ((tag & 7) == 2) {
        *block = (struct reader){reader->at, reader->at + *value};
        reader->at += *value;
    }
    assert_true(reader->at <= reader->end);
    return (unsigned)(tag >> 3);
}

static void describe_event(struct reader event, uint64_t at_ns, char *words)
{
    static const char *const types[] = {"", "begin", "end", "instant"};
    struct reader block;
    uint64_t value;
    unsigned field;

    while ((field = get_field(&event, &value, &block)) != 0) {
        if (field == 9) {
            sprintf(words + strlen(words), "%s %d, ", types[value], (int)at_ns);
        }
    }
}

static void describe(struct reader trace, char *words)
{
    struct reader packet;
    struct reader block;
    uint64_t value;
    unsigned field;

    words[0] = '\0';
    while (get_field(&trace, &value, &packet) == 1) {
        uint64_t at_ns = 0;

        while ((field = get_field(&packet, &value, &block)) != 0) {
            if (field == 8) {
                at_ns = value;
            } else if (field == 11) {
                describe_event(block, at_ns, words);
            }
        }
    }
}

static void expect(struct event *events, size_t n, int64_t ahead_ns,
                   const char *expected)
{
    const struct trace_node node = {
        .name = "a node", .ahead_ns = ahead_ns, .events = events, .n = n};
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    char words[1000];

    assert_non_null(file);
    trace_write_node(file, &node);
    assert_int_equal(fclose(file), 0);
    describe((struct reader){(uint8_t *)bytes, (uint8_t *)bytes + size}, words);
    assert_string_equal(words, expected);
    free(bytes);
}

static struct event slice(uint64_t at_ns, uint64_t ns)
{
    return (struct event){.at_ns = at_ns,
                          .ns = ns,
                          .name = "it",
                          .peer = UINT16_MAX,
                          .sort = EVENT_CALL};
}

static void slices_that_were_put_at_their_ends_nest(void **state)
{
    struct event events[] = {slice(12, 3), slice(10, 10), slice(20, 5)};

    (void)state;
    expect(events, 3, 0,
           "begin 10, begin 12, end 15, end 20, begin 20, end 25, ");
}

static void a_slice_ends_with_the_one_around_it(void **state)
{
    struct event events[] = {slice(10, 10), slice(15, 10)};

    (void)state;
    expect(events, 2, 0, "begin 10, begin 15, end 20, end 20, ");
}

static void clocks_are_those_of_the_trace(void **state)
{
    struct event before[] = {slice(110, 10)};
    struct event after[] = {slice(10, 10)};

    (void)state;
    expect(before, 1, 100, "begin 10, end 20, ");
    expect(after, 1, -100, "begin 110, end 120, ");
}

static void moves_take_no_time(void **state)
{
    struct event events[] = {slice(10, 10), slice(15, 0)};

    (void)state;
    events[1].sort = EVENT_MOVE;
    expect(events, 2, 0, "begin 10, instant 15, end 20, ");
}

static void slices_that_are_too_deep_are_left_out(void **state)
{
    struct event events[20];
    char expected[1000] = "";

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        events[i] = slice(100 + i, 100 - 2 * i);
        if (i < 16) {
            sprintf(expected + strlen(expected), "begin %u, ", 100 + i);
        }
    }
    for (unsigned i = 16; i-- > 0;) {
        sprintf(expected + strlen(expected), "end %u, ", 200 - i);
    }
    expect(events, 20, 0, expected);
}

static void a_node_without_events_is_there(void **state)
{
    (void)state;
    expect(NULL, 0, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_that_were_put_at_their_ends_nest),
        cmocka_unit_test(a_slice_ends_with_the_one_around_it),
        cmocka_unit_test(clocks_are_those_of_the_trace),
        cmocka_unit_test(moves_take_no_time),
        cmocka_unit_test(slices_that_are_too_deep_are_left_out),
        cmocka_unit_test(a_node_without_events_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
