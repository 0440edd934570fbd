// SPDX-License-Identifier: BSD-3-Clause
#include "output.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_STREAMS 4
#define QUIET_MAX_NS 500000000u // what a person does not mind

/** A sink that nobody empties, and the write ends of its streams. */
struct fixture {
    struct sink sink;
    struct seen seen; ///< of open_marked()
    struct stream streams[N_STREAMS];
    int node[N_STREAMS];
};

static void open_fixture(struct fixture *fixture, int is_tagged)
{
    *fixture = (struct fixture){.sink.fd = -1};
    for (unsigned i = 0; i < N_STREAMS; i++) {
        int ends[2];

        assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
        fixture->node[i] = ends[1];
        fixture->streams[i].fd = ends[0];
        fixture->streams[i].sink = &fixture->sink;
        if (is_tagged) {
            snprintf(fixture->streams[i].tag, sizeof fixture->streams[i].tag,
                     "[%u] ", i);
        }
    }
}

static void close_fixture(struct fixture *fixture)
{
    for (unsigned i = 0; i < N_STREAMS; i++) {
        stream_close(&fixture->streams[i]);
        if (fixture->node[i] >= 0) {
            close(fixture->node[i]);
        }
    }
    sink_close(&fixture->sink);
    seen_release(&fixture->seen);
}

static void node_writes(struct fixture *fixture, unsigned node,
                        const char *text)
{
    size_t size = strlen(text);

    assert_int_equal(write(fixture->node[node], text, size), size);
    while (stream_read(&fixture->streams[node], 1000)) {
    }
}

static void node_ends(struct fixture *fixture, unsigned node)
{
    close(fixture->node[node]);
    fixture->node[node] = -1;
    stream_read(&fixture->streams[node], 1000);
    assert_int_equal(fixture->streams[node].fd, -1);
}

/** What is in the sink, which is emptied. */
static void expect_output(struct fixture *fixture, const char *expected)
{
    struct buffer *waiting = &fixture->sink.waiting;
    char *text =
        strndup(waiting->used > 0 ? buffer_front(waiting) : "", waiting->used);

    assert_string_equal(text, expected);
    buffer_drop(waiting, waiting->used);
    free(text);
}

static void a_line_waits_for_its_newline(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, 0);
    node_writes(&fixture, 0, "one");
    node_writes(&fixture, 1, "two\nthr");
    expect_output(&fixture, "two\n");
    node_writes(&fixture, 0, " and a half\n\n");
    node_writes(&fixture, 1, "ee\n");
    expect_output(&fixture, "one and a half\n\nthree\n");
    close_fixture(&fixture);
}

static void a_tag_is_put_before_every_line(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, 1);
    node_writes(&fixture, 2, "a\n\nb");
    node_writes(&fixture, 2, "c\nd\n");
    expect_output(&fixture, "[2] a\n[2] \n[2] bc\n[2] d\n");
    close_fixture(&fixture);
}

static void a_last_line_without_newline_is_not_lost(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, 0);
    node_writes(&fixture, 1, "no newline");
    node_ends(&fixture, 1);
    expect_output(&fixture, "no newline");
    node_writes(&fixture, 0, "next\n");
    expect_output(&fixture, "\nnext\n");
    sink_say(&fixture.sink, "launcher");
    expect_output(&fixture, "launcher\n");
    close_fixture(&fixture);
}

static void a_prompt_is_shown_after_quiet_time(void **state)
{
    struct fixture fixture;
    struct stream *root = &fixture.streams[0];
    uint64_t due_ns;

    (void)state;
    open_fixture(&fixture, 1);
    root->is_prompting = 1;
    node_writes(&fixture, 0, "size? ");
    node_writes(&fixture, 1, "size? ");
    due_ns = stream_prompt_ns(root);
    assert_true(due_ns > 1000);
    stream_show_prompt(root, due_ns - 1);
    expect_output(&fixture, "");
    stream_show_prompt(root, due_ns);
    stream_show_prompt(&fixture.streams[1], due_ns);
    expect_output(&fixture, "[0] size? ");
    assert_int_equal(stream_prompt_ns(root), 0);
    node_writes(&fixture, 0, "thanks\n");
    expect_output(&fixture, "thanks\n");
    close_fixture(&fixture);
}

static void root_pauses_after(struct fixture *fixture, const char *text)
{
    struct stream *root = &fixture->streams[0];
    uint64_t due_ns;

    node_writes(fixture, 0, text);
    stream_show_prompt(root, 1000 + QUIET_MAX_NS);
    due_ns = stream_prompt_ns(root);
    assert_true(due_ns > 1000 + QUIET_MAX_NS);
    stream_show_prompt(root, due_ns); // it may be one after all
    assert_int_equal(root->line.used, 0);
}

// On a busy machine the root may not run for a while in the middle of a line.
static void half_a_line_is_no_prompt(void **state)
{
    struct fixture fixture;
    static char block[4097];

    (void)state;
    open_fixture(&fixture, 0);
    fixture.streams[0].is_prompting = 1;
    memset(block, 'x', 4096);
    root_pauses_after(&fixture, block); // stdio's buffer was full
    block[2000] = '\n';
    root_pauses_after(&fixture, block);
    node_writes(&fixture, 0, "size? ");
    stream_show_prompt(&fixture.streams[0], 1000 + QUIET_MAX_NS);
    assert_int_equal(fixture.streams[0].line.used, 0);
    block[2000] = 'x';
    root_pauses_after(&fixture, block); // longer than any question
    close_fixture(&fixture);
}

static void a_line_of_any_length_stays_whole(void **state)
{
    struct fixture fixture;
    static char piece[50001];

    (void)state;
    open_fixture(&fixture, 1);
    memset(piece, 'x', sizeof piece - 1);
    for (int i = 0; i < 40; i++) {
        node_writes(&fixture, 0, piece);
        node_writes(&fixture, 1, "short\n");
    }
    assert_int_equal(fixture.sink.waiting.used, 40 * strlen("[1] short\n"));
    node_writes(&fixture, 0, "\n");
    assert_int_equal(fixture.sink.waiting.used, 40 * strlen("[1] short\n") +
                                                    strlen("[0] \n") +
                                                    (size_t)40 * 50000);
    close_fixture(&fixture);
}

/** Each line says its stream and number: "2 17 xxxx". */
static void check_lines(struct fixture *fixture, const unsigned *n_lines)
{
    unsigned next[N_STREAMS] = {0};
    char *text = buffer_front(&fixture->sink.waiting);
    char *end = text + fixture->sink.waiting.used;

    while (text < end) {
        char *newline = memchr(text, '\n', (size_t)(end - text));
        unsigned node;
        unsigned number;
        int length;

        assert_non_null(newline);
        *newline = '\0';
        assert_int_equal(sscanf(text, "%u %u %*[x]%n", &node, &number, &length),
                         2);
        assert_int_equal(text[length], '\0');
        assert_true(node < N_STREAMS);
        assert_int_equal(number, next[node]++);
        text = newline + 1;
    }
    assert_memory_equal(next, n_lines, sizeof next);
}

static void lines_stay_whole_however_they_come(void **state)
{
    struct fixture fixture;
    struct buffer unsent[N_STREAMS] = {0};
    unsigned n_lines[N_STREAMS] = {0};
    unsigned seed = (unsigned)time(NULL);

    (void)state;
    print_message("seed %u\n", seed);
    open_fixture(&fixture, 0);
    for (int step = 0; step < 20000; step++) {
        unsigned node = (unsigned)rand_r(&seed) % N_STREAMS;
        char line[600];
        int length =
            snprintf(line, sizeof line, "%u %u %.*s\n", node, n_lines[node]++,
                     1 + rand_r(&seed) % 8, "xxxxxxxx");
        size_t piece = 1 + (size_t)rand_r(&seed) % 100;

        buffer_append(&unsent[node], line, (size_t)length);
        piece = piece < unsent[node].used ? piece : unsent[node].used;
        assert_int_equal(
            write(fixture.node[node], buffer_front(&unsent[node]), piece),
            piece);
        buffer_drop(&unsent[node], piece);
        stream_read(&fixture.streams[node], 1);
    }
    for (unsigned i = 0; i < N_STREAMS; i++) {
        while (unsent[i].used > 0) {
            size_t piece = unsent[i].used < 4096 ? unsent[i].used : 4096;

            assert_int_equal(
                write(fixture.node[i], buffer_front(&unsent[i]), piece), piece);
            buffer_drop(&unsent[i], piece);
            stream_read(&fixture.streams[i], 1);
        }
        node_ends(&fixture, i);
        buffer_release(&unsent[i]);
    }
    check_lines(&fixture, n_lines);
    close_fixture(&fixture);
}

// They wait for each other, and what comes next does not overtake them.
static void errors_alike_become_one_line(void **state)
{
    struct fixture fixture;

    (void)state;
    open_fixture(&fixture, 0);
    for (unsigned i = 1; i < N_STREAMS; i++) {
        snprintf(fixture.streams[i].speaker, sizeof fixture.streams[i].speaker,
                 "n%u", i);
    }
    node_writes(&fixture, 1, "teamster: n1: full\n");
    node_writes(&fixture, 2, "teamster: n2: fu");
    node_writes(&fixture, 3, "teamster: n3: full\n");
    node_writes(&fixture, 2, "ll\n");
    expect_output(&fixture, "");
    sink_settle(&fixture.sink, sink_due_ns(&fixture.sink) - 1);
    expect_output(&fixture, "");
    sink_settle(&fixture.sink, sink_due_ns(&fixture.sink));
    expect_output(&fixture, "teamster: n1 n2 n3: full\n");
    assert_int_equal(sink_due_ns(&fixture.sink), 0);
    node_writes(&fixture, 1, "teamster: n1: full\n");
    node_writes(&fixture, 2, "mine\n");
    node_writes(&fixture, 2, "teamster: n2: full\n");
    sink_say(&fixture.sink, "launcher");
    expect_output(&fixture, "teamster: n1: full\nmine\n");
    node_writes(&fixture, 3, "teamster: n3: full\n");
    sink_settle(&fixture.sink, UINT64_MAX);
    expect_output(&fixture, "teamster: n2 n3: full\nlauncher\n");
    close_fixture(&fixture);
}

// I1 holds for lines that have waited, and in a line "teamster:" means nothing.
static void errors_begin_lines(void **state)
{
    struct fixture fixture;
    struct stream *root = &fixture.streams[0];

    (void)state;
    open_fixture(&fixture, 0);
    root->is_prompting = 1;
    snprintf(root->speaker, sizeof root->speaker, "n0");
    snprintf(fixture.streams[1].speaker, sizeof root->speaker, "n1");
    node_writes(&fixture, 0, "size? ");
    stream_show_prompt(root, stream_prompt_ns(root));
    node_writes(&fixture, 0, "teamster: n0: no\n");
    expect_output(&fixture, "size? teamster: n0: no\n");
    node_writes(&fixture, 0, "size? ");
    stream_show_prompt(root, stream_prompt_ns(root));
    node_writes(&fixture, 1, "teamster: n1: no\n");
    sink_settle(&fixture.sink, UINT64_MAX);
    expect_output(&fixture, "size? \nteamster: n1: no\n");
    close_fixture(&fixture);
}

/** The launcher's own output is a pipe, which blocks as all do that a shell makes. */
static void a_reader_that_does_not_read_keeps_nobody_waiting(void **state)
{
    struct fixture fixture;
    char line[1000];
    int ends[2];

    (void)state;
    memset(line, 'x', sizeof line);
    memcpy(line + sizeof line - 2, "\n", 2);
    assert_int_equal(pipe(ends), 0); // of one digit, as stdout is
    open_fixture(&fixture, 0);
    sink_open(&fixture.sink, ends[1]);
    for (unsigned i = 0; i < 400; i++) { // more than a pipe has room for
        node_writes(&fixture, 0, line);
    }
    alarm(20); // ends this test if the next line waits for a reader
    sink_write(&fixture.sink);
    alarm(0);
    assert_true(fixture.sink.waiting.used > 0);
    assert_int_equal(fixture.sink.error, 0);
    close_fixture(&fixture);
    close(ends[0]);
    close(ends[1]);
}

static void a_reader_that_is_gone_is_an_error_once(void **state)
{
    struct fixture fixture;
    int ends[2];

    (void)state;
    open_fixture(&fixture, 0);
    assert_int_equal(pipe(ends), 0);
    fixture.sink.fd = ends[1];
    close(ends[0]);
    node_writes(&fixture, 0, "lost\n");
    sink_write(&fixture.sink); // SIGPIPE is ignored in main()
    assert_true(fixture.sink.error != 0);
    node_writes(&fixture, 0, "dropped\n");
    assert_int_equal(fixture.sink.waiting.used, 0);
    close(ends[1]);
    close_fixture(&fixture);
}

/** One whose streams look for marks. */
static void open_marked(struct fixture *fixture)
{
    open_fixture(fixture, 0);
    snprintf(fixture->seen.token, sizeof fixture->seen.token, "%016x", 0xabcu);
    for (unsigned i = 0; i < N_STREAMS; i++) {
        fixture->streams[i].seen = &fixture->seen;
    }
}

/** Text with a mark at each '|', for the next generation, in pieces of one to three bytes. */
static void node_writes_with_marks(struct fixture *fixture, unsigned node,
                                   const char *text, uint64_t generation)
{
    char bytes[5000];
    size_t size = 0;
    size_t at = 0;

    for (; *text != '\0'; text++) {
        if (*text == '|') {
            size += (size_t)snprintf(bytes + size, sizeof bytes - size,
                                     "%ccut %016x %016lx", '\0', 0xabcu,
                                     (unsigned long)generation++) +
                    1;
        } else {
            bytes[size++] = *text;
        }
    }
    for (size_t n = 1; at < size; n = n % 3 + 1) {
        const size_t piece = size - at < n ? size - at : n;

        assert_int_equal(write(fixture->node[node], bytes + at, piece), piece);
        stream_read(&fixture->streams[node], 1000);
        at += piece;
    }
}

static void marks_are_taken_out_and_say_where_a_cut_is(void **state)
{
    struct fixture fixture;

    (void)state;
    open_marked(&fixture);
    node_writes_with_marks(&fixture, 0, "one\n|two\nthr|ee\n", 7);
    assert_int_equal(fixture.streams[0].cut, 8);
    expect_output(&fixture, "one\ntwo\nthree\n");
    seen_go_back(&fixture.seen, 7);
    node_writes_with_marks(&fixture, 1, "one\ntwo\nthr|ee\n", 1001);
    expect_output(&fixture, "one\n");
    node_writes_with_marks(&fixture, 0, "|", 0); // main() has prepared
    assert_int_equal(fixture.streams[0].cut, 7);
    close_fixture(&fixture);
}

/** What they write is held. */
static void open_holding(struct fixture *fixture, struct held *held,
                         struct stream *writers)
{
    open_marked(fixture);
    fixture->seen.never = "teamster: ";
    held_open(held, writers, "/tmp");
    for (unsigned i = 0; i < N_STREAMS; i++) {
        writers[i] = (struct stream){
            .fd = -1, .sink = &fixture->sink, .seen = &fixture->seen};
        fixture->streams[i].held = held;
        fixture->streams[i].writer = i;
    }
}

static void expect_shown(struct fixture *fixture, struct held *held,
                         const char *expected)
{
    output_show_held(held);
    expect_output(fixture, expected);
}

static void a_held_line_waits_for_a_checkpoint(void **state)
{
    struct stream writers[N_STREAMS];
    struct fixture fixture;
    struct held held;

    (void)state;
    open_holding(&fixture, &held, writers);
    node_writes_with_marks(&fixture, 0, "one\nt|wo\nthree\n", 1);
    node_writes_with_marks(&fixture, 1, "teamster: n1: is said\n", 1);
    expect_shown(&fixture, &held, "teamster: n1: is said\n");
    held_saved(&held, 1);
    expect_shown(&fixture, &held, "one\nt");
    held_saved(&held, 2);
    expect_shown(&fixture, &held, "wo\nthree\n");
    close_fixture(&fixture);
    held_release(&held);
}

static void what_was_shown_before_a_torn_checkpoint_is_compared(void **state)
{
    struct stream writers[N_STREAMS];
    struct fixture fixture;
    struct held held;

    (void)state;
    open_holding(&fixture, &held, writers);
    node_writes_with_marks(&fixture, 0, "|one\n|two\n", 1);
    for (uint64_t i = 1; i <= 2; i++) {
        held_saved(&held, i);
        seen_saved(&fixture.seen, i);
    }
    expect_shown(&fixture, &held, "one\n");
    held_go_back(&held, 1);
    seen_go_back(&fixture.seen, 1);
    fixture.streams[1].cut = 1;
    node_writes_with_marks(&fixture, 1, "one\nnew\n|two\n", 1001);
    held_saved(&held, 1001);
    seen_saved(&fixture.seen, 1001);
    expect_shown(&fixture, &held, "new\n");
    held_end(&held);
    expect_shown(&fixture, &held, "two\n");
    close_fixture(&fixture);
    held_release(&held);
}

static void a_node_that_joins_is_behind_the_newest_checkpoint(void **state)
{
    struct fixture fixture;

    (void)state;
    open_marked(&fixture);
    seen_saved(&fixture.seen, 7);
    fixture.streams[2].cut = SEEN_PREPARING;
    node_writes_with_marks(&fixture, 2, "starts\n|new\n", 0);
    expect_output(&fixture, "starts\nnew\n");
    assert_int_equal(fixture.streams[2].cut, 7);
    seen_go_back(&fixture.seen, 7);
    fixture.streams[2].cut = SEEN_PREPARING;
    node_writes_with_marks(&fixture, 2, "starts\n|new\nnew\n", 0);
    expect_output(&fixture, "new\n");
    close_fixture(&fixture);
}

// What is before the cut does not come again, what is behind it does.
static void a_line_across_a_cut_is_shown_once(void **state)
{
    struct fixture fixture;

    (void)state;
    open_marked(&fixture);
    node_writes_with_marks(&fixture, 0, "foo|bar\nhalf|", 7);
    node_writes_with_marks(&fixture, 1, "other\n", 0);
    expect_output(&fixture, "foobar\nother\n"); // whole
    seen_go_back(&fixture.seen, 7);
    stream_forget(&fixture.streams[0]);
    expect_output(&fixture, "half");
    sink_end_line(&fixture.sink);
    expect_output(&fixture, "\n");
    fixture.streams[2].cut = 7;
    node_writes_with_marks(&fixture, 2, "bar\nhalf|way\n", 1001);
    expect_output(&fixture, "way\n");
    close_fixture(&fixture);
}

// The C library's buffer is emptied before a mark.
static void bytes_are_counted_from_a_mark(void **state)
{
    struct fixture fixture;
    char text[4098] = "|";

    (void)state;
    open_marked(&fixture);
    fixture.streams[0].is_prompting = 1;
    memset(text + 1, 'x', 4096);
    text[4000] = '\n';
    node_writes(&fixture, 0, "first\n");
    node_writes_with_marks(&fixture, 0, text, 7);
    assert_true(stream_prompt_ns(&fixture.streams[0]) > 1000000000);
    node_writes_with_marks(&fixture, 0, "y", 0);
    assert_true(stream_prompt_ns(&fixture.streams[0]) < 1000000000);
    close_fixture(&fixture);
}

static void what_is_no_mark_is_the_programs(void **state)
{
    static const char zeros[] = "\0\0cut 0000\0cut \0\n";
    struct fixture fixture;

    (void)state;
    open_marked(&fixture);
    assert_int_equal(write(fixture.node[0], zeros, sizeof zeros - 1),
                     sizeof zeros - 1);
    stream_read(&fixture.streams[0], 1000);
    assert_int_equal(fixture.sink.waiting.used, sizeof zeros - 1);
    assert_memory_equal(buffer_front(&fixture.sink.waiting), zeros,
                        sizeof zeros - 1);
    close_fixture(&fixture);
}

static void half_a_line_of_who_is_lost_comes_again(void **state)
{
    struct fixture fixture;

    (void)state;
    open_marked(&fixture);
    node_writes_with_marks(&fixture, 0, "whole\nhalf a l", 0);
    node_ends(&fixture, 0);
    node_writes_with_marks(&fixture, 1, "the end", 0);
    node_ends(&fixture, 1);
    expect_output(&fixture, "whole\n");
    stream_forget(&fixture.streams[0]);
    stream_close(&fixture.streams[1]);
    expect_output(&fixture, "the end");
    close_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_waits_for_its_newline),
        cmocka_unit_test(a_tag_is_put_before_every_line),
        cmocka_unit_test(a_last_line_without_newline_is_not_lost),
        cmocka_unit_test(a_prompt_is_shown_after_quiet_time),
        cmocka_unit_test(half_a_line_is_no_prompt),
        cmocka_unit_test(a_line_of_any_length_stays_whole),
        cmocka_unit_test(lines_stay_whole_however_they_come),
        cmocka_unit_test(errors_alike_become_one_line),
        cmocka_unit_test(errors_begin_lines),
        cmocka_unit_test(a_reader_that_does_not_read_keeps_nobody_waiting),
        cmocka_unit_test(a_reader_that_is_gone_is_an_error_once),
        cmocka_unit_test(marks_are_taken_out_and_say_where_a_cut_is),
        cmocka_unit_test(a_node_that_joins_is_behind_the_newest_checkpoint),
        cmocka_unit_test(a_line_across_a_cut_is_shown_once),
        cmocka_unit_test(bytes_are_counted_from_a_mark),
        cmocka_unit_test(what_is_no_mark_is_the_programs),
        cmocka_unit_test(half_a_line_of_who_is_lost_comes_again),
        cmocka_unit_test(a_held_line_waits_for_a_checkpoint),
        cmocka_unit_test(what_was_shown_before_a_torn_checkpoint_is_compared),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
