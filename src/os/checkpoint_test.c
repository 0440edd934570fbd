// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "os/checkpoint_manifest.h"

static char folder[200];

static int begin(void **state)
{
    const char *temporary = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof folder, "%s/checkpoint.XXXXXX",
             temporary == NULL ? "/tmp" : temporary);
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    uint64_t *generations;
    const size_t n = checkpoint_list(folder, &generations);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        checkpoint_remove(folder, generations[i]);
    }
    free(generations);
    return rmdir(folder); // fails if something is left
}

// ---- files

static const char text[] = "some bytes of a record, and more of them";

enum { N_PLACES = 100 };

static struct checkpoint_place places[N_PLACES]; // of the file's last records

static struct checkpoint_sum write_file(const char *path, unsigned n_records)
{
    struct checkpoint_writer writer;

    assert_null(checkpoint_write_begin(&writer, path, 1));
    checkpoint_write_head(&writer);
    for (unsigned i = 0; i < n_records; i++) {
        places[i % N_PLACES] =
            checkpoint_write(&writer, text, i % sizeof text + 1);
    }
    assert_null(checkpoint_write_end(&writer));
    return writer.sum;
}

static struct checkpoint_manifest *make_generation(uint64_t generation)
{
    struct checkpoint_manifest *manifest = calloc(1, sizeof *manifest);
    char *words[] = {"./a program", "50%", "\n", "", NULL};
    char path[CHECKPOINT_PATH_MAX];

    assert_non_null(manifest);
    assert_null(checkpoint_begin(folder, generation));
    manifest->generation = generation;
    strcpy(manifest->version, "1.2.3");
    strcpy(manifest->build_id, "abcdef");
    manifest->iteration = 80;
    manifest->n_ended = 40;
    manifest->n_nodes = 3;
    manifest->canary = UINT64_MAX;
    checkpoint_set_arguments(manifest, words);
    for (unsigned i = 0; i < manifest->n_nodes; i++) {
        checkpoint_file_path(path, folder, generation, i);
        manifest->files[i] = write_file(path, i * 20);
    }
    return manifest;
}

// @param[out] path    [CHECKPOINT_PATH_MAX] of a file of 100 records
// @param[out] reader  of it
static struct checkpoint_sum write_and_read(char *path,
                                            struct checkpoint_reader *reader)
{
    struct checkpoint_sum sum;

    snprintf(path, CHECKPOINT_PATH_MAX, "%s/file", folder);
    sum = write_file(path, 100);
    assert_null(checkpoint_read_begin(reader, path));
    return sum;
}

static void must_read(struct checkpoint_reader *reader, unsigned record)
{
    uint32_t size;

    assert_int_equal(checkpoint_read(reader, &size), CHECKPOINT_RECORD);
    assert_int_equal(size, record % sizeof text + 1);
    assert_memory_equal(reader->bytes, text, size);
}

static void records_come_back_as_they_were(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_reader reader;
    struct checkpoint_sum sum;
    uint32_t size;

    (void)state;
    sum = write_and_read(path, &reader);
    for (unsigned i = 0; i < 100; i++) {
        must_read(&reader, i);
    }
    assert_int_equal(checkpoint_read(&reader, &size), CHECKPOINT_END);
    assert_int_equal(reader.sum.hash, sum.hash);
    checkpoint_read_end(&reader);
    assert_null(checkpoint_check(path, &sum));
    unlink(path);
}

// Every other one.
static void records_may_be_gone_past(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_reader reader;
    struct checkpoint_sum sum;

    (void)state;
    sum = write_and_read(path, &reader);
    for (unsigned i = 0; i < 100; i += 2) {
        assert_int_equal(checkpoint_skip(&reader), CHECKPOINT_RECORD);
        must_read(&reader, i + 1);
    }
    assert_true(reader.n_skipped > 0);
    assert_int_equal(checkpoint_skip(&reader), CHECKPOINT_END);
    assert_int_equal(reader.sum.hash, sum.hash);
    checkpoint_read_end(&reader);
    assert_int_equal(truncate(path, (off_t)sum.n_bytes - 13), 0);
    assert_null(checkpoint_read_begin(&reader, path));
    for (unsigned i = 0; i < 99; i++) {
        assert_int_equal(checkpoint_skip(&reader), CHECKPOINT_RECORD);
    }
    assert_int_equal(checkpoint_skip(&reader), CHECKPOINT_TORN);
    checkpoint_read_end(&reader);
    unlink(path);
}

static char *read_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 16);

    assert_non_null(file);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void each_byte_that_changes_and_each_cut_is_seen(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_sum sum;
    size_t size;
    char *bytes;

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    sum = write_file(path, 20);
    bytes = read_bytes(path, &size);
    assert_int_equal(size, sum.n_bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        write_bytes(path, bytes, size);
        assert_non_null(checkpoint_check(path, &sum));
        bytes[i] ^= (char)(1 << i % 8);
        write_bytes(path, bytes, i);
        assert_non_null(checkpoint_check(path, &sum));
    }
    write_bytes(path, bytes, size);
    assert_null(checkpoint_check(path, &sum));
    free(bytes);
    unlink(path);
}

static void two_records_that_change_places_are_seen(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_writer writer;
    struct checkpoint_sum sum;
    size_t size;
    char *bytes;
    char kept[32];
    const size_t n = 4 + 4 + 3 + 8; // stored, size, bytes, checksum

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    assert_null(checkpoint_write_begin(&writer, path, 1));
    checkpoint_write(&writer, "one", 3);
    checkpoint_write(&writer, "two", 3);
    assert_null(checkpoint_write_end(&writer));
    sum = writer.sum;
    bytes = read_bytes(path, &size);
    memcpy(kept, bytes + 8, n);
    memcpy(bytes + 8, bytes + 8 + n, n);
    memcpy(bytes + 8 + n, kept, n);
    write_bytes(path, bytes, size);
    assert_non_null(checkpoint_check(path, &sum));
    free(bytes);
    unlink(path);
}

static void a_record_can_be_read_alone(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_reader reader;
    uint32_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    (void)write_file(path, N_PLACES);
    assert_null(checkpoint_read_begin(&reader, path));
    for (unsigned i = N_PLACES; i-- > 0;) {
        struct checkpoint_place place = places[i];

        assert_int_equal(checkpoint_read_at(&reader, &place, &size),
                         CHECKPOINT_RECORD);
        assert_int_equal(size, i % sizeof text + 1);
        place.seed ^= 1;
        assert_int_equal(checkpoint_read_at(&reader, &place, &size),
                         CHECKPOINT_TORN);
        place = places[i];
        place.offset++;
        assert_int_equal(checkpoint_read_at(&reader, &place, &size),
                         CHECKPOINT_TORN);
    }
    checkpoint_read_end(&reader);
    unlink(path);
}

// ---- compressed

enum { LARGE = 4096 };

// Records that become smaller, or do not, one after the other.
static struct checkpoint_sum write_large(const char *path, unsigned n_records,
                                         unsigned random_each,
                                         int is_compressed)
{
    struct checkpoint_writer writer;
    uint64_t seed = 3;
    uint8_t bytes[LARGE];

    assert_null(checkpoint_write_begin(&writer, path, is_compressed));
    for (unsigned i = 0; i < n_records; i++) {
        for (size_t at = 0; at < sizeof bytes; at++) {
            bytes[at] =
                (uint8_t)((i + 1) % random_each == 0 ? random_next(&seed) : i);
        }
        (void)checkpoint_write(&writer, bytes, sizeof bytes);
    }
    assert_null(checkpoint_write_end(&writer));
    return writer.sum;
}

static void compressed_records_come_back_as_they_were(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_reader reader;
    struct checkpoint_sum sum;
    uint32_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    sum = write_large(path, 40, 7, 1);
    assert_null(checkpoint_check(path, &sum));
    assert_null(checkpoint_read_begin(&reader, path));
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(checkpoint_read(&reader, &size), CHECKPOINT_RECORD);
        assert_int_equal(size, LARGE);
        for (unsigned at = 0; at < LARGE && (i + 1) % 7 > 0; at++) {
            assert_int_equal(reader.bytes[at], i);
        }
    }
    assert_int_equal(checkpoint_read(&reader, &size), CHECKPOINT_END);
    checkpoint_read_end(&reader);
    unlink(path);
}

static uint64_t size_of_large(unsigned random_each, int is_compressed)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_sum sum;

    snprintf(path, sizeof path, "%s/file", folder);
    sum = write_large(path, 300, random_each, is_compressed);
    unlink(path);
    return sum.n_bytes;
}

static void records_are_compressed_where_it_pays(void **state)
{
    struct compression *compression = compression_open();

    (void)state;
    if (compression == NULL) {
        skip();
    }
    compression_close(compression);
    assert_true(size_of_large(UINT32_MAX, 1) < size_of_large(1, 0) / 10);
    assert_int_equal(size_of_large(1, 1), size_of_large(1, 0));
    assert_true(size_of_large(2, 1) < size_of_large(2, 0) * 6 / 10);
}

static void each_byte_of_a_compressed_record_that_changes_is_seen(void **state)
{
    char path[CHECKPOINT_PATH_MAX];
    struct checkpoint_sum sum;
    size_t size;
    char *bytes;

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    sum = write_large(path, 3, 100, 1);
    bytes = read_bytes(path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        write_bytes(path, bytes, size);
        assert_non_null(checkpoint_check(path, &sum));
        bytes[i] ^= (char)(1 << i % 8);
    }
    free(bytes);
    unlink(path);
}

// The rest is not there.
static void a_head_is_read_without_the_rest(void **state)
{
    enum { N_HEAD = 5 };
    struct checkpoint_writer writer;
    struct checkpoint_reader reader;
    char path[CHECKPOINT_PATH_MAX];
    unsigned n = 0;
    uint32_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    assert_null(checkpoint_write_begin(&writer, path, 1));
    for (unsigned i = 0; i < 2 * N_HEAD; i++) {
        if (i == N_HEAD) {
            checkpoint_write_head(&writer);
        }
        (void)checkpoint_write(&writer, text, sizeof text);
    }
    assert_null(checkpoint_write_end(&writer));
    assert_int_equal(truncate(path, (off_t)writer.sum.n_head), 0);
    assert_null(checkpoint_read_begin(&reader, path));
    for (; !checkpoint_has_read(&reader, writer.sum.n_head); n++) {
        assert_int_equal(checkpoint_read(&reader, &size), CHECKPOINT_RECORD);
    }
    assert_int_equal(n, N_HEAD);
    assert_int_equal(checkpoint_read(&reader, &size), CHECKPOINT_TORN);
    checkpoint_read_end(&reader);
    unlink(path);
}

// ---- who reads what

static void count_readers(unsigned n_files, unsigned n_nodes)
{
    for (unsigned file = 0; file < n_files; file++) {
        uint8_t has_items[8] = {0};

        for (uint64_t item = 0; item < 16; item++) {
            const unsigned place =
                checkpoint_place_of(file, n_files, n_nodes, item);

            assert_true(place < n_nodes);
            has_items[place] = 1;
        }
        for (unsigned place = 0; place < n_nodes; place++) {
            assert_int_equal(
                checkpoint_is_read_at(file, n_files, n_nodes, place),
                has_items[place]);
        }
    }
}

// L2 of runtime/checkpoint_load.c.
static void each_record_is_read_by_one(void **state)
{
    (void)state;
    for (unsigned n_nodes = 1; n_nodes <= 9; n_nodes++) {
        unsigned n_read[9] = {0};

        for (uint64_t number = 0; number < 900; number++) {
            unsigned n_readers = 0;

            for (unsigned place = 0; place < n_nodes; place++) {
                const struct checkpoint_share share =
                    checkpoint_share_of(1, 2, n_nodes, place);
                const int is_read = checkpoint_is_in_share(&share, number);

                n_readers += (unsigned)is_read;
                n_read[place] += (unsigned)is_read;
            }
            assert_int_equal(n_readers, 1);
        }
        for (unsigned place = 0; place < n_nodes; place++) {
            assert_true(checkpoint_is_read_at(1, 2, n_nodes, place) ==
                        (n_read[place] > 0));
        }
    }
}

static void who_has_items_of_a_file_reads_it(void **state)
{
    (void)state;
    for (unsigned n_files = 1; n_files <= 8; n_files++) {
        for (unsigned n_nodes = 1; n_nodes <= 8; n_nodes++) {
            count_readers(n_files, n_nodes);
        }
    }
}

// ---- older files

// A generation that has a file of each of others. @return its manifest
static struct checkpoint_manifest *make_chain(
    uint64_t generation, struct checkpoint_manifest *parent)
{
    struct checkpoint_manifest *manifest = make_generation(generation);
    struct checkpoint_older older = {parent->generation, 2, parent->files[2],
                                     1};

    older.sum.n_head = 0; // nobody asks for it
    for (unsigned i = 0; i < parent->n_older; i++) {
        manifest->older[manifest->n_older++] = parent->older[i];
    }
    manifest->older[manifest->n_older++] = older;
    for (unsigned i = 0; i < manifest->n_older; i++) {
        assert_null(checkpoint_keep(folder, generation, parent->generation,
                                    &manifest->older[i]));
    }
    return manifest;
}

static void a_generation_outlives_those_whose_files_it_has(void **state)
{
    struct checkpoint_manifest *manifest = make_generation(1);
    struct checkpoint_manifest *found = calloc(1, sizeof *found);
    char name[CHECKPOINT_NAME_MAX];

    (void)state;
    assert_null(checkpoint_commit(folder, manifest));
    for (uint64_t generation = 2; generation <= 5; generation++) {
        struct checkpoint_manifest *next = make_chain(generation, manifest);

        assert_null(checkpoint_commit(folder, next));
        checkpoint_remove(folder, generation - 1);
        assert_null(checkpoint_load(folder, generation, found));
        assert_memory_equal(found, next, sizeof *found);
        assert_null(checkpoint_check_files(folder, found, name));
        assert_int_equal(found->n_older, generation - 1);
        assert_true(checkpoint_new_bytes(found) < checkpoint_bytes(found));
        free(manifest);
        manifest = next;
    }
    free(found);
    free(manifest);
}

static void a_byte_of_an_older_file_that_changes_is_seen(void **state)
{
    struct checkpoint_manifest *parent = make_generation(1);
    struct checkpoint_manifest *manifest = make_chain(3, parent);
    char name[CHECKPOINT_NAME_MAX];
    char path[CHECKPOINT_PATH_MAX];
    size_t size;
    char *bytes;

    (void)state;
    checkpoint_older_path(path, folder, 3, 1, 2);
    bytes = read_bytes(path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        write_bytes(path, bytes, size);
        assert_non_null(checkpoint_check_files(folder, manifest, name));
        assert_string_equal(name, "older-1-2");
        bytes[i] ^= (char)(1 << i % 8);
    }
    unlink(path);
    assert_non_null(checkpoint_check_files(folder, manifest, name));
    free(bytes);
    free(manifest);
    free(parent);
}

// A crash may come between any two of these.
static void whatever_a_crash_leaves_there_is_one_that_is_whole(void **state)
{
    struct checkpoint_manifest *parent = make_generation(1);
    struct checkpoint_manifest *found = calloc(1, sizeof *found);
    struct checkpoint_manifest *manifest;
    char path[CHECKPOINT_PATH_MAX];

    (void)state;
    assert_null(checkpoint_commit(folder, parent));
    manifest = make_chain(3, parent); // all is there but its manifest
    assert_null(checkpoint_choose(folder, found, NULL, NULL));
    assert_int_equal(found->generation, 1);
    assert_null(checkpoint_commit(folder, manifest));
    for (unsigned i = 0; i < parent->n_nodes; i++) { // the parent goes
        checkpoint_file_path(path, folder, 1, i);
        unlink(path);
        assert_null(checkpoint_choose(folder, found, NULL, NULL));
        assert_int_equal(found->generation, 3);
    }
    checkpoint_remove(folder, 1);
    assert_null(checkpoint_choose(folder, found, NULL, NULL));
    assert_int_equal(found->generation, 3);
    free(found);
    free(manifest);
    free(parent);
}

static void what_is_not_there_cannot_be_kept(void **state)
{
    struct checkpoint_manifest *parent = make_generation(1);
    struct checkpoint_older older = {1, 7, parent->files[2], 0};

    (void)state;
    assert_null(checkpoint_begin(folder, 2));
    assert_non_null(checkpoint_keep(folder, 2, 1, &older));
    older.index = 2;
    older.sum.n_bytes++; // it has not come whole
    assert_non_null(checkpoint_keep(folder, 2, 1, &older));
    older.sum.n_bytes--;
    assert_null(checkpoint_keep(folder, 2, 1, &older));
    free(parent);
}

// ---- manifests

static void a_manifest_comes_back_as_it_was(void **state)
{
    struct checkpoint_manifest *manifest = make_generation(7);
    struct checkpoint_manifest *found = calloc(1, sizeof *found);
    char **words;

    (void)state;
    assert_null(checkpoint_commit(folder, manifest));
    assert_null(checkpoint_load(folder, 7, found));
    assert_memory_equal(found, manifest, sizeof *found);
    words = checkpoint_arguments(found);
    assert_string_equal(words[0], "./a program");
    assert_string_equal(words[1], "50%");
    assert_string_equal(words[2], "\n");
    assert_string_equal(words[3], "");
    assert_null(words[4]);
    free(words);
    free(found);
    free(manifest);
}

static void a_manifest_that_has_changed_is_none(void **state)
{
    struct checkpoint_manifest *manifest = make_generation(7);
    size_t size;
    char *bytes = checkpoint_manifest_write(manifest, &size);

    (void)state;
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 4;
        assert_int_equal(checkpoint_manifest_read(bytes, size, manifest),
                         TM_EINVAL);
        bytes[i] ^= 4;
        assert_int_equal(checkpoint_manifest_read(bytes, i, manifest),
                         TM_EINVAL);
    }
    assert_int_equal(checkpoint_manifest_read(bytes, size, manifest), TM_OK);
    free(bytes);
    free(manifest);
}

static unsigned n_told;

static void count_told(void *owner, uint64_t generation, const char *why)
{
    (void)owner;
    (void)generation;
    assert_non_null(why);
    n_told++;
}

static void the_newest_that_is_whole_is_chosen(void **state)
{
    struct checkpoint_manifest *found = calloc(1, sizeof *found);
    char path[CHECKPOINT_PATH_MAX];

    (void)state;
    assert_non_null(checkpoint_choose(folder, found, NULL, NULL));
    for (uint64_t generation = 1; generation <= 3; generation++) {
        struct checkpoint_manifest *manifest = make_generation(generation);

        assert_null(checkpoint_commit(folder, manifest));
        free(manifest);
    }
    free(make_generation(4)); // not committed
    checkpoint_file_path(path, folder, 3, 1);
    assert_int_equal(truncate(path, 20), 0);
    n_told = 0;
    assert_null(checkpoint_choose(folder, found, count_told, NULL));
    assert_int_equal(found->generation, 2);
    assert_int_equal(n_told, 2);
    free(found);
}

static void two_generations_are_kept(void **state)
{
    uint64_t *generations;

    (void)state;
    for (uint64_t generation = 1; generation <= 4; generation++) {
        struct checkpoint_manifest *manifest = make_generation(generation);

        if (generation != 3) {
            assert_null(checkpoint_commit(folder, manifest));
        }
        free(manifest);
    }
    checkpoint_tidy(folder);
    assert_int_equal(checkpoint_list(folder, &generations), 2);
    assert_int_equal(generations[0], 4);
    assert_int_equal(generations[1], 2);
    free(generations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_come_back_as_they_were, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            each_byte_that_changes_and_each_cut_is_seen, begin, end),
        cmocka_unit_test_setup_teardown(two_records_that_change_places_are_seen,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_record_can_be_read_alone, begin, end),
        cmocka_unit_test_setup_teardown(
            compressed_records_come_back_as_they_were, begin, end),
        cmocka_unit_test_setup_teardown(records_are_compressed_where_it_pays,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            each_byte_of_a_compressed_record_that_changes_is_seen, begin, end),
        cmocka_unit_test_setup_teardown(a_head_is_read_without_the_rest, begin,
                                        end),
        cmocka_unit_test_setup_teardown(records_may_be_gone_past, begin, end),
        cmocka_unit_test(each_record_is_read_by_one),
        cmocka_unit_test(who_has_items_of_a_file_reads_it),
        cmocka_unit_test_setup_teardown(
            a_generation_outlives_those_whose_files_it_has, begin, end),
        cmocka_unit_test_setup_teardown(
            a_byte_of_an_older_file_that_changes_is_seen, begin, end),
        cmocka_unit_test_setup_teardown(
            whatever_a_crash_leaves_there_is_one_that_is_whole, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_there_cannot_be_kept, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_manifest_comes_back_as_it_was, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_manifest_that_has_changed_is_none,
                                        begin, end),
        cmocka_unit_test_setup_teardown(the_newest_that_is_whole_is_chosen,
                                        begin, end),
        cmocka_unit_test_setup_teardown(two_generations_are_kept, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
