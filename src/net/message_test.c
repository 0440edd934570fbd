// SPDX-License-Identifier: BSD-3-Clause
#include "net/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "net/message_equal_test.h"

// NOLINTBEGIN(bugprone-macro-parentheses): these make lists
static uint64_t state;

static uint64_t next_random(void)
{
    return random_next(&state);
}

static wire_u8 next_u8(void)
{
    return (wire_u8)next_random();
}

static wire_u16 next_u16(void)
{
    return (wire_u16)next_random();
}

static wire_u32 next_u32(void)
{
    return (wire_u32)next_random();
}

static wire_u64 next_u64(void)
{
    return next_random();
}

static wire_text next_text(void)
{
    static const char text[] = "a part of this";

    return &text[next_random() % sizeof text];
}

static wire_bytes next_bytes(void)
{
    const uint16_t size = (uint16_t)(next_random() % 9);

    return (wire_bytes){size > 0 ? next_text : NULL, size};
}

#define FIELD(width, name) .name = next_##width(),
#define RECORD(name, fields)                                                   \
    __attribute__((unused)) static void put_##name(struct wire_writer *writer) \
    {                                                                          \
        const struct wire_##name record = {fields};                            \
                                                                               \
        wire_put_##name(writer, &record);                                      \
    }
#include "net/messages.def"

// A body as messages.def says, with `n` records where their number is free.
static void put_body(struct message *message, struct wire_writer *writer,
                     unsigned n)
{
    switch ((unsigned)message->type) {
#define NONE
#define BYTES                                                                  \
    for (unsigned i = 0; i < n; i++) {                                         \
        wire_put_u8(writer, next_u8());                                        \
    }
#define ONE(record) put_##record(writer);
#define MANY(record)                                                           \
    for (unsigned i = 0; i < n; i++) {                                         \
        put_##record(writer);                                                  \
    }
#define TIMES(field, record)                                                   \
    to->field = 2;                                                             \
    put_##record(writer);                                                      \
    put_##record(writer);
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        struct message_##name *to = &message->u.name;                          \
                                                                               \
        (void)to;                                                              \
        body break;                                                            \
    }
#include "net/messages.def"
    }
}

/** All messages: number, size of number and fields on the wire, and whether any bytes may be
 * in the body: 2 nothing else, 1 behind records. */
static const struct {
    unsigned number;
    uint32_t size;
    int takes_bytes;
} types[] = {
#undef NONE
#undef BYTES
#undef ONE
#undef MANY
#undef TIMES
#define NONE
#define BYTES +2
#define ONE(record)
#define MANY(record)
#define TIMES(field, record) -1 // what is behind it is no matter
#define FIELD(width, name) +WIRE_SIZE_##width
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    {number, 2 fields, (0 body) > 0},
#include "net/messages.def"
};

// NOLINTEND(bugprone-macro-parentheses)
enum { BODY = 512 }; // bytes

#define N_TYPES (sizeof types / sizeof types[0])

static void fill_randomly(void *bytes, size_t size)
{
    uint8_t *to = bytes;

    for (size_t i = 0; i < size; i++) {
        to[i] = (uint8_t)next_random();
    }
}

static int start_random(void **unused)
{
    const char *seed = getenv("TM_TEST_SEED");

    (void)unused;
    state = seed != NULL ? strtoull(seed, NULL, 0) : clock_now_ns();
    print_message("TM_TEST_SEED=%llu\n", (unsigned long long)state);
    return 0;
}

// @param body  [BODY] is written: n records, where their number is free
static void make_random_message(struct message *message, unsigned type,
                                uint8_t *body, unsigned n)
{
    struct wire_writer writer = {body, body + BODY, 0};

    fill_randomly(&message->u, sizeof message->u);
    message->type = (enum message_type)type;
    put_body(message, &writer, n);
    assert_false(writer.failed);
    message->body_size = (uint32_t)(writer.at - body);
    message->body = message->body_size > 0 ? body : NULL;
}

/** @return a frame of exactly its size, so that ASan sees what is read behind
 *          it; free() it */
static uint8_t *frame_of(const struct message *message, uint32_t *size)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    uint32_t n = message_encode_header(message, header);
    uint8_t *frame = malloc(n + message->body_size);

    assert_non_null(frame);
    memcpy(frame, header, n);
    if (message->body_size > 0) {
        memcpy(frame + n, message->body, message->body_size);
    }
    *size = n + message->body_size;
    return frame;
}

static void every_message_comes_back_as_it_was(void **unused)
{
    uint8_t body[BODY];

    (void)unused;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < N_TYPES; i++) {
            struct message sent;
            struct message got;
            uint32_t size;
            uint8_t *frame;

            make_random_message(&sent, types[i].number, body,
                                (unsigned)(next_random() % 8));
            frame = frame_of(&sent, &size);
            assert_int_equal(size, types[i].size + sent.body_size);
            assert_int_equal(message_decode(frame, size, &got), TM_OK);
            assert_true(message_is_equal(&sent, &got));
            free(frame);
        }
    }
}

// @param size  of the frame's bytes, which end where the allocation does
static tm_status decode_exactly(const uint8_t *frame, uint32_t size,
                                struct message *got)
{
    uint8_t *copy = malloc(size + 1);
    tm_status status;

    assert_non_null(copy);
    memcpy(copy + 1, frame, size);
    status = message_decode(copy + 1, size, got);
    free(copy);
    return status;
}

static void a_header_cut_at_any_length_is_refused(void **unused)
{
    uint8_t body[BODY];

    (void)unused;
    for (unsigned i = 0; i < N_TYPES; i++) {
        struct message sent;
        struct message got = {.body_size = 77};
        uint8_t header[MESSAGE_HEADER_MAX];
        uint32_t size;

        make_random_message(&sent, types[i].number, body, 0);
        size = message_encode_header(&sent, header);
        for (uint32_t cut = 0; cut < size; cut++) {
            assert_int_equal(decode_exactly(header, cut, &got), TM_EWIRE);
            assert_int_equal(got.body_size, 77);
        }
    }
}

static void a_frame_cut_in_its_body_is_shorter_or_refused(void **unused)
{
    uint8_t body[BODY];

    (void)unused;
    for (unsigned i = 0; i < N_TYPES; i++) {
        struct message sent;
        struct message got;
        uint32_t size;
        uint8_t *frame;

        make_random_message(&sent, types[i].number, body, 4);
        frame = frame_of(&sent, &size);
        for (uint32_t cut = types[i].size; cut <= size; cut++) {
            tm_status status = decode_exactly(frame, cut, &got);

            assert_true(status == TM_OK ||
                        (cut < size && types[i].takes_bytes < 2));
            if (status == TM_OK) {
                assert_int_equal(got.body_size, cut - types[i].size);
                assert_true((got.body == NULL) == (got.body_size == 0));
            }
        }
        free(frame);
    }
}

static void a_body_with_a_byte_too_many_is_refused(void **unused)
{
    uint8_t body[BODY];

    (void)unused;
    for (unsigned i = 0; i < N_TYPES; i++) {
        struct message sent;
        struct message got;
        uint32_t size;
        uint8_t *frame;

        make_random_message(&sent, types[i].number, body, 3);
        sent.body = body;
        body[sent.body_size++] = 'x';
        frame = frame_of(&sent, &size);
        assert_int_equal(message_decode(frame, size, &got),
                         types[i].takes_bytes > 0 ? TM_OK : TM_EWIRE);
        free(frame);
    }
}

static uint32_t size_of(unsigned number)
{
    for (unsigned i = 0; i < N_TYPES; i++) {
        if (types[i].number == number) {
            return types[i].size;
        }
    }
    return 0;
}

static void a_body_that_is_too_long_is_refused(void **unused)
{
    uint32_t header = size_of(MESSAGE_page);
    uint8_t *frame = calloc(1, header + MESSAGE_BODY_MAX + 1);
    struct message got;

    (void)unused;
    assert_non_null(frame);
    frame[0] = MESSAGE_page;
    assert_int_equal(message_decode(frame, header + MESSAGE_BODY_MAX, &got),
                     TM_OK);
    assert_int_equal(got.body_size, MESSAGE_BODY_MAX);
    assert_int_equal(message_decode(frame, header + MESSAGE_BODY_MAX + 1, &got),
                     TM_EWIRE);
    free(frame);
}

static void unknown_numbers_are_refused_and_have_no_name(void **unused)
{
    uint8_t frame[256] = {0};
    struct message got;

    (void)unused;
    for (unsigned number = 0; number <= 0xffff; number++) {
        int known = size_of(number) > 0;

        frame[0] = (uint8_t)number;
        frame[1] = (uint8_t)(number >> 8);
        assert_true(known ||
                    message_decode(frame, sizeof frame, &got) == TM_EWIRE);
        assert_true((strcmp(message_name(number), "?") != 0) == known);
        assert_true((message_owner(number) != OWNER_none) == known);
    }
    assert_string_equal(message_name(MESSAGE_page), "page");
}

/** Whatever is accepted encodes to the same bytes again. */
static void check_random_frame(const uint8_t *frame, uint32_t size)
{
    struct message got;
    uint32_t again_size;
    uint8_t *again;

    if (message_decode(frame, size, &got) != TM_OK) {
        return;
    }
    again = frame_of(&got, &again_size);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, frame, size);
    free(again);
}

static void random_bytes_are_refused_or_decoded_exactly(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < 300000; i++) {
        uint32_t size = (uint32_t)(next_random() % 96);
        uint8_t *frame = malloc(size + 1);

        assert_non_null(frame);
        fill_randomly(frame, size);
        if (size >= 2 && i % 2 == 0) {
            frame[0] = (uint8_t)types[next_random() % N_TYPES].number;
            frame[1] = 0;
        }
        check_random_frame(frame, size);
        free(frame);
    }
}

static void fields_are_little_endian_and_without_padding(void **unused)
{
    const struct message message = {
        .type = MESSAGE_idle,
        .u.idle = {.round = 0x0102030405060708u,
                   .activity = 0x1112131415161718u,
                   .blocked = 0x21},
    };
    static const uint8_t expected[] = {
        83,   0,                                        // number
        8,    7,    6,    5,    4,    3,    2,    1,    // round
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, // activity
        0x21,                                           // blocked
    };
    uint8_t header[MESSAGE_HEADER_MAX];

    (void)unused;
    assert_int_equal(message_encode_header(&message, header), sizeof expected);
    assert_memory_equal(header, expected, sizeof expected);
    assert_int_equal(message_size(&message), sizeof expected);
}

static void equality_sees_every_field_and_the_body(void **unused)
{
    uint8_t body[BODY];

    (void)unused;
    for (unsigned i = 0; i < N_TYPES; i++) {
        struct message a;
        struct message b;
        uint32_t size;
        uint8_t *frame;

        make_random_message(&a, types[i].number, body, 1);
        frame = frame_of(&a, &size);
        for (uint32_t at = 2; at < size; at++) {
            frame[at] ^= 1;
            // What counts records or bytes may not fit the body any more.
            assert_true(message_decode(frame, size, &b) == TM_EWIRE ||
                        !message_is_equal(&a, &b));
            frame[at] ^= 1;
        }
        assert_int_equal(message_decode(frame, size, &b), TM_OK);
        assert_true(message_is_equal(&a, &b));
        b.body_size++;
        assert_false(message_is_equal(&a, &b));
        free(frame);
    }
}

static void a_reader_gives_zero_after_its_end(void **unused)
{
    static const uint8_t bytes[] = {1, 2, 3, 'a', 'b', 0, 'c'};
    struct wire_reader reader = {.at = bytes, .end = bytes + sizeof bytes};

    (void)unused;
    assert_int_equal(wire_get_u8(&reader), 1);
    assert_int_equal(wire_get_u16(&reader), 0x0302);
    assert_string_equal(wire_get_string(&reader), "ab");
    assert_false(reader.failed);
    assert_null(wire_get_string(&reader)); // "c" has no end
    assert_true(reader.failed);
    assert_int_equal(wire_get_u8(&reader), 0); // though a byte is there
    assert_null(wire_get_bytes(&reader, 1));

    reader = (struct wire_reader){.at = bytes, .end = bytes + 7};
    assert_int_equal(wire_get_u64(&reader), 0);
    assert_true(reader.failed);
    reader = (struct wire_reader){.at = bytes, .end = bytes + 7};
    assert_null(wire_get_bytes(&reader, SIZE_MAX));
    reader = (struct wire_reader){0};
    assert_null(wire_get_string(&reader));
}

static void a_writer_stops_at_its_end(void **unused)
{
    uint8_t bytes[8] = {0};
    struct wire_writer writer = {.at = bytes, .end = bytes + 7};

    (void)unused;
    wire_put_u32(&writer, 0x04030201);
    wire_put_string(&writer, NULL);
    assert_false(writer.failed);
    wire_put_string(&writer, "xy");
    assert_true(writer.failed);
    wire_put_u8(&writer, 9); // would have room
    assert_ptr_equal(writer.at, bytes + 5);
    assert_memory_equal(bytes, ((uint8_t[8]){1, 2, 3, 4, 0, 0, 0, 0}), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_comes_back_as_it_was),
        cmocka_unit_test(a_header_cut_at_any_length_is_refused),
        cmocka_unit_test(a_frame_cut_in_its_body_is_shorter_or_refused),
        cmocka_unit_test(a_body_with_a_byte_too_many_is_refused),
        cmocka_unit_test(a_body_that_is_too_long_is_refused),
        cmocka_unit_test(unknown_numbers_are_refused_and_have_no_name),
        cmocka_unit_test(random_bytes_are_refused_or_decoded_exactly),
        cmocka_unit_test(fields_are_little_endian_and_without_padding),
        cmocka_unit_test(equality_sees_every_field_and_the_body),
        cmocka_unit_test(a_reader_gives_zero_after_its_end),
        cmocka_unit_test(a_writer_stops_at_its_end),
    };

    return cmocka_run_group_tests(tests, start_random, NULL);
}
