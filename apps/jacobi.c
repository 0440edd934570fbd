// SPDX-License-Identifier: BSD-3-Clause
/*
 * Heat in a square plate, by Jacobi's method.
 *
 * There are two grids of (size + 2) x (size + 2) points. In each iteration
 * every point inside the border of one grid becomes the mean of its four
 * neighbours in the other; then the two change places.
 *
 * Each thread owns a block of rows. It writes its own rows only, and reads
 * besides them the last row of the block above and the first of the block
 * below. One barrier per iteration is enough: what a thread reads in an
 * iteration, nobody writes in it.
 *
 * Nothing here says on which node a thread runs or where a page lies. The
 * order of the additions in a point does not depend on it either, so the
 * result has the same bits for any number of threads and nodes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "stencil.h"
#include "teamster.h"

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    const double width = (double)settings->size + 2.0;

    return 2.0 * width * width * sizeof(double);
}

static const struct about about = {
    .text = "Solve Laplace's equation on a square grid by Jacobi's method, in\n"
            "shared memory, with each thread on a block of rows. An iteration "
            "reads one\n"
            "grid and writes the other; threads share the rows at the edges of "
            "their\n"
            "blocks.\n",
    .size = "rows and columns of the grid",
    .iterations = "how many times the grid is gone over",
    .residual = "every R iterations, how much the grid still changes",
    .data = "Shared data: two grids of (N + 2) x (N + 2) numbers of 8 bytes, "
            "in all\n",
    .data_bytes = data_bytes,
    .offers = OFFER_RESIDUAL | OFFER_EFFORT,
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    double *grids[2]; // [size + 2][size + 2]
    struct course course;
    tm_barrier barrier;
} job;

// Give rows `first` to `end` - 1 their start values.
static void rows_fill(double *grid, size_t size, size_t first, size_t end)
{
    const size_t width = size + 2;

    for (size_t row = first; row < end; row++) {
        for (size_t column = 0; column < width; column++) {
            grid[row * width + column] = start_value(row, column);
        }
    }
}

// One iteration on rows `first` to `end` - 1.
static void rows_step(double *to, const double *from, size_t size, size_t first,
                      size_t end, unsigned effort)
{
    const size_t width = size + 2;

    for (size_t row = first; row < end; row++) {
        const double *middle = &from[row * width + 1];

        for (unsigned time = 0; time < effort; time++) {
            jacobi_row(&to[row * width + 1], middle - width, middle,
                       middle + width, size);
        }
    }
}

// What thread `me` does again, to be slower than others: the result of a row
// does not depend on how often it is computed.
static void rows_step_again(double *to, const double *from, size_t me,
                            size_t first, size_t end)
{
    size_t n_left = extra_rows(&job.settings, me, end - first);

    while (n_left > 0) {
        const size_t n = n_left < end - first ? n_left : end - first;

        rows_step(to, from, job.settings.size, first, first + n,
                  job.settings.effort);
        n_left -= n;
    }
}

// The sum of the squared differences of rows `first` to `end` - 1.
static double rows_change(const double *a, const double *b, size_t size,
                          size_t first, size_t end)
{
    const size_t width = size + 2;
    double sum = 0.0;

    for (size_t i = first * width; i < end * width; i++) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum;
}

// Add up what each thread gives, and let one of them print it.
static void residual_print(size_t me, unsigned iteration, double change)
{
    const double n_points = (double)job.settings.size * job.settings.size;
    double sum;

    tm_reduce_double(&job.barrier, TM_SUM, change, &sum);
    if (me == 0) {
        printf("iteration %u: mean square change %.6e\n", iteration,
               sum / n_points);
    }
}

// A thread writes the start values of its rows; the first and the last one
// take the border rows too. Pages come to lie on the node that is to use them.
static void thread_fill(size_t me, size_t first, size_t end)
{
    const size_t size = job.settings.size;

    if (me == 0) {
        first = 0;
    }
    if (me + 1 == job.settings.n_threads) {
        end = size + 2;
    }
    rows_fill(job.grids[0], size, first, end);
    rows_fill(job.grids[1], size, first, end);
}

static void *thread_work(void *arg)
{
    const struct settings settings = job.settings;
    const size_t size = settings.size;
    const size_t me = (size_t)arg;
    const size_t first = 1 + size * me / settings.n_threads;
    const size_t end = 1 + size * (me + 1) / settings.n_threads;

    if (!settings.init_on_root) {
        thread_fill(me, first, end);
    }
    tm_barrier_wait(&job.barrier);
    course_note(&job.course, &settings, me, 0);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        const double *from = job.grids[(k - 1) % 2];
        double *to = job.grids[k % 2];

        rows_step(to, from, size, first, end, settings.effort);
        rows_step_again(to, from, me, first, end);
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
        if (settings.residual_every > 0 && k % settings.residual_every == 0) {
            residual_print(me, k, rows_change(to, from, size, first, end));
        }
    }
    return NULL;
}

// @return the grid after all iterations, in shared memory
static double *solve_with_threads(const struct settings *settings)
{
    const size_t size = settings->size;
    const size_t n_bytes = (size + 2) * (size + 2) * sizeof(double);
    const unsigned n_iterations = settings->n_iterations;

    job.settings = *settings;
    job.grids[0] = shared_memory("grid 0", n_bytes);
    job.grids[1] = shared_memory("grid 1", n_bytes);
    tm_barrier_init(&job.barrier, settings->n_threads);
    course_begin(&job.course, settings);
    if (settings->init_on_root) {
        rows_fill(job.grids[0], size, 0, size + 2);
        rows_fill(job.grids[1], size, 0, size + 2);
    }
    threads_run(settings->n_threads, thread_work);
    printf("jacobi, %zu x %zu points, ", size, size);
    course_print(&job.course, settings, (double)size * size, "point");
    return job.grids[n_iterations % 2];
}

// The sequential program. @return the grid after all iterations, for free()
static double *solve_sequentially(const struct settings *settings)
{
    const size_t size = settings->size;
    const size_t n_bytes = (size + 2) * (size + 2) * sizeof(double);
    const unsigned n_iterations = settings->n_iterations;
    double *grids[2] = {plain_memory(n_bytes), plain_memory(n_bytes)};
    const struct course course = course_begin_alone(settings);

    rows_fill(grids[0], size, 0, size + 2);
    rows_fill(grids[1], size, 0, size + 2);
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= n_iterations; k++) {
        rows_step(grids[k % 2], grids[(k - 1) % 2], size, 1, size + 1, 1);
        course_note(&course, settings, 0, k);
    }
    printf("jacobi, %zu x %zu points, ", size, size);
    course_print(&course, settings, (double)size * size, "point");
    free(grids[(n_iterations + 1) % 2]);
    return grids[n_iterations % 2];
}

static size_t n_values(const struct settings *settings)
{
    return (settings->size + 2) * (settings->size + 2);
}

static const struct solver solver = {solve_with_threads, solve_sequentially,
                                     n_values};

int main(int argc, char **argv)
{
    struct settings settings = {.size = 2048, .n_iterations = 100, .effort = 1};

    tm_init(&argc, &argv);
    return solver_run(&solver, &about, &settings, argc, argv);
}
