// SPDX-License-Identifier: BSD-3-Clause
#include "common.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "paging.h"
#include "times.h"

void *shared_memory(const char *name, size_t size)
{
    void *block = tm_alloc(size, &(tm_alloc_attr){.name = name});

    if (block == NULL) {
        exit(EXIT_MEMORY);
    }
    return block;
}

void *plain_memory(size_t size)
{
    void *block = malloc(size);

    if (block == NULL) {
        fprintf(stderr, "out of memory: %zu bytes\n", size);
        exit(EXIT_MEMORY);
    }
    return block;
}

void threads_run(size_t n_threads, void *(*start)(void *))
{
    tm_thread *threads = plain_memory(n_threads * sizeof *threads);

    for (size_t i = 0; i < n_threads; i++) {
        const tm_status status =
            tm_thread_create(&threads[i], NULL, start, (void *)i);

        if (status != TM_OK) {
            fprintf(stderr, "thread %zu: %s\n", i, tm_strerror(status));
            exit(EXIT_MEMORY);
        }
    }
    for (size_t i = 0; i < n_threads; i++) {
        tm_thread_join(threads[i], NULL);
    }
    free(threads);
}

// A number from 0 to 1 that looks drawn by lot, but is the same in each run.
static double draw(size_t number)
{
    uint64_t bits = (number + 1) * 0x9e3779b97f4a7c15u;

    bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
    return (double)(bits >> 40) * 0x1p-24;
}

size_t extra_rows(const struct settings *settings, size_t thread, size_t n_rows)
{
    return (size_t)(settings->uneven * draw(thread) * (double)n_rows + 0.5);
}

// What each node did, a line for each.
static void nodes_print(const unsigned *node_of, size_t n_threads)
{
    unsigned threads_on[TM_MAX_NODES] = {0};

    for (size_t i = 0; i < n_threads; i++) {
        threads_on[node_of[i]]++;
    }
    printf("\n  node  threads  moved in  computing s   faults  pages fetched  "
           "bytes sent\n");
    for (unsigned node = 0; node < tm_node_count(); node++) {
        struct tm_node_stats stats;

        if (tm_stats(node, &stats) != TM_OK) {
            continue;
        }
        printf("  %4u  %7u  %8" PRIu64 "  %11.3f  %7" PRIu64 "  %13" PRIu64
               "  %10" PRIu64 "\n",
               node, threads_on[node], stats.threads_in,
               (double)stats.compute_ns * 1e-9,
               stats.read_faults + stats.write_faults, stats.pages_fetched,
               stats.bytes_sent);
    }
    printf("\n");
}

void course_begin(struct course *course, const struct settings *settings)
{
    *course = (struct course){
        .ends_s = shared_memory("times",
                                (settings->n_iterations + 1) * sizeof(double)),
        .node_of =
            shared_memory("places", settings->n_threads * sizeof(unsigned)),
        .reports = settings->report,
        .tells = settings->time,
        .start_s = now_s(),
    };
}

struct course course_begin_alone(const struct settings *settings)
{
    return (struct course){
        .ends_s = plain_memory((settings->n_iterations + 1) * sizeof(double)),
        .reports = settings->sequential && settings->report,
        .tells = settings->sequential && settings->time,
        .start_s = now_s(),
    };
}

void course_note(const struct course *course, const struct settings *settings,
                 size_t me, unsigned iteration)
{
    if (me == 0 && iteration == 0) {
        course->ends_s[0] = now_s();
    } else if (me == 0) {
        times_note(course->ends_s, iteration, course->reports);
        paging_note(iteration, course->reports && course->node_of != NULL);
    }
    if (iteration == settings->n_iterations && course->node_of != NULL) {
        course->node_of[me] = tm_node_self();
    }
}

void course_print(const struct course *course, const struct settings *settings,
                  double amount, const char *unit)
{
    if (course->node_of != NULL) {
        printf("threads: %u, nodes: %u\n", settings->n_threads,
               tm_node_count());
    } else {
        printf("sequential\n");
    }
    times_print(course->start_s, course->ends_s, settings->n_iterations, amount,
                unit);
    if (course->tells) {
        last_half_print(course->ends_s, settings->n_iterations);
    }
    if (course->node_of == NULL) {
        free(course->ends_s);
    } else if (settings->stats) {
        nodes_print(course->node_of, settings->n_threads);
    }
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void identical_print(void)
{
    printf("result: identical to the sequential program's\n");
}

bool is_identical(const double *result, const double *expected, size_t n)
{
    size_t i = 0;

    while (i < n && bits_of(result[i]) == bits_of(expected[i])) {
        i++;
    }
    if (i < n) {
        printf("result: WRONG, first in number %zu: %.17g; the sequential "
               "program has %.17g\n",
               i, result[i], expected[i]);
        return false;
    }
    identical_print();
    return true;
}

bool is_identical_bytes(const void *result, const void *expected, size_t n)
{
    const unsigned char *a = result;
    const unsigned char *b = expected;
    size_t i = 0;

    while (i < n && a[i] == b[i]) {
        i++;
    }
    if (i < n) {
        printf("result: WRONG, first in byte %zu: %u; the sequential program "
               "has %u\n",
               i, a[i], b[i]);
        return false;
    }
    identical_print();
    return true;
}

int solver_run(const struct solver *solver, const struct about *about,
               struct settings *settings, int argc, char **argv)
{
    bool right = true;
    size_t n_values;
    double *result;

    settings->n_threads = 4 * tm_node_count();
    settings_parse(settings, argc, argv, about);
    n_values = solver->n_values(settings);
    result = settings->sequential ? solver->sequentially(settings)
                                  : solver->with_threads(settings);
    checksum_print(checksum(result, n_values, 0));
    if (settings->verify) {
        double *expected = solver->sequentially(settings);

        right = is_identical(result, expected, n_values);
        free(expected);
    }
    if (settings->sequential) {
        free(result);
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}

double psnr_db(uint64_t error, double n_pixels)
{
    return 10.0 * log10(255.0 * 255.0 * n_pixels / (double)error);
}
