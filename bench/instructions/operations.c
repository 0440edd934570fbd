// SPDX-License-Identifier: BSD-3-Clause
/*
 * Operations of one kind between two nodes, one at a time: count.sh has their instructions
 * counted.
 *
 *     teamster run -n 2 operations read|write|barrier|release|hand N
 *
 * With OPERATIONS_CONTROL, a file that the counter maps as well, threads wait for it before
 * the first operation, and say when the last one is over.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../samples.h"
#include "teamster.h"

enum {
    STRIDE = 16 * TM_PAGE_SIZE, // so far apart that none is fetched ahead
    HELD_US = 200,            // until the other thread has asked for the mutex
    HELD_STEPPED_US = 200000, // the same while each instruction is counted
};

// The same as in stepper.c.
static struct control {
    _Atomic uint32_t is_over;
    _Atomic uint32_t n_steppers;
    _Atomic uint32_t n_begun;
    _Atomic uint32_t n_ended;
} * control;

static TM_SHARED struct {
    char *pages; // [n] of STRIDE
    size_t n;
    int is_write;
    tm_barrier barrier;
    tm_mutex mutex;
    double *us; // [n]
} job;

static TM_SHARED size_t guarded;

__attribute__((constructor)) static void open_control(void)
{
    const char *path = getenv("OPERATIONS_CONTROL");

    if (path != NULL) {
        control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE,
                       MAP_SHARED, open(path, O_RDWR | O_CLOEXEC), 0);
    }
}

static void begin(void)
{
    if (control != NULL) {
        atomic_fetch_add(&control->n_begun, 1);
        while (atomic_load(&control->n_steppers) < 2) {
            // it is not to be a call
        }
    }
}

static void end(unsigned n_threads)
{
    if (control != NULL &&
        atomic_fetch_add(&control->n_ended, 1) + 1 == n_threads) {
        atomic_store(&control->is_over, 1);
    }
}

static void check(int is_right)
{
    if (!is_right) {
        fprintf(stderr, "operations: a wrong value was read\n");
        exit(EXIT_FAILURE);
    }
}

static void *fill(void *argument)
{
    for (size_t i = 0; i < job.n; i++) {
        memset(job.pages + i * STRIDE, 1, TM_PAGE_SIZE);
    }
    return argument;
}

static void *touch(void *us)
{
    begin();
    for (size_t i = 0; i < job.n; i++) {
        volatile char *page = job.pages + i * 769 % job.n * STRIDE;
        const double start_us = now_us();

        if (job.is_write) {
            *page = 2;
        } else {
            check(*page == 1);
        }
        ((double *)us)[i] = now_us() - start_us;
    }
    end(1);
    return NULL;
}

static void wait_timed(double *us)
{
    const double start_us = now_us();

    tm_barrier_wait(&job.barrier);
    if (us != NULL) {
        *us = now_us() - start_us;
    }
}

// us: of the first thread; NULL: this is the other one.
static void *meet(void *us)
{
    begin();
    for (size_t i = 0; i < job.n; i++) {
        wait_timed(us == NULL ? NULL : (double *)us + i);
    }
    end(2);
    return NULL;
}

// Both have a copy of a page; the first writes to it.
static void *release(void *us)
{
    volatile size_t *word = (volatile size_t *)job.pages;

    check(*word != 0);
    tm_barrier_wait(&job.barrier);
    begin();
    for (size_t i = 0; i < job.n; i++) {
        if (us != NULL) {
            *word = i;
        }
        wait_timed(us == NULL ? NULL : (double *)us + i);
        check(*word == i);
        tm_barrier_wait(&job.barrier);
    }
    end(2);
    return NULL;
}

static void give(size_t i, double *us)
{
    const double held_us = control == NULL ? HELD_US : HELD_STEPPED_US;
    double start_us;

    tm_mutex_lock(&job.mutex);
    tm_barrier_wait(&job.barrier);
    for (start_us = now_us(); now_us() < start_us + held_us;) {
        // the other thread asks
    }
    guarded = i;
    start_us = now_us();
    tm_mutex_unlock(&job.mutex);
    *us = now_us() - start_us;
}

static void *hand(void *us)
{
    begin();
    for (size_t i = 0; i < job.n; i++) {
        if (us != NULL) {
            give(i, (double *)us + i);
        } else {
            tm_barrier_wait(&job.barrier);
            tm_mutex_lock(&job.mutex);
            check(guarded == i);
            tm_mutex_unlock(&job.mutex);
        }
        tm_barrier_wait(&job.barrier);
    }
    end(2);
    return NULL;
}

static tm_thread thread_on(unsigned node, void *(*start)(void *), double *us)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = node};
    tm_thread thread;

    if (tm_thread_create(&thread, &attr, start, us) != TM_OK) {
        exit(EXIT_FAILURE);
    }
    return thread;
}

static void run(void *(*start)(void *), int on_both)
{
    const tm_thread first = thread_on(0, start, job.us);

    if (on_both) {
        tm_thread_join(thread_on(1, start, NULL), NULL);
    }
    tm_thread_join(first, NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void *(*start)(void *);
        int on_both;
    } kinds[] = {{"read", touch, 0},
                 {"write", touch, 0},
                 {"barrier", meet, 1},
                 {"release", release, 1},
                 {"hand", hand, 1}};
    const char *name = NULL;

    tm_init(&argc, &argv);
    job.n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    job.pages = tm_alloc((job.n + 1) * STRIDE, NULL);
    job.us = tm_alloc((job.n + 1) * sizeof *job.us, NULL);
    tm_barrier_init(&job.barrier, 2);
    tm_thread_join(thread_on(1, fill, NULL), NULL);
    for (size_t i = 0; job.n > 0 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            name = kinds[i].name;
            job.is_write = touch == kinds[i].start && i == 1;
            run(kinds[i].start, kinds[i].on_both);
        }
    }
    if (name == NULL) {
        fprintf(stderr,
                "usage: operations read|write|barrier|release|hand N\n");
        return 64;
    }
    samples_print(name, job.us, job.n);
    return EXIT_SUCCESS;
}
