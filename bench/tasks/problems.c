// SPDX-License-Identifier: BSD-3-Clause
#include "problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../split_keys.h"
#include "checksum.h"
#include "dense.h"
#include "times.h"

struct problem problem;

// A number that looks drawn by lot and is the same in each run.
static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

// ---- fib

uint64_t fib_leaf(int n)
{
    return n < 2 ? (uint64_t)n : fib_leaf(n - 1) + fib_leaf(n - 2);
}

static int fib_open(const struct data *data, const struct item *item,
                    struct item *parts)
{
    (void)data;
    if (item->n < problem.cut) {
        return 0;
    }
    parts[0].n = item->n - 1;
    parts[1].n = item->n - 2;
    return 2;
}

static uint64_t fib_item(const struct data *data, const struct item *item)
{
    (void)data;
    return fib_leaf(item->n);
}

// ---- queens: in how many ways `size` of them can stand

static int queens_open(const struct data *data, const struct item *item,
                       struct item *parts)
{
    const uint32_t all = (1u << problem.size) - 1;
    uint32_t open =
        all & ~(item->queens.columns | item->queens.left | item->queens.right);
    int n = 0;

    (void)data;
    if (item->queens.row >= problem.cut) {
        return 0;
    }
    for (; open != 0; open &= open - 1) {
        const uint32_t place = open & -open;

        parts[n++].queens = (struct queens){
            item->queens.columns | place,
            (item->queens.left | place) << 1,
            (item->queens.right | place) >> 1,
            item->queens.row + 1,
        };
    }
    return n;
}

static uint64_t queens_below(uint32_t columns, uint32_t left, uint32_t right,
                             int row)
{
    uint32_t open = ((1u << problem.size) - 1) & ~(columns | left | right);
    uint64_t found = 0;

    if (row == problem.size) {
        return 1;
    }
    for (; open != 0; open &= open - 1) {
        const uint32_t place = open & -open;

        found += queens_below(columns | place, (left | place) << 1,
                              (right | place) >> 1, row + 1);
    }
    return found;
}

static uint64_t queens_leaf(const struct data *data, const struct item *item)
{
    (void)data;
    return queens_below(item->queens.columns, item->queens.left,
                        item->queens.right, item->queens.row);
}

// ---- tree: nodes of a tree of depth `size`; how many are below one, 4 in the mean and
//      often none, is drawn by lot ([Olivier06], a geometric tree)

static int n_below(uint64_t seed, int depth)
{
    uint64_t lot = mix(seed);
    int n = 0;

    // Each further one with 4 to 1.
    while (depth < problem.size && n < PARTS_MAX && lot < UINT64_MAX / 5 * 4) {
        lot = mix(lot + 1);
        n++;
    }
    return n;
}

static uint64_t seed_below(uint64_t seed, int i)
{
    return mix(seed + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u);
}

static int tree_open(const struct data *data, const struct item *item,
                     struct item *parts)
{
    const int n = item->branch.depth < problem.cut
                      ? n_below(item->branch.seed, item->branch.depth)
                      : 0;

    (void)data;
    for (int i = 0; i < n; i++) {
        parts[i].branch = (struct branch){
            .seed = seed_below(item->branch.seed, i),
            .depth = item->branch.depth + 1,
            .n_above = i == 0 ? item->branch.n_above + 1 : 0,
        };
    }
    return n;
}

static uint64_t tree_below(uint64_t seed, int depth)
{
    const int n = n_below(seed, depth);
    uint64_t found = 1;

    for (int i = 0; i < n; i++) {
        found += tree_below(seed_below(seed, i), depth + 1);
    }
    return found;
}

static uint64_t tree_leaf(const struct data *data, const struct item *item)
{
    (void)data;
    return item->branch.n_above +
           tree_below(item->branch.seed, item->branch.depth);
}

// ---- quicksort

static void keys_fill(const struct data *data)
{
    for (int i = 0; i < problem.size; i++) {
        data->keys[i] = (uint32_t)mix((uint64_t)i + 1);
    }
}

static uint64_t keys_read(const struct data *data)
{
    uint64_t sum = 0;

    for (int i = 0; i < problem.size; i++) {
        if (i > 0 && data->keys[i] < data->keys[i - 1]) {
            fprintf(stderr, "key %d is less than the one before it\n", i);
            exit(1);
        }
        sum += mix(data->keys[i] + (uint64_t)i);
    }
    return sum;
}

static int keys_open(const struct data *data, const struct item *item,
                     struct item *parts)
{
    if (item->part.end - item->part.first <= (uint64_t)problem.cut) {
        return 0;
    }
    parts[0] = parts[1] = *item;
    parts[0].part.end = parts[1].part.first =
        split_keys(data->keys, item->part.first, item->part.end);
    return 2;
}

static int compare_keys(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static uint64_t keys_leaf(const struct data *data, const struct item *item)
{
    qsort(data->keys + item->part.first, item->part.end - item->part.first,
          sizeof *data->keys, compare_keys);
    return 0;
}

// ---- matmul

static void matrices_fill(const struct data *data)
{
    const size_t size = (size_t)problem.size;

    for (size_t row = 0; row < size; row++) {
        left_row_fill(&data->a[row * size], row, size);
        right_row_fill(&data->b[row * size], row, size);
    }
}

static uint64_t product_read(const struct data *data)
{
    const size_t size = (size_t)problem.size;

    return checksum(data->c, size * size, 0);
}

static int rows_open(const struct data *data, const struct item *item,
                     struct item *parts)
{
    const uint64_t n = item->part.end - item->part.first;

    (void)data;
    if (n <= (uint64_t)problem.cut) {
        return 0;
    }
    parts[0] = parts[1] = *item;
    parts[0].part.end = parts[1].part.first = item->part.first + n / 2;
    return 2;
}

static uint64_t rows_leaf(const struct data *data, const struct item *item)
{
    const size_t size = (size_t)problem.size;
    const size_t at = item->part.first * size;

    product_rows(data->c + at, data->a + at, data->b,
                 item->part.end - item->part.first, size, 1);
    return 0;
}

// ---- which it is

static void fill_nothing(const struct data *data)
{
    (void)data;
}

static uint64_t read_nothing(const struct data *data)
{
    (void)data;
    return 0;
}

static const struct problem problems[] = {
    {"fib", 40, 24, 2, fib_open, fib_item, fill_nothing, read_nothing},
    {"queens", 14, 3, 0, queens_open, queens_leaf, fill_nothing, read_nothing},
    {"tree", 11, 5, 0, tree_open, tree_leaf, fill_nothing, read_nothing},
    {"quicksort", 1 << 21, 1 << 13, 1, keys_open, keys_leaf, keys_fill,
     keys_read},
    {"matmul", 1024, 16, 1, rows_open, rows_leaf, matrices_fill, product_read},
};

static _Noreturn void fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(64);
}

void problem_choose(int argc, char **argv)
{
    const struct problem *found = problems;
    const struct problem *end = problems + sizeof problems / sizeof *problems;

    while (argc > 1 && found < end && strcmp(found->name, argv[1]) != 0) {
        found++;
    }
    if (argc < 2 || argc > 4 || found == end) {
        fail("usage: PROGRAM fib|queens|tree|quicksort|matmul [SIZE [CUT]]");
    }
    problem = *found;
    if (argc > 2) {
        problem.size = atoi(argv[2]);
    }
    if (argc > 3) {
        problem.cut = atoi(argv[3]);
    }
    if (problem.size < 1 || problem.cut < problem.least_cut ||
        (problem.open == queens_open && problem.size > 20)) {
        fail("SIZE or CUT is out of its range");
    }
}

struct item problem_whole(void)
{
    struct item item = {0};

    if (problem.open == fib_open) {
        item.n = problem.size;
    } else if (problem.open == tree_open) {
        item.branch.seed = 38; // of 4 million nodes or so, a depth below 10
    } else if (problem.open != queens_open) {
        item.part.end = (uint64_t)problem.size;
    }
    return item;
}

static void *must_get(void *(*get)(uint64_t, int), uint64_t n, size_t size,
                      int is_read)
{
    void *got = get(n * size, is_read);

    if (got == NULL) {
        fail("out of memory");
    }
    return got;
}

void problem_begin(struct data *data, void *(*get)(uint64_t size, int is_read))
{
    const uint64_t size = (uint64_t)problem.size;

    if (problem.open == keys_open) {
        data->keys = must_get(get, size, sizeof *data->keys, 0);
    } else if (problem.open == rows_open) {
        data->a = must_get(get, size * size, sizeof *data->a, 1);
        data->b = must_get(get, size * size, sizeof *data->b, 1);
        data->c = must_get(get, size * size, sizeof *data->c, 0);
    }
    problem.fill(data);
}

void problem_end(const struct data *data, double start_s, uint64_t sum)
{
    sum += problem.read(data);
    printf("total time: %.6f s\n", now_s() - start_s);
    checksum_print(sum);
}
