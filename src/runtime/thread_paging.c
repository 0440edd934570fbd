// SPDX-License-Identifier: BSD-3-Clause
//
// What too little memory costs each thread: on request, by the public function, and
// for the table that --stats prints. A thread counts in its record while it is here;
// when it has left or ended its sums stay in a row of the node, so that nothing has
// to travel with it and the numbers are the node's own.
//
// R1 `rows` may have a thread several times, if it came back; who asks gets its sum.
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/threads.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH 64u      // rows of a message
#define PRINTED_MAX 16 // threads that --stats shows

static struct tm_paging_stats row_of(const struct thread *thread)
{
    return (struct tm_paging_stats){
        .thread = thread->number,
        .page_ins =
            atomic_load_explicit(&thread->page_ins, memory_order_relaxed),
        .swap_ns = atomic_load_explicit(&thread->swap_ns, memory_order_relaxed),
        .swap_out_ns =
            atomic_load_explicit(&thread->swap_out_ns, memory_order_relaxed),
    };
}

static int has_paged(const struct tm_paging_stats *row)
{
    return row->page_ins > 0 || row->swap_ns > 0;
}

void thread_paging_left(struct node *node, const struct thread *thread)
{
    struct thread_paging *kept = &node->thread_paging;
    const struct tm_paging_stats row = row_of(thread);

    if (!has_paged(&row)) {
        return;
    }
    vector_reserve(kept->rows, kept->room, kept->n + 1);
    kept->rows[kept->n++] = row;
}

void thread_paging_close(struct node *node)
{
    free(node->thread_paging.rows);
    node->thread_paging = (struct thread_paging){0};
}

// ---- all of a node

static int compare(const void *left, const void *right)
{
    const struct tm_paging_stats *a = left;
    const struct tm_paging_stats *b = right;

    return (a->thread > b->thread) - (a->thread < b->thread);
}

static void add(struct tm_paging_stats *sum, const struct tm_paging_stats *row)
{
    sum->page_ins += row->page_ins;
    sum->swap_ns += row->swap_ns;
    sum->swap_out_ns += row->swap_out_ns;
}

// Rows of one thread become one, R1. @return how many are left
static size_t merge(struct tm_paging_stats *rows, size_t n)
{
    size_t n_merged = 0;

    qsort(rows, n, sizeof *rows, compare);
    for (size_t i = 0; i < n; i++) {
        if (n_merged > 0 && rows[n_merged - 1].thread == rows[i].thread) {
            add(&rows[n_merged - 1], &rows[i]);
        } else {
            rows[n_merged++] = rows[i];
        }
    }
    return n_merged;
}

// @param[out] rows  the caller frees them. @return how many there are
static size_t collect(struct node *node, struct tm_paging_stats **rows)
{
    const struct thread_paging *kept = &node->thread_paging;
    size_t n = 0;

    *rows = malloc((kept->n + ult_count(node->ult) + 1) * sizeof **rows);
    ensure_memory(*rows != NULL);
    for (; n < kept->n; n++) {
        (*rows)[n] = kept->rows[n];
    }
    for (uint32_t slot = 0; slot <= node->options.max_threads; slot++) {
        if (node->threads[slot] != NULL) {
            (*rows)[n] = row_of(node->threads[slot]);
            n += (size_t)has_paged(&(*rows)[n]);
        }
    }
    return merge(*rows, n);
}

// ---- messages

static void put_row(struct wire_writer *writer,
                    const struct tm_paging_stats *row)
{
    wire_put_thread_paging(writer, &(struct wire_thread_paging){
                                       .thread = row->thread,
                                       .page_ins = row->page_ins,
                                       .swap_ns = row->swap_ns,
                                       .swap_out_ns = row->swap_out_ns,
                                   });
}

static void answer(struct node *node, node_id to,
                   const struct message_thread_stats_ask *ask)
{
    struct tm_paging_stats *rows;
    size_t n = collect(node, &rows);
    uint8_t body[BATCH * WIRE_SIZE_thread_paging];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {
        .type = MESSAGE_thread_stats_are,
        .u.thread_stats_are = {.token = ask->token, .n_threads = n},
        .body = body,
    };

    for (size_t i = ask->first; i < n && i - ask->first < BATCH; i++) {
        put_row(&writer, &rows[i]);
    }
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, to, &message);
    free(rows);
}

struct rows_wait {
    struct wait wait;
    struct tm_paging_stats *rows; ///< [room]
    size_t room;
    size_t n;        ///< that have come
    uint64_t n_rows; ///< that there are
};

static void accept(struct node *node, const struct message *message)
{
    struct rows_wait *wait =
        tokens_take(&node->calls, message->u.thread_stats_are.token);
    struct wire_reader reader = wire_read_body(message);

    if (wait == NULL) {
        return;
    }
    wait->n_rows = message->u.thread_stats_are.n_threads;
    while (wire_has_more(&reader) && wait->n < wait->room) {
        const struct wire_thread_paging row = wire_get_thread_paging(&reader);

        wait->rows[wait->n++] = (struct tm_paging_stats){
            .thread = row.thread,
            .page_ins = row.page_ins,
            .swap_ns = row.swap_ns,
            .swap_out_ns = row.swap_out_ns,
        };
    }
    waiter_wake(&wait->wait.waiter, reader.failed ? TM_EWIRE : TM_OK, 0);
}

void thread_paging_receive(struct node *node, node_id from,
                           const struct message *message)
{
    if (message->type == MESSAGE_thread_stats_ask) {
        answer(node, from, &message->u.thread_stats_ask);
    } else {
        accept(node, message);
    }
}

// Rows from `first` on, as many as a message has. @return TM_EINVAL: no such node
static tm_status ask(struct node *node, unsigned id, uint64_t first,
                     struct rows_wait *wait)
{
    struct message message = {.type = MESSAGE_thread_stats_ask,
                              .u.thread_stats_ask = {.first = first}};

    wait_init(&wait->wait);
    if (!node_enter_to_ask(node, id)) {
        return TM_EINVAL;
    }
    message.u.thread_stats_ask.token = tokens_give(&node->calls, wait);
    port_send(&node->port, (node_id)id, &message);
    return wait_end(node, &wait->wait);
}

tm_status tm_thread_stats(unsigned id, struct tm_paging_stats *rows,
                          size_t room, size_t *n)
{
    struct node *const node = &this_node;
    tm_status status = CHECK_CALL("tm_thread_stats");
    struct tm_paging_stats batch[BATCH]; // `rows` may be shared memory
    struct rows_wait wait = {.rows = batch};
    size_t at = 0;

    if (status != TM_OK) {
        return status;
    }
    do {
        wait.n = 0;
        wait.room = room - at < BATCH ? room - at : BATCH;
        status = ask(node, id, at, &wait);
        for (size_t i = 0; i < wait.n; i++) {
            rows[at++] = batch[i];
        }
    } while (status == TM_OK && wait.n > 0 && at < room);
    if (status == TM_OK) {
        *n = wait.n_rows;
    }
    return status;
}

// ---- the table

struct printed {
    unsigned node;
    struct tm_paging_stats row;
};

static int compare_time(const void *left, const void *right)
{
    const struct printed *a = left;
    const struct printed *b = right;

    return (a->row.swap_ns < b->row.swap_ns) -
           (a->row.swap_ns > b->row.swap_ns);
}

// @return how many there are now; [n_all] of `all`, which grows
static size_t add_node(unsigned node, struct printed **all, size_t n_all)
{
    struct tm_paging_stats *rows;
    size_t room;
    size_t n;

    if (tm_thread_stats(node, NULL, 0, &room) != TM_OK || room == 0) {
        return n_all;
    }
    rows = malloc(room * sizeof *rows);
    *all = realloc(*all, (n_all + room) * sizeof **all);
    ensure_memory(rows != NULL && *all != NULL);
    if (tm_thread_stats(node, rows, room, &n) == TM_OK) {
        for (size_t i = 0; i < n && i < room; i++) {
            (*all)[n_all++] = (struct printed){node, rows[i]};
        }
    }
    free(rows);
    return n_all;
}

// The numbers of threads whose slots others have had before are long.
static int number_width(const struct printed *rows, size_t n)
{
    int width = sizeof "thread" - 1;

    for (size_t i = 0; i < n; i++) {
        const int length =
            snprintf(NULL, 0, "%llu", (unsigned long long)rows[i].row.thread);

        width = length > width ? length : width;
    }
    return width;
}

static void print_rows(const struct printed *rows, size_t n)
{
    const int width = number_width(rows, n);

    fprintf(stderr, "%*s %4s %10s %10s %10s\n", width, "thread", "node",
            "pages in", "waited s", "for room");
    for (size_t i = 0; i < n; i++) {
        const struct tm_paging_stats *row = &rows[i].row;

        fprintf(stderr, "%*llu %4u %10llu %10.3f %10.3f\n", width,
                (unsigned long long)row->thread, rows[i].node,
                (unsigned long long)row->page_ins, (double)row->swap_ns * 1e-9,
                (double)row->swap_out_ns * 1e-9);
    }
}

void thread_paging_print(struct node *node)
{
    struct printed *all = NULL;
    size_t n = 0;

    for (unsigned id = 0; id < node->n_nodes; id++) {
        n = add_node(id, &all, n);
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, compare_time);
        print_rows(all, n < PRINTED_MAX ? n : PRINTED_MAX);
    }
    if (n > PRINTED_MAX) {
        fprintf(stderr, "and %zu more that paged less long\n", n - PRINTED_MAX);
    }
    free(all);
}
