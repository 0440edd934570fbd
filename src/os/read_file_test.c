// SPDX-License-Identifier: BSD-3-Clause
#include "os/read_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct read_files before;
static char path[] = "/tmp/read_file_test_XXXXXX";

static void a_file_counts_while_it_is_open(void **state)
{
    const int fd = mkostemp(path, O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_true(read_files_has_more(&before));
    close(fd);
    assert_false(read_files_has_more(&before));
}

static void what_others_have_opened_does_not(void **state)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct read_files later;

    (void)state;
    assert_true(fd >= 0);
    read_files_note(&later);
    assert_true(read_files_has_more(&before));
    assert_false(read_files_has_more(&later));
    close(fd);
    assert_int_equal(open("/etc/passwd", O_RDONLY | O_CLOEXEC), fd);
    assert_true(read_files_has_more(&later)); // it has its number only
    close(fd);
}

static void what_is_only_written_does_not(void **state)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_false(read_files_has_more(&before));
    close(fd);
}

static void nor_do_memory_and_the_kernels_own(void **state)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const int memory = memfd_create("test", MFD_CLOEXEC);
    const int own = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0 && memory >= 0 && own >= 0);
    unlink(path);
    assert_false(read_files_has_more(&before));
    close(fd);
    close(memory);
    close(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_counts_while_it_is_open),
        cmocka_unit_test(what_others_have_opened_does_not),
        cmocka_unit_test(what_is_only_written_does_not),
        cmocka_unit_test(nor_do_memory_and_the_kernels_own),
    };

    read_files_note(&before);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
