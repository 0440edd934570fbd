// SPDX-License-Identifier: BSD-3-Clause
/*
 * Heat in a square plate, by red/black successive over-relaxation.
 *
 * The points of one grid are coloured like a chess board. An iteration moves
 * every red point beyond the mean of its four neighbours, which are all black,
 * and then every black point, whose neighbours are all red. Each colour is
 * stored packed, row by row, so that a row of one colour is consecutive
 * doubles.
 *
 * Each thread owns a block of rows, of both colours. Black may begin when all
 * red is done, and red when all black is: two barriers per iteration, the
 * second of which ends it. Within one colour the order does not matter, so the
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
    const size_t size = settings->size;

    return 2.0 * (double)((size + 2) * half_row_width(size)) * sizeof(double);
}

static const struct about about = {
    .text = "Solve Laplace's equation on a square grid by red/black "
            "over-relaxation,\n"
            "in shared memory, with each thread on a block of rows. An "
            "iteration\n"
            "changes the red points, then the black ones; threads share the "
            "rows at\n"
            "the edges of their blocks.\n",
    .size = "rows and columns of the grid",
    .iterations = "how many times the grid is gone over",
    .residual = "every R iterations, how much the grid still changes",
    .data = "Shared data: one grid of (N + 2) x (N + 2) numbers of 8 bytes, in "
            "all\n",
    .data_bytes = data_bytes,
    .offers = OFFER_RESIDUAL | OFFER_EFFORT,
};

enum { RED = 0, BLACK = 1 };

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    double *cells[2]; // RED, BLACK: [size + 2][half_row_width(size)]
    struct course course;
    tm_barrier barrier;
} job;

static const double omega = 1.5;

// Give rows `first` to `end` - 1 of a colour their start values.
static void rows_fill(double *cells, unsigned colour, size_t size, size_t first,
                      size_t end)
{
    const size_t width = half_row_width(size);

    for (size_t row = first; row < end; row++) {
        const size_t start = half_row_at(row, colour, size).start;

        for (size_t k = 0; k < width; k++) {
            cells[row * width + k] = start_value(row, start + 2 * k);
        }
    }
}

// Move the points of one colour in rows `first` to `end` - 1.
// @param move_row  sor_row(), or sor_row_idle(), which leaves them
// @param effort    how often the arithmetic is done
static void rows_step(double *const cells[2], unsigned colour, size_t size,
                      size_t first, size_t end, sor_row_function *move_row,
                      unsigned effort)
{
    const size_t width = half_row_width(size);
    const double *other = cells[1 - colour];

    for (size_t row = first; row < end; row++) {
        const struct half_row half = half_row_at(row, colour, size);
        const size_t cell = row * width + half.first;

        for (unsigned time = 1; time < effort; time++) {
            sor_row_idle(&cells[colour][cell], &other[cell - width],
                         &other[cell + width], &other[cell + half.start - 1],
                         half.n, omega);
        }
        move_row(&cells[colour][cell], &other[cell - width],
                 &other[cell + width], &other[cell + half.start - 1], half.n,
                 omega);
    }
}

// What thread `me` does again, to be slower than others: the arithmetic only.
static void rows_step_again(double *const cells[2], unsigned colour, size_t me,
                            size_t first, size_t end)
{
    size_t n_left = extra_rows(&job.settings, me, end - first);

    while (n_left > 0) {
        const size_t n = n_left < end - first ? n_left : end - first;

        rows_step(cells, colour, job.settings.size, first, first + n,
                  sor_row_idle, job.settings.effort);
        n_left -= n;
    }
}

// How far the red points of rows `first` to `end` - 1 are from the mean of
// their neighbours, squared and added up; black ones were just put there.
static double rows_residual(double *const cells[2], size_t size, size_t first,
                            size_t end)
{
    const size_t width = half_row_width(size);
    const double *black = cells[BLACK];
    double sum = 0.0;

    for (size_t row = first; row < end; row++) {
        const struct half_row half = half_row_at(row, RED, size);

        for (size_t k = half.first; k < half.first + half.n; k++) {
            const size_t i = row * width + k;
            const double mean =
                0.25 * (black[i - width] + black[i + width] +
                        black[i + half.start - 1] + black[i + half.start]);

            sum += (mean - cells[RED][i]) * (mean - cells[RED][i]);
        }
    }
    return sum;
}

// Add up what each thread gives, and let one of them print it.
static void residual_print(size_t me, unsigned iteration, double residual)
{
    const double n_red = 0.5 * (double)job.settings.size * job.settings.size;
    double sum;

    tm_reduce_double(&job.barrier, TM_SUM, residual, &sum);
    if (me == 0) {
        printf("iteration %u: mean square residual %.6e\n", iteration,
               sum / n_red);
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
    rows_fill(job.cells[RED], RED, size, first, end);
    rows_fill(job.cells[BLACK], BLACK, size, first, end);
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
        rows_step(job.cells, RED, size, first, end, sor_row, settings.effort);
        rows_step_again(job.cells, RED, me, first, end);
        tm_barrier_wait(&job.barrier);
        rows_step(job.cells, BLACK, size, first, end, sor_row, settings.effort);
        rows_step_again(job.cells, BLACK, me, first, end);
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
        if (settings.residual_every > 0 && k % settings.residual_every == 0) {
            residual_print(me, k, rows_residual(job.cells, size, first, end));
        }
    }
    return NULL;
}

// How many doubles one colour takes.
static size_t n_cells(const struct settings *settings)
{
    return (settings->size + 2) * half_row_width(settings->size);
}

static size_t n_values(const struct settings *settings)
{
    return 2 * n_cells(settings);
}

// @return red, and behind it black, after all iterations, in shared memory
static double *solve_with_threads(const struct settings *settings)
{
    const size_t size = settings->size;

    job.settings = *settings;
    job.cells[RED] = shared_memory("grid", n_values(settings) * sizeof(double));
    job.cells[BLACK] = job.cells[RED] + n_cells(settings);
    tm_barrier_init(&job.barrier, settings->n_threads);
    course_begin(&job.course, settings);
    if (settings->init_on_root) {
        rows_fill(job.cells[RED], RED, size, 0, size + 2);
        rows_fill(job.cells[BLACK], BLACK, size, 0, size + 2);
    }
    threads_run(settings->n_threads, thread_work);
    printf("sor, %zu x %zu points, ", size, size);
    course_print(&job.course, settings, (double)size * size, "point");
    return job.cells[RED];
}

// The sequential program. @return red, and behind it black, for free()
static double *solve_sequentially(const struct settings *settings)
{
    const size_t size = settings->size;
    double *red = plain_memory(n_values(settings) * sizeof *red);
    double *cells[2] = {red, red + n_cells(settings)};
    const struct course course = course_begin_alone(settings);

    rows_fill(cells[RED], RED, size, 0, size + 2);
    rows_fill(cells[BLACK], BLACK, size, 0, size + 2);
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= settings->n_iterations; k++) {
        rows_step(cells, RED, size, 1, size + 1, sor_row, 1);
        rows_step(cells, BLACK, size, 1, size + 1, sor_row, 1);
        course_note(&course, settings, 0, k);
    }
    printf("sor, %zu x %zu points, ", size, size);
    course_print(&course, settings, (double)size * size, "point");
    return red;
}

static const struct solver solver = {solve_with_threads, solve_sequentially,
                                     n_values};

int main(int argc, char **argv)
{
    struct settings settings = {.size = 2048, .n_iterations = 100, .effort = 1};

    tm_init(&argc, &argv);
    return solver_run(&solver, &about, &settings, argc, argv);
}
