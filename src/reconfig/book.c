// SPDX-License-Identifier: BSD-3-Clause
//
// Reports come in any order within an iteration, and a node may send several (its
// threads may arrive in groups). They are added up until the iteration closes:
//
//   open --all threads have reported, or one reports a later one--> closed: values
//   go into the rings, who has not reported is dropped --> open
//
// B1 `n_reported` threads have has_reported set.
// B2 place[slot of number] is where a thread is in `threads`, plus one; 0 if it is
//    not there. A slot has one thread at a time, and `number` says which.
#include "reconfig/book.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"

enum { RAGGED_BITS = 16 };

struct node_ring {
    struct book_node open; ///< added up so far
    struct book_node kept[BOOK_WINDOW];
};

struct book {
    unsigned n_nodes;
    double *power;           ///< [n_nodes]
    uint32_t *crowds;        ///< [n_nodes]
    struct node_ring *nodes; ///< [n_nodes]
    struct book_thread *threads;
    uint32_t n_threads;
    uint32_t n_room;
    uint32_t *place;
    uint32_t n_places;
    uint32_t n_reported;
    uint64_t current; ///< the iteration that is open, if n_reported > 0
    uint64_t closed;  ///< the latest that was closed, if n_closed > 0
    uint64_t n_closed;
    uint32_t n_since;  ///< closed since the restart
    uint32_t ragged;   ///< a bit for each of the latest iterations
    uint64_t ended_ns; ///< the latest close, 0: none
    double times_s[BOOK_WINDOW];
};

struct book *book_new(unsigned n_nodes, const double *power)
{
    struct book *book = calloc(1, sizeof *book);

    if (book == NULL) {
        return NULL;
    }
    book->n_nodes = n_nodes;
    book->power = malloc(n_nodes * sizeof *book->power);
    book->crowds = calloc(n_nodes, sizeof *book->crowds);
    book->nodes = calloc(n_nodes, sizeof *book->nodes);
    if (book->power == NULL || book->crowds == NULL || book->nodes == NULL) {
        book_free(book);
        return NULL;
    }
    memcpy(book->power, power, n_nodes * sizeof *power);
    return book;
}

void book_free(struct book *book)
{
    if (book != NULL) {
        free(book->crowds);
        free(book->power);
        free(book->nodes);
        free(book->threads);
        free(book->place);
        free(book);
    }
}

// The stack slot is the lower half of a thread's number.
static uint32_t *place_of(struct book *book, uint64_t number)
{
    uint32_t slot = (uint32_t)number;

    if (slot >= book->n_places) {
        uint32_t n = slot * 2 + 64;

        book->place = realloc(book->place, n * sizeof *book->place);
        ensure(book->place != NULL);
        memset(book->place + book->n_places, 0,
               (n - book->n_places) * sizeof *book->place);
        book->n_places = n;
    }
    return &book->place[slot];
}

static struct book_thread *find(struct book *book, uint64_t number)
{
    uint32_t place = *place_of(book, number);

    return place > 0 && book->threads[place - 1].number == number
               ? &book->threads[place - 1]
               : NULL;
}

static struct book_thread *add(struct book *book, uint64_t number)
{
    struct book_thread *thread;

    if (book->n_threads == book->n_room) {
        book->n_room = book->n_room * 2 + 32;
        book->threads =
            realloc(book->threads, book->n_room * sizeof *book->threads);
        ensure(book->threads != NULL);
    }
    thread = &book->threads[book->n_threads++];
    *thread = (struct book_thread){.number = number};
    *place_of(book, number) = book->n_threads;
    return thread;
}

static void keep_work(const struct book *book, struct book_thread *thread)
{
    thread->work[book->n_closed % BOOK_WINDOW] =
        thread->comp_s * book->power[thread->node];
    if (thread->n_kept < BOOK_WINDOW) {
        thread->n_kept++;
    }
    thread->comp_s = 0;
    thread->has_reported = 0;
}

static void settle_threads(struct book *book)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < book->n_threads; i++) {
        uint32_t *place = place_of(book, book->threads[i].number);

        if (book->threads[i].has_reported) {
            keep_work(book, &book->threads[i]);
            book->threads[n++] = book->threads[i];
            *place = n;
        } else if (*place == i + 1) { // B2: nobody new is in its slot
            *place = 0;
        }
    }
    book->ragged = book->ragged << 1 | (n < book->n_threads);
    book->n_threads = n;
    book->n_reported = 0;
}

static double other_s(const struct book_node *node)
{
    return fmax(0, node->busy_s - node->comp_s - node->mem_s);
}

// Nodes without threads have no times, and no part in it.
static void share_crowd(struct book *book, uint32_t crowd)
{
    double sum_s = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < book->n_nodes; i++) {
        const struct book_node *open = &book->nodes[i].open;

        if (book->crowds[i] == crowd && open->busy_s > 0) {
            sum_s += other_s(open);
            n++;
        }
    }
    for (unsigned i = 0; i < book->n_nodes; i++) {
        struct book_node *open = &book->nodes[i].open;

        if (book->crowds[i] == crowd && open->busy_s > 0) {
            open->busy_s = open->comp_s + open->mem_s + sum_s / n;
        }
    }
}

static void share_crowds(struct book *book)
{
    for (unsigned i = 0; i < book->n_nodes; i++) {
        if (book->crowds[i] == i + 1) { // of its first node
            share_crowd(book, i + 1);
        }
    }
}

static void close_iteration(struct book *book, uint64_t now_ns)
{
    unsigned slot = book->n_closed % BOOK_WINDOW;

    share_crowds(book);
    for (unsigned i = 0; i < book->n_nodes; i++) {
        book->nodes[i].kept[slot] = book->nodes[i].open;
        memset(&book->nodes[i].open, 0, sizeof book->nodes[i].open);
    }
    book->times_s[slot] =
        book->ended_ns == 0 ? 0 : (double)(now_ns - book->ended_ns) * 1e-9;
    settle_threads(book);
    book->closed = book->current;
    book->ended_ns = now_ns;
    book->n_closed++;
    book->n_since++;
}

// The iteration has been closed without them.
static void expect_next_time(struct book *book,
                             const struct book_report *report)
{
    for (uint32_t i = 0; i < report->n_arrivals; i++) {
        if (find(book, report->arrivals[i].thread) == NULL) {
            add(book, report->arrivals[i].thread)->node = report->node;
        }
    }
}

static void add_arrival(struct book *book, node_id node,
                        const struct book_arrival *arrival)
{
    struct book_thread *thread = find(book, arrival->thread);

    if (thread == NULL) {
        thread = add(book, arrival->thread);
    }
    book->n_reported += !thread->has_reported;
    thread->has_reported = 1;
    thread->node = node;
    thread->comp_s += arrival->comp_s;
}

unsigned book_take(struct book *book, const struct book_report *report,
                   uint64_t now_ns)
{
    struct book_node *open = &book->nodes[report->node].open;
    unsigned n_closed = 0;

    if ((book->n_closed > 0 && report->iteration <= book->closed) ||
        (book->n_reported > 0 && report->iteration < book->current)) {
        expect_next_time(book, report);
        return 0;
    }
    if (book->n_reported > 0 && report->iteration > book->current) {
        close_iteration(book, now_ns);
        n_closed++;
    }
    book->current = report->iteration;
    open->busy_s += report->busy_s;
    open->comp_s += report->comp_s;
    open->mem_s += report->mem_s;
    open->out_s += report->out_s;
    open->pages_in += report->pages_in;
    open->release_s += report->release_s;
    for (uint32_t i = 0; i < report->n_arrivals; i++) {
        add_arrival(book, report->node, &report->arrivals[i]);
    }
    if (book->n_closed > 0 && book->n_reported == book->n_threads) {
        close_iteration(book, now_ns);
        n_closed++;
    }
    return n_closed;
}

void book_set_crowds(struct book *book, const uint32_t *crowds)
{
    memcpy(book->crowds, crowds, book->n_nodes * sizeof *crowds);
}

void book_restart(struct book *book)
{
    book->n_since = 0;
}

const struct book_thread *book_threads(const struct book *book, uint32_t *n)
{
    *n = book->n_threads;
    return book->threads;
}

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
    return (unsigned)((book->n_closed - 1 - distance) % BOOK_WINDOW);
}

// A thread reports each iteration, so those kept are the latest ones.
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

double book_noise_s(const struct book *book, const struct book_thread *thread)
{
    double work[BOOK_WINDOW];
    unsigned n = copy_work(book, thread, work);
    double middle_s = median(work, n);

    for (unsigned i = 0; i < n; i++) {
        work[i] = fabs(work[i] - middle_s);
    }
    return median(work, n);
}

uint64_t book_n_closed(const struct book *book)
{
    return book->n_closed;
}

uint32_t book_n_since_restart(const struct book *book)
{
    return book->n_since;
}

unsigned book_n_ragged(const struct book *book)
{
    return (unsigned)__builtin_popcount(book->ragged &
                                        ((1u << RAGGED_BITS) - 1));
}

// Iterations that the medians are of.
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

    if (n == book->n_closed && n > 0) {
        n--; // nobody knows when the first one began
    }
    for (unsigned i = 0; i < n; i++) {
        times_s[i] = book->times_s[slot_back(book, i)];
    }
    return median(times_s, n);
}

// Of one of the four times of a node, at `offset` in struct book_node.
static double node_median(const struct book *book, node_id node, size_t offset)
{
    double times_s[BOOK_WINDOW];
    unsigned n = n_window(book);

    for (unsigned i = 0; i < n; i++) {
        const struct book_node *kept =
            &book->nodes[node].kept[slot_back(book, i)];

        memcpy(&times_s[i], (const char *)kept + offset, sizeof times_s[i]);
    }
    return median(times_s, n);
}

void book_node(const struct book *book, node_id node, struct book_node *usual)
{
    *usual = (struct book_node){
        .busy_s = node_median(book, node, offsetof(struct book_node, busy_s)),
        .comp_s = node_median(book, node, offsetof(struct book_node, comp_s)),
        .mem_s = node_median(book, node, offsetof(struct book_node, mem_s)),
        .out_s = node_median(book, node, offsetof(struct book_node, out_s)),
        .pages_in =
            node_median(book, node, offsetof(struct book_node, pages_in)),
        .release_s =
            node_median(book, node, offsetof(struct book_node, release_s)),
    };
}

void book_node_latest(const struct book *book, node_id node,
                      struct book_node *latest)
{
    memset(latest, 0, sizeof *latest);
    if (book->n_since > 0) {
        *latest = book->nodes[node].kept[slot_back(book, 0)];
    }
}
