// SPDX-License-Identifier: BSD-3-Clause
// OpenMP's atomic updates of all sizes and kinds, in memory of all kinds, and reductions: nothing
// else here is atomic, so only these are.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, TURNS = 40, THREADS = 6 };

struct kinds {
    signed char tiny;
    unsigned char tiny_next;
    short small;
    unsigned short small_next;
    int medium;
    unsigned medium_next;
    long large;
    unsigned long large_next;
    float single;
    double twice;
    long double longest;
};

static struct kinds global[N];
static int lone;
static unsigned char bytes[8 * N];

static void update(struct kinds *kinds, int turn)
{
#pragma omp atomic
    kinds->tiny++;
#pragma omp atomic
    kinds->tiny_next ^= (unsigned char)(1 << turn % 8);
#pragma omp atomic
    kinds->small -= 3;
#pragma omp atomic
    kinds->small_next |= (unsigned short)(1 << turn % 16);
#pragma omp atomic
    kinds->medium += turn;
#pragma omp atomic
    kinds->medium_next &= ~(1u << turn % 32);
#pragma omp atomic
    kinds->large -= 1L << 40;
#pragma omp atomic
    kinds->large_next ^= 1ul << turn;
#pragma omp atomic
    kinds->single += 2;
#pragma omp atomic
    kinds->twice = 0.5 * turn + kinds->twice;
#pragma omp atomic
    kinds->longest += 1;
}

static void show(const char *name, const struct kinds *kinds)
{
    for (int i = 0; i < N; i += 21) {
        const struct kinds *one = &kinds[i];

        printf("%s %d: %d %d %d %d", name, i, one->tiny, one->tiny_next,
               one->small, one->small_next);
        printf(" %d %x %ld %lx", one->medium, one->medium_next, one->large,
               one->large_next);
        printf(" %g %g %Lg\n", one->single, one->twice, one->longest);
    }
}

static void update_all(const char *name, struct kinds *kinds)
{
    for (int i = 0; i < N; i++) {
        kinds[i].medium_next = 0xffffffff;
        kinds[i].small_next = 0;
    }
#pragma omp parallel num_threads(THREADS)
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < N; i += 21) {
            update(&kinds[i], turn);
        }
    }
    show(name, kinds);
}

// Bytes beside each other: what is plain stays, whoever writes it.
static void update_beside(void)
{
#pragma omp parallel for schedule(static, 1) num_threads(THREADS)
    for (int i = 0; i < (int)sizeof bytes; i++) {
        if (i % 2 == 0) {
#pragma omp atomic
            bytes[i] += (unsigned char)i;
        } else {
            bytes[i] = (unsigned char)(i + 7);
        }
    }
    for (int i = 0; i < (int)sizeof bytes; i++) {
        if (bytes[i] != (unsigned char)(i % 2 == 0 ? i : i + 7)) {
            printf("byte %d is %d\n", i, bytes[i]);
        }
    }
}

// What is captured is each number once.
static void capture(long *next, char *was_given)
{
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < TURNS; i++) {
        long mine;
        int old;

#pragma omp atomic capture
        mine = (*next)++;
        was_given[mine]++;
#pragma omp atomic capture
        {
            old = lone;
            lone = i;
        }
        if (old < 0 || old >= TURNS) {
            printf("lone was %d\n", old);
        }
    }
    for (int i = 0; i < THREADS * TURNS; i++) {
        if (was_given[i] != 1) {
            printf("%d was given %d times\n", i, was_given[i]);
        }
    }
    printf("next %ld\n", *next);
}

// What is captured is compared at once, which some instructions do themselves.
static void compare(int *left, long *marks, unsigned char *bits)
{
    int last = 0, first = 0, below = 0, empty = 0;

    left[100] = THREADS * TURNS;
    bits[0] = 255;
#pragma omp parallel num_threads(THREADS) reduction(+ : last, first, below, empty)
    for (int i = 0; i < TURNS; i++) {
        int now;
        long mark;
        unsigned char set;

#pragma omp atomic capture
        now = --left[100];
        last += now == 0;
#pragma omp atomic capture
        {
            mark = marks[3];
            marks[3] += 5;
        }
        first += mark == 0;
#pragma omp atomic capture
        now = left[7] -= 1;
        below += now < 0;
#pragma omp atomic capture
        set = bits[0] &= 127;
        empty += set == 127;
    }
    printf("compared: %d %d %d %d\n", last, first, below, empty);
}

// What registers and flags hold stays where an instruction would leave it.
static __attribute__((noinline)) int exchange(int *old, int *place, int other)
{
    const int same = *old - 1;
    int was;

    *old = same;
#pragma omp atomic capture
    {
        was = *place;
        *place = 7;
    }
    return same != 0 ? was : other;
}

static __attribute__((noinline)) int flush(int *old, int value, int other)
{
    const int same = *old - 1;

    *old = same;
#pragma omp flush
    return same != 0 ? value : other;
}

struct __attribute__((packed)) packed {
    char one;
    int two;
    long three;
};

static void update_packed(struct packed *packed)
{
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 5 * TURNS; i++) {
#pragma omp atomic
        packed[i].two += 2;
#pragma omp atomic
        packed[i].three -= 1L << 33;
    }
    for (int i = 0; i < 5 * TURNS; i++) {
        if (packed[i].two != 2 * THREADS ||
            packed[i].three != -THREADS * (1L << 33)) {
            printf("packed %d: %d %ld\n", i, packed[i].two, packed[i].three);
        }
    }
}

// Who flushes sees what others wrote before they flushed.
static void hand_on(long *cell, int *turn)
{
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < 4; i++) {
        int now = -1;

        while (now != i * THREADS + omp_get_thread_num()) {
#pragma omp flush
            now = *turn;
        }
        *cell = *cell * 3 + now;
#pragma omp flush
        *turn = now + 1;
#pragma omp flush(turn)
    }
    printf("cell %ld\n", *cell);
}

// Registers of all kinds are full when a sum is added to.
static double add_up(const double *values, double *sums)
{
    double total = 0;
    long count = 0;
    int most = 0;
    int all = 1;

#pragma omp parallel for num_threads(THREADS) reduction(+ : total)
    for (int i = 0; i < N; i++) {
        total += values[i];
    }
#pragma omp parallel for num_threads(THREADS) reduction(+ : count)
    for (int i = 0; i < N; i++) {
        count += i;
    }
#pragma omp parallel for num_threads(THREADS) reduction(max : most)
    for (int i = 0; i < N; i++) {
        most = i * 7 % N > most ? i * 7 % N : most;
    }
#pragma omp parallel for num_threads(THREADS) reduction(&& : all)
    for (int i = 0; i < N; i++) {
        all = all && values[i] >= 0;
    }
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < N; i++) {
        const double a = values[i], b = a * a, c = b + a, d = c * 2, e = d - b;

#pragma omp atomic
        sums[i % 3] += a;
#pragma omp atomic
        sums[3 + i % 3] += b + c + d + e;
    }
    printf("count %ld, most %d, all %d\n", count, most, all);
    return total;
}

int main(void)
{
    struct kinds local[N] = {{0}};
    struct kinds *block = calloc(N, sizeof *block);
    double *values = malloc(N * sizeof *values);
    double sums[6] = {0};
    long *next = calloc(1, sizeof *next);

    for (int i = 0; i < N; i++) {
        values[i] = i / 4.0;
    }
    update_all("global", global);
    update_all("block", block);
    update_all("local", local);
    update_beside();
    capture(next, calloc(THREADS, TURNS));
    compare(calloc(1000, sizeof(int)), calloc(1000, sizeof(long)),
            calloc(1, 9));
    lone = 4;
    printf("%d", exchange(calloc(1, sizeof(int)), &lone, 5));
    lone = 3;
    printf(" %d\n", flush(&lone, 3, 4));
    update_packed(calloc(5 * TURNS, sizeof(struct packed)));
    hand_on(calloc(1000, sizeof(long)), calloc(1000, sizeof(int)));
    printf("total %g", add_up(values, sums));
    for (int i = 0; i < 6; i++) {
        printf(" %g", sums[i]);
    }
    printf("\n");
    return 0;
}
