// SPDX-License-Identifier: BSD-3-Clause
/*
 * Instructions that need several pages at once: words that lie in two pages, and string
 * instructions whose source and destination do. With little memory the pages that such an
 * instruction was given could go for the next one that it needs, and it would never
 * be done.
 *
 *     crossing THREADS PAGES STEPS SEED
 *
 * Each thread has PAGES pages, and in each of these but the last a word that ends in the
 * next one. In a phase a thread steps the words of one thread, by an order out of the
 * seed; main() does the same in its own memory, and compares.
 */
#include <string.h>

#include "program.h"

enum { MAX_THREADS = 64, PHASES = 8, AT = TM_PAGE_SIZE - 4 };

typedef uint64_t loose_word __attribute__((aligned(1), may_alias));

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_pages;
    unsigned n_steps;
    uint64_t seed;
    char *bytes; // [n_threads][n_pages][TM_PAGE_SIZE]
} job;

static size_t all_bytes(void)
{
    return (size_t)job.n_threads * job.n_pages * TM_PAGE_SIZE;
}

// One instruction, from two pages to two others.
static void copy_word(loose_word *to, const loose_word *from)
{
#if defined(__x86_64__)
    __asm__ volatile("movsq" : "+D"(to), "+S"(from) : : "memory");
#else
    *to = *from;
#endif
}

static void run_phase(char *bytes, unsigned me, unsigned phase)
{
    const size_t first = (size_t)(me + phase) % job.n_threads * job.n_pages;
    uint64_t state = mix(job.seed + me, phase);

    for (unsigned step = 0; step < job.n_steps; step++) {
        const size_t to = first + draw(&state, job.n_pages - 1);
        const size_t from = first + draw(&state, job.n_pages - 1);
        loose_word *word = (loose_word *)(bytes + to * TM_PAGE_SIZE + AT);
        const loose_word *other =
            (loose_word *)(bytes + from * TM_PAGE_SIZE + AT);

        switch (draw(&state, 3)) {
        case 0:
            *word += me + 1;
            break;
        case 1:
            copy_word(word, other);
            break;
        default:
            *word += *other + step;
        }
    }
}

static void *run(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned phase = 0; phase < PHASES; phase++) {
        run_phase(job.bytes, me, phase);
        tm_iteration_end(&job.barrier);
    }
    return NULL;
}

// All phases again, one thread after the other.
static void compare(void)
{
    char *bytes = calloc(1, all_bytes());

    if (bytes == NULL) {
        FAIL("%s", "no memory");
    }
    for (unsigned phase = 0; phase < PHASES; phase++) {
        for (unsigned i = 0; i < job.n_threads; i++) {
            run_phase(bytes, i, phase);
        }
    }
    for (size_t i = 0; i < all_bytes(); i++) {
        if (bytes[i] != job.bytes[i]) {
            FAIL("page %zu of %u, byte %zu: %02x, not %02x", i / TM_PAGE_SIZE,
                 job.n_threads * job.n_pages, i % TM_PAGE_SIZE,
                 (unsigned char)job.bytes[i], (unsigned char)bytes[i]);
        }
    }
    free(bytes);
}

static void read_arguments(int argc, char **argv)
{
    if (argc != 5) {
        FAIL("%s", "crossing THREADS PAGES STEPS SEED");
    }
    job.n_threads = (unsigned)atoi(argv[1]);
    job.n_pages = (unsigned)atoi(argv[2]);
    job.n_steps = (unsigned)atoi(argv[3]);
    job.seed = strtoull(argv[4], NULL, 10);
    if (job.n_threads == 0 || job.n_threads > MAX_THREADS || job.n_pages < 2) {
        FAIL("1 to %d threads, 2 pages", MAX_THREADS);
    }
}

int main(int argc, char **argv)
{
    tm_thread threads[MAX_THREADS];

    OK(tm_init(&argc, &argv));
    read_arguments(argc, argv);
    job.bytes = tm_alloc(all_bytes(), NULL);
    if (job.bytes == NULL) {
        FAIL("%s", "no memory");
    }
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, run, (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    compare();
    puts("result: right");
    return 0;
}
