// SPDX-License-Identifier: BSD-3-Clause
//
// Which generation a run goes back to, of what the launcher and three agents say that their hosts
// have: of each file what its manifest says, or less. And what each host is to be given for that.
#include "stored.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job.h"
#include "memory_files.h"
#include "os/checkpoint_manifest.h"
#include "stored_files.h"

enum { N_HOSTS = 3, FILE_BYTES = 1000, HEAD_BYTES = 10, NODES_MAX = 8 };

static struct job job;
static struct launch_plan plan;
static struct node nodes[NODES_MAX];
static struct checkpoint_manifest found;

static int open_job(void **unused)
{
    (void)unused;
    memset(&job, 0, sizeof job);
    job.plan = &plan;
    job.nodes = nodes;
    job.remote.n = N_HOSTS;
    job.remote.hosts = calloc(N_HOSTS, sizeof *job.remote.hosts);
    return job.remote.hosts == NULL;
}

static int close_job(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < N_HOSTS; i++) {
        stored_forget(&job.remote.hosts[i].stored);
    }
    stored_forget(&job.recovery.here);
    free(job.remote.hosts);
    return 0;
}

/** It says that it has a file. */
static void say(unsigned host, const struct wire_agent_file *file,
                const char *text, size_t size)
{
    struct mux_frame frame = {.kind = MUX_FILE};
    struct buffer body = {0};
    uint8_t record[WIRE_SIZE_agent_file];
    struct wire_writer writer = {.at = record, .end = record + sizeof record};

    wire_put_agent_file(&writer, file);
    buffer_append(&body, record, sizeof record);
    buffer_append(&body, text, size);
    frame.body = (uint8_t *)buffer_front(&body);
    frame.size = body.used;
    assert_true(stored_take(stored_of(&job, host), &frame));
    buffer_release(&body);
}

static void say_bytes(unsigned host, uint64_t generation, uint32_t index,
                      uint64_t n_bytes)
{
    say(host, &(struct wire_agent_file){generation, generation, index, n_bytes},
        "", 0);
}

static void say_file(unsigned host, uint64_t generation, uint32_t index)
{
    say_bytes(host, generation, index, FILE_BYTES);
}

/** Of so many files, and one of generation `of`; 0: of none. */
static void say_manifest_with(unsigned host, uint64_t generation,
                              unsigned n_files, uint64_t of)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    size_t size;
    char *text;

    assert_non_null(manifest);
    manifest->generation = generation;
    manifest->n_nodes = n_files;
    strcpy(manifest->version, "1");
    strcpy(manifest->build_id, "2");
    for (unsigned i = 0; i < n_files; i++) {
        manifest->files[i].n_bytes = FILE_BYTES;
        manifest->files[i].n_head = HEAD_BYTES;
    }
    manifest->n_older = of > 0;
    manifest->older[0] = (struct checkpoint_older){
        .generation = of, .index = 1, .sum = {.n_bytes = FILE_BYTES}, .by = 1};
    text = checkpoint_manifest_write(manifest, &size);
    assert_non_null(text);
    say(host,
        &(struct wire_agent_file){generation, generation, MEMORY_MANIFEST, 0},
        text, size);
    free(text);
    free(manifest);
}

static void say_manifest(unsigned host, uint64_t generation, unsigned n_files)
{
    say_manifest_with(host, generation, n_files, 0);
}

static uint64_t choose(void)
{
    stored_choose(&job, &found);
    return found.generation;
}

static void it_is_whole_together(void **unused)
{
    (void)unused;
    assert_int_equal(choose(), 0);
    say_manifest(1, 7, 3);
    say_file(0, 7, 0);
    say_file(2, 7, 1);
    assert_int_equal(choose(), 0);
    say_file(3, 7, 2);
    assert_int_equal(choose(), 7);
    assert_int_equal(found.n_nodes, 3);
}

static void the_newest_that_is_whole_is_taken(void **unused)
{
    (void)unused;
    for (uint64_t generation = 3; generation <= 5; generation++) {
        say_manifest(1, generation, 2);
        say_manifest(2, generation, 2);
        say_file(1, generation, 0);
    }
    say_file(2, 3, 1);
    assert_int_equal(choose(), 3);
    say_file(3, 4, 1);
    assert_int_equal(choose(), 4);
}

static void without_a_manifest_there_is_none(void **unused)
{
    static const char text[] = "Teamster checkpoint 4\n";

    (void)unused;
    say_file(1, 9, 0);
    say_file(2, 9, 1);
    assert_int_equal(choose(), 0);
    say(1, &(struct wire_agent_file){9, 9, MEMORY_MANIFEST, 0}, text,
        sizeof text - 1);
    assert_int_equal(choose(), 0);
}

/** It was on its way when its sender was lost. */
static void what_has_not_come_whole_does_not_count(void **unused)
{
    (void)unused;
    say_manifest(1, 7, 1);
    say_bytes(1, 7, 0, FILE_BYTES - 1);
    assert_int_equal(choose(), 0);
    say_file(2, 7, 0);
    assert_int_equal(choose(), 7);
}

/** Not under that name in another generation, nor another one that this generation has. */
static void without_an_older_file_it_is_not_whole(void **unused)
{
    (void)unused;
    say_manifest_with(1, 7, 2, 5);
    say_file(1, 7, 0);
    say_file(2, 7, 1);
    assert_int_equal(choose(), 0);
    say(2, &(struct wire_agent_file){6, 5, 1, FILE_BYTES}, "", 0);
    say(2, &(struct wire_agent_file){7, 4, 1, FILE_BYTES}, "", 0);
    say(2, &(struct wire_agent_file){7, 5, 1, FILE_BYTES - 1}, "", 0);
    assert_int_equal(choose(), 0);
    say(3, &(struct wire_agent_file){7, 5, 1, FILE_BYTES}, "", 0);
    assert_int_equal(choose(), 7);
}

static void nonsense_is_not_taken(void **unused)
{
    static const uint8_t bytes[WIRE_SIZE_agent_file - 1] = {0};
    const struct mux_frame file = {
        .kind = MUX_FILE, .body = bytes, .size = sizeof bytes};
    const struct mux_frame hello = {.kind = MUX_HELLO, .body = bytes};

    (void)unused;
    assert_false(stored_take(stored_of(&job, 1), &file));
    assert_false(stored_take(stored_of(&job, 1), &hello));
    assert_int_equal(stored_of(&job, 1)->n, 0);
}

// ---- what each host is to be given

/** Nodes start there. @param hosts  a digit each */
static void place_nodes(const char *hosts)
{
    plan.n_nodes = (unsigned)strlen(hosts);
    for (unsigned i = 0; i < plan.n_nodes; i++) {
        nodes[i].host = (unsigned)(hosts[i] - '0');
    }
}

static void expect_wanted(unsigned i, uint64_t here, uint64_t of_1,
                          uint64_t of_2, uint64_t of_3)
{
    const uint64_t expected[] = {here, of_1, of_2, of_3};

    stored_want_read(&job, &found, i);
    for (unsigned host = 0; host <= N_HOSTS; host++) {
        assert_int_equal(stored_of(&job, host)->n_wanted, expected[host]);
    }
}

/** Three files, and one of generation 5 of the second node: 1 has its own and that of 3, 2 is lost. */
static void save_three(void)
{
    say_manifest_with(1, 7, 3, 5);
    say_file(1, 7, 0);
    say_file(1, 7, 2);
    say_file(3, 7, 1);
    say(3, &(struct wire_agent_file){7, 5, 1, FILE_BYTES}, "", 0);
    say_file(3, 7, 2);
    assert_int_equal(choose(), 7);
}

static void a_host_wants_what_its_nodes_read(void **unused)
{
    (void)unused;
    save_three();
    place_nodes("103"); // the launcher's host takes the place of 2
    expect_wanted(0, 0, 0, 0, 0);
    expect_wanted(1, FILE_BYTES, HEAD_BYTES, 0, 0);
    expect_wanted(2, 0, 0, 0, 0);
    expect_wanted(3, FILE_BYTES, 0, 0, 0);
}

static void fewer_nodes_read_more(void **unused)
{
    (void)unused;
    save_three();
    place_nodes("13");
    expect_wanted(0, 0, 0, 0, 0);
    expect_wanted(1, 0, FILE_BYTES, 0, 0);
    expect_wanted(2, 0, 0, 0, 0);
    expect_wanted(3, 0, FILE_BYTES, 0, 0);
}

static void more_nodes_share_a_file(void **unused)
{
    (void)unused;
    save_three();
    place_nodes("111023");
    expect_wanted(0, 0, 0, 0, 0);
    expect_wanted(1, FILE_BYTES, FILE_BYTES, 0, 0);
    expect_wanted(2, 0, 0, FILE_BYTES, 0);
}

static void what_is_on_one_host_gets_a_second_place(void **unused)
{
    struct wire_agent_file file;

    (void)unused;
    save_three();
    place_nodes("1102");
    file = stored_file_of(&found, 0);
    assert_int_equal(stored_find_second(&job, &file), 0);
    file = stored_file_of(&found, 1); // no node is on 3
    assert_int_equal(stored_find_second(&job, &file), -1);
    stored_note(stored_of(&job, 2), &file, NULL, 0);
    assert_int_equal(stored_find_second(&job, &file), 1);
    stored_note(stored_of(&job, 1), &file, NULL, 0);
    assert_int_equal(stored_find_second(&job, &file), -1);
    place_nodes("11");
    file = stored_file_of(&found, 0);
    assert_int_equal(stored_find_second(&job, &file), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_job, close_job)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_is_whole_together),
        TEST(the_newest_that_is_whole_is_taken),
        TEST(without_a_manifest_there_is_none),
        TEST(what_has_not_come_whole_does_not_count),
        TEST(without_an_older_file_it_is_not_whole),
        TEST(nonsense_is_not_taken),
        TEST(a_host_wants_what_its_nodes_read),
        TEST(fewer_nodes_read_more),
        TEST(more_nodes_share_a_file),
        TEST(what_is_on_one_host_gets_a_second_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
