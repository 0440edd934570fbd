// SPDX-License-Identifier: BSD-3-Clause
//
// What the book tells: medians over its samples, and how far these may be off.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "reconfig/book_priv.h"

/** The standard error of a median, by the median deviation of n values: with a normal
 * distribution's numbers, 1.2533 * 1.4826 / sqrt(n). */
#define ERROR_OF_MEDIAN 1.858

static int compare_values(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

// @param values  [n] are sorted
static double median(double *values, unsigned n)
{
    if (n == 0) {
        return 0;
    }
    qsort(values, n, sizeof *values, compare_values);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static unsigned slot_back(const struct book *book, unsigned distance)
{
    return (unsigned)((book->n_samples - 1 - distance) % BOOK_WINDOW);
}

// A thread is in each sample since its first, so those kept are the latest ones.
static unsigned copy_work(const struct book *book,
                          const struct book_thread *thread, double *work)
{
    unsigned n = thread->n_kept;

    if (book->n_since >= BOOK_FEW && book->n_since < n) {
        n = book->n_since;
    }
    for (unsigned i = 0; i < n; i++) {
        work[i] = thread->work[slot_back(book, i)];
    }
    return n;
}

double book_work_s(const struct book *book, const struct book_thread *thread)
{
    double work[BOOK_WINDOW];

    return median(work, copy_work(book, thread, work));
}

// @param values  [n] are made deviations, and sorted
static double median_deviation(double *values, unsigned n)
{
    double middle = median(values, n);

    for (unsigned i = 0; i < n; i++) {
        values[i] = fabs(values[i] - middle);
    }
    return median(values, n);
}

double book_noise_s(const struct book *book, const struct book_thread *thread)
{
    double work[BOOK_WINDOW];

    return median_deviation(work, copy_work(book, thread, work));
}

// Samples that the medians are of.
static unsigned n_window(const struct book *book)
{
    return book->n_since < BOOK_WINDOW ? book->n_since : BOOK_WINDOW;
}

double book_latest_s(const struct book *book)
{
    return book->n_since == 0 ? 0 : book->times_s[slot_back(book, 0)];
}

double book_iteration_s(const struct book *book)
{
    unsigned n = n_window(book);
    double times_s[BOOK_WINDOW];

    if (n == book->n_samples && n > 0) {
        n--; // nobody knows when the first one began
    }
    for (unsigned i = 0; i < n; i++) {
        times_s[i] = book->times_s[slot_back(book, i)];
    }
    return median(times_s, n);
}

// Of one of the values of a node, at `offset` in struct book_node.
// @param n  samples, the latest ones
static double node_median(const struct book *book, node_id node, unsigned n,
                          size_t offset)
{
    double values[BOOK_WINDOW];

    for (unsigned i = 0; i < n; i++) {
        const struct book_node *kept =
            &book->nodes[node].kept[slot_back(book, i)];

        memcpy(&values[i], (const char *)kept + offset, sizeof values[i]);
    }
    return median(values, n);
}

// ---- errors

static double error_of_median(double *values, unsigned n)
{
    return n < BOOK_FEW
               ? 0
               : ERROR_OF_MEDIAN * median_deviation(values, n) / sqrt(n);
}

static double mean_busy_s(const struct book *book, unsigned slot)
{
    double sum_s = 0;

    for (unsigned i = 0; i < book->n_nodes; i++) {
        sum_s += book->nodes[i].kept[slot].busy_s;
    }
    return sum_s / book->n_nodes;
}

double book_node_error_s(const struct book *book, node_id node)
{
    double parts[BOOK_WINDOW];
    double means_s[BOOK_WINDOW];
    unsigned n = n_window(book);

    for (unsigned i = 0; i < n; i++) {
        unsigned slot = slot_back(book, i);

        means_s[i] = mean_busy_s(book, slot);
        parts[i] = means_s[i] > 0
                       ? book->nodes[node].kept[slot].busy_s / means_s[i]
                       : 0;
    }
    return error_of_median(parts, n) * median(means_s, n);
}

double book_slowest_error_s(const struct book *book)
{
    double times_s[BOOK_WINDOW];
    unsigned n = n_window(book);

    for (unsigned i = 0; i < n; i++) {
        times_s[i] = 0;
        for (unsigned x = 0; x < book->n_nodes; x++) {
            times_s[i] = fmax(times_s[i],
                              book->nodes[x].kept[slot_back(book, i)].busy_s);
        }
    }
    return error_of_median(times_s, n);
}

void book_node(const struct book *book, node_id node, struct book_node *usual)
{
    unsigned n = n_window(book);

#define MEDIAN(value)                                                          \
    node_median(book, node, n, offsetof(struct book_node, value))
    *usual = (struct book_node){
        .busy_s = MEDIAN(busy_s),
        .comp_s = MEDIAN(comp_s),
        .mem_s = MEDIAN(mem_s),
        .out_s = MEDIAN(out_s),
        .pages_in = MEDIAN(pages_in),
        .pages_out = MEDIAN(pages_out),
        .release_s = MEDIAN(release_s),
    };
#undef MEDIAN
}

uint64_t book_free_bytes(const struct book *book, node_id node)
{
    return book->nodes[node].free_bytes;
}

double book_sent_bytes(const struct book *book, node_id from, node_id to)
{
    const uint64_t n = book->n_closed - book->n_closed_before;

    return n > 0
               ? book->sent_bytes[(size_t)from * book->n_nodes + to] / (double)n
               : 0;
}

double book_busy_s(const struct book *book, node_id node, unsigned n)
{
    return node_median(book, node, n < n_window(book) ? n : n_window(book),
                       offsetof(struct book_node, busy_s));
}
