// SPDX-License-Identifier: BSD-3-Clause
// OpenMP: regions within regions, with teams of their own if they are asked for; and the
// settings that each task has of its own.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { OUTER = 3, INNER = 2, DEEP = 2, N = 60, ROUNDS = 8 };

static int hits[OUTER][N];
static int ranks[OUTER][INNER][DEEP];
static int singles[OUTER];
static long sums[OUTER];
static int copies[OUTER][INNER];
static int chained[OUTER][N];

static long fib(int n)
{
    long x;
    long y;

    if (n < 2) {
        return n;
    }
#pragma omp task shared(x)
    x = fib(n - 1);
#pragma omp task shared(y)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

static void share_out(int outer)
{
    long sum = 0;
    long f = 0;

#pragma omp parallel num_threads(INNER) reduction(+ : sum)
    {
        int copied = 0;

#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < N; i++) {
            hits[outer][i]++;
            sum += i;
        }
#pragma omp single
        singles[outer]++;
#pragma omp single copyprivate(copied)
        copied = 10 * outer + omp_get_num_threads();
        copies[outer][omp_get_thread_num()] = copied;
#pragma omp for ordered schedule(static, 4)
        for (int i = 0; i < N; i++) {
#pragma omp ordered
            chained[outer][i] = i == 0 ? outer : chained[outer][i - 1] + 1;
        }
#pragma omp for ordered(1) schedule(static, 7)
        for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
            chained[outer][i] += i == 0 ? 0 : chained[outer][i - 1];
#pragma omp ordered depend(source)
        }
#pragma omp single
        f = fib(8);
#pragma omp sections
        {
#pragma omp section
            sum += f;
#pragma omp section
            sum += 1000;
        }
    }
    sums[outer] = sum + chained[outer][N - 1];
}

static void run_nested(void)
{
#pragma omp parallel num_threads(OUTER)
    share_out(omp_get_thread_num());
}

// Three levels: who is whose, on the way up.
static void rank_all(void)
{
#pragma omp parallel num_threads(OUTER)
    {
#pragma omp parallel num_threads(INNER)
        {
#pragma omp parallel num_threads(DEEP)
            {
                int rank = 10 * omp_get_level() + omp_get_active_level();

                for (int level = 1; level <= 3; level++) {
                    rank = rank * 10 + omp_get_ancestor_thread_num(level);
                }
                rank = rank * 10 + omp_get_team_size(2);
                ranks[omp_get_ancestor_thread_num(1)]
                     [omp_get_ancestor_thread_num(2)][omp_get_thread_num()] =
                         rank;
            }
        }
    }
}

// A region of one thread between two of several.
static void skip_level(void)
{
    int seen = -1;

#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(1)
        {
#pragma omp parallel num_threads(3)
            {
#pragma omp barrier
                if (omp_get_ancestor_thread_num(1) == 1 &&
                    omp_get_thread_num() == 2) {
                    seen = omp_get_level() * 1000 +
                           omp_get_active_level() * 100 +
                           omp_get_team_size(1) * 10 + omp_get_team_size(2);
                }
            }
        }
    }
    printf("skipped %d\n", seen);
}

static void ask_settings(void)
{
    int wanted[4] = {0};
    int in_task = 0;
    int behind = 0;

    omp_set_num_threads(2);
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();

        omp_set_num_threads(me + 1);
#pragma omp barrier
#pragma omp parallel
        {
#pragma omp single
            wanted[me] = omp_get_num_threads() * 10 + omp_get_max_threads();
        }
    }
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        {
            omp_set_num_threads(3);
            omp_set_schedule(omp_sched_guided, 5);
#pragma omp task shared(in_task)
            {
                omp_sched_t kind;
                int chunk;

                in_task = omp_get_max_threads();
                omp_set_num_threads(7);
                omp_get_schedule(&kind, &chunk);
                in_task = in_task * 100 + (int)kind * 10 + chunk;
            }
#pragma omp taskwait
            behind = omp_get_max_threads();
        }
    }
    printf("wanted %d %d %d %d, in a task %d, behind it %d, then %d\n",
           wanted[0], wanted[1], wanted[2], wanted[3], in_task, behind,
           omp_get_max_threads());
}

static void *begin_region(void *argument)
{
    int n = 0;

#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
#pragma omp atomic
        n += omp_get_num_threads();
    }
    *(int *)argument = n + omp_get_max_active_levels();
    return NULL;
}

// Each has a team, and nothing of what main() has set.
static void begin_by_threads(void)
{
    pthread_t threads[3];
    int numbers[3];

    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, begin_region, &numbers[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("threads %d %d %d\n", numbers[0], numbers[1], numbers[2]);
}

int main(void)
{
    int n_wrong = 0;
    omp_sched_t kind;
    int chunk;

    omp_get_schedule(&kind, &chunk);
    printf("schedule %d,%d\n", (int)kind, chunk);
    printf("nested %d, levels %d of %d\n", omp_get_nested(),
           omp_get_max_active_levels(), omp_get_supported_active_levels());
    run_nested();
    omp_set_max_active_levels(3);
    printf("nested %d, levels %d\n", omp_get_nested(),
           omp_get_max_active_levels());
    for (int round = 1; round < ROUNDS; round++) {
        run_nested();
    }
    for (int outer = 0; outer < OUTER; outer++) {
        for (int i = 0; i < N; i++) {
            n_wrong += hits[outer][i] != ROUNDS;
        }
        printf("%d: %d singles, %ld, %d %d\n", outer, singles[outer],
               sums[outer], copies[outer][0], copies[outer][1]);
    }
    rank_all();
    for (int i = 0; i < OUTER * INNER * DEEP; i++) {
        printf("%d ", ranks[i / (INNER * DEEP)][i / DEEP % INNER][i % DEEP]);
    }
    printf("\n%d wrong\n", n_wrong);
    skip_level();
    ask_settings();
    begin_by_threads();
    omp_set_nested(0);
    omp_set_max_active_levels(0);
#pragma omp parallel num_threads(4)
#pragma omp single
    printf("alone %d\n", omp_get_num_threads());
    return 0;
}
