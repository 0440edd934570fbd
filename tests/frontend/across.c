// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: loops whose iterations wait for others (`ordered(n)`), of all schedules; and which
// thread has which iterations if a schedule is static.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { N = 30, M = 24 };

static long grid[N][M];
static long line[200];
static int thread_of[2][N];

static long add_grid(void)
{
    long sum = 0;

    for (int i = 0; i < N; i++) {
        for (int k = 0; k < M; k++) {
            sum = (sum * 31 + grid[i][k]) % 1000003;
            grid[i][k] = i + k;
        }
    }
    return sum;
}

static void run_grids(void)
{
#pragma omp parallel
    {
#pragma omp for ordered(2)
        for (int i = 1; i < N; i++) {
            for (int k = 1; k < M; k++) {
#pragma omp ordered depend(sink : i - 1, k) depend(sink : i, k - 1)
                grid[i][k] = grid[i - 1][k] + 2 * grid[i][k - 1] % 1009;
#pragma omp ordered depend(source)
            }
        }
    }
    printf("grid %ld\n", add_grid());
#pragma omp parallel for ordered(2) schedule(dynamic, 2)
    for (int i = 2; i < N; i += 3) {
        for (int k = M - 2; k >= 0; k--) {
#pragma omp ordered depend(sink : i - 3, k + 1)
            grid[i][k] += (i < 5 ? 1 : grid[i - 3][k + 1]) + grid[i][k + 1];
#pragma omp ordered depend(source)
        }
    }
    printf("dynamic %ld\n", add_grid());
#pragma omp parallel for ordered(2) schedule(guided)
    for (long i = 1; i < N; i++) {
        for (long k = 0; k < M; k++) {
#pragma omp ordered depend(sink : i - 1, k)
            grid[i][k] += 3 * grid[i - 1][k] % 997;
#pragma omp ordered depend(source)
        }
    }
    printf("guided %ld\n", add_grid());
}

static void run_lines(void)
{
#pragma omp parallel
    {
#pragma omp for ordered(1) schedule(static, 4) nowait
        for (int i = 3; i < 99; i++) {
#pragma omp ordered depend(sink : i - 3)
            line[i] = line[i - 3] + i;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(runtime)
        for (unsigned long long i = 103; i < 199; i++) {
#pragma omp ordered depend(sink : i - 3)
            line[i] = line[i - 3] + (long)i;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1)
        for (int i = 5; i < 5; i++) {
#pragma omp ordered depend(sink : i - 1)
            line[i] = -1;
#pragma omp ordered depend(source)
        }
    }
    printf("lines %ld %ld %ld\n", line[98], line[97], line[198]);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void take(omp_lock_t *lock, int round)
{
    if (round % 2 == 0) {
        omp_set_lock(lock);
    } else {
        pthread_mutex_lock(&mutex);
    }
}

static void give(omp_lock_t *lock, int round)
{
    if (round % 2 == 0) {
        omp_unset_lock(lock);
    } else {
        pthread_mutex_unlock(&mutex);
    }
}

// Who waits for an iteration holds a lock that the thread of that one wants next.
static void wait_in_lock(void)
{
    omp_lock_t lock;
    int n = 0;

    omp_init_lock(&lock);
    for (int round = 0; round < N; round++) {
#pragma omp parallel for ordered(1) schedule(static, 1)
        for (int i = 0; i < 3; i++) {
            if (i == 2) {
                take(&lock, round);
#pragma omp ordered depend(sink : i - 1)
                n++;
                give(&lock, round);
            } else {
#pragma omp ordered depend(source)
                take(&lock, round);
                n += 2;
                give(&lock, round);
            }
        }
    }
    omp_destroy_lock(&lock);
    printf("locks %d\n", n);
}

// Pieces that are taken before and after others wait for them; a thread is many iterations
// ahead of the one that waits.
static void run_wide(void)
{
    enum { ROWS = 40, COLUMNS = 500 };
    static long wide[ROWS][COLUMNS];
    long sum = 0;

#pragma omp parallel for ordered(2) schedule(dynamic, 1)
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < COLUMNS; k++) {
#pragma omp ordered depend(sink : i - 1, k)
            wide[i][k] = i == 0 ? k : wide[i - 1][k] + k % 7;
#pragma omp ordered depend(source)
        }
    }
    for (int k = 0; k < COLUMNS; k++) {
        sum += wide[ROWS - 1][k] * (k + 1);
    }
    printf("wide %ld\n", sum);
}

// Native loops that the compiler shares out itself have the same owners.
static void tell_owners(void)
{
    omp_set_schedule(omp_sched_static, 3);
#pragma omp parallel
    {
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++) {
            thread_of[0][i] = omp_get_thread_num();
        }
#pragma omp for ordered schedule(static)
        for (int i = 0; i < N; i++) {
            thread_of[1][i] = omp_get_thread_num();
        }
    }
    for (int i = 0; i < N; i++) {
        printf("%d%d ", thread_of[0][i], thread_of[1][i]);
    }
    printf("owners\n");
}

int main(void)
{
    omp_set_num_threads(3);
    add_grid();
    wait_in_lock();
    run_grids();
    run_lines();
    run_wide();
    tell_owners();
    omp_set_num_threads(1);
    run_grids();
    run_lines();
    return 0;
}
