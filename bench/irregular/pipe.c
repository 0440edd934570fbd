// SPDX-License-Identifier: BSD-3-Clause
/*
 * A pipe between producers and consumers: a ring of slots of 4 KiB under a mutex, with a
 * condition variable for each side. Threads with even numbers produce, the others consume.
 *
 *     pipe [THREADS [ITEMS [SLOTS]]]
 */
#include "program.h"

enum { N_WORDS = TM_PAGE_SIZE / sizeof(uint64_t) };

struct item {
    uint64_t words[N_WORDS];
};

static TM_SHARED struct {
    tm_mutex mutex;
    tm_cond is_not_empty;
    tm_cond is_not_full;
    size_t n_put; // items since the start
    size_t n_taken;
    uint64_t sum;       // of what was consumed
    struct item *slots; // [number of slots]
} ring;

static void fill_item(struct item *item, uint64_t number)
{
    for (unsigned k = 0; k < N_WORDS; k++) {
        item->words[k] = number * N_WORDS + k;
    }
}

static uint64_t sum_of(const struct item *item)
{
    uint64_t sum = 0;

    for (unsigned k = 0; k < N_WORDS; k++) {
        sum += item->words[k] ^ k;
    }
    return sum;
}

static void produce_item(size_t number)
{
    struct item item;

    fill_item(&item, number);
    tm_mutex_lock(&ring.mutex);
    while (ring.n_put - ring.n_taken == program.n_rounds) {
        tm_cond_wait(&ring.is_not_full, &ring.mutex);
    }
    ring.slots[ring.n_put++ % program.n_rounds] = item;
    tm_cond_signal(&ring.is_not_empty);
    tm_mutex_unlock(&ring.mutex);
}

// @return 0: all have been consumed
static int consume_item(uint64_t *sum)
{
    struct item item;

    tm_mutex_lock(&ring.mutex);
    while (ring.n_put == ring.n_taken && ring.n_taken < program.size) {
        tm_cond_wait(&ring.is_not_empty, &ring.mutex);
    }
    if (ring.n_taken == program.size) {
        ring.sum += *sum;
        tm_cond_broadcast(&ring.is_not_empty);
        tm_mutex_unlock(&ring.mutex);
        return 0;
    }
    item = ring.slots[ring.n_taken++ % program.n_rounds];
    tm_cond_signal(&ring.is_not_full);
    tm_mutex_unlock(&ring.mutex);
    *sum += sum_of(&item);
    return 1;
}

static void *produce_or_consume(void *arg)
{
    const size_t me = (size_t)arg;
    const size_t n_producers = (program.n_threads + 1) / 2;
    uint64_t sum = 0;

    if (me % 2 == 0) {
        for (size_t i = me / 2; i < program.size; i += n_producers) {
            produce_item(i);
        }
    } else {
        while (consume_item(&sum)) {
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t expected = 0;

    program_begin(argc, argv, (struct program){2, 5000, 8});
    if (program.n_threads < 2) {
        program.n_threads = 2; // somebody for each end
    }
    ring.slots = program_alloc("ring", program.n_rounds * sizeof *ring.slots);
    program_run(produce_or_consume);
    for (size_t i = 0; i < program.size; i++) {
        struct item item;

        fill_item(&item, i);
        expected += sum_of(&item);
    }
    if (ring.sum != expected) {
        PROGRAM_FAIL("the items that came are not those that were sent");
    }
    program_print("items", (double)program.size, ring.sum);
    return 0;
}
