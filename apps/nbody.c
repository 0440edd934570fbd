// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bodies that attract each other.
 *
 * In each iteration every body is pulled by all others, softly, so that two
 * which meet do not fly off, and takes one leapfrog step; see bodies.h.
 *
 * Each thread owns a block of bodies. It reads the places of all of them, and
 * writes those of its own, of which nobody else knows the velocities. There are
 * two arrays of places: what a step reads in one it writes to the other, so
 * that one barrier per iteration is enough. After each iteration all nodes have
 * to hear of all bodies' new places, 32 bytes a body; what they do with them
 * takes n operations a byte. So the program needs little memory and few
 * messages, and much of the processor.
 *
 * At both ends the energy is computed, by main(): it would be the same if steps
 * were infinitely small.
 *
 * Nothing here says on which node a thread runs or where a page lies. The
 * order of the additions for a body does not depend on it either, so the
 * result has the same bits for any number of threads and nodes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bodies.h"
#include "common.h"
#include "teamster.h"

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    return (double)settings->size *
           (2.0 * sizeof(struct body) + sizeof(struct velocity));
}

static const struct about about = {
    .text = "Move bodies that attract each other, all of them, in shared "
            "memory, with\n"
            "each thread on a block of bodies. In each iteration a thread "
            "reads the\n"
            "places of all bodies and writes those of its own. The change of "
            "energy tells\n"
            "how exact the steps are.\n",
    .size = "bodies",
    .iterations = "how many steps in time",
    .data = "Shared data: two places of 32 bytes and a velocity of 24 for each "
            "body,\n"
            "in all\n",
    .data_bytes = data_bytes,
    .offers = OFFER_SEED,
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    struct body *bodies[2];      // [size]
    struct velocity *velocities; // [size]
    struct course course;
    tm_barrier barrier;
} job;

// What thread `me` does again, to be slower than others: the forces only.
static void bodies_step_again(const struct body *from, size_t me, size_t first,
                              size_t end)
{
    size_t n_left = extra_rows(&job.settings, me, end - first);

    while (n_left > 0) {
        const size_t n = n_left < end - first ? n_left : end - first;

        bodies_step(NULL, from, NULL, first, first + n, job.settings.size);
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
        bodies_fill(job.bodies[0], job.velocities, first, end, size,
                    settings.seed);
    }
    tm_barrier_wait(&job.barrier);
    course_note(&job.course, &settings, me, 0);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        const struct body *from = job.bodies[(k - 1) % 2];

        bodies_step(job.bodies[k % 2], from, job.velocities, first, end, size);
        bodies_step_again(from, me, first, end);
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
    }
    return NULL;
}

// Pairs of bodies in one iteration.
static double n_pairs(const struct settings *settings)
{
    return (double)settings->size * (double)settings->size;
}

// Numbers of a result: three for the place of each body, its mass, and three
// for its velocity.
static size_t n_numbers(const struct settings *settings)
{
    return settings->size * (sizeof(struct body) + sizeof(struct velocity)) /
           sizeof(double);
}

// Energy before the first step.
static double start_energy(const struct settings *settings)
{
    const size_t size = settings->size;
    struct body *bodies = plain_memory(size * sizeof *bodies);
    struct velocity *velocities = plain_memory(size * sizeof *velocities);
    double energy;

    bodies_fill(bodies, velocities, 0, size, size, settings->seed);
    bodies_settle(bodies, velocities, size);
    energy = bodies_energy(bodies, velocities, size);
    free(velocities);
    free(bodies);
    return energy;
}

// Places and velocities at the end, of one time, in one array; and what has
// become of the energy. @param[out] result  [n_numbers()]
static double *result_make(const struct settings *settings,
                           const struct body *bodies,
                           const struct velocity *velocities, double *result)
{
    const size_t size = settings->size;
    struct body *places = (struct body *)result;
    const double before = start_energy(settings);
    double after;

    memcpy(places, bodies, size * sizeof *bodies);
    memcpy(&places[size], velocities, size * sizeof *velocities);
    bodies_settle(places, velocities, size);
    after = bodies_energy(places, velocities, size);
    printf("energy: %.9f, at the start %.9f: changed by %.3e\n", after, before,
           fabs((after - before) / before));
    return result;
}

// @return the bodies after all iterations, in shared memory
static double *move_with_threads(const struct settings *settings)
{
    const size_t size = settings->size;
    const unsigned n_iterations = settings->n_iterations;

    job.settings = *settings;
    job.bodies[0] = shared_memory("bodies 0", size * sizeof *job.bodies[0]);
    job.bodies[1] = shared_memory("bodies 1", size * sizeof *job.bodies[1]);
    job.velocities = shared_memory("velocities", size * sizeof *job.velocities);
    tm_barrier_init(&job.barrier, settings->n_threads);
    course_begin(&job.course, settings);
    if (settings->init_on_root) {
        bodies_fill(job.bodies[0], job.velocities, 0, size, size,
                    settings->seed);
    }
    threads_run(settings->n_threads, thread_work);
    printf("nbody, %zu bodies, ", size);
    course_print(&job.course, settings, n_pairs(settings), "pair");
    return result_make(
        settings, job.bodies[n_iterations % 2], job.velocities,
        shared_memory("result", n_numbers(settings) * sizeof(double)));
}

// The sequential program. @return the same, for free()
static double *move_sequentially(const struct settings *settings)
{
    const size_t size = settings->size;
    const unsigned n_iterations = settings->n_iterations;
    struct body *bodies[2] = {plain_memory(size * sizeof *bodies[0]),
                              plain_memory(size * sizeof *bodies[1])};
    struct velocity *velocities = plain_memory(size * sizeof *velocities);
    const struct course course = course_begin_alone(settings);
    double *result;

    bodies_fill(bodies[0], velocities, 0, size, size, settings->seed);
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= n_iterations; k++) {
        bodies_step(bodies[k % 2], bodies[(k - 1) % 2], velocities, 0, size,
                    size);
        course_note(&course, settings, 0, k);
    }
    printf("nbody, %zu bodies, ", size);
    course_print(&course, settings, n_pairs(settings), "pair");
    result = result_make(settings, bodies[n_iterations % 2], velocities,
                         plain_memory(n_numbers(settings) * sizeof *result));
    free(velocities);
    free(bodies[1]);
    free(bodies[0]);
    return result;
}

static const struct solver solver = {move_with_threads, move_sequentially,
                                     n_numbers};

int main(int argc, char **argv)
{
    struct settings settings = {.size = 4096, .n_iterations = 20, .seed = 1};

    tm_init(&argc, &argv);
    return solver_run(&solver, &about, &settings, argc, argv);
}
