// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads of several nodes that write the same bytes, or bytes beside each other, with
 * or without something that orders them.
 *
 *     races WHAT
 *
 * What is written differs from what is there, or nothing could be seen of it. Where two
 * threads are to write at one time, atomic operations on a page of `sequential` would
 * order them, and so would a message that one sends before the other has written: they
 * wait for each other by files.
 */
#include <fcntl.h>
#include <string.h>

#include "../program.h"

// So many cells are freed elsewhere that their holder is told of the first.
enum { N_ROUNDS = 6, N_CELLS = 64, PATIENCE_MS = 10000, N_FREED = 70 };

static TM_SHARED struct {
    tm_mutex mutex;
    tm_cond cond;
    tm_sem sem;
    tm_barrier barrier;
    int turn;
    const char *what;
    int64_t *block;
    int64_t *small;
} job;

TM_SHARED int64_t counter[8];

static int is(const char *what)
{
    return strcmp(job.what, what) == 0;
}

static void pass_barrier(void)
{
    OK(tm_barrier_wait(&job.barrier));
}

static const char *sign_of(unsigned me)
{
    static _Thread_local char name[32];

    snprintf(name, sizeof name, "written-by-%u", me);
    return name;
}

// This one has written: until all have. On hosts that share no folder they take their
// time.
static void await_writes(unsigned me, unsigned n)
{
    int file = creat(sign_of(me), 0600);
    int n_ms = 0;

    for (unsigned i = 0; i < n; i++) {
        while (access(sign_of(i), F_OK) != 0 && n_ms++ < PATIENCE_MS) {
            usleep(1000);
        }
    }
    close(file);
}

// One after the other, in turns of the same bytes.
static void by_mutex(unsigned me)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        OK(tm_mutex_lock(&job.mutex));
        job.block[2] += 1 + me;
        OK(tm_mutex_unlock(&job.mutex));
    }
}

static void by_barrier(unsigned me, unsigned n)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        if ((unsigned)i % n == me) {
            job.block[2] = 100 * i + me + 1;
        }
        if (i % 2 == 0) {
            pass_barrier();
        } else {
            OK(tm_iteration_end(&job.barrier));
        }
    }
}

static void by_condition(unsigned me, unsigned n)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        OK(tm_mutex_lock(&job.mutex));
        while ((unsigned)job.turn % n != me) {
            OK(tm_cond_wait(&job.cond, &job.mutex));
        }
        OK(tm_mutex_unlock(&job.mutex));
        job.block[2] = 100 * i + me + 1; // it is this thread's turn
        OK(tm_mutex_lock(&job.mutex));
        job.turn++;
        OK(tm_cond_broadcast(&job.cond));
        OK(tm_mutex_unlock(&job.mutex));
    }
}

static void by_semaphore(unsigned me)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        OK(tm_sem_wait(&job.sem));
        job.block[2] += 1 + me;
        OK(tm_sem_post(&job.sem));
    }
}

static void by_atomic(unsigned me, unsigned n)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        while ((unsigned)tm_atomic_load(&job.small[0]) % n != me) {
            tm_thread_yield();
        }
        job.block[2] = 100 * i + me + 1;
        tm_fetch_add(&job.small[0], 1);
    }
}

static void by_moving(unsigned me, unsigned n)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        job.block[me] = 100 * i + 1; // its own, wherever it is
        OK(tm_thread_migrate(tm_thread_self(), (me + i) % n));
        OK(tm_iteration_end(&job.barrier));
    }
}

// A child on some other node writes what its parent has written.
static void *write_cell(void *cell)
{
    *(int64_t *)cell += 7;
    return cell;
}

static void by_thread(unsigned me, unsigned n)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node =
                                         (unsigned)(me + i + 1) % (unsigned)n};
        tm_thread child;

        job.block[me] += 1;
        OK(tm_thread_create(&child, i % 2 ? &attr : NULL, write_cell,
                            &job.block[me]));
        OK(tm_thread_join(child, NULL));
        job.block[me] += 1;
    }
}

// Small blocks, which lie in one page, freed by one and given to another.
static void by_alloc(unsigned me)
{
    for (int i = 0; i < 20 * N_ROUNDS; i++) {
        unsigned char *bytes = tm_alloc(40, NULL);

        if (bytes == NULL) {
            FAIL("no memory for %d bytes", 40);
        }
        memset(bytes, (int)(me * 50 + i + 1), 40);
        if (i % 3 == 0) {
            tm_thread_yield();
        }
        for (int k = 0; k < 40; k++) {
            if (bytes[k] != (unsigned char)(me * 50 + i + 1)) {
                FAIL("byte %d is of another block", k);
            }
        }
        OK(tm_free(bytes));
    }
}

static void poll_for(int64_t value)
{
    while (tm_atomic_load(&job.small[0]) != value) {
        tm_thread_yield();
    }
}

// One thread frees cells that another node holds; that one gets one of them again and
// writes it, before the first one releases anything else. It says so by a file, which
// needs no release either.
static void reuse_cell(unsigned char *freed, const char *sign)
{
    unsigned char *cell = NULL;
    int file;

    while (cell != freed) { // in the end it is given out again
        usleep(1000);
        cell = tm_alloc(1500, NULL);
    }
    memset(cell, 2, 1500);
    file = creat(sign, 0600);
    poll_for(2);
    for (int i = 0; i < 1500; i++) {
        if (cell[i] != 2) {
            FAIL("byte %d of a block is %d", i, cell[i]);
        }
    }
    close(file);
    unlink(sign);
}

static void free_cells(unsigned char **cells, const char *sign)
{
    memset(cells[0], 1, 1500);
    for (int i = 0; i < N_FREED; i++) {
        OK(tm_free(cells[i]));
    }
    while (access(sign, F_OK) != 0) {
        tm_thread_yield();
    }
    tm_atomic_store(&job.small[0], 2); // releases
}

static void by_cell(unsigned me)
{
    static const char sign[] = "cell-is-used";
    unsigned char **cells;

    if (me == 0) {
        cells = tm_alloc(N_FREED * sizeof *cells, NULL);
        for (int i = 0; i < N_FREED; i++) {
            cells[i] = tm_alloc(1500, NULL);
        }
        tm_atomic_store(&job.small[1], (int64_t)(uintptr_t)cells);
    }
    pass_barrier();
    cells = (unsigned char **)(uintptr_t)tm_atomic_load(&job.small[1]);
    for (unsigned i = 0; i < 2 * N_ROUNDS; i++) { // until both have the page
        if (i % 2 == me) {
            memset(cells[0], (int)i, 1500);
        }
        pass_barrier();
    }
    if (me == 0) {
        reuse_cell(cells[0], sign);
    } else if (me == 1) {
        free_cells(cells, sign);
    }
}

// All write their own byte of the same words.
static void beside(unsigned me, unsigned n)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        for (unsigned at = me; at < 8 * N_CELLS; at += n) {
            ((unsigned char *)job.block)[at] += 1;
        }
        if (i % 2) {
            pass_barrier();
        }
    }
    pass_barrier();
}

static void ordered(unsigned me, unsigned n)
{
    if (is("mutex")) {
        by_mutex(me);
    } else if (is("barrier")) {
        by_barrier(me, n);
    } else if (is("condition")) {
        by_condition(me, n);
    } else if (is("semaphore")) {
        by_semaphore(me);
    } else if (is("atomic") || is("sequential")) {
        by_atomic(me, n);
    } else if (is("moving")) {
        by_moving(me, n);
    } else if (is("thread")) {
        by_thread(me, n);
    } else if (is("alloc")) {
        by_alloc(me);
    } else if (is("cell")) {
        by_cell(me);
    } else if (is("beside")) {
        beside(me, n);
    } else {
        FAIL("what is '%s'?", job.what);
    }
}

static void race(unsigned me, unsigned n)
{
    if (is("racy-iteration")) {
        for (int i = 1; i < N_ROUNDS; i++) {
            OK(tm_iteration_end(&job.barrier));
        }
    }
    if (is("racy-mutex") && me == 0) { // the others forget it
        OK(tm_mutex_lock(&job.mutex));
    }
    if (is("racy-variable")) {
        counter[3] = 11 + me;
    } else if (is("racy-small")) {
        job.small[1] = 11 + me;
    } else {
        for (unsigned i = 0; i < (is("racy-many") ? N_CELLS : 1); i++) {
            job.block[8 * i + 2] = 11 + me;
        }
    }
    await_writes(me, n);
    if (is("racy-mutex") && me == 0) {
        OK(tm_mutex_unlock(&job.mutex));
    }
    if (is("racy-iteration")) {
        OK(tm_iteration_end(&job.barrier));
    }
}

static void *work(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;
    const unsigned n = tm_node_count();

    if (is("racy-main")) {
        if (me > 0) {
            job.block[2] = 11 + me;
            await_writes(me, n); // main() is the first
        }
    } else if (strncmp(job.what, "racy", 4) == 0) {
        pass_barrier(); // the start of one is not ordered by that of another
        race(me, n);
        pass_barrier();
        unlink(sign_of(me));
    } else {
        ordered(me, n);
    }
    return NULL;
}

static void *allocate(size_t size, const char *name, tm_protocol protocol)
{
    const tm_alloc_attr attr = {.name = name, .protocol = protocol};
    void *block = tm_alloc(size, &attr); // the place that is told

    if (block == NULL) {
        FAIL("no memory for %zu bytes", size);
    }
    return block;
}

int main(int argc, char **argv)
{
    tm_thread threads[TM_MAX_NODES];
    char *what;

    tm_init(&argc, &argv);
    what = tm_alloc(64, NULL);
    snprintf(what, 64, "%s", argc > 1 ? argv[1] : "");
    job.what = what;
    job.block =
        allocate(8 * sizeof(int64_t) * N_CELLS, "grid", TM_PROTOCOL_DEFAULT);
    job.small =
        is("sequential")
            ? allocate(4 * sizeof(int64_t), "words", TM_SEQUENTIAL)
            : tm_alloc(4 * sizeof(int64_t), &(tm_alloc_attr){.name = "few"});
    OK(tm_barrier_init(&job.barrier, tm_node_count()));
    OK(tm_sem_init(&job.sem, 1));
    for (unsigned i = 0; i < tm_node_count(); i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)i};

        OK(tm_thread_create(&threads[i], &attr, work, (void *)(uintptr_t)i));
    }
    if (is("racy-main")) {
        job.block[2] = 5;
        await_writes(0, tm_node_count());
    }
    for (unsigned i = 0; i < tm_node_count(); i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    if (is("racy-main")) {
        for (unsigned i = 0; i < tm_node_count(); i++) {
            unlink(sign_of(i));
        }
    }
    return 0;
}
