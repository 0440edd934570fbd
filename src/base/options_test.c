// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"
#include "base/reading.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int forget_variables(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_option_rows; i++) {
        unsetenv(option_rows[i].variable);
    }
    return 0;
}

static struct options read_with(const char *variable, const char *value)
{
    struct options options;
    char error[256] = "";

    setenv(variable, value, 1);
    if (options_read(&options, error, sizeof error) != TM_OK) {
        fail_msg("%s=%s is refused: %s", variable, value, error);
    }
    unsetenv(variable);
    return options;
}

static void expect_refusal(const char *variable, const char *value,
                           const char *expected)
{
    struct options options;
    struct options before;
    char error[256] = "";

    memset(&options, 0x5a, sizeof options);
    before = options;
    setenv(variable, value, 1);
    assert_int_equal(options_read(&options, error, sizeof error), TM_ECONFIG);
    assert_string_equal(error, expected);
    assert_memory_equal(&options, &before, sizeof options);
    unsetenv(variable);
}

static void without_variables_the_defaults_hold(void **state)
{
    struct options options;
    char error[256];

    (void)state;
    assert_int_equal(options_read(&options, error, sizeof error), TM_OK);
    assert_int_equal(options.nodes, 1);
    assert_int_equal(options.workers, 0);
    assert_string_equal(options.hostfile, "none");
    assert_int_equal(options.emulate, 0);
    assert_int_equal(options.emulate_by, EMULATE_BY_DUTY);
    assert_true(options.speed == 0);
    assert_true(options.share == 1);
    assert_int_equal(options.memory, 0);
    assert_int_equal(options.protocol, TM_ADAPTIVE);
    assert_int_equal(options.stack_size, 256 * 1024);
    assert_int_equal(options.max_threads, 32000);
    assert_string_equal(options.fault_source, "auto");
    assert_int_equal(options.space, (size_t)64 << 30);
    assert_string_equal(options.swap_dir, "auto");
    assert_int_equal(options.tag_output, 0);
    assert_int_equal(options.deadlock, DEADLOCK_ABORT);
    assert_int_equal(options.deadlock_after, 10);
    assert_int_equal(options.peer_timeout, 5);
    assert_int_equal(options.port_range.first, 0);
    assert_int_equal(options.trust_network, 0);
    assert_int_equal(options.fabric, FABRIC_BY_TCP);
    assert_string_equal(options.hosts, "none");
    assert_string_equal(options.ssh, "ssh");
    assert_int_equal(options.stats, 0);
    assert_int_equal(options.verbose, 0);
    assert_int_equal(options.shuffle, 0);
}

static void each_variable_sets_its_field(void **state)
{
    (void)state;
    assert_int_equal(read_with("TEAMSTER_NODES", "1024").nodes, 1024);
    assert_int_equal(read_with("TEAMSTER_WORKERS", "3").workers, 3);
    assert_int_equal(read_with("TEAMSTER_WORKERS", "auto").workers, 0);
    assert_string_equal(read_with("TEAMSTER_HOSTFILE", "a b").hostfile, "a b");
    assert_int_equal(read_with("TEAMSTER_EMULATE", "1").emulate, 1);
    assert_int_equal(read_with("TEAMSTER_EMULATE_BY", "cgroup").emulate_by,
                     EMULATE_BY_CGROUP);
    assert_true(read_with("TEAMSTER_SPEED", "0.5").speed == 0.5);
    assert_true(read_with("TEAMSTER_SHARE", ".25").share == 0.25);
    assert_int_equal(read_with("TEAMSTER_MEMORY", "45M").memory, 45 << 20);
    assert_int_equal(read_with("TEAMSTER_PROTOCOL", "sequential").protocol,
                     TM_SEQUENTIAL);
    assert_int_equal(read_with("TEAMSTER_STACK_SIZE", "1m").stack_size,
                     1 << 20);
    assert_int_equal(read_with("TEAMSTER_MAX_THREADS", "7").max_threads, 7);
    assert_string_equal(
        read_with("TEAMSTER_FAULT_SOURCE", "userfaultfd").fault_source,
        "userfaultfd");
    assert_int_equal(read_with("TEAMSTER_SPACE", "1T").space, (size_t)1 << 40);
    assert_string_equal(read_with("TEAMSTER_SWAP_DIR", "/scratch").swap_dir,
                        "/scratch");
    assert_int_equal(read_with("TEAMSTER_TAG_OUTPUT", "1").tag_output, 1);
    assert_int_equal(read_with("TEAMSTER_DEADLOCK", "off").deadlock,
                     DEADLOCK_OFF);
    assert_int_equal(read_with("TEAMSTER_PEER_TIMEOUT", "0").peer_timeout, 0);
    assert_int_equal(read_with("TEAMSTER_PEER_TIMEOUT", "2").peer_timeout, 2);
    assert_int_equal(read_with("TEAMSTER_TRUST_NETWORK", "1").trust_network, 1);
    assert_int_equal(read_with("TEAMSTER_FABRIC", "ucx").fabric, FABRIC_BY_UCX);
    assert_int_equal(read_with("TEAMSTER_FABRIC", "tcp").fabric, FABRIC_BY_TCP);
    assert_string_equal(read_with("TEAMSTER_HOSTS", "a,b:2").hosts, "a,b:2");
    assert_string_equal(read_with("TEAMSTER_SSH", "ssh -v").ssh, "ssh -v");
    assert_int_equal(read_with("TEAMSTER_DEADLOCK_AFTER", "3").deadlock_after,
                     3);
    assert_int_equal(read_with("TEAMSTER_STATS", "1").stats, 1);
    assert_int_equal(read_with("TEAMSTER_VERBOSE", "1").verbose, 1);
    assert_true(read_with("TEAMSTER_SHUFFLE", "18446744073709551615").shuffle ==
                UINT64_MAX);
}

static void expect_ports(const char *text, unsigned first, unsigned last)
{
    struct options options = read_with("TEAMSTER_PORT_RANGE", text);

    assert_int_equal(options.port_range.first, first);
    assert_int_equal(options.port_range.last, last);
}

static void ports_are_a_range_or_one(void **state)
{
    (void)state;
    expect_ports("any", 0, 0);
    expect_ports("1-65535", 1, 65535);
    expect_ports("20000-20003", 20000, 20003);
    expect_ports("4711", 4711, 4711);
}

static void an_empty_variable_is_as_good_as_none(void **state)
{
    (void)state;
    assert_int_equal(read_with("TEAMSTER_NODES", "").nodes, 1);
    assert_int_equal(read_with("TEAMSTER_STATS", "").stats, 0);
}

static void sizes_are_rounded_up_to_whole_pages(void **state)
{
    (void)state;
    assert_int_equal(read_with("TEAMSTER_STACK_SIZE", "65537").stack_size,
                     65536 + TM_PAGE_SIZE);
}

static void a_refusal_names_variable_value_and_what_is_allowed(void **state)
{
    (void)state;
    expect_refusal("TEAMSTER_NODES", "1025",
                   "TEAMSTER_NODES (--nodes) is '1025'; allowed: 1 to 1024");
    expect_refusal("TEAMSTER_NODES", "-1",
                   "TEAMSTER_NODES (--nodes) is '-1'; allowed: 1 to 1024");
    expect_refusal("TEAMSTER_NODES", "0x2",
                   "TEAMSTER_NODES (--nodes) is '0x2'; allowed: 1 to 1024");
    expect_refusal("TEAMSTER_WORKERS", "0",
                   "TEAMSTER_WORKERS (--workers) is '0'; allowed: auto, or 1 "
                   "to 256");
    expect_refusal("TEAMSTER_SPEED", "-1",
                   "TEAMSTER_SPEED (--speed) is '-1'; allowed: auto, or 0.001 "
                   "to 1000000000");
    expect_refusal("TEAMSTER_SHARE", "1.1",
                   "TEAMSTER_SHARE (--share) is '1.1'; allowed: 0.0001 to 1");
    expect_refusal("TEAMSTER_SHARE", "1e-3",
                   "TEAMSTER_SHARE (--share) is '1e-3'; allowed: 0.0001 to 1");
    expect_refusal("TEAMSTER_MEMORY", "63K",
                   "TEAMSTER_MEMORY (--memory) is '63K'; allowed: auto, or "
                   "64K to 1024T; bytes, or with K, M, G or T");
    expect_refusal("TEAMSTER_PROTOCOL", "lazy",
                   "TEAMSTER_PROTOCOL (--protocol) is 'lazy'; allowed: "
                   "eager-release, sequential, implicit, lazy-release, "
                   "homeless or adaptive");
    expect_refusal("TEAMSTER_PROTOCOL", "scope",
                   "TEAMSTER_PROTOCOL (--protocol) is 'scope'; allowed: one "
                   "that keeps what teamster.h promises; scope is for blocks "
                   "(tm_alloc_attr.protocol)");
    expect_refusal("TEAMSTER_STACK_SIZE", "65535",
                   "TEAMSTER_STACK_SIZE (--stack-size) is '65535'; allowed: "
                   "64K to 64M; bytes, or with K, M, G or T");
    expect_refusal("TEAMSTER_SPACE", "2T",
                   "TEAMSTER_SPACE (--space) is '2T'; allowed: 16M to 1T; "
                   "bytes, or with K, M, G or T");
    expect_refusal("TEAMSTER_FAULT_SOURCE", "Mprotect",
                   "TEAMSTER_FAULT_SOURCE (--fault-source) is 'Mprotect'; "
                   "allowed: auto, userfaultfd or mprotect");
    expect_refusal("TEAMSTER_SWAP_DIR", "tmp",
                   "TEAMSTER_SWAP_DIR (--swap-dir) is 'tmp'; allowed: auto, "
                   "or a path from / on of at most 511 bytes");
    expect_refusal("TEAMSTER_FABRIC", "ib",
                   "TEAMSTER_FABRIC (--fabric) is 'ib'; allowed: tcp or ucx");
    expect_refusal("TEAMSTER_DEADLOCK", "1",
                   "TEAMSTER_DEADLOCK (--deadlock) is '1'; allowed: abort, "
                   "warn or off");
    for (unsigned i = 0; i < 7; i++) {
        static const char *const bad[] = {"0",    "5-4",     "5-",    "a",
                                          "1-2x", "5-65536", "123456"};
        char allowed[128];

        snprintf(allowed, sizeof allowed,
                 "TEAMSTER_PORT_RANGE (--port-range) is '%s'; allowed: any, or "
                 "A-B with ports from 1 to 65535",
                 bad[i]);
        expect_refusal("TEAMSTER_PORT_RANGE", bad[i], allowed);
    }
    expect_refusal("TEAMSTER_STATS", "yes",
                   "TEAMSTER_STATS (--stats) is 'yes'; allowed: 0 or 1");
    expect_refusal("TEAMSTER_SHUFFLE", "18446744073709551616",
                   "TEAMSTER_SHUFFLE (--shuffle) is '18446744073709551616'; "
                   "allowed: 0 to 18446744073709551615");
}

static void to_track_is_an_iteration_and_a_file(void **state)
{
    static const char *const bad[] = {
        "2", "/2", "/0", "x",  "5x",
        "/", ":a", "5/", "-5", "12345678901234567890"};
    struct options options;
    char allowed[200];

    (void)state;
    options = read_with("TEAMSTER_TRACK", "5");
    assert_int_equal(options.track.iteration, 5);
    assert_int_equal(options.track.repeats, 0);
    assert_string_equal(options.track.file, "");
    options = read_with("TEAMSTER_TRACK", "/3:a:b.txt");
    assert_int_equal(options.track.iteration, 3);
    assert_int_equal(options.track.repeats, 1);
    assert_string_equal(options.track.file, "a:b.txt");
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(allowed, sizeof allowed,
                 "TEAMSTER_TRACK (--track) is '%s'; allowed: 0, K or /N, from "
                 "3 on, :FILE (at most 191 bytes) behind",
                 bad[i]);
        expect_refusal("TEAMSTER_TRACK", bad[i], allowed);
    }
}

static void a_checkpoint_is_a_folder_and_words_behind(void **state)
{
    static const char *const bad[] = {
        ",every=5",       "a,every=",        "a,every=5m", "a,every=0",
        "a,compress=yes", "a,compress=no,b", "a,b,every=5"};
    struct options options = read_with("TEAMSTER_CHECKPOINT", "a/b");

    (void)state;
    assert_string_equal(options.checkpoint.folder, "a/b");
    assert_int_equal(options.checkpoint.seconds, 60);
    assert_int_equal(options.checkpoint.is_compressed, 1);
    options = read_with("TEAMSTER_CHECKPOINT", "a,every=7,compress=no");
    assert_string_equal(options.checkpoint.folder, "a");
    assert_int_equal(options.checkpoint.iterations, 7);
    assert_int_equal(options.checkpoint.seconds, 0);
    assert_int_equal(options.checkpoint.is_compressed, 0);
    options = read_with("TEAMSTER_CHECKPOINT", "a,compress=auto,every=7s");
    assert_int_equal(options.checkpoint.seconds, 7);
    assert_int_equal(options.checkpoint.is_compressed, 1);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char allowed[200];

        snprintf(allowed, sizeof allowed,
                 "TEAMSTER_CHECKPOINT (--checkpoint) is '%s'; allowed: none, "
                 "or a folder, perhaps with ,every=Ns (up to a day), ,every=N "
                 "or ,compress=auto|no",
                 bad[i]);
        expect_refusal("TEAMSTER_CHECKPOINT", bad[i], allowed);
    }
}

static void a_buddy_is_asked_for_or_is_the_launchers_choice(void **state)
{
    struct options options = read_with("TEAMSTER_BUDDY", "auto");

    (void)state;
    assert_true(!options.buddy && options.buddy_is_auto);
    assert_int_equal(options.recover, 0);
    options = read_with("TEAMSTER_BUDDY", "off");
    assert_true(!options.buddy && !options.buddy_is_auto);
    options = read_with("TEAMSTER_BUDDY", "none"); // as it was called before
    assert_true(!options.buddy && !options.buddy_is_auto);
    options = read_with("TEAMSTER_POLICY", "none"); // nothing is said
    assert_true(!options.buddy && options.buddy_is_auto);
    options = read_with("TEAMSTER_BUDDY", "every=7");
    assert_true(options.buddy && !options.buddy_is_auto);
    assert_true(!options.buddy_is_tried);
    assert_int_equal(options.checkpoint.iterations, 7);
    assert_int_equal(options.recover, 3);
    options = read_with("TEAMSTER_BUDDY", OPTIONS_BUDDY_TRIED);
    assert_true(options.buddy && options.buddy_is_tried);
    assert_int_equal(options.checkpoint.seconds, 60);
    expect_refusal("TEAMSTER_BUDDY", "saved",
                   "TEAMSTER_BUDDY (--buddy) is 'saved'; allowed: auto, off, "
                   "every=Ns (up to a day) or every=N");
}

static void a_refusal_is_one_line_whatever_the_value(void **state)
{
    char value[5000];
    char error[256];
    struct options options;

    (void)state;
    memset(value, '9', sizeof value);
    value[0] = '\n';
    value[sizeof value - 1] = '\0';
    setenv("TEAMSTER_MAX_THREADS", value, 1);
    assert_int_equal(options_read(&options, error, sizeof error), TM_ECONFIG);
    assert_null(strchr(error, '\n'));
    assert_non_null(strstr(error, "allowed: 1 to 1000000"));
    unsetenv("TEAMSTER_MAX_THREADS");
}

static void stacks_that_do_not_fit_their_addresses_are_refused(void **state)
{
    (void)state;
    setenv("TEAMSTER_STACK_SIZE", "64M", 1);
    assert_int_equal(read_with("TEAMSTER_MAX_THREADS", "32768").max_threads,
                     32768);
    expect_refusal("TEAMSTER_MAX_THREADS", "32769",
                   "TEAMSTER_MAX_THREADS (--max-threads) is '32769'; allowed: "
                   "1 to 32768 with TEAMSTER_STACK_SIZE (--stack-size) 64M");
    unsetenv("TEAMSTER_STACK_SIZE");
}

static void each_variable_is_its_option_in_capitals(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_option_rows; i++) {
        char expected[64];

        snprintf(expected, sizeof expected, "TEAMSTER_%s", option_rows[i].name);
        for (char *c = expected; *c != '\0'; c++) {
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        }
        assert_string_equal(option_rows[i].variable, expected);
    }
}

static void parse_size_knows_the_powers_of_1024(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"0", 0},
        {"4096", 4096},
        {"64K", 65536},
        {"64k", 65536},
        {"3M", 3u << 20},
        {"1G", 1u << 30},
        {"2T", (uint64_t)2 << 40},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", (uint64_t)16777215 << 40},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 1;

        assert_int_equal(parse_size(cases[i].text, &bytes), TM_OK);
        assert_true(bytes == cases[i].bytes);
    }
}

static void parse_size_refuses_everything_else(void **state)
{
    static const char *const cases[] = {
        "",
        "K",
        " 1",
        "1 ",
        "-1",
        "+1",
        "1.5",
        "1KB",
        "1KK",
        "0x10",
        "1 K",
        "18446744073709551616",
        "1P",
        "K1",
        "--",
        "1e3",
        "1\n",
        "16777216T",
        "00000000000000000000000000000000000000000001K",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 12345;

        if (parse_size(cases[i], &bytes) != TM_EINVAL) {
            fail_msg("'%s' is accepted", cases[i]);
        }
        assert_int_equal(bytes, 12345);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_variables_the_defaults_hold),
        cmocka_unit_test(each_variable_sets_its_field),
        cmocka_unit_test(ports_are_a_range_or_one),
        cmocka_unit_test(an_empty_variable_is_as_good_as_none),
        cmocka_unit_test(sizes_are_rounded_up_to_whole_pages),
        cmocka_unit_test(a_refusal_names_variable_value_and_what_is_allowed),
        cmocka_unit_test(to_track_is_an_iteration_and_a_file),
        cmocka_unit_test(a_checkpoint_is_a_folder_and_words_behind),
        cmocka_unit_test(a_buddy_is_asked_for_or_is_the_launchers_choice),
        cmocka_unit_test(a_refusal_is_one_line_whatever_the_value),
        cmocka_unit_test(stacks_that_do_not_fit_their_addresses_are_refused),
        cmocka_unit_test(each_variable_is_its_option_in_capitals),
        cmocka_unit_test(parse_size_knows_the_powers_of_1024),
        cmocka_unit_test(parse_size_refuses_everything_else),
    };

    return cmocka_run_group_tests(tests, forget_variables, NULL);
}
