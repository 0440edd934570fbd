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

#include "common.h"
#include "dense.h"
#include "teamster.h"

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
    struct course course;
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
    course_note(&job.course, &settings, me, 0);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        const double *a = job.products[(k - 1) % 2];
        double *c = job.products[k % 2];

        rows_step(c, a, job.b, size, first, end, settings.effort);
        rows_step_again(c, a, me, first, end);
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
    }
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

    job.settings = *settings;
    job.products[0] = shared_memory("product 0", n_bytes);
    job.products[1] = shared_memory("product 1", n_bytes);
    job.b = shared_memory("B", n_bytes);
    tm_barrier_init(&job.barrier, settings->n_threads);
    course_begin(&job.course, settings);
    if (settings->init_on_root) {
        rows_fill(job.products[0], job.b, size, 0, size);
    }
    threads_run(settings->n_threads, thread_work);
    printf("matmul, %zu x %zu numbers, ", size, size);
    course_print(&job.course, settings, n_operations(settings), "flop");
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
    const struct course course = course_begin_alone(settings);

    rows_fill(products[0], b, size, 0, size);
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= n_iterations; k++) {
        rows_step(products[k % 2], products[(k - 1) % 2], b, size, 0, size, 1);
        course_note(&course, settings, 0, k);
    }
    printf("matmul, %zu x %zu numbers, ", size, size);
    course_print(&course, settings, n_operations(settings), "flop");
    free(b);
    free(products[(n_iterations + 1) % 2]);
    return products[n_iterations % 2];
}

static size_t n_values(const struct settings *settings)
{
    return settings->size * settings->size;
}

static const struct solver solver = {multiply_with_threads,
                                     multiply_sequentially, n_values};

int main(int argc, char **argv)
{
    struct settings settings = {.size = 1024, .n_iterations = 10, .effort = 1};

    tm_init(&argc, &argv);
    return solver_run(&solver, &about, &settings, argc, argv);
}
