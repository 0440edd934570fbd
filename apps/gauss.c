// SPDX-License-Identifier: BSD-3-Clause
/*
 * A system of linear equations, by Gaussian elimination.
 *
 * In pivot step s every row below row s has a multiple of row s taken from it,
 * so that its number in column s would vanish; the factor is kept in its place.
 * After size - 1 steps the rows form a triangle, and main() finds the solution
 * from the last row up. The diagonal outweighs the rest of each row, so no rows
 * need to change places.
 *
 * The work shrinks from step to step: step s changes size - s - 1 rows from
 * column s on. Rows are dealt to the threads in turn, so that all threads have
 * work to the end; dealt in blocks, the first threads soon have none.
 *
 * All threads read row s in step s. They read it in a copy, which lies in the
 * same place for every second step: whoever read it there before has it when the
 * barrier opens, because what is written to shared pages that others hold is
 * sent to them; row s itself would have to be asked for, page by page, by each
 * node in each step. The thread that has row s + 1 changes it first of all and
 * copies it. One barrier per step is enough, with two places: what is read in a
 * step nobody writes in it. An iteration is a run of steps, equally many each;
 * with size - 1 iterations, one step.
 *
 * A row begins on a page of its own, with its right-hand side behind it: rows
 * that lie side by side belong to different threads, and a page that two nodes
 * write in each step would have to travel in each step.
 *
 * Nothing here says on which node a thread runs or where a page lies. The
 * order of the subtractions in a number does not depend on it either, so the
 * result has the same bits for any number of threads and nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "dense.h"
#include "teamster.h"

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    return (double)settings->size * (double)system_width(settings->size) *
           sizeof(double);
}

static const struct about about = {
    .text = "Solve linear equations by Gaussian elimination, in shared memory, "
            "with\n"
            "the rows dealt to the threads. In each pivot step all threads "
            "read one\n"
            "row, and change those of their own below it.\n",
    .size = "equations",
    .iterations = "into how many iterations the pivot steps are divided",
    .data = "Shared data: N rows of N + 1 numbers of 8 bytes, each on pages of "
            "its own;\n"
            "in all\n",
    .data_bytes = data_bytes,
    .offers = OFFER_DEAL | OFFER_EFFORT | OFFER_STEPS,
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    double *matrix; // [size][system_width(size)]
    double *pivots; // [2][system_width(size)]  row s for step s, at s % 2
    struct course course;
    tm_barrier barrier;
} job;

// Some rows: first, first + step, and so on below end.
struct rows {
    size_t first;
    size_t end;
    size_t step;
};

static struct rows rows_all(size_t size)
{
    return (struct rows){.first = 0, .end = size, .step = 1};
}

// The rows of a thread.
static struct rows rows_dealt(const struct settings *settings, size_t thread)
{
    const size_t size = settings->size;
    const size_t n_threads = settings->n_threads;

    if (settings->in_blocks) {
        return (struct rows){.first = size * thread / n_threads,
                             .end = size * (thread + 1) / n_threads,
                             .step = 1};
    }
    return (struct rows){.first = thread, .end = size, .step = n_threads};
}

// Those of them below row `pivot`.
static struct rows rows_below(struct rows rows, size_t pivot)
{
    if (rows.first <= pivot) {
        rows.first += ((pivot - rows.first) / rows.step + 1) * rows.step;
    }
    return rows;
}

static size_t rows_count(struct rows rows)
{
    return rows.first < rows.end
               ? (rows.end - rows.first + rows.step - 1) / rows.step
               : 0;
}

// Give some rows their start values.
static void rows_fill(double *matrix, size_t size, struct rows rows)
{
    for (size_t i = rows.first; i < rows.end; i += rows.step) {
        system_row_fill(&matrix[i * system_width(size)], i, size);
    }
}

// One pivot step on some rows, all below the pivot's.
// @param pivot_row  [system_width(size)]
// @param eliminate  eliminate_row(), or eliminate_row_idle(), which leaves them
// @param effort     how often the arithmetic is done
static void rows_step(double *matrix, size_t size, size_t pivot,
                      const double *pivot_row, struct rows rows,
                      eliminate_row_function *eliminate, unsigned effort)
{
    const size_t width = system_width(size);

    for (size_t i = rows.first; i < rows.end; i += rows.step) {
        for (unsigned time = 1; time < effort; time++) {
            eliminate_row_idle(&matrix[i * width + pivot], &pivot_row[pivot],
                               size + 1 - pivot);
        }
        eliminate(&matrix[i * width + pivot], &pivot_row[pivot],
                  size + 1 - pivot);
    }
}

// Where all threads read row `row` when it is the pivot's.
static double *pivot_copy(size_t row)
{
    return &job.pivots[row % 2 * system_width(job.settings.size)];
}

// What is left of a row is copied for the step that takes it from others.
static void pivot_offer(size_t row)
{
    const size_t size = job.settings.size;

    memcpy(&pivot_copy(row)[row], &job.matrix[row * system_width(size) + row],
           (size + 1 - row) * sizeof(double));
}

// A thread's part of a pivot step. The next pivot row comes first.
static void thread_step(size_t pivot, struct rows rows)
{
    const size_t size = job.settings.size;
    const double *pivot_row = pivot_copy(pivot);

    if (rows.first == pivot + 1 && rows.first < rows.end) {
        const struct rows next = {rows.first, rows.first + 1, 1};

        rows_step(job.matrix, size, pivot, pivot_row, next, eliminate_row,
                  job.settings.effort);
        pivot_offer(pivot + 1);
        rows.first += rows.step;
    }
    rows_step(job.matrix, size, pivot, pivot_row, rows, eliminate_row,
              job.settings.effort);
}

// What thread `me` does again, to be slower than others: the arithmetic only.
static void rows_step_again(size_t me, size_t pivot, struct rows rows)
{
    const size_t n_rows = rows_count(rows);
    size_t n_left = extra_rows(&job.settings, me, n_rows);

    while (n_left > 0) {
        const size_t n = n_left < n_rows ? n_left : n_rows;
        struct rows some = rows;

        some.end = rows.first + (n - 1) * rows.step + 1;
        rows_step(job.matrix, job.settings.size, pivot, pivot_copy(pivot), some,
                  eliminate_row_idle, job.settings.effort);
        n_left -= n;
    }
}

static size_t steps_wanted(const struct settings *settings)
{
    const size_t all = settings->size - 1;

    return settings->n_steps > 0 && settings->n_steps < all ? settings->n_steps
                                                            : all;
}

// How many pivot steps are done after so many iterations.
static size_t steps_until(const struct settings *settings, unsigned iteration)
{
    return steps_wanted(settings) * iteration / settings->n_iterations;
}

static void *thread_work(void *arg)
{
    const struct settings settings = job.settings;
    const size_t me = (size_t)arg;
    const struct rows mine = rows_dealt(&settings, me);

    if (!settings.init_on_root) {
        rows_fill(job.matrix, settings.size, mine);
    }
    if (mine.first == 0 && rows_count(mine) > 0) {
        pivot_offer(0);
    }
    tm_barrier_wait(&job.barrier);
    course_note(&job.course, &settings, me, 0);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        const size_t end = steps_until(&settings, k);

        for (size_t s = steps_until(&settings, k - 1); s < end; s++) {
            const struct rows below = rows_below(mine, s);

            thread_step(s, below);
            rows_step_again(me, s, below);
            if (s + 1 < end) {
                tm_barrier_wait(&job.barrier);
            }
        }
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
    }
    return NULL;
}

// What is left to do when the rows form a triangle.
static void solution_find(double *matrix, const struct settings *settings)
{
    const size_t size = settings->size;

    if (steps_wanted(settings) < size - 1) {
        return;
    }
    printf("largest error of the solution: %.3e\n",
           system_solve_triangle(matrix, size));
}

// @return the matrix after all steps, with the solution, in shared memory
static double *solve_with_threads(const struct settings *settings)
{
    const size_t size = settings->size;

    job.settings = *settings;
    job.matrix =
        shared_memory("matrix", size * system_width(size) * sizeof(double));
    job.pivots =
        shared_memory("pivots", 2 * system_width(size) * sizeof(double));
    tm_barrier_init(&job.barrier, settings->n_threads);
    course_begin(&job.course, settings);
    if (settings->init_on_root) {
        rows_fill(job.matrix, size, rows_all(size));
    }
    threads_run(settings->n_threads, thread_work);
    printf("gauss, %zu equations, ", size);
    course_print(&job.course, settings, 0.0, "");
    solution_find(job.matrix, settings);
    return job.matrix;
}

// The sequential program. @return the same, for free()
static double *solve_sequentially(const struct settings *settings)
{
    const size_t size = settings->size;
    const unsigned n_iterations = settings->n_iterations;
    double *matrix = plain_memory(size * system_width(size) * sizeof *matrix);
    const struct course course = course_begin_alone(settings);

    rows_fill(matrix, size, rows_all(size));
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= n_iterations; k++) {
        const size_t end = steps_until(settings, k);

        for (size_t s = steps_until(settings, k - 1); s < end; s++) {
            rows_step(matrix, size, s, &matrix[s * system_width(size)],
                      rows_below(rows_all(size), s), eliminate_row, 1);
        }
        course_note(&course, settings, 0, k);
    }
    printf("gauss, %zu equations, ", size);
    course_print(&course, settings, 0.0, "");
    solution_find(matrix, settings);
    return matrix;
}

static size_t n_values(const struct settings *settings)
{
    return settings->size * system_width(settings->size);
}

static const struct solver solver = {solve_with_threads, solve_sequentially,
                                     n_values};

int main(int argc, char **argv)
{
    struct settings settings = {.size = 2048, .n_iterations = 100, .effort = 1};

    tm_init(&argc, &argv);
    return solver_run(&solver, &about, &settings, argc, argv);
}
