// SPDX-License-Identifier: BSD-3-Clause
//
// A program of two threads, main() on node 0 and another on node 1, which live through a
// fault, a release and a migration, one at a time and with nothing else going on; rooms.py
// says what it is for. With an argument: threads that iterate, unequally, for so many
// iterations, while others change what there is to change. They fault and release in each
// of them, and print a line at the end, so that none of this is part of the change.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <teamster.h>

enum phase { NOTHING, IDLE, FAULT, RELEASE, MIGRATION };

enum {
    N_WARM = 6,
    STRIDE = 3 * 4096,
    N_THREADS = 6,
    N_LOOPS = 200000,
    N_YIELDS = 1000
};

// The same page as hook.c's; behind the phase what the two threads tell each other.
static struct {
    _Atomic uint32_t phase;
    _Atomic uint32_t turn;
} * control;

static TM_SHARED struct {
    tm_barrier both;
    tm_barrier all;
    char *pages; // [N_WARM + 1] of STRIDE
    int n_rounds;
} job;

__attribute__((constructor)) static void open_control(void)
{
    int fd = open(getenv("ROOMS_CONTROL"), O_RDWR | O_CLOEXEC);

    control =
        mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void set_phase(int is_noted, enum phase phase)
{
    atomic_store(&control->phase, is_noted ? phase : NOTHING);
}

// Without a call that is noted.
static void spin(unsigned ms)
{
    struct timespec now;
    uint64_t until_ns = 0;
    uint64_t now_ns;

    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        until_ns = until_ns == 0 ? now_ns + ms * 1000000ull : until_ns;
    } while (now_ns < until_ns);
}

static void await_turn(uint32_t turn)
{
    while (atomic_load(&control->turn) < turn) {
        spin(1);
    }
}

static void end_turn(uint32_t turn)
{
    set_phase(0, NOTHING);
    atomic_store(&control->turn, turn + 1);
}

// A barrier at which one thread waits already, for the other's sake.
static void arrive_last(int is_noted, enum phase phase)
{
    spin(30);
    set_phase(is_noted, phase);
    if (phase == IDLE) {
        spin(100);
        set_phase(0, NOTHING);
    }
    tm_barrier_wait(&job.both);
    set_phase(0, NOTHING);
}

static void main_rounds(void)
{
    for (uint32_t i = 0; i <= N_WARM; i++) {
        volatile char *page = job.pages + i * STRIDE;
        int is_last = i == N_WARM;

        *page = 1;
        set_phase(is_last, IDLE);
        for (int k = 0; k < N_YIELDS; k++) {
            tm_thread_yield();
        }
        arrive_last(is_last, IDLE);
        await_turn(4 * i + 1); // it has faulted
        page[1] = 1;
        tm_barrier_wait(&job.both);
        tm_barrier_wait(&job.both); // the release
        tm_barrier_wait(&job.both); // idle
        tm_thread_yield();
        tm_iteration_end(&job.both); // it comes here
        while (atomic_load(&control->turn) < 4 * i + 2) {
            tm_thread_yield();
        }
        tm_iteration_end(&job.both); // and goes back
    }
}

static void *other_rounds(void *argument)
{
    tm_thread_migrate(tm_thread_self(), 1);
    tm_iteration_end(&job.both);
    for (uint32_t i = 0; i <= N_WARM; i++) {
        volatile char *page = job.pages + i * STRIDE;
        int is_last = i == N_WARM;

        tm_barrier_wait(&job.both);
        spin(30);
        set_phase(is_last, FAULT);
        (void)page[0];
        end_turn(4 * i);
        tm_barrier_wait(&job.both);
        (void)page[1];
        page[2] = 1;
        arrive_last(is_last, RELEASE);
        arrive_last(is_last, IDLE);
        spin(30);
        set_phase(is_last, MIGRATION);
        tm_thread_migrate(tm_thread_self(), 0);
        tm_iteration_end(&job.both);
        end_turn(4 * i + 1);
        tm_thread_migrate(tm_thread_self(), 1);
        tm_iteration_end(&job.both);
    }
    return argument;
}

static void *iterate(void *argument)
{
    volatile double x = 1;

    for (int i = 0; i < job.n_rounds; i++) {
        const size_t place = (size_t)i + (size_t)(uintptr_t)argument;

        job.pages[place % N_THREADS * STRIDE] = (char)i;
        x = x + job.pages[(place + 2) % N_THREADS * STRIDE + 1];
        for (long k = 0; k < N_LOOPS * (1 + (long)(uintptr_t)argument); k++) {
            x = x * 1.0000001;
        }
        tm_iteration_end(&job.all);
    }
    return NULL;
}

static void run_threads(int n, void *(*function)(void *))
{
    tm_thread threads[N_THREADS];

    for (int i = 0; i < n; i++) {
        if (tm_thread_create(&threads[i], NULL, function,
                             (void *)(uintptr_t)i) != TM_OK) {
            exit(1);
        }
    }
    if (function == other_rounds) {
        tm_iteration_end(&job.both);
        main_rounds();
    }
    for (int i = 0; i < n; i++) {
        tm_thread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    tm_init(&argc, &argv);
    tm_barrier_init(&job.both, 2);
    tm_barrier_init(&job.all, N_THREADS);
    job.pages = tm_alloc(STRIDE * (N_WARM + N_THREADS), NULL);
    if (argc > 1) {
        job.n_rounds = atoi(argv[1]);
        run_threads(N_THREADS, iterate);
        puts("done");
    } else {
        run_threads(1, other_rounds);
    }
    return 0;
}
