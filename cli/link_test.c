// SPDX-License-Identifier: BSD-3-Clause
#include "link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct link link_of(int *node)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    *node = ends[1];
    return (struct link){.fd = ends[0]};
}

static void put_frame(struct buffer *buffer, enum boot_kind kind, size_t size)
{
    uint8_t bytes[BOOT_HEADER + 1000];

    boot_header(bytes, kind, size);
    memset(bytes + BOOT_HEADER, (int)size, size);
    buffer_append(buffer, bytes, BOOT_HEADER + size);
}

static void frames_arrive_whole_however_they_are_cut(void **state)
{
    unsigned seed = (unsigned)time(NULL);
    int node;
    struct link link = link_of(&node);
    struct buffer sent = {0};
    struct link_frame frame;
    size_t n_taken = 0;

    (void)state;
    print_message("seed %u\n", seed);
    for (size_t i = 0; i < 200; i++) {
        put_frame(&sent, i % 2 == 0 ? BOOT_CARD : BOOT_CARDS, i * 5);
    }
    while (sent.used > 0) {
        size_t piece = 1 + (size_t)rand_r(&seed) % 3000;

        piece = piece < sent.used ? piece : sent.used;
        assert_int_equal(write(node, buffer_front(&sent), piece), piece);
        buffer_drop(&sent, piece);
        link_receive(&link);
        while (link_next(&link, &frame) == 1) {
            assert_int_equal(frame.kind,
                             n_taken % 2 == 0 ? BOOT_CARD : BOOT_CARDS);
            assert_int_equal(frame.size, n_taken * 5);
            for (size_t k = 0; k < frame.size; k++) {
                assert_int_equal(frame.body[k], (uint8_t)frame.size);
            }
            n_taken++;
        }
    }
    assert_int_equal(n_taken, 200);
    close(node);
    link_receive(&link);
    assert_int_equal(link.fd, -1);
    buffer_release(&sent);
    link_close(&link);
}

static void nonsense_is_noticed(void **state)
{
    static const char *const nonsense[] = {"hello, world\n",
                                           "\0\0\0\0\0\0\0\0\0\0\0\0\0",
                                           // PROGRESS with 8 bytes, not 29
                                           "\x09\0\0\0\x0a"
                                           "12345678"};
    struct link_frame frame;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        int node;
        struct link link = link_of(&node);

        assert_int_equal(write(node, nonsense[i], 13), 13);
        link_receive(&link);
        assert_int_equal(link_next(&link, &frame), -1);
        close(node);
        link_close(&link);
    }
}

static void a_node_that_does_not_read_blocks_nobody(void **state)
{
    static uint8_t body[1 << 20];
    static uint8_t received[BOOT_HEADER + sizeof body];
    size_t n_received = 0;
    int node;
    struct link link = link_of(&node);

    (void)state;
    memset(body, 'x', sizeof body);
    link_send(&link, BOOT_CARDS, body, sizeof body);
    assert_true(link.out.used > 0);
    while (n_received < sizeof received) {
        ssize_t size =
            read(node, received + n_received, sizeof received - n_received);

        assert_true(size > 0);
        n_received += (size_t)size;
        link_write(&link);
    }
    assert_int_equal(link.out.used, 0);
    assert_memory_equal(received + BOOT_HEADER, body, sizeof body);
    close(node);
    link_send_number(&link, BOOT_STOP, 15); // no SIGPIPE, nothing kept
    assert_int_equal(link.out.used, 0);
    link_close(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_arrive_whole_however_they_are_cut),
        cmocka_unit_test(nonsense_is_noticed),
        cmocka_unit_test(a_node_that_does_not_read_blocks_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
