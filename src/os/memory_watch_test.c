// SPDX-License-Identifier: BSD-3-Clause
// Memory limits, on folders that look like /proc and /sys of machines and
// containers of several kinds.
#include "os/memory_watch.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

#define V1_MOUNT                                                               \
    "35 32 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,memoryless\n"   \
    "36 32 0:33 %s /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup "       \
    "cgroup rw,memory\n"
#define V2_MOUNT                                                               \
    "30 1 0:26 %s /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 "       \
    "cgroup2 rw\n"

static char root[64];

__attribute__((format(printf, 2, 3))) static void put(const char *path,
                                                      const char *format, ...)
{
    char full[1024];
    va_list arguments;
    FILE *file;

    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1;
         (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

static int make_machine(void **state)
{
    (void)state;
    strcpy(root, "/tmp/memory_test.XXXXXX");
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    put("/proc/meminfo", "MemTotal:        1024000 kB\n"
                         "MemFree:          100000 kB\n"
                         "MemAvailable:     491520 kB\n"
                         "SwapCached:        20480 kB\n"
                         "SwapTotal:        204800 kB\n"
                         "SwapFree:         102400 kB\n");
    put("/proc/sys/kernel/random/boot_id", "one\n");
    return 0;
}

static int delete_one(const char *path, const struct stat *status, int kind,
                      struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static int delete_machine(void **state)
{
    (void)state;
    return nftw(root, delete_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct memory_state look(struct memory_watch *watch)
{
    struct memory_state state;

    assert_int_equal(memory_open(watch, root), TM_OK);
    memory_read(watch, &state);
    return state;
}

static void expect_bound(const struct memory_bound *bound, uint64_t mib,
                         const char *expected)
{
    char description[800];
    char text[800];

    memory_bound_describe(bound, text, sizeof text);
    snprintf(description, sizeof description, expected, root);
    assert_string_equal(text, description);
    assert_int_equal(bound->bytes / MIB, mib);
}

static void expect_machine(const struct memory_state *state)
{
    expect_bound(&state->total, 1000, "MemTotal");
    expect_bound(&state->available, 500, "MemAvailable");
}

// ---- machines

static void without_groups_the_machine_is_the_bound(void **unused)
{
    struct memory_watch watch;
    struct memory_state state = look(&watch);

    (void)unused;
    expect_machine(&state);
    assert_int_equal(watch.n_groups, 0);
    assert_int_equal(state.shared, 0);
    assert_int_equal(state.swap_total, 200 * MIB);
    assert_int_equal(state.swap_free, 100 * MIB);
}

static void a_machine_without_MemAvailable_is_refused(void **unused)
{
    struct memory_watch watch;

    (void)unused;
    put("/proc/meminfo", "MemTotal: 1024000 kB\nMemFree: 1 kB\n");
    assert_int_equal(memory_open(&watch, root), TM_ESYSTEM);
}

static void nonsense_limits_nothing(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    put("/proc/self/cgroup", "\nx\n7:memory\n:::\n0::\n4:memory:/a\n");
    put("/proc/self/mountinfo",
        "\n - \n1 2 - cgroup\n1 2 3 4 5 6 - cgroup x\n 1  2  3 - cgroup2 a b\n"
        "1 2 3 /\\ /\\0 - cgroup c memory\n" V1_MOUNT,
        "/");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "none\n");
    state = look(&watch);
    expect_machine(&state);
}

// ---- version 1

static void make_v1(const char *shown, const char *group)
{
    put("/proc/self/cgroup",
        "9:name=systemd:/x\n5:cpu,cpuacct:/y\n4:hugetlb,memory:%s\n0::/z\n",
        group);
    put("/proc/self/mountinfo", V1_MOUNT, shown);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%s",
        "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "%ju\n",
        (uintmax_t)(900 * MIB));
}

static void the_tightest_group_of_version_1_wins(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v1("/", "/a/b");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(300 * MIB));
    put("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "%ju\n",
        (uintmax_t)(250 * MIB));
    put("/sys/fs/cgroup/memory/a/memory.stat",
        "inactive_file 5\ntotal_inactive_file %ju\ntotal_active_file %ju\n"
        "swapcached 6\ntotal_swapcached %ju\nshmem 7\ntotal_shmem %ju\n",
        (uintmax_t)(30 * MIB), (uintmax_t)(10 * MIB), (uintmax_t)(5 * MIB),
        (uintmax_t)(60 * MIB));
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(200 * MIB));
    put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "%ju\n",
        (uintmax_t)(20 * MIB));
    state = look(&watch);
    assert_int_equal(watch.n_groups, 3);
    expect_bound(
        &state.total, 200,
        "cgroup v1 (%s/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes)");
    // a: 300 - (250 - 45) are left; b: 200 - 20.
    expect_bound(&state.available, 95,
                 "cgroup v1 (%s/sys/fs/cgroup/memory/a/memory.limit_in_bytes)");
    assert_int_equal(state.shared, 60 * MIB);
}

static void a_container_of_version_1_is_seen_at_its_mount(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v1("/docker/17", "/docker/17/job");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(64 * MIB));
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "%ju\n",
        (uintmax_t)(80 * MIB)); // more than the limit: nothing is left
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(96 * MIB));
    state = look(&watch);
    assert_int_equal(watch.n_groups, 2);
    expect_bound(&state.total, 64,
                 "cgroup v1 (%s/sys/fs/cgroup/memory/memory.limit_in_bytes)");
    assert_int_equal(state.available.bytes, 0);
}

static void a_group_outside_the_mount_counts_as_the_mount(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v1("/docker/17", "/docker/170");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(64 * MIB));
    put("/sys/fs/cgroup/memory/0/memory.limit_in_bytes", "1\n");
    state = look(&watch);
    assert_int_equal(watch.n_groups, 1);
    assert_int_equal(state.total.bytes, 64 * MIB);
}

static void swap_of_version_1_is_what_exceeds_memory(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v1("/", "/");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(400 * MIB));
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "%ju\n",
        (uintmax_t)(300 * MIB));
    put("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "%ju\n",
        (uintmax_t)(450 * MIB));
    put("/sys/fs/cgroup/memory/memory.memsw.usage_in_bytes", "%ju\n",
        (uintmax_t)(330 * MIB));
    state = look(&watch);
    assert_int_equal(state.swap_total, 50 * MIB);
    assert_int_equal(state.swap_free, 20 * MIB);
}

// ---- version 2

static void make_v2(const char *shown, const char *group)
{
    put("/proc/self/cgroup", "0::%s\n", group);
    put("/proc/self/mountinfo", V2_MOUNT, shown);
}

static void the_tightest_group_of_version_2_wins(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v2("/", "/user.slice/job");
    put("/sys/fs/cgroup/cgroup.procs", "1\n"); // the true root has no limit
    put("/sys/fs/cgroup/user.slice/memory.max", "%ju\n",
        (uintmax_t)(600 * MIB));
    put("/sys/fs/cgroup/user.slice/memory.high", "max\n");
    put("/sys/fs/cgroup/user.slice/memory.current", "%ju\n",
        (uintmax_t)(590 * MIB));
    put("/sys/fs/cgroup/user.slice/memory.stat",
        "anon 1\nfile %ju\nshmem %ju\ninactive_file %ju\nactive_file 0\n",
        (uintmax_t)(200 * MIB), (uintmax_t)(90 * MIB), (uintmax_t)(100 * MIB));
    put("/sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/job/memory.high", "%ju\n",
        (uintmax_t)(550 * MIB));
    put("/sys/fs/cgroup/user.slice/job/memory.swap.max", "0\n");
    state = look(&watch);
    assert_int_equal(watch.n_groups, 2);
    expect_bound(&state.total, 550,
                 "cgroup v2 (%s/sys/fs/cgroup/user.slice/job/memory.high)");
    expect_bound(&state.available, 110,
                 "cgroup v2 (%s/sys/fs/cgroup/user.slice/memory.max)");
    assert_int_equal(state.shared, 90 * MIB);
    assert_int_equal(state.swap_total, 0);
    assert_int_equal(state.swap_free, 0);
}

static void a_namespace_shows_its_own_group_as_root(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v2("/", "/");
    put("/sys/fs/cgroup/memory.max", "%ju\n", (uintmax_t)(128 * MIB));
    put("/sys/fs/cgroup/memory.current", "%ju\n", (uintmax_t)(28 * MIB));
    state = look(&watch);
    expect_bound(&state.total, 128, "cgroup v2 (%s/sys/fs/cgroup/memory.max)");
    assert_int_equal(state.available.bytes, 100 * MIB);
}

static void a_group_above_the_namespace_counts_as_the_mount(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    make_v2("/", "/../other");
    put("/sys/fs/cgroup/memory.max", "%ju\n", (uintmax_t)(128 * MIB));
    state = look(&watch);
    assert_int_equal(state.total.bytes, 128 * MIB);
}

static void a_mount_may_be_anywhere_and_have_blanks(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    put("/proc/self/cgroup", "0::/a b\n");
    put("/proc/self/mountinfo",
        "30 1 0:26 / /mnt/my\\040groups rw - cgroup2 none rw\n");
    put("/mnt/my groups/a b/memory.max", "%ju\n", (uintmax_t)(128 * MIB));
    state = look(&watch);
    expect_bound(&state.total, 128,
                 "cgroup v2 (%s/mnt/my groups/a b/memory.max)");
}

static void with_both_versions_the_one_with_the_controller_counts(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;

    (void)unused;
    put("/proc/self/cgroup", "4:memory:/a\n0::/a\n");
    put("/proc/self/mountinfo",
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 "
        "rw\n" V1_MOUNT,
        "/");
    put("/sys/fs/cgroup/unified/a/cgroup.procs", "1\n");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "%ju\n",
        (uintmax_t)(64 * MIB));
    state = look(&watch);
    assert_int_equal(watch.n_groups, 1);
    assert_int_equal(state.total.bytes, 64 * MIB);
}

static void a_limit_that_changes_is_seen(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;
    char path[128];

    (void)unused;
    make_v2("/", "/a");
    put("/sys/fs/cgroup/a/memory.max", "max\n");
    state = look(&watch);
    expect_machine(&state);
    put("/sys/fs/cgroup/a/memory.max", "%ju\n", (uintmax_t)(40 * MIB));
    memory_read(&watch, &state);
    assert_int_equal(state.total.bytes, 40 * MIB);
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/a/memory.max", root);
    remove(path);
    memory_read(&watch, &state);
    expect_machine(&state);
}

static void the_deepest_of_many_groups_are_kept(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;
    char group[256] = "";
    char file[512];

    (void)unused;
    for (int i = 0; i < MEMORY_MAX_GROUPS + 3; i++) {
        strcat(group, "/g");
        snprintf(file, sizeof file, "/sys/fs/cgroup%s/memory.max", group);
        put(file, "%ju\n", (uintmax_t)((900 - (unsigned)i) * MIB));
    }
    make_v2("/", group);
    state = look(&watch);
    assert_int_equal(watch.n_groups, MEMORY_MAX_GROUPS);
    assert_int_equal(state.total.bytes, (900 - (MEMORY_MAX_GROUPS + 2)) * MIB);
}

// ---- pools, pressure

static void who_draws_on_the_same_memory_is_one_pool(void **unused)
{
    struct memory_watch watch;
    struct memory_state state;
    uint64_t machine;
    uint64_t group;

    (void)unused;
    make_v2("/", "/a");
    put("/sys/fs/cgroup/a/memory.max", "1000000\n");
    state = look(&watch);
    group = memory_pool(&watch, &state.total);
    make_v2("/", "/b");
    put("/sys/fs/cgroup/b/memory.max", "1000000\n");
    state = look(&watch);
    assert_int_not_equal(group, memory_pool(&watch, &state.total));
    make_v2("/", "/a/c"); // below a, which still is the bound
    put("/sys/fs/cgroup/a/c/memory.max", "max\n");
    state = look(&watch);
    assert_int_equal(group, memory_pool(&watch, &state.total));
    make_v2("/", "/");
    state = look(&watch);
    machine = memory_pool(&watch, &state.total);
    assert_int_equal(machine, memory_machine(&watch));
    put("/proc/sys/kernel/random/boot_id", "two\n");
    assert_int_not_equal(machine, memory_pool(&watch, &state.total));
}

static void pressure_is_the_groups_or_else_the_machines(void **unused)
{
    struct memory_watch watch;
    uint64_t stall_us = 7;

    (void)unused;
    make_v2("/", "/a");
    put("/sys/fs/cgroup/a/memory.max", "max\n");
    look(&watch);
    assert_int_equal(memory_stall_us(&watch, &stall_us), 0);
    assert_int_equal(stall_us, 7);
    put("/proc/pressure/memory",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
    assert_int_equal(memory_stall_us(&watch, &stall_us), 1);
    assert_int_equal(stall_us, 123);
    put("/sys/fs/cgroup/a/memory.pressure",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=45\n");
    assert_int_equal(memory_stall_us(&watch, &stall_us), 1);
    assert_int_equal(stall_us, 45);
}

#define MACHINE_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, make_machine, delete_machine)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(without_groups_the_machine_is_the_bound),
        MACHINE_TEST(a_machine_without_MemAvailable_is_refused),
        MACHINE_TEST(nonsense_limits_nothing),
        MACHINE_TEST(the_tightest_group_of_version_1_wins),
        MACHINE_TEST(a_container_of_version_1_is_seen_at_its_mount),
        MACHINE_TEST(a_group_outside_the_mount_counts_as_the_mount),
        MACHINE_TEST(swap_of_version_1_is_what_exceeds_memory),
        MACHINE_TEST(the_tightest_group_of_version_2_wins),
        MACHINE_TEST(a_namespace_shows_its_own_group_as_root),
        MACHINE_TEST(a_group_above_the_namespace_counts_as_the_mount),
        MACHINE_TEST(a_mount_may_be_anywhere_and_have_blanks),
        MACHINE_TEST(with_both_versions_the_one_with_the_controller_counts),
        MACHINE_TEST(a_limit_that_changes_is_seen),
        MACHINE_TEST(the_deepest_of_many_groups_are_kept),
        MACHINE_TEST(who_draws_on_the_same_memory_is_one_pool),
        MACHINE_TEST(pressure_is_the_groups_or_else_the_machines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
