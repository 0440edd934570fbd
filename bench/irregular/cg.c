// SPDX-License-Identifier: BSD-3-Clause
/*
 * Conjugate gradients with a sparse matrix [Hestenes52]: each thread has a part of the rows,
 * and reads of the vector what these need, from all over it.
 *
 *     cg [THREADS [ROWS [ITERATIONS]]]
 */
#include <math.h>

#include "cg.h"
#include "checksum.h"
#include "program.h"

static TM_SHARED struct {
    tm_barrier barrier;
    double *x;         // [size]  what is looked for
    double *direction; // [size]
    double *residual;  // [size]
} job;

struct part {
    size_t start, end;
    double *product; // [end - start]  the matrix by the direction
};

static double sum_of_all(double mine)
{
    double sum;

    tm_reduce_double(&job.barrier, TM_SUM, mine, &sum);
    return sum;
}

// The right side is the matrix by the solution; x is 0 at first.
static double begin(const struct part *part)
{
    const size_t n = program.size;
    double sum = 0.0;

    for (size_t i = part->start; i < part->end; i++) {
        job.x[i] = cg_solution(i);
    }
    tm_barrier_wait(&job.barrier);
    for (size_t i = part->start; i < part->end; i++) {
        job.residual[i] = cg_row(i, job.x, n);
        job.direction[i] = job.residual[i];
        sum += job.residual[i] * job.residual[i];
    }
    tm_barrier_wait(&job.barrier);
    for (size_t i = part->start; i < part->end; i++) {
        job.x[i] = 0.0;
    }
    return sum_of_all(sum);
}

static double iterate(const struct part *part, double square)
{
    double sum = 0.0;
    double step;
    double ratio;

    for (size_t i = part->start; i < part->end; i++) {
        part->product[i - part->start] = cg_row(i, job.direction, program.size);
        sum += job.direction[i] * part->product[i - part->start];
    }
    step = square / sum_of_all(sum);
    sum = 0.0;
    for (size_t i = part->start; i < part->end; i++) {
        job.x[i] += step * job.direction[i];
        job.residual[i] -= step * part->product[i - part->start];
        sum += job.residual[i] * job.residual[i];
    }
    sum = sum_of_all(sum);
    ratio = sum / square;
    for (size_t i = part->start; i < part->end; i++) {
        job.direction[i] = job.residual[i] + ratio * job.direction[i];
    }
    tm_barrier_wait(&job.barrier);
    return sum;
}

static void *solve(void *arg)
{
    const size_t me = (size_t)arg;
    struct part part = {part_start(program.size, me),
                        part_start(program.size, me + 1), NULL};
    double square;

    part.product = malloc((part.end - part.start + 1) * sizeof(double));
    square = begin(&part);
    for (unsigned k = 0; k < program.n_rounds; k++) {
        square = iterate(&part, square);
    }
    free(part.product);
    return NULL;
}

int main(int argc, char **argv)
{
    double most = 0.0;

    program_begin(argc, argv, (struct program){2, 1 << 16, 60});
    job.x = program_alloc("x", program.size * sizeof(double));
    job.direction = program_alloc("direction", program.size * sizeof(double));
    job.residual = program_alloc("residual", program.size * sizeof(double));
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(solve);
    for (size_t i = 0; i < program.size; i++) {
        most = fmax(most, fabs(job.x[i] - cg_solution(i)));
    }
    if (!(most < 1e-2)) {
        PROGRAM_FAIL("%g from the solution", most);
    }
    program_print("iterations", program.n_rounds,
                  checksum(job.x, program.size, 0));
    return 0;
}
