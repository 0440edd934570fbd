// SPDX-License-Identifier: BSD-3-Clause
/*
 * The updates of gups.c, without mutexes: each thread has a part of the table, and leaves what it
 * has drawn for others' parts in outboxes. At a barrier all take what was left for them. So
 * memory is written by one thread and read by another, as MPI programs do it with messages.
 *
 *     gups_exchange [THREADS [WORDS [BATCHES]]]
 */
#include "gups_end.h"

struct outbox {
    uint64_t n;
    uint64_t updates[GUPS_BATCH];
};

static TM_SHARED struct {
    tm_barrier barrier;
    uint64_t *table; // [size]
    struct outbox
        *outboxes; // [2][n_threads][n_threads]: batch modulo 2, from, to
} job;

static struct outbox *outbox_of(unsigned batch, size_t from, size_t to)
{
    const size_t n = program.n_threads;

    return &job.outboxes[(batch % 2 * n + from) * n + to];
}

// The thread whose part has a word.
static size_t owner_of(size_t place)
{
    size_t thread = place * program.n_threads / program.size;

    while (place >= part_start(program.size, thread + 1)) {
        thread++;
    }
    return thread;
}

static void draw(size_t me, unsigned batch)
{
    for (size_t to = 0; to < program.n_threads; to++) {
        outbox_of(batch, me, to)->n = 0;
    }
    for (unsigned i = 0; i < GUPS_BATCH; i++) {
        const uint64_t drawn = gups_draw(me, batch, i);
        struct outbox *outbox =
            outbox_of(batch, me, owner_of(gups_place(drawn, program.size)));

        outbox->updates[outbox->n++] = drawn;
    }
}

static void apply(size_t me, unsigned batch)
{
    for (size_t from = 0; from < program.n_threads; from++) {
        const struct outbox *outbox = outbox_of(batch, from, me);

        for (uint64_t i = 0; i < outbox->n; i++) {
            job.table[gups_place(outbox->updates[i], program.size)] ^=
                outbox->updates[i];
        }
    }
}

// With two sets of outboxes one barrier is enough: when a set is filled again all have passed
// another one since they took from it.
static void *update(void *arg)
{
    const size_t me = (size_t)arg;

    for (unsigned batch = 0; batch < program.n_rounds; batch++) {
        draw(me, batch);
        tm_barrier_wait(&job.barrier);
        apply(me, batch);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    program_begin(argc, argv, (struct program){2, 1 << 18, 200});
    job.table = program_alloc("table", program.size * sizeof(uint64_t));
    job.outboxes =
        program_alloc("outboxes", 2 * (size_t)program.n_threads *
                                      program.n_threads * sizeof *job.outboxes);
    tm_barrier_init(&job.barrier, program.n_threads);
    program_run(update);
    gups_end(job.table);
    return 0;
}
