// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's tasks: trees of them, groups, loops, what they are given, and who runs them. No
// atomic operations, which would make the program sequential.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, QUEENS = 8, KEYS = 20000, TREE = 10, MANY = 300 };

// ---- two tasks and their sum

static int fib(int n)
{
    int x;
    int y;

    if (n < 2) {
        return n;
    }
#pragma omp task shared(x) if (n > 4)
    x = fib(n - 1);
#pragma omp task shared(y) final(n < 8)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

static void run_fib(void)
{
    int result = 0;

#pragma omp parallel
#pragma omp single
    result = fib(16);
    printf("fib %d\n", result);
}

// ---- queens, counted by each thread for itself

static int n_found;
#pragma omp threadprivate(n_found)

static int is_free(int row, const char *columns)
{
    for (int i = 0; i < row; i++) {
        int apart = columns[i] - columns[row];

        if (apart == 0 || apart == row - i || apart == i - row) {
            return 0;
        }
    }
    return 1;
}

static void place(int row, const char *before)
{
    if (row == QUEENS) {
        n_found++;
        return;
    }
    for (int column = 0; column < QUEENS; column++) {
        char columns[QUEENS];

        memcpy(columns, before, QUEENS);
        columns[row] = (char)column;
        if (is_free(row, columns)) {
#pragma omp task firstprivate(columns) if (row < 4)
            place(row + 1, columns);
        }
    }
#pragma omp taskwait
}

static void run_queens(void)
{
    static const char none[QUEENS];
    int total = 0;

#pragma omp parallel
    {
        n_found = 0;
#pragma omp single
        place(0, none);
#pragma omp critical
        total += n_found;
    }
    printf("queens %d\n", total);
}

// In the middle of a task a thread runs only what is within that.
static int n_own;
#pragma omp threadprivate(n_own)

static int keep_own(int i)
{
    int x = 0;
    int y = 0;

    n_own = i;
#pragma omp task shared(x)
    x = fib(7);
#pragma omp task shared(y)
    y = fib(8);
#pragma omp taskwait
    return n_own == i && x == 13 && y == 21;
}

static void run_tied(void)
{
    int is_kept[50];
    int n = 0;

#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task shared(is_kept)
        is_kept[i] = keep_own(i);
    }
    for (int i = 0; i < 50; i++) {
        n += is_kept[i];
    }
    printf("tied %d\n", n);
}

// ---- sorting

static int keys[KEYS];

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void merge(int *low, int *middle, int *end)
{
    int *room = malloc((size_t)(end - low) * sizeof *room);
    int *next = room;

    for (int *a = low, *b = middle; a < middle || b < end;) {
        *next++ = b == end || (a < middle && *a <= *b) ? *a++ : *b++;
    }
    memcpy(low, room, (size_t)(end - low) * sizeof *room);
    free(room);
}

static void sort(int *low, int *end)
{
    int *middle = low + (end - low) / 2;

    if (end - low < 800) {
        qsort(low, (size_t)(end - low), sizeof *low, compare);
        return;
    }
#pragma omp task
    sort(low, middle);
#pragma omp task
    sort(middle, end);
#pragma omp taskwait
    merge(low, middle, end);
}

static void run_sort(void)
{
    unsigned seed = 7;
    int n_wrong = 0;

    for (int i = 0; i < KEYS; i++) {
        seed = seed * 1103515245 + 12345;
        keys[i] = (int)(seed >> 4);
    }
#pragma omp parallel
#pragma omp single nowait
    sort(keys, keys + KEYS);
    for (int i = 1; i < KEYS; i++) {
        n_wrong += keys[i - 1] > keys[i];
    }
    printf("sort %d %d\n", keys[KEYS / 2], n_wrong);
}

// ---- a tree that nobody waits for, but the barrier; or a group around it

static int nodes[1 << TREE];

static void grow(int node)
{
    nodes[node]++;
    for (int child = 2 * node; child < 2 * node + 2 && child < 1 << TREE;
         child++) {
#pragma omp task
        grow(child);
    }
}

static int count_nodes(void)
{
    int n = 0;

    for (int i = 1; i < 1 << TREE; i++) {
        n += nodes[i] == 1;
        nodes[i] = 0;
    }
    return n;
}

static void run_tree(void)
{
    int in_group = 0;
    int at_barrier = 0;

#pragma omp parallel
    {
#pragma omp single
        {
#pragma omp taskgroup
            {
#pragma omp task
                grow(1);
            }
            in_group = count_nodes();
        }
#pragma omp master
        grow(1);
#pragma omp barrier
#pragma omp master
        {
            at_barrier = count_nodes();
            grow(1);
        }
    }
    printf("tree %d %d %d\n", in_group, at_barrier, count_nodes());
}

// ---- groups within groups, and tasks before them

static void run_groups(void)
{
    int seen[3] = {0};
    int n[3] = {0};

#pragma omp parallel
#pragma omp single
    {
#pragma omp task shared(n)
        n[0] = fib(10);
#pragma omp taskgroup
        {
#pragma omp task shared(n)
            {
#pragma omp task shared(n)
                n[1] = fib(9);
            }
#pragma omp taskgroup
            {
#pragma omp task shared(n)
                n[2] = fib(8);
            }
            seen[2] = n[2];
#pragma omp taskwait
            seen[0] = n[0];
        }
        seen[1] = n[1];
    }
    printf("groups %d %d %d\n", seen[0], seen[1], seen[2]);
}

// ---- many at once, of all threads; loops of them

static int marks[MANY];

static int sum_of_marks(void)
{
    int sum = 0;

    for (int i = 0; i < MANY; i++) {
        sum += marks[i] * (i + 1);
        marks[i] = 0;
    }
    return sum;
}

static void run_many(void)
{
    int sum = 0;
    int in_loop = 0;

#pragma omp parallel
    {
#pragma omp for nowait
        for (int i = 0; i < MANY; i++) {
#pragma omp task
            {
                marks[i] += i;
#pragma omp taskyield
            }
        }
#pragma omp barrier
#pragma omp single
        sum = sum_of_marks();
#pragma omp single
        {
#pragma omp taskloop grainsize(7)
            for (int i = 0; i < MANY; i++) {
                marks[i] += 2;
            }
#pragma omp taskloop num_tasks(11) nogroup
            for (int i = MANY - 1; i >= 0; i--) {
                marks[i / 2] += fib(5) - 5;
            }
#pragma omp taskwait
            in_loop = sum_of_marks();
        }
    }
    printf("many %d %d\n", sum, in_loop);
}

#if __GNUC__ >= 12 /* not known before */

enum { STEPS = 79 };

static int place_of[STEPS]; /* of each step in its task */

/* Each has just 17, but for the last. */
static void run_strict(void)
{
    int mine = 0;
    int n_tasks = 0;
    int most = 0;

#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(strict : 17) firstprivate(mine)
    for (int i = 0; i < STEPS; i++) {
        place_of[i] = ++mine;
    }
    for (int i = 0; i < STEPS; i++) {
        n_tasks += place_of[i] == 1;
        most = place_of[i] > most ? place_of[i] : most;
    }
    printf("strict %d %d %d\n", n_tasks, most, place_of[STEPS - 1]);
}

#else

static void run_strict(void)
{
}

#endif

// ---- reductions by whoever runs the task

static void run_reductions(void)
{
    long sum = 0;

#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 0; i < MANY; i++) {
#pragma omp task in_reduction(+ : sum)
            {
                sum += i;
#pragma omp task in_reduction(+ : sum) if (i % 3 > 0)
                sum += fib(6);
            }
        }
    }
    printf("reductions %ld\n", sum);
}

// ---- final ones and what is large

struct large {
    char bytes[3000];
};

static void run_given(void)
{
    struct large large;
    int n_final = 0;
    int sum = 0;
    int list[100];

    memset(&large, 1, sizeof large);
    for (int i = 0; i < 100; i++) {
        list[i] = i;
    }
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(large, list) shared(sum)
        {
            large.bytes[i] += 3;
            list[i]++;
#pragma omp critical
            sum += large.bytes[i] * large.bytes[i + 1] + list[i];
        }
#pragma omp task final(i > 9) shared(n_final)
        {
#pragma omp task shared(n_final)
#pragma omp critical(second)
            n_final += omp_in_final();
        }
    }
    printf("given %d %d %d\n", sum, n_final, list[7] + large.bytes[9]);
}

// ---- a region within a task

static void run_region(void)
{
    int n[THREADS] = {0};

#pragma omp parallel
#pragma omp single
    for (int i = 0; i < THREADS; i++) {
#pragma omp task shared(n)
        {
#pragma omp parallel num_threads(1)
            {
#pragma omp task
                n[i] += i;
#pragma omp taskgroup
#pragma omp task
                n[i] += 10;
            }
            n[i] += omp_get_num_threads() > 0;
        }
    }
    printf("region %d %d %d %d\n", n[0], n[1], n[2], n[3]);
}

int main(void)
{
    omp_set_num_threads(THREADS);
    for (int round = 0; round < 3; round++) {
        run_fib();
        run_queens();
        run_tied();
        run_sort();
        run_tree();
        run_groups();
        run_many();
        run_strict();
        run_reductions();
        run_given();
        run_region();
        omp_set_num_threads(round == 0 ? THREADS + 2 : 1);
    }
    return 0;
}
