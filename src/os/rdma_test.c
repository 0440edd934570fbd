// SPDX-License-Identifier: BSD-3-Clause
#include "os/rdma.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static char folder[] = "/tmp/rdma_test-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(path_of(name), 0700), 0);
}

static void write_number(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/** A card as Linux shows one. */
static void make_card(const char *card, const char *device)
{
    char name[64];

    make_folder(card);
    snprintf(name, sizeof name, "%s/device", card);
    make_folder(name);
    if (device != NULL) {
        snprintf(name, sizeof name, "%s/device/infiniband", card);
        make_folder(name);
        snprintf(name, sizeof name, "%s/device/infiniband/%s", card, device);
        make_folder(name);
    }
}

static int start_tests(void **unused)
{
    (void)unused;
    return mkdtemp(folder) == NULL;
}

static int end_tests(void **unused)
{
    char command[64];

    (void)unused;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void assert_devices(const char *card, const char *expected)
{
    char text[64];

    rdma_devices_in(folder, card, text, sizeof text);
    assert_string_equal(text, expected);
}

static void a_card_without_rdma_is_itself(void **unused)
{
    (void)unused;
    make_card("eth0", NULL);
    assert_devices("eth0", "eth0");
    assert_devices("nothing", "nothing");
}

static void a_card_with_rdma_is_its_device_too(void **unused)
{
    (void)unused;
    make_card("eth1", "mlx5_0");
    write_number("eth1/dev_port", "0\n");
    assert_devices("eth1", "eth1,mlx5_0:1");
}

static void the_second_port_is_said_by_either_file(void **unused)
{
    (void)unused;
    make_card("eth2", "mlx5_1");
    write_number("eth2/dev_port", "1\n");
    assert_devices("eth2", "eth2,mlx5_1:2");
    make_card("ib1", "mlx4_0");
    write_number("ib1/dev_port", "0\n");
    write_number("ib1/dev_id", "0x1\n");
    assert_devices("ib1", "ib1,mlx4_0:2");
}

static void what_has_no_room_is_left_out(void **unused)
{
    char text[10];

    (void)unused;
    make_card("eth3", "mlx5_2");
    rdma_devices_in(folder, "eth3", text, sizeof text);
    assert_string_equal(text, "eth3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_without_rdma_is_itself),
        cmocka_unit_test(a_card_with_rdma_is_its_device_too),
        cmocka_unit_test(the_second_port_is_said_by_either_file),
        cmocka_unit_test(what_has_no_room_is_left_out),
    };

    return cmocka_run_group_tests(tests, start_tests, end_tests);
}
