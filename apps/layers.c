// SPDX-License-Identifier: BSD-3-Clause
/*
 * A neural network whose weights need the memory of several nodes, as language models do.
 *
 * The network has 32 layers, of unequal size: a layer is a matrix of weights, which nobody
 * changes, and makes one vector out of another. Tokens go through it as through a pipeline:
 * in each iteration one comes in, every layer works on another one, and hands on what it
 * made. So all layers work at once, and what they exchange is little: the weights, nearly
 * all of the memory, stay where they are used.
 *
 * Each thread has an equal part of the row of layers: one layer, or several, or a part of
 * one. As layers are unequal, threads are, in memory and in work. A thread writes its
 * outputs only. Each layer has two vectors of them, which take turns, so one barrier per
 * iteration is enough: what is read in an iteration, nobody writes in it.
 *
 * Nothing here says on which node a thread runs or where a page lies. All numbers are whole,
 * so the result has the same bits for any number of threads and nodes. It is, for each
 * output of each layer, the sum over all tokens.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "network.h"
#include "teamster.h"

// The memory that the data take.
static double data_bytes(const struct settings *settings)
{
    struct network network;

    network_shape(&network, settings->size);
    return (double)network.weight_bytes + (double)network.value_bytes +
           (double)network.sum_bytes;
}

static const struct about about = {
    .text =
        "Evaluate a neural network of 32 layers of unequal size, in shared "
        "memory,\n"
        "with each thread on a part of the row of layers. Tokens go through "
        "it as\n"
        "through a pipeline: in an iteration each layer works on another "
        "one.\n",
    .size = "width of the first layer; others have up to four times as much",
    .iterations = "how many tokens go in",
    .data = "Shared data: weights of 8 bits, and some values, in all\n",
    .data_bytes = data_bytes,
    .offers = OFFER_EFFORT,
};

// The memory of a network.
struct memory {
    int8_t *weights; // [weight_bytes]
    int8_t *values;  // [value_bytes]
    int32_t *sums;   // [sum_bytes / 4]
};

// What all threads share. main() fills it in before it starts them.
static TM_SHARED struct {
    struct settings settings;
    struct network network;
    struct memory memory;
    struct course course;
    tm_barrier barrier;
} job;

// Outputs of one layer.
struct part {
    size_t layer;
    size_t first, end;
};

// Where a thread's part of a layer begins, if it begins at `at` of the row of layers; a
// layer is as long there as there are threads.
static size_t row_at(size_t at, size_t layer, size_t n_threads, size_t n_rows)
{
    const size_t start = layer * n_threads;
    const size_t in_layer = at < start ? 0 : at - start;

    return n_rows * (in_layer < n_threads ? in_layer : n_threads) / n_threads;
}

static struct part part_of(const struct network *network, size_t layer,
                           size_t thread, size_t n_threads)
{
    const size_t n_rows = network->layers[layer].n_out;

    return (struct part){
        layer, row_at(thread * N_LAYERS, layer, n_threads, n_rows),
        row_at((thread + 1) * N_LAYERS, layer, n_threads, n_rows)};
}

// The start values of a part: its weights, and what it would have made of the token before
// the first.
static void part_fill(const struct memory *memory,
                      const struct network *network, struct part part)
{
    const struct layer *layer = &network->layers[part.layer];

    for (size_t row = part.first; row < part.end; row++) {
        weights_fill(&memory->weights[layer->weights + row * layer->n_in],
                     part.layer, row, layer->n_in);
        memory->sums[layer->sums + row] = 0;
    }
    values_fill(&memory->values[layer->values[0] + part.first],
                UINT64_MAX - part.layer, part.first, part.end);
}

// The token that comes in for the iteration behind this one.
static void token_fill(const struct memory *memory,
                       const struct network *network, unsigned iteration)
{
    values_fill(&memory->values[network->inputs[iteration % 2]], iteration, 0,
                network->n_inputs);
}

// A part's outputs, of an iteration.
static void part_step(const struct memory *memory,
                      const struct network *network, struct part part,
                      unsigned iteration, unsigned effort)
{
    const struct layer *layer = &network->layers[part.layer];
    const size_t *in = part.layer == 0 ? network->inputs
                                       : network->layers[part.layer - 1].values;

    layer_rows(&memory->values[layer->values[iteration % 2] + part.first],
               &memory->weights[layer->weights + part.first * layer->n_in],
               &memory->values[in[(iteration - 1) % 2]], part.end - part.first,
               layer->n_in, effort);
}

static void part_add(const struct memory *memory, const struct network *network,
                     struct part part, unsigned iteration)
{
    const struct layer *layer = &network->layers[part.layer];
    const int8_t *values = &memory->values[layer->values[iteration % 2]];

    for (size_t row = part.first; row < part.end; row++) {
        memory->sums[layer->sums + row] += values[row];
    }
}

// What thread `me` does again, to be slower than others: an output does not depend on how
// often it is computed.
static void part_step_again(size_t me, struct part part, unsigned iteration)
{
    const size_t n_rows = part.end - part.first;
    size_t n_left = extra_rows(&job.settings, me, n_rows);

    while (n_left > 0) {
        const size_t n = n_left < n_rows ? n_left : n_rows;
        const struct part some = {part.layer, part.first, part.first + n};

        part_step(&job.memory, &job.network, some, iteration,
                  job.settings.effort);
        n_left -= n;
    }
}

static void thread_step(size_t me, unsigned iteration)
{
    const struct settings *settings = &job.settings;

    for (size_t l = 0; l < N_LAYERS; l++) {
        const struct part part =
            part_of(&job.network, l, me, settings->n_threads);

        if (part.first < part.end) {
            part_step(&job.memory, &job.network, part, iteration,
                      settings->effort);
            part_step_again(me, part, iteration);
            part_add(&job.memory, &job.network, part, iteration);
        }
    }
    if (me == 0) {
        token_fill(&job.memory, &job.network, iteration);
    }
}

// All start values that a thread is to use.
static void thread_fill(size_t me, size_t n_threads)
{
    for (size_t l = 0; l < N_LAYERS; l++) {
        part_fill(&job.memory, &job.network,
                  part_of(&job.network, l, me, n_threads));
    }
    if (me == 0) {
        token_fill(&job.memory, &job.network, 0);
    }
}

static void *thread_work(void *arg)
{
    const struct settings settings = job.settings;
    const size_t me = (size_t)arg;

    if (!settings.init_on_root) {
        thread_fill(me, settings.n_threads);
    }
    tm_barrier_wait(&job.barrier);
    course_note(&job.course, &settings, me, 0);
    for (unsigned k = 1; k <= settings.n_iterations; k++) {
        thread_step(me, k);
        tm_iteration_end(&job.barrier);
        course_note(&job.course, &settings, me, k);
    }
    return NULL;
}

// @param[out] result  [n_outputs]
static void sums_gather(const struct memory *memory,
                        const struct network *network, double *result)
{
    for (size_t l = 0; l < N_LAYERS; l++) {
        const struct layer *layer = &network->layers[l];

        for (size_t row = 0; row < layer->n_out; row++) {
            *result++ = memory->sums[layer->sums + row];
        }
    }
}

static void title_print(const struct network *network)
{
    printf("layers, %d of %zu weights, ", N_LAYERS, network->n_weights);
}

// @return the sums of all outputs, in shared memory
static double *solve_with_threads(const struct settings *settings)
{
    struct network *network = &job.network;
    double *result;

    job.settings = *settings;
    network_shape(network, settings->size);
    job.memory = (struct memory){
        .weights = shared_memory("weights", network->weight_bytes),
        .values = shared_memory("values", network->value_bytes),
        .sums = shared_memory("sums", network->sum_bytes),
    };
    tm_barrier_init(&job.barrier, settings->n_threads);
    course_begin(&job.course, settings);
    if (settings->init_on_root) {
        thread_fill(0, 1);
    }
    threads_run(settings->n_threads, thread_work);
    title_print(network);
    course_print(&job.course, settings, (double)network->n_weights, "weight");
    result = shared_memory("result", network->n_outputs * sizeof *result);
    sums_gather(&job.memory, network, result);
    return result;
}

// The sequential program. @return the same, for free()
static double *solve_sequentially(const struct settings *settings)
{
    struct network network;
    struct memory memory;
    struct course course;
    double *result;

    network_shape(&network, settings->size);
    memory = (struct memory){plain_memory(network.weight_bytes),
                             plain_memory(network.value_bytes),
                             plain_memory(network.sum_bytes)};
    course = course_begin_alone(settings);
    for (size_t l = 0; l < N_LAYERS; l++) {
        part_fill(&memory, &network, part_of(&network, l, 0, 1));
    }
    token_fill(&memory, &network, 0);
    course_note(&course, settings, 0, 0);
    for (unsigned k = 1; k <= settings->n_iterations; k++) {
        for (size_t l = 0; l < N_LAYERS; l++) {
            part_step(&memory, &network, part_of(&network, l, 0, 1), k, 1);
            part_add(&memory, &network, part_of(&network, l, 0, 1), k);
        }
        token_fill(&memory, &network, k);
        course_note(&course, settings, 0, k);
    }
    title_print(&network);
    course_print(&course, settings, (double)network.n_weights, "weight");
    result = plain_memory(network.n_outputs * sizeof *result);
    sums_gather(&memory, &network, result);
    free(memory.weights);
    free(memory.values);
    free(memory.sums);
    return result;
}

static size_t n_values(const struct settings *settings)
{
    struct network network;

    network_shape(&network, settings->size);
    return network.n_outputs;
}

static const struct solver solver = {solve_with_threads, solve_sequentially,
                                     n_values};

int main(int argc, char **argv)
{
    struct settings settings = {.size = 1024, .n_iterations = 100, .effort = 1};

    tm_init(&argc, &argv);
    return solver_run(&solver, &about, &settings, argc, argv);
}
