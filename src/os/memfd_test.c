// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/memfd.h"
#include "os/range.h"

enum { PAGE = 4096, SIZE = 16 * PAGE };

#define VIEW ((char *)0x7e8000000000)

static void all_views_show_the_same_bytes(void **state)
{
    struct memfd memfd;

    (void)state;
    assert_int_equal(memfd_open(&memfd, SIZE), TM_OK);
    assert_int_equal(memfd_map(&memfd, 2 * PAGE, VIEW, 3 * PAGE), TM_OK);
    assert_int_equal(memfd.runtime[2 * PAGE], 0);
    VIEW[7] = 1;
    assert_int_equal(memfd.runtime[2 * PAGE + 7], 1);
    memfd.runtime[5 * PAGE - 1] = 2;
    assert_int_equal(VIEW[3 * PAGE - 1], 2);
    munmap(VIEW, 3 * PAGE);
    memfd_close(&memfd);
}

static void discarded_pages_are_zero_in_all_views(void **state)
{
    struct memfd memfd;

    (void)state;
    assert_int_equal(memfd_open(&memfd, SIZE), TM_OK);
    assert_int_equal(memfd_map(&memfd, 0, VIEW, SIZE), TM_OK);
    memset(VIEW, 9, SIZE);
    memfd_discard(&memfd, PAGE, 2 * PAGE);
    assert_int_equal(VIEW[PAGE - 1], 9);
    assert_int_equal(VIEW[PAGE], 0);
    assert_int_equal(memfd.runtime[3 * PAGE - 1], 0);
    assert_int_equal(memfd.runtime[3 * PAGE], 9);
    munmap(VIEW, SIZE);
    memfd_close(&memfd);
}

static void reserved_addresses_are_replaced(void **state)
{
    struct memfd memfd;

    (void)state;
    assert_int_equal(memfd_open(&memfd, SIZE), TM_OK);
    assert_int_equal(range_reserve(VIEW + PAGE, PAGE), TM_OK);
    assert_int_equal(range_reserve(VIEW, SIZE), TM_EBUSY);
    assert_int_equal(memfd_map(&memfd, 0, VIEW, SIZE), TM_OK);
    VIEW[PAGE] = 3;
    assert_int_equal(memfd.runtime[PAGE], 3);
    munmap(VIEW, SIZE);
    memfd_close(&memfd);
}

// ThreadSanitizer leaves 1.5 TiB of addresses for everything.
#ifdef __SANITIZE_THREAD__
#define BIG ((size_t)1 << 38)
#else
#define BIG ((size_t)1 << 40)
#endif

static void big_memory_costs_nothing_until_used(void **state)
{
    const size_t size = BIG;
    struct memfd memfd;

    (void)state;
    assert_int_equal(memfd_open(&memfd, size), TM_OK);
    memfd.runtime[size - 1] = 1;
    assert_int_equal(memfd.runtime[size / 2], 0);
    memfd_close(&memfd);
}

static void pages_that_were_touched_are_in_memory(void **state)
{
    unsigned char is_resident[SIZE / PAGE];
    struct memfd memfd;

    (void)state;
    assert_int_equal(memfd_open(&memfd, SIZE), TM_OK);
    memfd_write(&memfd, PAGE, "7", 1);
    memfd_populate(&memfd, 3 * PAGE, PAGE);
    memfd_residency(&memfd, 0, SIZE, is_resident);
    for (unsigned i = 0; i < SIZE / PAGE; i++) {
        assert_int_equal(is_resident[i], i == 1);
    }
    memfd_discard(&memfd, PAGE, PAGE);
    memfd_residency(&memfd, PAGE, PAGE, is_resident);
    assert_int_equal(is_resident[0], 0);
    memfd_close(&memfd);
}

static void a_limit_of_file_sizes_is_refused_not_fatal(void **state)
{
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        struct rlimit limit = {PAGE, PAGE};
        struct memfd memfd;

        _exit(setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
              memfd_open(&memfd, SIZE) != TM_ENOMEM);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_reserved_range_is_used_piece_by_piece(void **state)
{
    (void)state;
    assert_int_equal(range_reserve(VIEW, SIZE), TM_OK);
    assert_int_equal(range_use(VIEW + PAGE, 2 * PAGE), TM_OK);
    assert_int_equal(VIEW[PAGE], 0);
    memset(VIEW + PAGE, 5, 2 * PAGE);
    range_discard(VIEW + 2 * PAGE, PAGE);
    assert_int_equal(VIEW[2 * PAGE - 1], 5);
    assert_int_equal(VIEW[2 * PAGE], 0);
    range_release(VIEW, SIZE);
}

// A process of its own, which may open no file.
// @param[out] text  [size] what it says
static void refusal(char *text, size_t size)
{
    int ends[2];
    pid_t child;
    ssize_t n;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        const struct rlimit none = {0};

        dup2(ends[1], STDERR_FILENO);
        setrlimit(RLIMIT_NOFILE, &none);
        _exit(range_use(VIEW, PAGE) != TM_ENOMEM); // nothing is reserved there
    }
    close(ends[1]);
    n = read(ends[0], text, size - 1);
    close(ends[0]);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_refusal_is_not_put_down_to_what_cannot_be_read(void **state)
{
    char text[512];

    (void)state;
    refusal(text, sizeof text);
    assert_non_null(strstr(text, "cannot use 4096 bytes"));
    assert_non_null(strstr(text, strerror(ENOMEM)));
    assert_null(strstr(text, "vm.max_map_count"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_views_show_the_same_bytes),
        cmocka_unit_test(discarded_pages_are_zero_in_all_views),
        cmocka_unit_test(reserved_addresses_are_replaced),
        cmocka_unit_test(big_memory_costs_nothing_until_used),
        cmocka_unit_test(pages_that_were_touched_are_in_memory),
        cmocka_unit_test(a_limit_of_file_sizes_is_refused_not_fatal),
        cmocka_unit_test(a_reserved_range_is_used_piece_by_piece),
        cmocka_unit_test(a_refusal_is_not_put_down_to_what_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
