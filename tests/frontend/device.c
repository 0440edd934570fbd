// SPDX-License-Identifier: BSD-3-Clause
// OpenMP without a device: target regions, leagues, a device's memory, allocators. What it
// prints is in device.out: libgomp of GCC 12 hangs in one run of forty, where a task waits for
// a target region.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 60 };

#pragma omp declare target
static int table[N];

static int twice(int x)
{
    return 2 * x;
}
#pragma omp end declare target

static void run_targets(void)
{
    int x = 1;
    int y = 3;
    double own[9] = {2};
    long sum = 0;

#pragma omp target map(tofrom : x) firstprivate(y, own)
    {
        x += twice(y);
        y++;
        own[0] += 5;
        table[1] = omp_is_initial_device();
    }
    printf("target %d %d %.0f %d\n", x, y, own[0], table[1]);
#pragma omp target data map(tofrom : table)
    {
#pragma omp target teams distribute parallel for num_teams(3) thread_limit(2)  \
    reduction(+ : sum)
        for (int i = 0; i < N; i++) {
            table[i] = twice(i);
            sum += i;
        }
#pragma omp target update from(table)
    }
    printf("teams %ld %d %d\n", sum, table[0], table[N - 1]);
#pragma omp target nowait depend(out : x) map(tofrom : x)
    x = 4;
#pragma omp taskwait depend(in : x)
#pragma omp parallel num_threads(2) reduction(+ : y)
    {
        int level = -1;

#pragma omp target map(from : level)
        level = omp_get_level();
        y += level;
    }
    printf("within %d %d\n", x, y);
}

static void run_leagues(void)
{
    static int n_threads[8];

#pragma omp teams num_teams(4) thread_limit(2)
    {
#pragma omp parallel num_threads(3)
#pragma omp master
        n_threads[omp_get_team_num()] =
            10 * omp_get_num_teams() + omp_get_num_threads();
    }
    printf("league %d %d %d %d, then %d\n", n_threads[0], n_threads[3],
           omp_get_num_teams(), omp_get_max_teams(), n_threads[4]);
#pragma omp target thread_limit(2) map(tofrom : n_threads)
    {
        n_threads[5] = omp_get_thread_limit();
#pragma omp parallel num_threads(4)
#pragma omp master
        n_threads[5] = 10 * n_threads[5] + omp_get_num_threads();
    }
    printf("limit %d, then %d\n", n_threads[5], omp_get_thread_limit());
    omp_set_num_teams(2);
#pragma omp teams
    n_threads[omp_get_team_num()] = omp_get_num_teams();
    printf("wanted %d %d\n", n_threads[1], n_threads[2]);
}

static void run_memory(void)
{
    const omp_alloctrait_t traits[] = {{omp_atk_alignment, 256},
                                       {omp_atk_pool_size, 4096},
                                       {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t small =
        omp_init_allocator(omp_default_mem_space, 3, traits);
    const size_t volume[2] = {2, 3};
    const size_t from[2] = {1, 1};
    const size_t to[2] = {0, 2};
    const size_t lengths[2] = {4, 6};
    int *block = omp_calloc(24, sizeof *block, omp_default_mem_alloc);
    int *other = omp_target_alloc(24 * sizeof *other, 0);
    char *large = omp_alloc(3000, small);
    char *none = omp_alloc(3000, small);
    int seen = 0;

    printf("pool %d %d %d\n", large != NULL, (int)((uintptr_t)large % 256),
           none == NULL);
    omp_free(large, small);
    large = omp_alloc(3000, small);
    memset(large, 7, 3000);
    large = omp_realloc(large, 3500, small, small);
    none = omp_realloc(large, 9000, small, small);
    printf("again %d %d %d\n", large[2999], none == NULL, large[0]);
    omp_free(large, small);
    omp_destroy_allocator(small);
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 24; i++) {
        other[i] = i;
    }
    printf("copied %d",
           omp_target_memcpy_rect(block, other, sizeof *block, 2, volume, to,
                                  from, lengths, lengths, 0, 0));
    block = omp_realloc(block, 48 * sizeof *block, omp_default_mem_alloc,
                        omp_default_mem_alloc);
    for (int i = 0; i < 24; i++) {
        printf(" %d", block[i]);
    }
#pragma omp parallel num_threads(3) private(seen)                              \
    allocate(omp_default_mem_alloc                                             \
             : seen)
    {
        seen = omp_get_thread_num();
#pragma omp critical
        other[0] += seen;
    }
    printf("\nclause %d\n", other[0]);
    omp_free(block, omp_default_mem_alloc);
    omp_target_free(other, 0);
}

// What names no allocator has the one that is set, or stays with its own.
static void move_by_default(void)
{
    char *text = omp_alloc(40, omp_null_allocator);

    strcpy(text, "a text");
    text = omp_realloc(text, 8000, omp_null_allocator, omp_null_allocator);
    printf("moved %s", text);
    text = omp_realloc(text, 7, omp_large_cap_mem_alloc, omp_null_allocator);
    printf(", %s", text);
    text = omp_realloc(text, 0, omp_null_allocator, omp_null_allocator);
    printf(", %d", text == NULL);
    text = omp_realloc(NULL, 12, omp_null_allocator, omp_null_allocator);
    strcpy(text, "another");
    printf(", %s\n", text);
    omp_free(text, omp_null_allocator);
}

static void tell_final(void)
{
    int final[3] = {0};

#pragma omp task shared(final)
    final[0] = omp_in_final();
#pragma omp task shared(final) final(1)
    {
        final[1] = omp_in_final();
#pragma omp task shared(final)
        final[2] = omp_in_final();
    }
#pragma omp taskwait
    printf("final %d %d %d %d\n", final[0], final[1], final[2], omp_in_final());
}

int main(void)
{
    run_targets();
    run_leagues();
    run_memory();
    move_by_default();
    tell_final();
#pragma omp error at(execution) severity(warning) message("is only told")
    return 0;
}
