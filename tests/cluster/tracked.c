// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads that use pages in a known way, the same in every iteration, and say
 * which: what tracking must find.
 *
 *   tracked -t THREADS -n ITERATIONS
 *   tracked -u                         pages that the kernel has unmapped
 *
 * Prints lines "expect THREAD ADDRESS FLAGS DIFF", those of a thread in order of
 * first use. Each thread has pages of its own, which it reads, writes, or reads
 * and writes, in an order of its own; all read one page, and all write one, each
 * its own bytes of it. A barrier divides the iteration: behind it more pages are
 * used, and more bytes of those before.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "program.h"

enum {
    PAGE = 4096,
    MOST_THREADS = 64,
    N_OWN = 24,
    N_STEPS = 40,
    SHARE = PAGE / MOST_THREADS, // bytes of the common page
};

enum { READ = 1, WRITE = 2 };

struct step {
    char *page;
    unsigned flags;
    unsigned first; // bytes that are written
    unsigned n_bytes;
};

struct script {
    struct step steps[2][N_STEPS];
    unsigned n[2];
};

static TM_SHARED struct {
    unsigned n_threads;
    unsigned n_iterations;
    char *own;
    char *common; // read by all, and behind it written by all
    tm_barrier middle;
    tm_barrier end;
} job;

static void add(struct script *script, unsigned half, struct step step)
{
    script->steps[half][script->n[half]++] = step;
}

// The thread's own pages, some in order and some not, some of them twice.
static void add_own(struct script *script, unsigned me)
{
    char *own = job.own + (size_t)me * N_OWN * PAGE;
    uint64_t state = mix(me, 1);

    for (unsigned i = 0; i < N_OWN; i++) {
        unsigned at =
            i < N_OWN / 2 ? i : (i * 7 + me) % (N_OWN / 2) + N_OWN / 2;
        unsigned flags = 1 + (unsigned)draw(&state, 3);
        struct step step = {own + (size_t)at * PAGE, flags,
                            (unsigned)draw(&state, 1000), 0};

        if (flags & WRITE) {
            step.n_bytes = 1 + (unsigned)draw(&state, 1000);
        }
        add(script, i % 3 == 2, step);
        if (i % 3 == 0) { // once more behind the barrier, other bytes
            step.first += 2000;
            add(script, 1, step);
        }
    }
}

static void make_script(struct script *script, unsigned me)
{
    memset(script, 0, sizeof *script);
    add(script, 0, (struct step){job.common, READ, 0, 0});
    add(script, 0, (struct step){job.common + PAGE, WRITE, me * SHARE, 7});
    add_own(script, me);
    add(script, 1,
        (struct step){job.common + PAGE, WRITE, me * SHARE + 9, 1 + me % 50});
}

static void run_half(const struct script *script, unsigned half, unsigned value)
{
    for (unsigned i = 0; i < script->n[half]; i++) {
        const struct step *step = &script->steps[half][i];
        volatile char *bytes = step->page;

        if (step->flags & READ) {
            (void)bytes[step->first];
        }
        for (unsigned k = 0; k < step->n_bytes; k++) {
            bytes[step->first + k] = (char)value;
        }
    }
}

static void say_page(const struct script *script, unsigned half, unsigned at)
{
    const char *page = script->steps[half][at].page;
    unsigned flags = 0;
    unsigned n_bytes = 0;

    for (unsigned h = 0; h < 2; h++) {
        for (unsigned i = 0; i < script->n[h]; i++) {
            const struct step *step = &script->steps[h][i];

            if (step->page == page) {
                if (h < half || (h == half && i < at)) {
                    return; // has been said
                }
                flags |= step->flags;
                n_bytes += step->n_bytes;
            }
        }
    }
    printf("expect %u %p %s%s %u\n", (unsigned)tm_thread_self(), (void *)page,
           flags & READ ? "r" : "", flags & WRITE ? "w" : "", n_bytes);
}

static void say_script(const struct script *script)
{
    for (unsigned half = 0; half < 2; half++) {
        for (unsigned i = 0; i < script->n[half]; i++) {
            say_page(script, half, i);
        }
    }
}

// Nothing of the loop lies in shared memory but what the script says.
static void *thread_work(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    unsigned n_iterations = job.n_iterations;
    struct script script;

    make_script(&script, me);
    say_script(&script);
    for (unsigned i = 1; i <= n_iterations; i++) {
        run_half(&script, 0, i);
        OK(tm_barrier_wait(&job.middle));
        run_half(&script, 1, i);
        OK(tm_iteration_end(&job.end));
    }
    return NULL;
}

// Each byte has the value of the last iteration, or 0.
static void check_bytes(void)
{
    char *expected = calloc(N_OWN + 2, PAGE);
    struct script script;

    for (unsigned me = 0; me < job.n_threads; me++) {
        char *own = job.own + (size_t)me * N_OWN * PAGE;

        make_script(&script, me);
        memset(expected, 0, (size_t)N_OWN * PAGE);
        for (unsigned i = 0; i < N_STEPS * 2; i++) {
            const struct step *step = &script.steps[i % 2][i / 2];

            if (i / 2 < script.n[i % 2] && step->n_bytes > 0) {
                char *at = step->page >= job.common &&
                                   step->page < job.common + 2 * PAGE
                               ? expected + (size_t)N_OWN * PAGE +
                                     (step->page - job.common)
                               : expected + (step->page - own);

                memset(at + step->first, (char)job.n_iterations, step->n_bytes);
            }
        }
        if (memcmp(expected, own, (size_t)N_OWN * PAGE) != 0) {
            FAIL("pages of thread %u are wrong", me);
        }
    }
    if (memcmp(expected + (size_t)N_OWN * PAGE, job.common, 2 * PAGE) != 0) {
        FAIL("the common pages are wrong%s", "");
    }
    free(expected);
}

static void run(void)
{
    tm_thread threads[MOST_THREADS];

    job.own = tm_alloc((size_t)job.n_threads * N_OWN * PAGE,
                       &(tm_alloc_attr){.name = "own"});
    job.common = tm_alloc(2 * PAGE, &(tm_alloc_attr){.name = "common"});
    OK(tm_barrier_init(&job.middle, job.n_threads));
    OK(tm_barrier_init(&job.end, job.n_threads));
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, thread_work,
                            (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    check_bytes();
}

// As when it has swapped them out.
static void unmapped(void)
{
    const size_t size = (size_t)64 * PAGE;
    volatile char *bytes = tm_alloc(size, NULL);

    for (size_t i = 0; i < size; i += PAGE) {
        bytes[i] = (char)(i / PAGE);
    }
    for (int round = 0; round < 3; round++) {
        if (madvise((char *)bytes, size, MADV_DONTNEED) != 0) {
            FAIL("madvise: %m%s", "");
        }
        for (size_t i = 0; i < size; i += PAGE) {
            if (bytes[i] != (char)(i / PAGE)) {
                FAIL("page %zu is wrong", i / PAGE);
            }
            bytes[i + 1] = 7;
        }
    }
}

int main(int argc, char **argv)
{
    int option;

    tm_init(&argc, &argv);
    job.n_threads = 6;
    job.n_iterations = 12;
    while ((option = getopt(argc, argv, "t:n:u")) != -1) {
        switch (option) {
        case 't':
            job.n_threads = (unsigned)atoi(optarg);
            break;
        case 'n':
            job.n_iterations = (unsigned)atoi(optarg);
            break;
        case 'u':
            unmapped();
            return 0;
        default:
            return 64;
        }
    }
    run();
    return 0;
}
