// SPDX-License-Identifier: BSD-3-Clause
#include "os/swap_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define PAGE ((size_t)TM_PAGE_SIZE)

enum { N_WORKS = 100, N_STEPS = 3000 };

static char folder[64];
static const char *engine; ///< of the tests that run on both
static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((random_state >> 33) % n);
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

static char *pages_new(unsigned n)
{
    char *pages = aligned_alloc(PAGE, n * PAGE);

    assert_non_null(pages);
    memset(pages, 0, n * PAGE);
    return pages;
}

/** Contents that tell the version and the place. */
static void fill_page(char *page, uint64_t version)
{
    uint64_t *words = (uint64_t *)page;

    for (size_t i = 0; i < PAGE / 8; i++) {
        words[i] = version * UINT64_C(0x9e3779b97f4a7c15) + i;
    }
}

static int page_is(const char *page, uint64_t version)
{
    char expected[TM_PAGE_SIZE] __attribute__((aligned(8)));

    fill_page(expected, version);
    return memcmp(page, expected, PAGE) == 0;
}

static struct swap_file *open_or_skip(struct swap_settings settings)
{
    struct swap_file *file;
    tm_status status;

    settings.folder = settings.folder != NULL ? settings.folder : folder;
    settings.engine = settings.engine != NULL ? settings.engine : engine;
    status = swap_file_open(&file, &settings);
    if (status == TM_ESYSTEM && settings.engine != NULL &&
        strcmp(settings.engine, "io_uring") == 0) {
        print_message("this system refuses io_uring\n");
        skip();
    }
    assert_int_equal(status, TM_OK);
    return file;
}

// ---- one transfer at a time

struct simple {
    struct swap_transfer transfer; // first
    tm_status status;
    int n_done;
};

static void simple_done(struct swap_transfer *transfer, tm_status status)
{
    struct simple *simple = (struct simple *)transfer;

    simple->status = status;
    simple->n_done++;
}

static void begin(struct swap_file *file, struct simple *simple,
                  enum swap_op op, uint64_t slot, char *pages, unsigned n)
{
    *simple = (struct simple){
        .transfer = {
            .op = op, .slot = slot, .n_pages = n, .done = simple_done}};
    for (unsigned i = 0; i < n; i++) {
        simple->transfer.pages[i] = pages + i * PAGE;
    }
    swap_file_start(file, &simple->transfer);
}

static tm_status move(struct swap_file *file, enum swap_op op, uint64_t slot,
                      char *pages, unsigned n)
{
    struct simple simple;

    begin(file, &simple, op, slot, pages, n);
    swap_file_wait(file, &simple.transfer);
    assert_int_equal(simple.n_done, 1);
    assert_true(simple.transfer.ended_ns >= simple.transfer.began_ns);
    assert_true(swap_file_is_valid(file));
    return simple.status;
}

static void what_goes_out_comes_in(void **state)
{
    struct swap_file *file = open_or_skip((struct swap_settings){0});
    char *pages = pages_new(64);
    struct swap_stats stats;
    uint64_t slot;

    (void)state;
    print_message("%s, direct %d\n", swap_file_engine(file),
                  swap_file_is_direct(file));
    assert_int_equal(swap_file_reserve(file, 64, &slot), 64);
    for (unsigned i = 0; i < 64; i++) {
        fill_page(pages + i * PAGE, i);
    }
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 64), TM_OK);
    memset(pages, 0, 64 * PAGE);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 64), TM_OK);
    for (unsigned i = 0; i < 64; i++) {
        assert_true(page_is(pages + i * PAGE, i));
    }
    assert_int_equal(move(file, SWAP_IN, slot + 17, pages, 1), TM_OK);
    assert_true(page_is(pages, 17));
    swap_file_stats(file, &stats);
    assert_int_equal(stats.slots_used, 64);
    assert_int_equal(stats.bytes_out, 64 * PAGE);
    assert_int_equal(stats.bytes_in, 65 * PAGE);
    assert_int_equal(stats.n_in, 2);
    assert_int_equal(stats.in_flight, 0);
    assert_true(stats.ns_busy > 0 && stats.ns_in > 0 && stats.ns_out > 0);
    assert_int_equal(n_entries(), 0);
    swap_file_close(file);
    free(pages);
}

// ---- many at once, in random steps

enum run_state { FREE, WRITING, WRITTEN, READING };

struct held {
    struct swap_transfer transfer; // first
    enum run_state state;
    uint64_t slot;
    unsigned n;
    uint64_t version; ///< of the first page
    char *pages;      ///< [SWAP_CLUSTER]
};

static uint64_t last_version;
static unsigned n_done;

/** Pages in an order that makes one part, parts of two pages, or of one. */
static void place_pages(struct held *held)
{
    static const unsigned flips[] = {0, SWAP_CLUSTER - 2, SWAP_CLUSTER - 1};
    unsigned flip = flips[random_below(3)];

    for (unsigned i = 0; i < held->n; i++) {
        held->transfer.pages[i] = held->pages + (i ^ flip) * PAGE;
    }
}

static void held_done(struct swap_transfer *transfer, tm_status status)
{
    struct held *held = (struct held *)transfer;

    assert_int_equal(status, TM_OK);
    n_done++;
    if (held->state == READING) {
        for (unsigned i = 0; i < held->n; i++) {
            assert_true(page_is(transfer->pages[i], held->version + i));
        }
    }
    held->state = WRITTEN;
}

static void step(struct swap_file *file, struct held *held)
{
    switch (held->state) {
    case FREE:
        held->n = swap_file_reserve(file, 1 + random_below(SWAP_CLUSTER),
                                    &held->slot);
        if (held->n == 0) {
            return;
        }
        held->version = last_version;
        last_version += held->n;
        held->state = WRITING;
        break;
    case WRITTEN:
        if (random_below(2)) {
            swap_file_release(file, held->slot, held->n);
            held->state = FREE;
            return;
        }
        held->state = READING;
        break;
    default:
        return; // under way
    }
    place_pages(held);
    for (unsigned i = 0; i < held->n; i++) {
        if (held->state == WRITING) {
            fill_page(held->transfer.pages[i], held->version + i);
        } else {
            memset(held->transfer.pages[i], 0x55, PAGE);
        }
    }
    held->transfer.op = held->state == WRITING ? SWAP_OUT : SWAP_IN;
    held->transfer.slot = held->slot;
    held->transfer.n_pages = held->n;
    held->transfer.done = held_done;
    swap_file_start(file, &held->transfer);
}

static void wait_for_all(struct swap_file *file)
{
    struct pollfd readable = {.fd = swap_file_fd(file), .events = POLLIN};

    while (swap_file_in_flight(file) > 0) {
        assert_int_not_equal(poll(&readable, 1, 60000), 0);
        swap_file_poll(file);
    }
}

static int is_under_way(const struct held *held)
{
    return held->state == WRITING || held->state == READING;
}

static void random_transfers(struct swap_settings settings)
{
    struct swap_file *file = open_or_skip(settings);
    struct held *all = calloc(N_WORKS, sizeof *all);

    random_state = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)random_state);
    for (unsigned i = 0; i < N_WORKS; i++) {
        all[i].pages = pages_new(SWAP_CLUSTER);
    }
    for (unsigned i = 0; i < N_STEPS; i++) {
        struct held *held = &all[random_below(N_WORKS)];

        if (is_under_way(held) && random_below(20) == 0) {
            swap_file_wait(file, &held->transfer);
            assert_false(is_under_way(held));
        }
        step(file, held);
        if (random_below(4) == 0) {
            swap_file_poll(file);
        }
        assert_true(swap_file_is_valid(file));
    }
    wait_for_all(file);
    for (unsigned i = 0; i < N_WORKS; i++) {
        free(all[i].pages);
    }
    free(all);
    swap_file_close(file);
}

static void random_transfers_lose_nothing(void **state)
{
    (void)state;
    random_transfers((struct swap_settings){0});
    random_transfers((struct swap_settings){.limit = 1500 * PAGE});
    if (access("/dev/shm", W_OK) == 0) {
        random_transfers((struct swap_settings){.folder = "/dev/shm"});
    }
}

/** Answers are as often short as not. */
static int cut_short(void *owner, int fd, int is_out, uint64_t offset,
                     int result)
{
    (void)owner, (void)fd, (void)is_out, (void)offset;
    return result > 512 && random_below(2)
               ? 512 * (1 + (int)random_below((unsigned)result / 512))
               : result;
}

static void short_transfers_are_continued(void **state)
{
    const struct swap_probe probe = {.ended = cut_short};

    (void)state;
    random_transfers((struct swap_settings){.probe = &probe});
}

static void a_file_may_be_closed_with_transfers_in_flight(void **state)
{
    struct swap_file *file = open_or_skip((struct swap_settings){0});
    struct simple *simple = calloc(200, sizeof *simple);
    char *pages = pages_new(64);
    uint64_t slot;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(swap_file_reserve(file, 64, &slot), 64);
        begin(file, &simple[i], SWAP_OUT, slot, pages, 64);
    }
    assert_true(swap_file_in_flight(file) == 200);
    swap_file_close(file);
    assert_int_equal(simple[0].n_done + simple[199].n_done, 0);
    free(simple);
    free(pages);
}

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

// ---- size and time

static int the_fd; ///< of the file, for its size

static int note_fd(void *owner, int fd, int is_out, uint64_t offset, int result)
{
    (void)owner, (void)is_out, (void)offset;
    the_fd = fd;
    return result;
}

static uint64_t blocks_of_file(void)
{
    struct stat stat;

    assert_int_equal(fstat(the_fd, &stat), 0);
    return (uint64_t)stat.st_blocks * 512;
}

static void the_file_shrinks_when_slots_are_released(void **state)
{
    enum { N = 200 }; // clusters: 50 MiB
    const struct swap_probe probe = {.ended = note_fd};
    struct swap_file *file =
        open_or_skip((struct swap_settings){.probe = &probe});
    char *pages = pages_new(64);
    struct swap_stats stats;
    uint64_t slots[N];
    uint64_t full;

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        fill_page(pages, i);
        assert_int_equal(swap_file_reserve(file, 64, &slots[i]), 64);
        assert_int_equal(move(file, SWAP_OUT, slots[i], pages, 64), TM_OK);
    }
    full = blocks_of_file();
    assert_true(full >= N * 64 * PAGE);
    for (unsigned i = 0; i + 1 < N; i++) {
        swap_file_release(file, slots[i], 64);
        assert_true(swap_file_is_valid(file));
    }
    do {
        struct pollfd readable = {.fd = swap_file_fd(file), .events = POLLIN};

        assert_int_not_equal(poll(&readable, 1, 60000), 0);
        swap_file_poll(file);
        swap_file_stats(file, &stats);
    } while (stats.bytes_punched < full / 2);
    assert_true(blocks_of_file() <= full / 2);
    assert_int_equal(move(file, SWAP_IN, slots[N - 1], pages, 64), TM_OK);
    assert_true(page_is(pages, N - 1));
    assert_true(swap_file_is_valid(file));
    swap_file_close(file);
    free(pages);
}

static void a_rate_is_not_exceeded(void **state)
{
    enum { N = 20 };
    const uint64_t rate = 40u << 20;
    struct swap_file *file = open_or_skip((struct swap_settings){.rate = rate});
    struct simple *simple = calloc(N, sizeof *simple);
    char *pages = pages_new(64);
    uint64_t slot;
    uint64_t each_ns = 64 * PAGE * 1000000000u / rate;
    uint64_t began_ns = clock_now_ns();

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(swap_file_reserve(file, 64, &slot), 64);
        begin(file, &simple[i], SWAP_OUT, slot, pages, 64);
    }
    wait_for_all(file);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(simple[i].status, TM_OK);
        assert_true(simple[i].transfer.ended_ns >=
                    began_ns + (i + 1) * each_ns);
    }
    assert_true(clock_now_ns() - began_ns >= N * each_ns);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 64), TM_OK);
    swap_file_close(file);
    free(simple);
    free(pages);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "swap_file_test.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); // fails if anything is left in it
}

int main(void)
{
    const struct CMUnitTest on_each[] = {
        cmocka_unit_test(what_goes_out_comes_in),
        cmocka_unit_test(random_transfers_lose_nothing),
        cmocka_unit_test(short_transfers_are_continued),
        cmocka_unit_test(a_file_may_be_closed_with_transfers_in_flight),
        cmocka_unit_test(failures_are_told_and_leave_nothing),
        cmocka_unit_test(a_torn_write_is_found),
        cmocka_unit_test(reserving_ends_at_the_limit),
        cmocka_unit_test(the_file_shrinks_when_slots_are_released),
        cmocka_unit_test(a_rate_is_not_exceeded),
    };
    const struct CMUnitTest others[] = {
        cmocka_unit_test(a_limit_of_file_sizes_is_respected),
        cmocka_unit_test(without_io_uring_a_thread_does_it),
        cmocka_unit_test(bad_settings_are_refused),
    };
    int failed = 0;

    engine = "io_uring";
    failed += cmocka_run_group_tests(on_each, make_folder, remove_folder);
    engine = "thread";
    failed += cmocka_run_group_tests(on_each, make_folder, remove_folder);
    engine = NULL;
    failed += cmocka_run_group_tests(others, make_folder, remove_folder);
    return failed != 0;
}
