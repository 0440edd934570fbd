// SPDX-License-Identifier: BSD-3-Clause
/*
 * Blocks with a grain: several lie in one page of memory, and nodes that write them do not
 * take them from each other.
 *
 * `grain counters`: threads of all nodes count, each in counters of its own, which lie side
 * by side: with a grain, and in one sequential block, which is a page. Prints what each way
 * has cost, all nodes together, and fails if the first costs pages in each turn.
 *
 * `grain blocks`: blocks of all grains go from thread to thread, are written and read, freed
 * by others, and allocated again. With `pressed` behind it a large block is written in each
 * turn too, so that with little memory all goes to the swap file and comes back.
 *
 * `grain mistakes`: what cannot be is refused, each with one line.
 */
#include "program.h"

#include <string.h>

enum {
    N_COUNTERS = 16,
    N_THREADS = 8,
    N_TURNS = 30,
    GRAIN = 64,
    N_BLOCKS = 700,
    N_LIVES = 3,
    PRESSURE = 1 << 20, // bytes
};

static TM_SHARED struct {
    tm_barrier barrier;
    uint64_t *counters[N_COUNTERS];
    unsigned char *blocks[N_THREADS][N_BLOCKS];
    unsigned char *pressure;
} job;

static void pass_barrier(void)
{
    OK(tm_barrier_wait(&job.barrier));
}

static void for_all_threads(void *(*start)(void *me))
{
    tm_thread threads[N_THREADS];

    for (uintptr_t i = 0; i < N_THREADS; i++) {
        OK(tm_thread_create(
            &threads[i],
            &(tm_thread_attr){.placement = TM_ON_NODE,
                              .node = (unsigned)i % tm_node_count()},
            start, (void *)i));
    }
    for (unsigned i = 0; i < N_THREADS; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
}

// ---- counters

static struct tm_node_stats sum_stats(void)
{
    struct tm_node_stats sum = {0};
    struct tm_node_stats stats;

    for (unsigned i = 0; i < tm_node_count(); i++) {
        OK(tm_stats(i, &stats));
        sum.messages_sent += stats.messages_sent;
        sum.bytes_sent += stats.bytes_sent;
        sum.pages_fetched += stats.pages_fetched;
    }
    return sum;
}

static void *count(void *me)
{
    const unsigned first = (unsigned)(uintptr_t)me * N_COUNTERS / N_THREADS;

    for (unsigned turn = 0; turn < N_TURNS; turn++) {
        for (unsigned i = 0; i < N_COUNTERS / N_THREADS; i++) {
            ++*(volatile uint64_t *)job.counters[first + i];
        }
        pass_barrier();
    }
    return NULL;
}

static void *arrive(void *me)
{
    pass_barrier();
    return me;
}

// @return pages fetched
static uint64_t measure_counting(const char *what)
{
    const struct tm_node_stats before = sum_stats();
    struct tm_node_stats after;

    for_all_threads(count);
    after = sum_stats();
    for (unsigned i = 0; i < N_COUNTERS; i++) {
        if (*job.counters[i] != N_TURNS) {
            FAIL("counter %u is %" PRIu64, i, *job.counters[i]);
        }
    }
    printf("%s: %" PRIu64 " pages, %" PRIu64 " messages, %" PRIu64 " bytes\n",
           what, after.pages_fetched - before.pages_fetched,
           after.messages_sent - before.messages_sent,
           after.bytes_sent - before.bytes_sent);
    return after.pages_fetched - before.pages_fetched;
}

static void compare_counting(void)
{
    char *page = tm_alloc((size_t)N_COUNTERS * GRAIN,
                          &(tm_alloc_attr){.protocol = TM_SEQUENTIAL});
    uint64_t in_a_page;
    uint64_t with_grain;

    for_all_threads(arrive); // what starting them costs
    for (unsigned i = 0; i < N_COUNTERS; i++) {
        job.counters[i] = (uint64_t *)(void *)(page + (size_t)i * GRAIN);
    }
    in_a_page = measure_counting("in one page");
    for (unsigned i = 0; i < N_COUNTERS; i++) {
        job.counters[i] =
            tm_alloc(sizeof(uint64_t), &(tm_alloc_attr){.grain = GRAIN});
    }
    with_grain = measure_counting("with a grain");
    for (unsigned i = 0; i < N_COUNTERS; i++) {
        OK(tm_free(job.counters[i]));
    }
    OK(tm_free(page));
    if (tm_node_count() > 1 &&
        (with_grain > 3 * N_COUNTERS || in_a_page < N_TURNS / 2)) {
        FAIL("%" PRIu64 " pages with a grain, %" PRIu64 " without", with_grain,
             in_a_page);
    }
}

// ---- blocks

static size_t grain_of(unsigned thread, unsigned block)
{
    return (size_t)64 << mix(thread, block) % 6;
}

// Some fill their grain, most do not.
static size_t size_of(unsigned thread, unsigned block)
{
    const size_t grain = grain_of(thread, block);

    return block % 8 == 0 ? grain : 1 + mix(block, thread) % (grain - 8);
}

static unsigned char value_of(unsigned thread, unsigned block, unsigned turn,
                              size_t i)
{
    return (unsigned char)mix(((uint64_t)thread << 32) + block,
                              ((uint64_t)turn << 32) + i);
}

static void write_block(unsigned thread, unsigned block, unsigned turn)
{
    unsigned char *bytes = job.blocks[thread][block];

    for (size_t i = 0; i < size_of(thread, block); i++) {
        bytes[i] = value_of(thread, block, turn, i);
    }
}

static void check_block(unsigned thread, unsigned block, unsigned turn)
{
    const unsigned char *bytes = job.blocks[thread][block];

    for (size_t i = 0; i < size_of(thread, block); i++) {
        if (bytes[i] != value_of(thread, block, turn, i)) {
            FAIL("byte %zu of block %u of thread %u is %u in turn %u", i, block,
                 thread, bytes[i], turn);
        }
    }
}

static void allocate_block(unsigned thread, unsigned block)
{
    const size_t grain = grain_of(thread, block);
    unsigned char *bytes =
        tm_alloc(size_of(thread, block), &(tm_alloc_attr){.grain = grain});

    if (bytes == NULL || (uintptr_t)bytes % grain != 0) {
        FAIL("a block of grain %zu is at %p", grain, (void *)bytes);
    }
    for (size_t i = 0; i < size_of(thread, block); i++) {
        if (bytes[i] != 0) {
            FAIL("byte %zu of a new block is %u", i, bytes[i]);
        }
    }
    job.blocks[thread][block] = bytes;
}

static void press(unsigned me)
{
    const size_t part = PRESSURE / N_THREADS;

    if (job.pressure != NULL) {
        memset(job.pressure + me * part, (int)me, part);
    }
}

static void *use_blocks(void *number)
{
    const unsigned me = (unsigned)(uintptr_t)number;
    unsigned other = me;

    for (unsigned i = 0; i < N_BLOCKS; i++) {
        allocate_block(me, i);
    }
    for (unsigned turn = 0; turn < 4; turn++) {
        for (unsigned i = 0; i < N_BLOCKS; i++) {
            write_block(other, i, turn);
        }
        press(me);
        pass_barrier();
        check_block(other, turn, turn);
        other = (me + turn + 1) % N_THREADS;
        for (unsigned i = 0; i < N_BLOCKS; i++) {
            check_block(other, i, turn);
        }
        pass_barrier();
    }
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        OK(tm_free(job.blocks[other][i]));
    }
    pass_barrier();
    return NULL;
}

static void grow(void)
{
    unsigned char *bytes = tm_alloc(50, &(tm_alloc_attr){.grain = 64});
    unsigned char *moved;

    memset(bytes, 7, 50);
    moved = tm_realloc(bytes, 64);
    if (moved == NULL || (uintptr_t)moved % 4096 >= 4096 || moved[49] != 7 ||
        moved[50] != 0) {
        FAIL("a block that has grown begins %p", (void *)moved);
    }
    moved = tm_realloc(moved, 5000);
    if (moved == NULL || moved[49] != 7 || moved[4999] != 0) {
        FAIL("a block above its grain begins %p", (void *)moved);
    }
    OK(tm_free(moved));
}

// ---- mistakes

static void make_mistakes(void)
{
    static const struct {
        size_t size;
        tm_alloc_attr attr;
    } wrong[] = {
        {10, {.grain = 32}},
        {10, {.grain = 96}},
        {10, {.grain = 4096}},
        {65, {.grain = 64}},
        {10, {.grain = 64, .protocol = TM_EAGER_RELEASE}},
        {10, {.grain = 64, .protocol = TM_ENTRY}},
        {10, {.grain = 64, .placement = TM_CYCLIC}},
        {10, {.grain = 64, .sharing = TM_MIGRATORY}},
        {10, {.grain = 64, .alignment = 128}},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (tm_alloc(wrong[i].size, &wrong[i].attr) != NULL) {
            FAIL("mistake %u is not refused", i);
        }
    }
}

int main(int argc, char **argv)
{
    OK(tm_init(&argc, &argv));
    OK(tm_barrier_init(&job.barrier, N_THREADS));
    if (argc > 1 && strcmp(argv[1], "counters") == 0) {
        compare_counting();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "mistakes") == 0) {
        make_mistakes();
        return 0;
    }
    if (argc > 2 && strcmp(argv[2], "pressed") == 0) {
        job.pressure = tm_alloc(PRESSURE, NULL);
    }
    for (unsigned life = 0; life < N_LIVES; life++) {
        for_all_threads(use_blocks);
    }
    grow();
    printf("as it should be\n");
    return 0;
}
