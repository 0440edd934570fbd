// SPDX-License-Identifier: BSD-3-Clause
//
// What a swap file does when the disk, the system or its settings say no.
#include "os/swap_file_test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"

// ---- failures

static int say(void *owner, int fd, int is_out, uint64_t offset, int result)
{
    const int *answers = owner; // [2] for in and out, 0: the truth

    (void)fd, (void)offset;
    return answers[is_out] != 0 ? answers[is_out] : result;
}

static void failures_are_told_and_leave_nothing(void **state)
{
    int answers[2] = {0, -ENOSPC};
    const struct swap_probe probe = {.owner = answers, .ended = say};
    struct swap_file *file =
        open_or_skip((struct swap_settings){.probe = &probe});
    char *pages = pages_new(8);
    uint64_t slot;

    (void)state;
    assert_int_equal(swap_file_reserve(file, 8, &slot), 8);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 8), TM_ESYSTEM);
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 8), TM_ELIMIT);
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 8), TM_ELIMIT);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 8), TM_ESYSTEM);
    answers[1] = -EIO;
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 8), TM_ESYSTEM);
    answers[1] = 0;
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 8), TM_OK);
    answers[0] = -EIO;
    assert_int_equal(move(file, SWAP_IN, slot, pages, 8), TM_ESYSTEM);
    answers[0] = 0;
    assert_int_equal(move(file, SWAP_IN, slot, pages, 8), TM_OK);
    swap_file_release(file, slot, 8);
    assert_int_equal(swap_file_reserve(file, 8, &slot), 8);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 8), TM_ESYSTEM);
    swap_file_close(file);
    free(pages);
}

/** What a power cut does to a page: the end of it is of before. */
static int tear(void *owner, int fd, int is_out, uint64_t offset, int result)
{
    char *zeros = owner;

    if (is_out) {
        assert_int_equal(
            pwrite(fd, zeros, 512, (off_t)(offset + (uint64_t)result - 512)),
            512);
    }
    return result;
}

static void a_torn_write_is_found(void **state)
{
    char *pages = pages_new(8);
    char *zeros = pages_new(1);
    const struct swap_probe probe = {.owner = zeros, .ended = tear};
    struct swap_file *file =
        open_or_skip((struct swap_settings){.probe = &probe});
    uint64_t slot;

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        fill_page(pages + i * PAGE, i);
    }
    assert_int_equal(swap_file_reserve(file, 8, &slot), 8);
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 8), TM_OK);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 7), TM_OK);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 8), TM_ESYSTEM);
    assert_int_equal(move(file, SWAP_IN, slot + 7, pages, 1), TM_ESYSTEM);
    swap_file_close(file);
    free(pages);
    free(zeros);
}

// ---- limits

static void reserving_ends_at_the_limit(void **state)
{
    struct swap_file *file =
        open_or_skip((struct swap_settings){.limit = 1000 * PAGE + 5});
    struct swap_stats stats;
    uint64_t slot;
    unsigned n = 0;
    unsigned got;

    (void)state;
    while ((got = swap_file_reserve(file, 64, &slot)) > 0) {
        n += got;
    }
    assert_int_equal(n, 1000);
    swap_file_stats(file, &stats);
    assert_int_equal(stats.slots_used_max, 1000);
    assert_true(stats.file_bytes <= 1000 * PAGE);
    swap_file_release(file, 500, 2);
    assert_int_equal(swap_file_reserve(file, 64, &slot), 2);
    assert_int_equal(slot, 500);
    assert_true(swap_file_is_valid(file));
    swap_file_close(file);
}

/** Run a function in a process of its own, which it may spoil. */
static void in_a_child(int (*check)(void))
{
    pid_t child = fork();
    int result;

    if (child == 0) {
        _exit(check());
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

static int check_file_size_limit(void)
{
    const struct swap_settings settings = {.folder = folder,
                                           .engine = "thread"};
    const struct rlimit limit = {100 * PAGE, 100 * PAGE};
    char *pages = aligned_alloc(PAGE, 64 * PAGE);
    struct simple simple;
    struct swap_file *file;
    uint64_t slot;
    unsigned got;
    unsigned n = 0;

    setrlimit(RLIMIT_FSIZE, &limit);
    if (swap_file_open(&file, &settings) != TM_OK) {
        return 1;
    }
    memset(pages, 1, 64 * PAGE);
    while ((got = swap_file_reserve(file, 64, &slot)) > 0) {
        begin(file, &simple, SWAP_OUT, slot, pages, got);
        swap_file_wait(file, &simple.transfer);
        n += simple.status == TM_OK ? got : 0;
    }
    return n == 100 ? 0 : 2;
}

static void a_limit_of_file_sizes_is_respected(void **state)
{
    (void)state;
    in_a_child(check_file_size_limit);
}

static unsigned reserve_all(struct swap_file *file)
{
    uint64_t slot;
    unsigned got;
    unsigned n = 0;

    while ((got = swap_file_reserve(file, 64, &slot)) > 0) {
        n += got;
    }
    return n;
}

/** @return 1 if there are 64 more slots, and they can be written to, in a while */
static int grows_again(struct swap_file *file, char *pages)
{
    const uint64_t deadline_ns = clock_now_ns() + 60000000000u;
    uint64_t slot;

    while (swap_file_reserve(file, 64, &slot) == 0) {
        if (clock_now_ns() >= deadline_ns) {
            return 0;
        }
        usleep(1000);
    }
    return move(file, SWAP_OUT, slot, pages, 64) == TM_OK;
}

static unsigned count_lines(int fd, const char *text)
{
    char lines[16384] = "";
    unsigned n = 0;

    if (pread(fd, lines, sizeof lines - 1, 0) < 0) {
        return 0;
    }
    for (char *at = lines; (at = strstr(at, text)) != NULL; at++) {
        n++;
    }
    return n;
}

static int check_refused_growth(void)
{
    const struct swap_settings settings = {.folder = folder,
                                           .engine = "thread"};
    const int said = memfd_create("said", MFD_CLOEXEC);
    char *pages = aligned_alloc(PAGE, 64 * PAGE);
    struct rlimit limit;
    struct swap_file *file;
    uint64_t slot;
    unsigned n;

    memset(pages, 1, 64 * PAGE);
    if (swap_file_open(&file, &settings) != TM_OK ||
        swap_file_reserve(file, 64, &slot) != 64 || dup2(said, 2) < 0) {
        return 1;
    }
    // As if the disk was full: it was not so when the file was opened.
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1100 * PAGE;
    setrlimit(RLIMIT_FSIZE, &limit);
    n = 64 + reserve_all(file);
    if (n < 128 || n > 1100 || !swap_file_is_valid(file)) {
        return 2;
    }
    swap_file_release(file, 100, 9);
    if (reserve_all(file) != 9 || count_lines(said, "cannot grow") != 1) {
        return 3;
    }
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!grows_again(file, pages) || !swap_file_is_valid(file)) {
        return 4;
    }
    swap_file_close(file);
    return 0;
}

static void a_file_that_cannot_grow_does_when_it_can_again(void **state)
{
    (void)state;
    in_a_child(check_refused_growth);
}

// ---- engines

/** As container runtimes do it. */
static void refuse_io_uring(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(0); // no way to test it here
    }
}

static int check_refused_io_uring(void)
{
    struct swap_settings settings = {.folder = folder};
    struct swap_file *file;
    int is_right;

    refuse_io_uring();
    if (swap_file_open(&file, &settings) != TM_OK) {
        return 1;
    }
    is_right = strcmp(swap_file_engine(file), "thread") == 0;
    swap_file_close(file);
    settings.engine = "io_uring";
    return is_right && swap_file_open(&file, &settings) == TM_ESYSTEM ? 0 : 2;
}

static void without_io_uring_a_thread_does_it(void **state)
{
    const struct swap_probe probe = {.io_uring_errno = ENOSYS};
    struct swap_file *file;

    (void)state;
    in_a_child(check_refused_io_uring);
    engine = NULL;
    file = open_or_skip((struct swap_settings){.probe = &probe});
    assert_string_equal(swap_file_engine(file), "thread");
    swap_file_close(file);
}

static void bad_settings_are_refused(void **state)
{
    struct swap_settings settings = {.folder = "/not/there"};
    struct swap_file *file;

    (void)state;
    assert_int_equal(swap_file_open(&file, &settings), TM_ESYSTEM);
    settings.folder = folder;
    settings.engine = "steam";
    assert_int_equal(swap_file_open(&file, &settings), TM_EUNKNOWN);
    settings.engine = NULL;
    settings.limit = 100;
    assert_int_equal(swap_file_open(&file, &settings), TM_ESYSTEM);
    swap_file_close(NULL);
}

int main(void)
{
    const struct CMUnitTest on_each[] = {
        cmocka_unit_test(failures_are_told_and_leave_nothing),
        cmocka_unit_test(a_torn_write_is_found),
        cmocka_unit_test(reserving_ends_at_the_limit),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_limit_of_file_sizes_is_respected),
        cmocka_unit_test(a_file_that_cannot_grow_does_when_it_can_again),
        cmocka_unit_test(without_io_uring_a_thread_does_it),
        cmocka_unit_test(bad_settings_are_refused),
    };

    int n_failed = RUN_WITH("io_uring", on_each);

    n_failed += RUN_WITH("thread", on_each); // a sum would have no order
    n_failed += RUN_WITH(NULL, others);
    return n_failed != 0;
}
