// SPDX-License-Identifier: BSD-3-Clause
/*
 * Is a node calm that has paged and now has nothing to do? With less memory than it
 * uses a thread writes all its pages; a thread of another node asks for some of them;
 * they are freed, which gives parts of the swap file back to the disk. While the other
 * thread sleeps then, the first one's node should hardly use a processor: what it uses
 * does not grow with the sleep. To be run with a budget well below 2 MiB.
 */
#include <time.h>

#include "program.h"

enum {
    N_PAGES = 512,
    N_WORDS = 512,
    N_ASKED = 16,
    N_ROUNDS = 20,
    SHORT_NS = 5 * 1000 * 1000, // sleep of an odd round
    LONG_NS = 100 * 1000 * 1000,
};

static TM_SHARED struct {
    tm_barrier barrier;
    uint64_t (*pages)[N_WORDS]; // [N_PAGES]
} job;

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static void *new_pages(void)
{
    void *pages = tm_alloc(N_PAGES * sizeof *job.pages, NULL);

    if (pages == NULL) {
        FAIL("%s", "no memory");
    }
    return pages;
}

static void *ask(void *arg)
{
    uint64_t state = 1;

    (void)arg;
    for (unsigned round = 1; round <= N_ROUNDS; round++) {
        tm_barrier_wait(&job.barrier);
        for (unsigned i = 0; i < N_ASKED; i++) {
            if (job.pages[draw(&state, N_PAGES)][i] != round) {
                FAIL("%s", "an old value");
            }
        }
        tm_barrier_wait(&job.barrier);
        nanosleep(
            &(struct timespec){.tv_nsec = round % 2 == 1 ? SHORT_NS : LONG_NS},
            NULL);
        tm_barrier_wait(&job.barrier);
    }
    return NULL;
}

static void write_all(unsigned round)
{
    for (unsigned page = 0; page < N_PAGES; page++) {
        for (unsigned i = 0; i < N_WORDS; i++) {
            job.pages[page][i] = round;
        }
    }
}

// @return of the processor, while the other thread asks and sleeps
static int64_t wait_ns(void)
{
    const int64_t used_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);

    tm_barrier_wait(&job.barrier);
    tm_barrier_wait(&job.barrier);
    tm_free(job.pages);
    tm_barrier_wait(&job.barrier);
    return now_ns(CLOCK_PROCESS_CPUTIME_ID) - used_ns;
}

static void *go_over(void *arg)
{
    int64_t more_ns = 0; // of the processor, for longer sleeps
    double share;

    (void)arg;
    for (unsigned round = 1; round <= N_ROUNDS; round++) {
        write_all(round);
        more_ns += round % 2 == 1 ? -wait_ns() : wait_ns();
        job.pages = new_pages();
    }
    share = (double)more_ns / (N_ROUNDS / 2) / (LONG_NS - SHORT_NS);
    printf("processor time of a node that waits: %.3f of the time\n", share);
    if (share > 0.2) {
        FAIL("%s", "busy without work");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tm_thread threads[2];

    OK(tm_init(&argc, &argv));
    OK(tm_barrier_init(&job.barrier, 2));
    job.pages = new_pages();
    OK(tm_thread_create(&threads[0], NULL, go_over, NULL));
    OK(tm_thread_create(&threads[1], NULL, ask, NULL));
    OK(tm_thread_join(threads[0], NULL));
    OK(tm_thread_join(threads[1], NULL));
    tm_free(job.pages);
    return tm_end() == TM_OK ? 0 : 1;
}
