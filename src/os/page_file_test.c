// SPDX-License-Identifier: BSD-3-Clause
#include "os/page_file.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { N_PAGES = 5 };

static char folder[64];
static char *bytes; ///< [N_PAGES pages]

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "page_file_test.XXXXXX");
    bytes = aligned_alloc(TM_PAGE_SIZE, N_PAGES * TM_PAGE_SIZE);
    for (size_t i = 0; i < N_PAGES * TM_PAGE_SIZE; i++) {
        bytes[i] = (char)(i / TM_PAGE_SIZE * 3 + i % 7);
    }
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    free(bytes);
    return rmdir(folder); // fails if anything is left in it
}

static unsigned n_entries(void)
{
    DIR *list = opendir(folder);
    unsigned n = 0;

    assert_non_null(list);
    while (readdir(list) != NULL) {
        n++;
    }
    closedir(list);
    return n - 2;
}

static void check_transfers(const struct page_file *file)
{
    char *page = aligned_alloc(TM_PAGE_SIZE, TM_PAGE_SIZE);

    for (unsigned i = 0; i < N_PAGES; i++) {
        assert_int_equal(page_file_read(file, i, page), TM_OK);
        assert_memory_equal(page, bytes + (size_t)i * TM_PAGE_SIZE,
                            TM_PAGE_SIZE);
    }
    memset(page, 0x77, TM_PAGE_SIZE);
    assert_int_equal(page_file_write(file, 3, page), TM_OK);
    memset(page, 0, TM_PAGE_SIZE);
    assert_int_equal(page_file_read(file, 3, page), TM_OK);
    assert_int_equal(page[0], 0x77);
    assert_int_equal(page[TM_PAGE_SIZE - 1], 0x77);
    assert_int_equal(page_file_read(file, 4, page), TM_OK);
    assert_memory_equal(page, bytes + 4 * TM_PAGE_SIZE, TM_PAGE_SIZE);
    free(page);
}

static void what_is_written_is_read(void **state)
{
    struct page_file file;
    char reason[256];

    (void)state;
    assert_int_equal(
        page_file_open(&file, folder, bytes, N_PAGES, reason, sizeof reason),
        TM_OK);
    print_message("direct %d, in memory %d\n", file.is_direct,
                  file.is_in_memory);
    check_transfers(&file);
    file.is_direct = 0; // the other way of doing it gives the same bytes
    memset(bytes + (size_t)3 * TM_PAGE_SIZE, 0x77, TM_PAGE_SIZE);
    check_transfers(&file);
    page_file_close(&file);
}

static void the_file_has_no_name(void **state)
{
    struct page_file file;
    char reason[256];

    (void)state;
    assert_int_equal(
        page_file_open(&file, folder, bytes, N_PAGES, reason, sizeof reason),
        TM_OK);
    assert_int_equal(n_entries(), 0);
    page_file_close(&file);
    page_file_close(&file); // twice is as good as once
}

static void a_file_in_memory_is_known_as_such(void **state)
{
    struct page_file file;
    char reason[256];

    (void)state;
    if (page_file_open(&file, "/dev/shm", bytes, N_PAGES, reason,
                       sizeof reason) != TM_OK) {
        skip();
    }
    assert_true(file.is_in_memory);
    check_transfers(&file);
    page_file_close(&file);
}

static void a_folder_that_is_not_there_is_refused_with_a_reason(void **state)
{
    struct page_file file;
    char reason[256] = "";

    (void)state;
    assert_int_equal(page_file_open(&file, "/not/there", bytes, N_PAGES, reason,
                                    sizeof reason),
                     TM_ESYSTEM);
    assert_string_equal(reason, "cannot make a file in /not/there: No such "
                                "file or directory");
    assert_int_equal(
        page_file_open(&file, "/proc", bytes, N_PAGES, reason, sizeof reason),
        TM_ESYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_file_has_no_name),
        cmocka_unit_test(a_file_in_memory_is_known_as_such),
        cmocka_unit_test(a_folder_that_is_not_there_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
