// SPDX-License-Identifier: BSD-3-Clause
#include "os/new_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[200];
static char path[300];

static int begin(void **state)
{
    const char *temporary = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof folder, "%s/new_file.XXXXXX",
             temporary == NULL ? "/tmp" : temporary);
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/it", folder);
    return 0;
}

static unsigned n_files(void)
{
    DIR *directory = opendir(folder);
    unsigned n = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        n++;
    }
    closedir(directory);
    return n - 2;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    rmdir(path);
    return rmdir(folder); // fails if something is left
}

static void write_it(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_text(const char *expected)
{
    char text[100] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    (void)!fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_string_equal(text, expected);
}

static void it_takes_the_name_when_it_is_whole(void **state)
{
    struct new_file it;

    (void)state;
    write_it("before");
    assert_null(new_file_check(path));
    assert_null(new_file_begin(&it, path));
    fputs("after", it.file);
    fflush(it.file);
    expect_text("before");
    assert_null(new_file_end(&it));
    expect_text("after");
    assert_int_equal(n_files(), 1);
}

static void what_is_dropped_leaves_nothing(void **state)
{
    struct new_file it;

    (void)state;
    assert_null(new_file_begin(&it, path));
    new_file_drop(&it);
    assert_int_equal(n_files(), 0);
    assert_null(new_file_check(path));
    assert_int_equal(n_files(), 0);
}

static void fail_to_write(int is_late)
{
    struct new_file it;
    FILE *own;

    write_it("before");
    assert_null(new_file_begin(&it, path));
    own = it.file;
    it.file = fopen("/dev/full", "w");
    assert_non_null(it.file);
    setvbuf(it.file, NULL, is_late ? _IOFBF : _IONBF, BUFSIZ);
    fputs("after", it.file);
    assert_string_equal(new_file_end(&it), "No space left on device");
    fclose(own);
    expect_text("before");
    assert_int_equal(n_files(), 1);
}

static void a_write_that_fails_keeps_what_was_there(void **state)
{
    (void)state;
    fail_to_write(0);
    fail_to_write(1);
}

static void folders_and_devices_keep_their_names(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0777), 0);
    assert_string_equal(new_file_check(path), "it is a folder");
    assert_string_equal(new_file_check("/dev/null"), "it is not a file");
    strcat(path, "/no/where");
    assert_string_equal(new_file_check(path), "No such file or directory");
    path[strlen(path) - strlen("/no/where")] = '\0';
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(it_takes_the_name_when_it_is_whole),
        FILE_TEST(what_is_dropped_leaves_nothing),
        FILE_TEST(a_write_that_fails_keeps_what_was_there),
        FILE_TEST(folders_and_devices_keep_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
