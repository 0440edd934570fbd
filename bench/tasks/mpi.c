// SPDX-License-Identifier: BSD-3-Clause
/*
 * The problems of problems.h as an MPI program with a master, rank 0, and workers. The master
 * opens items and hands out leaves, with the keys or rows that they are about. It has a
 * processor, so it computes leaves as well, and looks for answers between them. Meanwhile
 * workers do not wait: each has SLOTS leaves at a time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problems.h"
#include "times.h"

enum { SLOTS = 2, ITEMS_MAX = 4096 };

/** A leaf on its way, or the answer. */
struct parcel {
    struct item item;
    uint64_t found;
    unsigned char bytes[];
};

/** Of a worker, as the master sees it, or as the worker does. */
struct slot {
    int other;
    int tag;
    struct parcel *out;
    struct parcel *in;
    MPI_Request sent;
};

static struct data data;
static size_t unit;  // bytes of a key, or of a row; 0: there are none
static size_t limit; // bytes of a parcel

// What is not begun yet, at the master; the next one is the last.
static struct {
    struct item items[ITEMS_MAX];
    int n;
} left;

static void *get(uint64_t size, int is_read)
{
    (void)is_read;
    return calloc(size, 1);
}

static void *must_get(size_t size)
{
    void *got = get(size, 0);

    if (got == NULL) {
        fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 71);
    }
    return got;
}

static size_t bytes_of(const struct item *item)
{
    return unit == 0 ? 0 : (item->part.end - item->part.first) * unit;
}

static struct slot slot_new(int other, int tag)
{
    return (struct slot){other, tag, must_get(limit), must_get(limit),
                         MPI_REQUEST_NULL};
}

static void slot_release(struct slot *slot)
{
    MPI_Wait(&slot->sent, MPI_STATUS_IGNORE);
    free(slot->out);
    free(slot->in);
}

static void slot_send(struct slot *slot)
{
    MPI_Isend(slot->out, (int)(sizeof *slot->out + bytes_of(&slot->out->item)),
              MPI_BYTE, slot->other, slot->tag, MPI_COMM_WORLD, &slot->sent);
}

static void slot_receive(struct slot *slot, MPI_Request *request)
{
    MPI_Irecv(slot->in, (int)limit, MPI_BYTE, slot->other, slot->tag,
              MPI_COMM_WORLD, request);
}

// ---- the master

// @return 0: there is no leaf left
static int next_leaf(struct item *leaf)
{
    while (left.n > 0) {
        struct item parts[PARTS_MAX];
        int n;

        *leaf = left.items[--left.n];
        n = problem.open(&data, leaf, parts);
        if (n == 0) {
            return 1;
        }
        if (left.n + n > ITEMS_MAX) {
            fprintf(stderr, "more items than there is room for\n");
            MPI_Abort(MPI_COMM_WORLD, 71);
        }
        while (n > 0) {
            left.items[left.n++] = parts[--n];
        }
    }
    return 0;
}

static void hand_out(struct slot *slot, MPI_Request *request)
{
    struct parcel *out = slot->out;
    const unsigned char *from =
        data.keys != NULL ? (void *)data.keys : (void *)data.a;

    MPI_Wait(&slot->sent, MPI_STATUS_IGNORE); // it has been answered
    if (!next_leaf(&out->item)) {
        return;
    }
    if (unit > 0) {
        memcpy(out->bytes, from + out->item.part.first * unit,
               bytes_of(&out->item));
    }
    slot_send(slot);
    slot_receive(slot, request);
}

static uint64_t take_answer(const struct parcel *in)
{
    unsigned char *to = data.keys != NULL ? (void *)data.keys : (void *)data.c;

    if (unit > 0) {
        memcpy(to + in->item.part.first * unit, in->bytes, bytes_of(&in->item));
    }
    return in->found;
}

// Answers that have come, or, if there is nothing else to do, the next one.
// @return what they have found
static uint64_t serve(struct slot *slots, MPI_Request *requests, int n,
                      int waits)
{
    uint64_t sum = 0;

    for (;;) {
        int has_come = 1;
        int i;

        if (waits) {
            MPI_Waitany(n, requests, &i, MPI_STATUS_IGNORE);
            waits = 0;
        } else {
            MPI_Testany(n, requests, &i, &has_come, MPI_STATUS_IGNORE);
        }
        if (!has_come || i == MPI_UNDEFINED) {
            return sum;
        }
        sum += take_answer(slots[i].in);
        hand_out(&slots[i], &requests[i]);
    }
}

static int are_out(const MPI_Request *requests, int n)
{
    while (n > 0 && requests[n - 1] == MPI_REQUEST_NULL) {
        n--;
    }
    return n > 0;
}

static uint64_t deal(struct slot *slots, MPI_Request *requests, int n)
{
    struct item leaf;
    uint64_t sum = 0;

    left.items[left.n++] = problem_whole();
    for (int i = 0; i < n; i++) {
        hand_out(&slots[i], &requests[i]);
    }
    for (;;) {
        if (next_leaf(&leaf)) {
            sum += problem.leaf(&data, &leaf);
            sum += serve(slots, requests, n, 0);
        } else if (are_out(requests, n)) {
            sum += serve(slots, requests, n, 1);
        } else {
            return sum;
        }
    }
}

static void run_master(int n_ranks)
{
    const int n = (n_ranks - 1) * SLOTS;
    struct slot *slots = must_get(((size_t)n + 1) * sizeof *slots);
    MPI_Request *requests = must_get(((size_t)n + 1) * sizeof *requests);
    double start_s;
    uint64_t sum;

    for (int i = 0; i < n; i++) {
        slots[i] = slot_new(1 + i / SLOTS, i % SLOTS);
        requests[i] = MPI_REQUEST_NULL;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start_s = now_s();
    if (data.b != NULL) {
        MPI_Bcast(data.b, problem.size * problem.size, MPI_DOUBLE, 0,
                  MPI_COMM_WORLD);
    }
    sum = deal(slots, requests, n);
    problem_end(&data, start_s, sum);
    for (int i = 0; i < n; i++) { // nothing: it is over
        MPI_Send(NULL, 0, MPI_BYTE, slots[i].other, slots[i].tag,
                 MPI_COMM_WORLD);
        slot_release(&slots[i]);
    }
    free(slots);
    free(requests);
}

// ---- a worker

static void answer(struct slot *slot)
{
    const struct data mine = {(uint32_t *)slot->out->bytes,
                              (double *)slot->in->bytes, data.b,
                              (double *)slot->out->bytes};
    struct item item = slot->in->item;

    MPI_Wait(&slot->sent, MPI_STATUS_IGNORE);
    memcpy(slot->out, slot->in, sizeof *slot->in + bytes_of(&item));
    if (unit > 0) { // it has no others than these
        item.part.end -= item.part.first;
        item.part.first = 0;
    }
    slot->out->found = problem.leaf(&mine, &item);
    slot_send(slot);
}

static void run_worker(void)
{
    struct slot slots[SLOTS];
    MPI_Request requests[SLOTS];

    for (int i = 0; i < SLOTS; i++) {
        slots[i] = slot_new(0, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (data.b != NULL) {
        MPI_Bcast(data.b, problem.size * problem.size, MPI_DOUBLE, 0,
                  MPI_COMM_WORLD);
    }
    for (int i = 0; i < SLOTS; i++) {
        slot_receive(&slots[i], &requests[i]);
    }
    for (;;) {
        MPI_Status status;
        int size;
        int i;

        MPI_Waitany(SLOTS, requests, &i, &status);
        MPI_Get_count(&status, MPI_BYTE, &size);
        if (size == 0) {
            break;
        }
        answer(&slots[i]);
        slot_receive(&slots[i], &requests[i]);
    }
    MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE); // nothing in each
    for (int i = 0; i < SLOTS; i++) {
        slot_release(&slots[i]);
    }
}

int main(int argc, char **argv)
{
    int rank;
    int n_ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    problem_choose(argc, argv);
    problem_begin(&data, get);
    unit = data.keys != NULL ? sizeof *data.keys
           : data.a != NULL  ? (size_t)problem.size * sizeof *data.a
                             : 0;
    limit = sizeof(struct parcel) + unit * (size_t)problem.cut;
    if (rank == 0) {
        run_master(n_ranks);
    } else {
        run_worker();
    }
    MPI_Finalize();
    return 0;
}
