// SPDX-License-Identifier: BSD-3-Clause
/*
 * Products of matrices: C = A B, again and again.
 *
 * All matrices have size x size numbers. After each product C takes the place
 * of A, so an iteration's result depends on all before it.
 *
 * Each thread owns a block of rows of A and C, which no other thread touches.
 * All threads read all of B, which nobody writes: it is fetched once by each
 * node, and then each node has a copy of its own.
 *
 * Nothing here says on which node a thread runs or where a page lies. The
 * order of the additions in a number does not depend on it either, so the
 * result has the same bits for any number of threads and nodes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "checksum.h"
#include "common.h"
#include "dense.h"
#include "paging.h"
#include "teamster.h"
#include "times.h"

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    return 3.0 * (double)settings->size * (double)settings->size *
           sizeof(double);
}

static const struct about about = {
    .text = "Multiply matrices again and again, C = A B with C as the next A, "
            "in\n"
            "shared memory, with each thread on a block of rows of A and C. "
            "All threads\n"
            "read all of B, of which each node comes to have a copy.\n",
    .size = "rows and columns of the matrices",
    .iterations = "how many products",
    .offers = OFFER_EFFORT,
    .data = "Shared data: three matrices of N x N numbers of 8 bytes, in all\n",
    .data_bytes = data_bytes,
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    double *products[2]; // [size][size]  A and C take turns
    double *b;           // [size][size]
    double *ends_s;      // [n_iterations + 1]  see times_print()
    unsigned *node_of;   // [n_threads]  where each thread ended
    tm_barrier barrier;
} job;

// Give rows `first` to `end` - 1 of A and B their start values.
static void rows_fill(double *a, double *b, size_t size, size_t first,
                      size_t end)
{
    for (size_t row = first; row < end; row++) {
        left_row_fill(&a[row * size], row, size);
        right_row_fill(&b[row * size], row, size);
    }
}

// One product: rows `first` to `end` - 1 of it.
static void rows_step(double *c, const double *a, const double *b, size_t size,
                      size_t first, size_t end, unsigned effort)
{
    product_rows(&c[first * size], &a[first * size], b, end - first, size,
                 effort);
}

// What thread `me` does again, to be slower than others: the result of a row
// does not depend on how often it is computed.
static void rows_step_again(double *c, const double *a, size_t me, size_t first,
                            size_t end)
{
    size_t n_left = extra_rows(&job.settings, me, end - first);

    while (n_left > 0) {
        const size_t n = n_left < end - first ? n_left : end - first;

        rows_step(c, a, job.b, job.settings.size, first, first + n,
                  job.settings.effort);
        n_left -= n;
    }
}

static void *thread_work(void *arg)
{
    const struct settings settings = job.settings;
    const size_t size = settings.size;
    const size_t me = (size_t)arg;
    const size_t first = size * me / settings.n_threads;
    const size_t end = size * (me + 1) / settings.n_threads;

    if (!settings.init_on_root) {
        rows_fill(job.products[0], job.b, size, first, end);
    }
    tm_barrier_wait(&job.barrier);
    if (me == 0) {
        job.ends_s[0] = now_s();
    }
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        const double *a = job.products[(k - 1) % 2];
        double *c = job.products[k % 2];

        rows_step(c, a, job.b, size, first, end, settings.effort);
        rows_step_again(c, a, me, first, end);
        tm_iteration_end(&job.barrier);
        if (me == 0) {
            times_note(job.ends_s, k, settings.report);
            paging_note(k, settings.report);
        }
    }
    job.node_of[me] = tm_node_self();
    return NULL;
}

// Floating-point operations in one product.
static double n_operations(const struct settings *settings)
{
    return 2.0 * (double)settings->size * (double)settings->size *
           (double)settings->size;
}

// @return the last product, in shared memory
static double *multiply_with_threads(const struct settings *settings)
{
    const size_t size = settings->size;
    const size_t n_bytes = size * size * sizeof(double);
    const unsigned n_iterations = settings->n_iterations;
    double start_s;

    job.settings = *settings;
    job.products[0] = shared_memory("product 0", n_bytes);
    job.products[1] = shared_memory("product 1", n_bytes);
    job.b = shared_memory("B", n_bytes);
    job.ends_s =
        shared_memory("times", (n_iterations + 1) * sizeof *job.ends_s);
    job.node_of =
        shared_memory("places", settings->n_threads * sizeof *job.node_of);
    tm_barrier_init(&job.barrier, settings->n_threads);
    start_s = now_s();
    if (settings->init_on_root) {
        rows_fill(job.products[0], job.b, size, 0, size);
    }
    threads_run(settings->n_threads, thread_work);
    printf("matmul, %zu x %zu numbers, threads: %u, nodes: %u\n", size, size,
           settings->n_threads, tm_node_count());
    times_print(start_s, job.ends_s, n_iterations, n_operations(settings),
                "flop");
    if (settings->time) {
        last_half_print(job.ends_s, n_iterations);
    }
    if (settings->stats) {
        nodes_print(job.node_of, settings->n_threads);
    }
    return job.products[n_iterations % 2];
}

// The sequential program. @return the last product, for free()
static double *multiply_sequentially(const struct settings *settings)
{
    const size_t size = settings->size;
    const size_t n_bytes = size * size * sizeof(double);
    const unsigned n_iterations = settings->n_iterations;
    double *products[2] = {plain_memory(n_bytes), plain_memory(n_bytes)};
    double *b = plain_memory(n_bytes);
    double *ends_s = plain_memory((n_iterations + 1) * sizeof *ends_s);
    const double start_s = now_s();

    rows_fill(products[0], b, size, 0, size);
    ends_s[0] = now_s();
    for (unsigned k = 1; k <= n_iterations; k++) {
        rows_step(products[k % 2], products[(k - 1) % 2], b, size, 0, size, 1);
        times_note(ends_s, k, settings->sequential && settings->report);
    }
    printf("matmul, %zu x %zu numbers, sequential\n", size, size);
    times_print(start_s, ends_s, n_iterations, n_operations(settings), "flop");
    if (settings->sequential && settings->time) {
        last_half_print(ends_s, n_iterations);
    }
    free(ends_s);
    free(b);
    free(products[(n_iterations + 1) % 2]);
    return products[n_iterations % 2];
}

int main(int argc, char **argv)
{
    struct settings settings = {.size = 1024, .n_iterations = 10, .effort = 1};
    bool right = true;
    size_t n_values;
    double *result;

    tm_init(&argc, &argv);
    settings.n_threads = 4 * tm_node_count();
    settings_parse(&settings, argc, argv, &about);
    n_values = settings.size * settings.size;
    result = settings.sequential ? multiply_sequentially(&settings)
                                 : multiply_with_threads(&settings);
    checksum_print(checksum(result, n_values, 0));
    if (settings.verify) {
        double *expected = multiply_sequentially(&settings);

        right = is_identical(result, expected, n_values);
        free(expected);
    }
    if (settings.sequential) {
        free(result);
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
