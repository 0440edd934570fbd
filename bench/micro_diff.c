// SPDX-License-Identifier: BSD-3-Clause
/*
 * How long the diff of a page takes, against one memcmp() (of equal pages, so
 * that it reads them to the end) plus one memcpy() of a page, measured in turn
 * with it. Aim: at most 2.
 *
 *     micro_diff [PAGES [SAMPLES]]
 *
 * PAGES pages, each with a second version and a twin, are gone through in
 * order (default 1: all in the first-level cache; 4096: 48 MiB, in none). A
 * sample is at least 1024 pages; SAMPLES (default 200) of them give p50 and
 * p99. Encoding the two versions in turn shows the same difference every time
 * and nothing has to be set back in between. The ratio is that of the medians;
 * `apply` is diff_apply() to a page and its twin.
 *
 * Build: cc -O2 -D_GNU_SOURCE -Isrc -Iinclude bench/micro_diff.c src/mem/diff.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mem/diff.h"

#define MIN_SAMPLE 1024u

/** How the second version of a page differs from the first. */
struct pattern {
    const char *name;
    int (*changes)(size_t at); ///< whether this byte differs
};

/** [n_pages][4096] each; aligned to a page. */
struct data {
    size_t n_pages;
    size_t n_rounds; ///< over all pages in a sample
    uint8_t *versions[2];
    uint8_t *twins;
    uint8_t *diffs; ///< [n_pages][2][4096], first DIFF_MAX used of each
    size_t *sizes;  ///< [n_pages]
};

struct times {
    double *ns; ///< [n_samples] per page
    size_t n_samples;
};

static int never(size_t at)
{
    (void)at;
    return 0;
}

static int one_word(size_t at)
{
    return at / 8 == 257;
}

static int first_half(size_t at)
{
    return at < TM_PAGE_SIZE / 2;
}

static int every_other_word(size_t at)
{
    return at / 8 % 2 == 0;
}

static int every_eighth_byte(size_t at)
{
    return at % 8 == 0;
}

static int low_five(size_t at)
{
    return at % 8 < 5;
}

static int at_random(size_t at)
{
    return (at * UINT64_C(0x9e3779b97f4a7c15) >> 40) % 2 == 0;
}

static int always(size_t at)
{
    (void)at;
    return 1;
}

static const struct pattern patterns[] = {
    {"nothing", never},
    {"one double", one_word},
    {"first half", first_half},
    {"every other double", every_other_word},
    {"every 8th byte", every_eighth_byte},
    {"low 5 bytes of doubles", low_five},
    {"half the bytes, random", at_random},
    {"everything", always},
};

// Called through pointers that the compiler cannot see through.
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static size_t (*volatile encode)(const void *, void *, void *) = diff_encode;
static tm_status (*volatile apply)(const void *, size_t, void *,
                                   void *) = diff_apply;

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *new_array(size_t n_bytes)
{
    size_t rounded = (n_bytes + TM_PAGE_SIZE - 1) / TM_PAGE_SIZE * TM_PAGE_SIZE;
    void *array = aligned_alloc(TM_PAGE_SIZE, rounded);

    if (array == NULL) {
        fputs("micro_diff: out of memory\n", stderr);
        exit(71);
    }
    memset(array, 0, rounded);
    return array;
}

static void set_pattern(struct data *data, const struct pattern *pattern)
{
    for (size_t i = 0; i < data->n_pages * TM_PAGE_SIZE; i++) {
        uint8_t byte = (uint8_t)(i * 2654435761u >> 11);

        data->versions[0][i] = byte;
        data->versions[1][i] =
            pattern->changes(i % TM_PAGE_SIZE) ? (uint8_t)~byte : byte;
        data->twins[i] = byte;
    }
}

/* Each of the following goes over all pages once for version 1 and once for
 * version 0, `n_rounds` times, and gives the nanoseconds per page. */

static double time_memory(struct data *data)
{
    double start = now_ns();

    for (size_t round = 0; round < data->n_rounds * 2; round++) {
        for (size_t i = 0; i < data->n_pages; i++) {
            uint8_t *page = data->versions[0] + i * TM_PAGE_SIZE;
            uint8_t *twin = data->twins + i * TM_PAGE_SIZE;

            if (compare(page, twin, TM_PAGE_SIZE) != 0) {
                abort();
            }
            copy(twin, page, TM_PAGE_SIZE);
        }
    }
    return (now_ns() - start) / (double)(data->n_rounds * 2 * data->n_pages);
}

static double time_encode(struct data *data)
{
    double start = now_ns();

    for (size_t round = 0; round < data->n_rounds * 2; round++) {
        uint8_t *pages = data->versions[1 - round % 2];

        for (size_t i = 0; i < data->n_pages; i++) {
            data->sizes[i] =
                encode(pages + i * TM_PAGE_SIZE, data->twins + i * TM_PAGE_SIZE,
                       data->diffs + i * 2 * TM_PAGE_SIZE);
        }
    }
    return (now_ns() - start) / (double)(data->n_rounds * 2 * data->n_pages);
}

// The diffs of time_encode() lead to version 0, where the pages are already.
static double time_apply(struct data *data)
{
    double start = now_ns();

    for (size_t round = 0; round < data->n_rounds * 2; round++) {
        for (size_t i = 0; i < data->n_pages && data->sizes[i] > 0; i++) {
            if (apply(data->diffs + i * 2 * TM_PAGE_SIZE, data->sizes[i],
                      data->versions[0] + i * TM_PAGE_SIZE,
                      data->twins + i * TM_PAGE_SIZE) != TM_OK) {
                abort();
            }
        }
    }
    return (now_ns() - start) / (double)(data->n_rounds * 2 * data->n_pages);
}

static int ascending(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;

    return (first > second) - (first < second);
}

static void sort_times(struct times *times)
{
    qsort(times->ns, times->n_samples, sizeof(double), ascending);
}

static double quantile(const struct times *times, double fraction)
{
    return times->ns[(size_t)(fraction * (double)(times->n_samples - 1))];
}

static void measure(struct data *data, const struct pattern *pattern,
                    struct times times[3])
{
    double memory_ns;
    double encode_ns;

    set_pattern(data, pattern);
    for (size_t i = 0; i < times[0].n_samples; i++) {
        times[0].ns[i] = time_memory(data);
        times[1].ns[i] = time_encode(data);
        times[2].ns[i] = time_apply(data);
    }
    for (int i = 0; i < 3; i++) {
        sort_times(&times[i]);
    }
    memory_ns = quantile(&times[0], 0.5);
    encode_ns = quantile(&times[1], 0.5);
    printf("%-23s %5zu %7.0f %6.0f %7.0f %6.0f %6.2f %7.0f %6.0f\n",
           pattern->name, data->sizes[0], memory_ns, quantile(&times[0], 0.99),
           encode_ns, quantile(&times[1], 0.99), encode_ns / memory_ns,
           quantile(&times[2], 0.5), quantile(&times[2], 0.99));
}

int main(int argc, char **argv)
{
    struct data data = {.n_pages = 1};
    struct times times[3];
    size_t n_samples = 200;

    if (argc > 1) {
        data.n_pages = strtoull(argv[1], NULL, 10);
    }
    if (argc > 2) {
        n_samples = strtoull(argv[2], NULL, 10);
    }
    if (argc > 3 || data.n_pages == 0 || n_samples == 0) {
        fputs("usage: micro_diff [PAGES [SAMPLES]]\n", stderr);
        return 64;
    }
    data.n_rounds = (MIN_SAMPLE / 2 + data.n_pages - 1) / data.n_pages;
    data.versions[0] = new_array(data.n_pages * TM_PAGE_SIZE);
    data.versions[1] = new_array(data.n_pages * TM_PAGE_SIZE);
    data.twins = new_array(data.n_pages * TM_PAGE_SIZE);
    data.diffs = new_array(data.n_pages * 2 * TM_PAGE_SIZE);
    data.sizes = new_array(data.n_pages * sizeof(size_t));
    for (int i = 0; i < 3; i++) {
        times[i].ns = new_array(n_samples * sizeof(double));
        times[i].n_samples = n_samples;
    }
    printf("%zu page(s), %zu samples; ns per page\n", data.n_pages, n_samples);
    printf("%-23s %5s %14s %14s %6s %14s\n", "", "diff", "memcmp+memcpy",
           "encode", "", "apply");
    printf("%-23s %5s %7s %6s %7s %6s %6s %7s %6s\n", "what changed", "bytes",
           "p50", "p99", "p50", "p99", "ratio", "p50", "p99");
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        measure(&data, &patterns[i], times);
    }
    free(data.versions[0]);
    free(data.versions[1]);
    free(data.twins);
    free(data.diffs);
    free(data.sizes);
    for (int i = 0; i < 3; i++) {
        free(times[i].ns);
    }
    return 0;
}
