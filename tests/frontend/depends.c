// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's `depend`: tasks wait for earlier ones by what these read and write.
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4, BLOCKS = 6, SIZE = 12, N = BLOCKS * SIZE, CHAIN = 400 };

// ---- Cholesky, by blocks

static double matrix[BLOCKS][BLOCKS][SIZE][SIZE];

static double start(int i, int j)
{
    return i == j ? N : 1.0 / (1 + (i > j ? i - j : j - i));
}

static void fill(void)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            matrix[i / SIZE][j / SIZE][i % SIZE][j % SIZE] = start(i, j);
        }
    }
}

static double root(double x)
{
    double y = x;

    for (int i = 0; i < 40; i++) {
        y = (y + x / y) / 2;
    }
    return y;
}

static void factor(double (*a)[SIZE])
{
    for (int k = 0; k < SIZE; k++) {
        a[k][k] = root(a[k][k]);
        for (int i = k + 1; i < SIZE; i++) {
            a[i][k] /= a[k][k];
        }
        for (int j = k + 1; j < SIZE; j++) {
            for (int i = j; i < SIZE; i++) {
                a[i][j] -= a[i][k] * a[j][k];
            }
        }
    }
}

static void solve(double (*l)[SIZE], double (*b)[SIZE])
{
    for (int k = 0; k < SIZE; k++) {
        for (int i = 0; i < SIZE; i++) {
            b[i][k] /= l[k][k];
            for (int j = k + 1; j < SIZE; j++) {
                b[i][j] -= b[i][k] * l[j][k];
            }
        }
    }
}

static void update(double (*a)[SIZE], double (*b)[SIZE], double (*c)[SIZE])
{
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            for (int k = 0; k < SIZE; k++) {
                c[i][j] -= a[i][k] * b[j][k];
            }
        }
    }
}

static void make_tasks(void)
{
    for (int k = 0; k < BLOCKS; k++) {
#pragma omp task depend(inout : matrix[k][k])
        factor(matrix[k][k]);
        for (int i = k + 1; i < BLOCKS; i++) {
#pragma omp task depend(in : matrix[k][k]) depend(inout : matrix[i][k])
            solve(matrix[k][k], matrix[i][k]);
        }
        for (int i = k + 1; i < BLOCKS; i++) {
            for (int j = k + 1; j <= i; j++) {
#pragma omp task depend(in                                                     \
                        : matrix[i][k], matrix[j][k]) depend(inout             \
                                                             : matrix[i][j])
                update(matrix[i][k], matrix[j][k], matrix[i][j]);
            }
        }
    }
}

static double sum_of(int row)
{
    double sum = 0;

    for (int j = 0; j <= row; j++) {
        sum += matrix[row / SIZE][j / SIZE][row % SIZE][j % SIZE];
    }
    return sum;
}

static void run_cholesky(void)
{
    fill();
#pragma omp parallel
#pragma omp single
    make_tasks();
    printf("cholesky %.12f %.12f\n", sum_of(N / 2), sum_of(N - 1));
}

// ---- one after the other, more than are kept in mind

static void run_chain(void)
{
    unsigned x = 1;
    unsigned wanted = 1;

#pragma omp parallel
#pragma omp single
    for (unsigned i = 0; i < CHAIN; i++) {
#pragma omp task depend(inout : x) shared(x)
        x = x * 31 + i;
    }
    for (unsigned i = 0; i < CHAIN; i++) {
        wanted = wanted * 31 + i;
    }
    printf("chain %d\n", x == wanted);
}

// ---- one writes, many read, the next one writes

static void run_readers(void)
{
    int value = 0;
    int seen[20][8];
    int n_wrong = 0;

#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 20; round++) {
#pragma omp task depend(out : value) shared(value)
        value = round;
        for (int i = 0; i < 8; i++) {
#pragma omp task depend(in : value) shared(value, seen)
            seen[round][i] = value;
        }
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++) {
            n_wrong += seen[round][i] != round;
        }
    }
    printf("readers %d\n", n_wrong);
}

// ---- others than tasks that wait, too

static void run_waits(void)
{
    int x = 0;
    int y = 0;
    int z = 0;
    int seen[3] = {0};

#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        {
#pragma omp task shared(x)
            x += 3;
            x += 0 * omp_get_thread_num();
#pragma omp taskwait
            x *= 2;
        }
#pragma omp task depend(in : x) depend(out : y) shared(x, y)
        y = x + 1;
#pragma omp taskwait depend(in : y)
        seen[0] = y;
#pragma omp taskgroup
        {
#pragma omp task depend(inout : y) shared(y)
            y *= 3;
#pragma omp task depend(in : y) if (0) shared(y, seen)
            seen[1] = y;
        }
#pragma omp task depend(mutexinoutset : z) shared(z)
        z += 2;
#pragma omp task depend(mutexinoutset : z) shared(z)
        z += 5;
#pragma omp task depend(in : z) shared(z, seen)
        seen[2] = z;
    }
    printf("waits %d %d %d %d\n", seen[0], seen[1], seen[2], x);
}

static void run_objects(void)
{
    int x = 0;
    int seen = 0;
    omp_depend_t writes;
    omp_depend_t reads;

#pragma omp depobj(writes) depend(out : x)
#pragma omp depobj(reads) depend(in : x)
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(depobj : writes) shared(x)
        x = 4;
#pragma omp task depend(depobj : reads) shared(x, seen)
        seen += x;
#pragma omp task depend(inout : x) shared(x)
        x = 5;
    }
    printf("objects %d %d\n", seen, x);
#pragma omp depobj(writes) destroy
#pragma omp depobj(reads) destroy
}

// ---- only children of one parent wait for each other; each thread may be one

static void run_parents(void)
{
    static long chain[THREADS][4];
    long sum = 0;

#pragma omp parallel
    {
        long *own = chain[omp_get_thread_num()];

        for (int i = 0; i < 40; i++) {
#pragma omp task depend(inout : own[i % 4])
            own[i % 4] = own[i % 4] * 3 + i;
#pragma omp task depend(in : own[i % 4]) depend(inout : own[(i + 1) % 4])
            own[(i + 1) % 4] = (own[(i + 1) % 4] + own[i % 4]) % 100003;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        sum += chain[i][0] + chain[i][3];
        chain[i][0] = chain[i][1] = chain[i][2] = chain[i][3] = 0;
    }
    printf("parents %ld\n", sum);
}

int main(void)
{
    for (int n = THREADS; n > 0; n -= 3) {
        omp_set_num_threads(n);
        for (int round = 0; round < 2; round++) {
            run_cholesky();
            run_chain();
            run_readers();
            run_waits();
            run_objects();
            run_parents();
        }
    }
    return 0;
}
