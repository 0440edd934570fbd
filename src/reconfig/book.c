// SPDX-License-Identifier: BSD-3-Clause
//
// Reports come in any order within an iteration, and a node may send several (its
// threads may arrive in groups). They are added up until the iteration closes:
//
//   open --all threads have reported, or one reports a later one--> closed: who has
//   not reported is dropped --> open
//
// Several short iterations are one sample, and when that is complete, what an
// iteration of it was like goes into the rings. How many there are in it is doubled
// or halved, so that it lasts as long as BOOK_SAMPLE_S asks for.
//
// B1 `n_reported` threads have has_reported set.
// B2 place[slot of number] is where a thread is in `threads`, plus one; 0 if it is
//    not there. A slot has one thread at a time, and `number` says which.
#include "reconfig/book.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "reconfig/book_priv.h"

enum {
    RAGGED_BITS = 16,
    TOGETHER_MAX = 64, // iterations in a sample
    FAR_TOO_LONG = 4,  // times as long as asked for
};

struct book *book_new(unsigned n_nodes, const double *power)
{
    struct book *book = calloc(1, sizeof *book);

    if (book == NULL) {
        return NULL;
    }
    book->n_nodes = n_nodes;
    book->n_wanted = 1;
    book->power = malloc(n_nodes * sizeof *book->power);
    book->crowds = calloc(n_nodes, sizeof *book->crowds);
    book->n_workers = calloc(n_nodes, sizeof *book->n_workers);
    book->nodes = calloc(n_nodes, sizeof *book->nodes);
    book->sent_bytes =
        calloc((size_t)n_nodes * n_nodes, sizeof *book->sent_bytes);
    if (book->power == NULL || book->crowds == NULL ||
        book->n_workers == NULL || book->nodes == NULL ||
        book->sent_bytes == NULL) {
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
        free(book->n_workers);
        free(book->power);
        free(book->nodes);
        free(book->sent_bytes);
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
        ensure_memory(book->place != NULL);
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
        ensure_memory(book->threads != NULL);
    }
    thread = &book->threads[book->n_threads++];
    *thread = (struct book_thread){.number = number};
    *place_of(book, number) = book->n_threads;
    return thread;
}

static void add_work(const struct book *book, struct book_thread *thread)
{
    thread->open_work_s += thread->comp_s * book->power[thread->node];
    thread->n_open++;
    thread->comp_s = 0;
    thread->has_reported = 0;
}

static void keep_work(const struct book *book, struct book_thread *thread)
{
    thread->work[book->n_samples % BOOK_WINDOW] =
        thread->open_work_s / thread->n_open;
    if (thread->n_kept < BOOK_WINDOW) {
        thread->n_kept++;
    }
    thread->open_work_s = 0;
    thread->n_open = 0;
}

static void settle_threads(struct book *book)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < book->n_threads; i++) {
        uint32_t *place = place_of(book, book->threads[i].number);

        if (book->threads[i].has_reported) {
            add_work(book, &book->threads[i]);
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

// Time by the clock in which threads did not have the processor is no computation: it
// is as much chance as other waiting.
static void count_processor_time(struct book *book, unsigned node)
{
    struct node_ring *ring = &book->nodes[node];

    ring->open.comp_s =
        fmin(ring->open.comp_s, ring->open_cpu_s / book->n_workers[node]);
}

// Nodes without threads have no times, and no part in it.
static void share_crowd(struct book *book, uint32_t crowd)
{
    double sum_s = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < book->n_nodes; i++) {
        const struct book_node *open = &book->nodes[i].open;

        if (book->crowds[i] == crowd && open->busy_s > 0) {
            count_processor_time(book, i);
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

static void drop_open_node(struct node_ring *node)
{
    memset(&node->open, 0, sizeof node->open);
    node->open_cpu_s = 0;
}

static void keep_node(struct book *book, struct node_ring *node)
{
    const double n = book->n_open;
    const struct book_node *open = &node->open;

    node->kept[book->n_samples % BOOK_WINDOW] = (struct book_node){
        .busy_s = open->busy_s / n,
        .comp_s = open->comp_s / n,
        .mem_s = open->mem_s / n,
        .out_s = open->out_s / n,
        .pages_in = open->pages_in / n,
        .pages_out = open->pages_out / n,
        .release_s = open->release_s / n,
    };
    drop_open_node(node);
}

// @param length_s  of the sample just closed; 0: not known
static void choose_length(struct book *book, double length_s)
{
    if (length_s > 0 && length_s < BOOK_SAMPLE_S &&
        book->n_wanted < TOGETHER_MAX) {
        book->n_wanted *= 2;
    } else if (length_s > FAR_TOO_LONG * BOOK_SAMPLE_S && book->n_wanted > 1) {
        book->n_wanted /= 2;
    }
}

static void close_sample(struct book *book, uint64_t now_ns)
{
    double length_s =
        book->ended_ns == 0 ? 0 : (double)(now_ns - book->ended_ns) * 1e-9;

    share_crowds(book);
    for (unsigned i = 0; i < book->n_nodes; i++) {
        keep_node(book, &book->nodes[i]);
    }
    for (uint32_t i = 0; i < book->n_threads; i++) {
        keep_work(book, &book->threads[i]);
    }
    book->times_s[book->n_samples % BOOK_WINDOW] = length_s / book->n_open;
    book->n_together = book->n_open;
    book->n_open = 0;
    book->ended_ns = now_ns;
    book->n_samples++;
    book->n_since++;
    choose_length(book, length_s);
}

// @return whether that was a sample's last
static unsigned close_iteration(struct book *book, uint64_t now_ns)
{
    settle_threads(book);
    book->closed = book->current;
    book->n_closed++;
    book->n_open++;
    if (book->n_open < book->n_wanted) {
        return 0;
    }
    close_sample(book, now_ns);
    return 1;
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
    book->nodes[node].open_cpu_s += arrival->comp_s;
}

// What a report says of its node.
static void add_node(struct book *book, const struct book_report *report)
{
    struct node_ring *ring = &book->nodes[report->node];
    double *sent = &book->sent_bytes[(size_t)report->node * book->n_nodes];

    ring->open.busy_s += report->busy_s;
    ring->open.comp_s += report->comp_s;
    ring->open.mem_s += report->mem_s;
    ring->open.out_s += report->out_s;
    ring->open.pages_in += report->pages_in;
    ring->open.pages_out += report->pages_out;
    ring->open.release_s += report->release_s;
    ring->free_bytes = report->free_bytes;
    for (uint32_t i = 0; i < report->n_peers; i++) {
        sent[report->peers[i].node] += (double)report->peers[i].bytes;
    }
}

unsigned book_take(struct book *book, const struct book_report *report,
                   uint64_t now_ns)
{
    unsigned n_closed = 0;

    if ((book->n_closed > 0 && report->iteration <= book->closed) ||
        (book->n_reported > 0 && report->iteration < book->current)) {
        expect_next_time(book, report);
        return 0;
    }
    if (book->n_reported > 0 && report->iteration > book->current) {
        n_closed += close_iteration(book, now_ns);
    }
    book->current = report->iteration;
    add_node(book, report);
    for (uint32_t i = 0; i < report->n_arrivals; i++) {
        add_arrival(book, report->node, &report->arrivals[i]);
    }
    if (book->n_closed > 0 && book->n_reported == book->n_threads) {
        n_closed += close_iteration(book, now_ns);
    }
    return n_closed;
}

void book_set_crowds(struct book *book, const uint32_t *crowds,
                     const uint32_t *n_workers)
{
    memcpy(book->crowds, crowds, book->n_nodes * sizeof *crowds);
    memcpy(book->n_workers, n_workers, book->n_nodes * sizeof *n_workers);
}

void book_restart(struct book *book)
{
    book->n_since = 0;
    book->n_closed_before = book->n_closed;
    memset(book->sent_bytes, 0,
           (size_t)book->n_nodes * book->n_nodes * sizeof *book->sent_bytes);
}

void book_drop_open(struct book *book)
{
    for (unsigned i = 0; i < book->n_nodes; i++) {
        drop_open_node(&book->nodes[i]);
    }
    for (uint32_t i = 0; i < book->n_threads; i++) {
        struct book_thread *thread = &book->threads[i];

        thread->has_reported = 0;
        thread->comp_s = 0;
        thread->open_work_s = 0;
        thread->n_open = 0;
    }
    book->n_reported = 0;
    book->n_open = 0;
    book->ended_ns = 0;
}

const struct book_thread *book_threads(const struct book *book, uint32_t *n)
{
    *n = book->n_threads;
    return book->threads;
}

uint64_t book_n_closed(const struct book *book)
{
    return book->n_closed;
}

uint64_t book_n_samples(const struct book *book)
{
    return book->n_samples;
}

uint32_t book_n_together(const struct book *book)
{
    return book->n_together;
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
