// SPDX-License-Identifier: BSD-3-Clause
//
// What goes out comes in. Limits and failures: swap_limits_test.c.
#include "os/swap_file_test.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

enum { N_WORKS = 100, N_STEPS = 3000 };

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

// ---- one transfer at a time

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

// ---- those who start transfers are left alone

enum { N_BYTES = 1 << 20, N_TRANSFERS = 64 };

static unsigned n_ended;

static void note_end(struct swap_transfer *transfer, tm_status status)
{
    (void)transfer;
    assert_int_equal(status, TM_OK);
    n_ended++;
}

struct reader {
    struct swap_file *file;
    int pipe;
};

// Reads a pipe once all transfers have ended.
static void *read_late(void *argument)
{
    const struct reader *reader = argument;
    static char bytes[N_BYTES];
    ssize_t n;

    while (n_ended < N_TRANSFERS) {
        struct pollfd fd = {.fd = swap_file_fd(reader->file), .events = POLLIN};

        (void)poll(&fd, 1, -1);
        swap_file_poll(reader->file);
    }
    do {
        n = read(reader->pipe, bytes, sizeof bytes);
    } while (n > 0);
    return NULL;
}

static void a_long_write_is_not_cut_short(void **state)
{
    struct swap_file *file = open_or_skip((struct swap_settings){0});
    char *pages = pages_new(N_TRANSFERS * SWAP_TRANSFER_MAX);
    static struct swap_transfer transfers[N_TRANSFERS];
    static char bytes[N_BYTES];
    struct reader reader = {.file = file};
    int ends[2];
    pthread_t thread;

    (void)state;
    n_ended = 0;
    assert_int_equal(pipe(ends), 0);
    reader.pipe = ends[0];
    for (unsigned i = 0; i < N_TRANSFERS; i++) {
        char *first = pages + i * SWAP_TRANSFER_MAX * PAGE;
        unsigned n =
            swap_file_reserve(file, SWAP_TRANSFER_MAX, &transfers[i].slot);

        transfers[i].op = SWAP_IN;
        transfers[i].done = note_end;
        transfers[i].n_pages = n;
        for (unsigned k = 0; k < n; k++) {
            transfers[i].pages[k] = first + k * PAGE;
        }
        assert_int_equal(move(file, SWAP_OUT, transfers[i].slot, first, n),
                         TM_OK);
    }
    for (unsigned i = 0; i < N_TRANSFERS; i++) {
        swap_file_start(file, &transfers[i]);
    }
    assert_int_equal(pthread_create(&thread, NULL, read_late, &reader), 0);
    assert_int_equal(write(ends[1], bytes, sizeof bytes), sizeof bytes);
    close(ends[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(ends[0]);
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
    char *pages;      ///< [SWAP_TRANSFER_MAX]
};

static uint64_t last_version;
static unsigned n_done;

/** Pages in an order that makes one part, parts of two pages, or of one. */
static void place_pages(struct held *held)
{
    static const unsigned flips[] = {0, SWAP_TRANSFER_MAX - 2,
                                     SWAP_TRANSFER_MAX - 1};
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
        held->n = swap_file_reserve(file, 1 + random_below(SWAP_TRANSFER_MAX),
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
        all[i].pages = pages_new(SWAP_TRANSFER_MAX);
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

/** What is written is there, but said not to be. */
static int fail_writes(void *owner, int fd, int is_out, uint64_t offset,
                       int result)
{
    (void)owner, (void)fd, (void)offset;
    return is_out ? -EIO : result;
}

static void what_was_not_written_is_not_read(void **state)
{
    const struct swap_probe probe = {.ended = fail_writes};
    struct swap_file *file =
        open_or_skip((struct swap_settings){.probe = &probe});
    char *pages = pages_new(4);
    uint64_t slot;

    (void)state;
    assert_int_equal(swap_file_reserve(file, 4, &slot), 4);
    assert_int_equal(move(file, SWAP_OUT, slot, pages, 4), TM_ESYSTEM);
    assert_int_equal(move(file, SWAP_IN, slot, pages, 4), TM_ESYSTEM); // I2
    swap_file_close(file);
    free(pages);
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
    enum { N = 200 }; // transfers: 50 MiB
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
    swap_file_finish_shrinking(file);
    swap_file_stats(file, &stats);
    assert_true(stats.bytes_punched > 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        // The first with io_uring: when a ring is given up the kernel signals tasks late.
        cmocka_unit_test(a_long_write_is_not_cut_short),
        cmocka_unit_test(what_goes_out_comes_in),
        cmocka_unit_test(random_transfers_lose_nothing),
        cmocka_unit_test(short_transfers_are_continued),
        cmocka_unit_test(what_was_not_written_is_not_read),
        cmocka_unit_test(a_file_may_be_closed_with_transfers_in_flight),
        cmocka_unit_test(the_file_shrinks_when_slots_are_released),
        cmocka_unit_test(a_rate_is_not_exceeded),
    };

    int n_failed = RUN_WITH("thread", tests);

    n_failed += RUN_WITH("io_uring", tests); // a sum would have no order
    return n_failed != 0;
}
