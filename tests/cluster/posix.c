// SPDX-License-Identifier: BSD-3-Clause
/*
 * What ports of POSIX programs call: each is tried by threads on all nodes, and what
 * must hold is checked here.
 *
 *     posix TEST
 *
 * One file, though it is long: the tests share one record of shared memory and a way to
 * run on all nodes, and each is a few functions that no other needs.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "program.h"

enum { N_ROUNDS = 40, MOST_THREADS = 16, N_WORDS = 3000, N_ONCES = 2 };

static TM_SHARED struct {
    tm_mutex mutex;
    tm_mutex other;
    tm_cond cond;
    tm_sem sem;
    tm_rwlock lock;
    tm_once once[N_ONCES];
    tm_key key;
    tm_key other_key;
    tm_key old_key;
    tm_barrier barrier;
    unsigned n_threads;
    unsigned n_inside;
    unsigned n_done;
    unsigned n_late;
    unsigned is_go;
    uint32_t words[N_WORDS];
} job;

// A time from now.
static struct timespec in_ms(int64_t ms)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    ms += time.tv_nsec / 1000000;
    time.tv_sec += ms / 1000;
    time.tv_nsec = time.tv_nsec % 1000000 + ms % 1000 * 1000000;
    return time;
}

static void must_be_over(const struct timespec *time)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec < time->tv_sec ||
        (now.tv_sec == time->tv_sec && now.tv_nsec < time->tv_nsec)) {
        FAIL("%s", "gave up before the time was over");
    }
}

static void expect(tm_status got, tm_status expected, const char *what)
{
    if (got != expected) {
        FAIL("%s: %s, not %s", what, tm_strerror(got), tm_strerror(expected));
    }
}

#define EXPECT(expected, call) expect((call), (expected), #call)

// As many threads as there are nodes, one on each, and one more.
static void run_everywhere(void *(*body)(void *))
{
    tm_thread threads[MOST_THREADS];

    job.n_threads = tm_node_count() + 1;
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    for (size_t i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, body, (void *)i));
    }
    for (size_t i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
}

// ---- times ----

static void time_mutex(unsigned me)
{
    struct timespec time = in_ms(20);

    if (me == 0) {
        OK(tm_mutex_lock(&job.mutex));
    }
    OK(tm_barrier_wait(&job.barrier));
    if (me != 0) {
        EXPECT(TM_ETIMEDOUT, tm_mutex_timedlock(&job.mutex, &time));
        must_be_over(&time);
        EXPECT(TM_EBUSY, tm_mutex_trylock(&job.mutex));
    } else {
        EXPECT(TM_EDEADLK, tm_mutex_timedlock(&job.mutex, &time));
    }
    OK(tm_barrier_wait(&job.barrier));
    if (me == 0) {
        OK(tm_mutex_unlock(&job.mutex));
    }
    time = in_ms(100000);
    OK(tm_mutex_timedlock(&job.mutex, &time));
    job.n_done++;
    OK(tm_mutex_unlock(&job.mutex));
}

static void time_semaphore(unsigned me)
{
    struct timespec time = in_ms(10);

    EXPECT(TM_EBUSY, tm_sem_trywait(&job.sem));
    EXPECT(TM_ETIMEDOUT, tm_sem_timedwait(&job.sem, &time));
    must_be_over(&time);
    OK(tm_barrier_wait(&job.barrier));
    if (me == 0) {
        OK(tm_sem_post(&job.sem)); // the first of a chain
    }
    time = in_ms(100000);
    OK(tm_sem_timedwait(&job.sem, &time));
    job.n_inside++; // the semaphore orders it
    if (job.n_inside < job.n_threads) {
        OK(tm_sem_post(&job.sem));
    }
}

static void time_condition(unsigned me)
{
    struct timespec time = in_ms(10);

    OK(tm_mutex_lock(&job.mutex));
    EXPECT(TM_ETIMEDOUT, tm_cond_timedwait(&job.cond, &job.mutex, &time));
    must_be_over(&time);
    OK(tm_mutex_unlock(&job.mutex));
    OK(tm_barrier_wait(&job.barrier));
    OK(tm_mutex_lock(&job.mutex));
    if (me == 0) {
        job.is_go = 1;
        OK(tm_cond_broadcast(&job.cond));
    }
    time = in_ms(100000);
    while (!job.is_go) {
        OK(tm_cond_timedwait(&job.cond, &job.mutex, &time));
    }
    OK(tm_mutex_unlock(&job.mutex));
}

static void *keep_times(void *arg)
{
    const struct timespec wrong = {.tv_nsec = 1000000000};
    const unsigned me = (unsigned)(size_t)arg;

    EXPECT(TM_EINVAL, tm_mutex_timedlock(&job.mutex, &wrong));
    EXPECT(TM_EINVAL, tm_sem_timedwait(&job.sem, &wrong));
    EXPECT(TM_EINVAL, tm_cond_timedwait(&job.cond, &job.mutex, &wrong));
    time_mutex(me);
    OK(tm_iteration_end(&job.barrier));
    time_semaphore(me);
    OK(tm_iteration_end(&job.barrier));
    time_condition(me);
    return NULL;
}

static void times(void)
{
    OK(tm_sem_init(&job.sem, 0));
    run_everywhere(keep_times);
    if (job.n_done != job.n_threads || job.n_inside != job.n_threads) {
        FAIL("%u and %u of %u", job.n_done, job.n_inside, job.n_threads);
    }
}

// ---- signals against times that are over at about the same moment ----

// A producer and consumers that give up: nothing is lost, and nothing had twice.
static void *race_times(void *arg)
{
    uint64_t state = 17 * (size_t)arg;

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        struct timespec time = in_ms((int64_t)draw(&state, 4));
        tm_status status;

        if (draw(&state, 2) == 0) {
            OK(tm_mutex_lock(&job.mutex));
            job.n_inside++;
            OK(tm_mutex_unlock(&job.mutex));
            OK(tm_sem_post(&job.sem));
            continue;
        }
        status = tm_sem_timedwait(&job.sem, &time);
        if (status == TM_OK) {
            OK(tm_mutex_lock(&job.mutex));
            job.n_done++;
            OK(tm_mutex_unlock(&job.mutex));
        } else if (status != TM_ETIMEDOUT) {
            FAIL("%s", tm_strerror(status));
        }
    }
    return NULL;
}

static void races(void)
{
    OK(tm_sem_init(&job.sem, 0));
    run_everywhere(race_times);
    while (tm_sem_trywait(&job.sem) == TM_OK) {
        job.n_done++;
    }
    if (job.n_done != job.n_inside) {
        FAIL("%u posted, %u had", job.n_inside, job.n_done);
    }
}

// ---- kinds of mutexes ----

static void descend(unsigned depth)
{
    OK(depth % 2 == 0 ? tm_mutex_lock(&job.mutex)
                      : tm_mutex_trylock(&job.mutex));
    if (depth < 5) {
        descend(depth + 1);
    } else if (++job.n_inside != 1) {
        FAIL("%u inside", job.n_inside);
    } else {
        job.n_done++;
        EXPECT(TM_EBUSY, tm_mutex_init(&job.mutex, TM_MUTEX_NORMAL));
        EXPECT(TM_EINVAL, tm_cond_wait(&job.cond, &job.mutex));
        job.n_inside--;
    }
    OK(tm_mutex_unlock(&job.mutex));
}

static void *use_kinds(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        descend(0);
    }
    EXPECT(TM_EPERM, tm_mutex_unlock(&job.mutex));
    OK(tm_mutex_lock(&job.other));
    EXPECT(TM_EDEADLK, tm_mutex_lock(&job.other));
    OK(tm_mutex_unlock(&job.other));
    EXPECT(TM_EPERM, tm_mutex_unlock(&job.other));
    return NULL;
}

static void kinds(void)
{
    EXPECT(TM_EINVAL, tm_mutex_init(&job.mutex, (tm_mutex_type)3));
    OK(tm_mutex_init(&job.mutex, TM_MUTEX_RECURSIVE));
    OK(tm_mutex_init(&job.other, TM_MUTEX_ERRORCHECK));
    run_everywhere(use_kinds);
    if (job.n_done != job.n_threads * N_ROUNDS) {
        FAIL("%u passed", job.n_done);
    }
    OK(tm_mutex_destroy(&job.mutex));
    OK(tm_mutex_lock(&job.mutex));
    EXPECT(TM_EBUSY, tm_mutex_destroy(&job.mutex));
    EXPECT(TM_EDEADLK, tm_mutex_lock(&job.mutex));
    OK(tm_mutex_unlock(&job.mutex));
}

// ---- reader-writer locks ----

// All words are what the last writer made them.
static void read_words(void)
{
    const uint32_t first = job.words[0];

    for (unsigned i = 1; i < N_WORDS; i++) {
        if (job.words[i] != first + i) {
            FAIL("word %u is %u, not %u", i, job.words[i], first + i);
        }
        if (i % 1000 == 0) {
            tm_thread_yield();
        }
    }
}

static void write_words(void)
{
    job.words[0]++;
    for (unsigned i = 1; i < N_WORDS; i++) {
        job.words[i] = job.words[0] + i;
        if (i % 1000 == 0) {
            tm_thread_yield();
        }
    }
}

static tm_status lock_somehow(int to_write, uint64_t *state)
{
    struct timespec time = in_ms((int64_t)draw(state, 4));

    switch (draw(state, 3)) {
    case 0:
        return to_write ? tm_rwlock_trywrlock(&job.lock)
                        : tm_rwlock_tryrdlock(&job.lock);
    case 1:
        return to_write ? tm_rwlock_timedwrlock(&job.lock, &time)
                        : tm_rwlock_timedrdlock(&job.lock, &time);
    default:
        return to_write ? tm_rwlock_wrlock(&job.lock)
                        : tm_rwlock_rdlock(&job.lock);
    }
}

static void *use_book(void *arg)
{
    uint64_t state = 23 + 17 * (size_t)arg;

    for (unsigned i = 0; i < N_ROUNDS; i++) {
        const int to_write = draw(&state, 3) == 0;
        const tm_status status = lock_somehow(to_write, &state);

        if (status == TM_EBUSY || status == TM_ETIMEDOUT) {
            continue;
        }
        OK(status);
        if (to_write) {
            write_words();
            EXPECT(TM_EDEADLK, tm_rwlock_rdlock(&job.lock));
            OK(tm_rwlock_unlock(&job.lock));
        } else {
            read_words();
            OK(tm_rwlock_rdlock(&job.lock)); // whoever waits to write
            EXPECT(TM_EDEADLK, tm_rwlock_wrlock(&job.lock));
            OK(tm_rwlock_unlock(&job.lock));
            read_words();
            OK(tm_rwlock_unlock(&job.lock));
        }
    }
    return NULL;
}

// A thread that reads may move.
static void *read_and_move(void *arg)
{
    const struct timespec wrong = {.tv_nsec = -1};
    struct timespec time = in_ms(10);

    EXPECT(TM_EINVAL, tm_rwlock_timedrdlock(&job.lock, &wrong));
    EXPECT(TM_EINVAL, tm_rwlock_timedwrlock(&job.lock, &wrong));
    OK(tm_rwlock_rdlock(&job.lock));
    for (unsigned i = 0; i < 3; i++) {
        OK(tm_thread_migrate(tm_thread_self(),
                             (unsigned)((size_t)arg + i) % tm_node_count()));
        OK(tm_iteration_end(&job.barrier));
        read_words();
        EXPECT(TM_EBUSY, tm_rwlock_trywrlock(&job.lock));
    }
    OK(tm_rwlock_unlock(&job.lock));
    if (arg == NULL) {
        OK(tm_rwlock_wrlock(&job.lock));
        write_words();
    }
    OK(tm_barrier_wait(&job.barrier));
    if (arg != NULL) {
        EXPECT(TM_ETIMEDOUT, tm_rwlock_timedrdlock(&job.lock, &time));
        must_be_over(&time);
    }
    OK(tm_barrier_wait(&job.barrier));
    if (arg == NULL) {
        OK(tm_rwlock_unlock(&job.lock));
    }
    return NULL;
}

static void book(void)
{
    write_words();
    run_everywhere(use_book);
    run_everywhere(read_and_move);
    read_words();
}

// ---- once ----

static void do_first(void)
{
    job.n_done++;
    write_words();
}

static void do_second(void)
{
    EXPECT(TM_EDEADLK, tm_once_run(&job.once[1], do_second));
    OK(tm_once_run(&job.once[0], do_first));
    job.n_inside++;
}

static void *do_once(void *arg)
{
    EXPECT(TM_EINVAL, tm_once_run(&job.once[0], NULL));
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        OK(tm_once_run(&job.once[((size_t)arg + i) % 2],
                       ((size_t)arg + i) % 2 == 0 ? do_first : do_second));
        OK(tm_iteration_end(&job.barrier));
        if (job.n_done != 1 || job.n_inside > 1) {
            FAIL("done %u and %u times", job.n_done, job.n_inside);
        }
        read_words();
    }
    return NULL;
}

static void first(void)
{
    write_words();
    run_everywhere(do_once);
    if (job.n_done != 1 || job.n_inside != 1) {
        FAIL("done %u and %u times", job.n_done, job.n_inside);
    }
}

// ---- memory and values of a thread's own ----

struct own {
    unsigned n_moves;
    struct own_list {
        struct own_list *next;
        uint64_t number;
        unsigned char bytes[300];
    } * list;
};

static void count_end(void *value)
{
    struct own *own = value;

    if (tm_key_get(job.key) != NULL) {
        FAIL("%s", "the value is still there");
    }
    OK(tm_mutex_lock(&job.mutex));
    job.n_done += own->n_moves;
    OK(tm_mutex_unlock(&job.mutex));
    OK(tm_thread_free(own));
}

static void set_again(void *value)
{
    OK(tm_mutex_lock(&job.mutex));
    job.n_late++;
    OK(tm_mutex_unlock(&job.mutex));
    OK(tm_key_set(job.other_key, value)); // to no end
}

static void add_to_list(struct own *own, uint64_t number)
{
    struct own_list *item = tm_thread_alloc(sizeof *item);

    if (item == NULL) {
        FAIL("no room for item %u", (unsigned)number);
    }
    item->number = number;
    memset(item->bytes, (int)number, sizeof item->bytes);
    item->next = own->list;
    own->list = item;
}

// Those with odd numbers go.
static void check_list(struct own *own, uint64_t last)
{
    struct own_list **link = &own->list;
    uint64_t number = last;

    while (*link != NULL) {
        struct own_list *item = *link;

        if (item->number != number || item->bytes[0] != (unsigned char)number ||
            item->bytes[299] != (unsigned char)number) {
            FAIL("item %u is %u", (unsigned)number, (unsigned)item->number);
        }
        if (number % 2 == 1) {
            *link = item->next;
            OK(tm_thread_free(item));
            EXPECT(TM_ENOBLOCK, tm_thread_free(item));
            number -= 1;
        } else {
            link = &item->next;
            number -= 2;
        }
    }
    if (number != 0) {
        FAIL("item %u is lost", (unsigned)number);
    }
}

static void *own_things(void *arg)
{
    struct own *own = tm_thread_alloc(sizeof *own);
    char local;

    EXPECT(TM_EINVAL, tm_key_set(0, own));
    EXPECT(TM_ENOBLOCK, tm_thread_free(&local));
    if (tm_key_get(job.key) != NULL || tm_thread_alloc(0) != NULL ||
        tm_thread_alloc((size_t)1 << 40) != NULL) {
        FAIL("%s", "there is something");
    }
    own->n_moves = 0;
    own->list = NULL;
    OK(tm_key_set(job.key, own));
    OK(tm_key_set(job.other_key, &job));
    OK(tm_key_set(job.old_key,
                  &job)); // sets the other one, which goes on 4 times
    for (unsigned i = 1; i <= N_ROUNDS; i++) {
        OK(tm_thread_migrate(tm_thread_self(),
                             (unsigned)((size_t)arg + i) % tm_node_count()));
        add_to_list(own, i);
        OK(tm_iteration_end(&job.barrier));
        if (tm_key_get(job.key) != own || tm_key_get(job.other_key) != &job) {
            FAIL("round %u: the values have changed", i);
        }
        check_list(own, i);
        own->n_moves++;
    }
    if ((size_t)arg % 2 == 0) {
        tm_thread_exit(NULL);
    }
    return NULL;
}

// Memory of a thread that has ended is given back, here and where it was before.
static void *take_much(void *arg)
{
    const size_t size = (size_t)10 << 20;
    char *block = tm_thread_alloc(size);

    if (block == NULL || tm_thread_alloc(size) != NULL) {
        FAIL("%s", "too little room, or too much");
    }
    block[0] = block[size - 1] = 1;
    OK(tm_thread_migrate(tm_thread_self(),
                         (unsigned)((size_t)arg + 1) % tm_node_count()));
    OK(tm_iteration_end(&job.barrier));
    if (block[0] + block[size - 1] != 2) {
        FAIL("%s", "the ends have changed");
    }
    return NULL;
}

static void own(void)
{
    tm_key newer;

    OK(tm_key_create(&job.old_key, set_again));
    OK(tm_key_create(&job.key, count_end));
    OK(tm_key_create(&job.other_key, set_again));
    OK(tm_key_set(job.key, &newer));
    run_everywhere(own_things);
    run_everywhere(take_much);
    run_everywhere(take_much);
    if (tm_key_get(job.key) != &newer) {
        FAIL("%s", "the value of main() has changed");
    }
    OK(tm_key_set(job.key, NULL));
    if (job.n_done != job.n_threads * N_ROUNDS ||
        job.n_late != job.n_threads * 5) {
        FAIL("%u moves, %u destroyed", job.n_done, job.n_late);
    }
    OK(tm_key_set(job.old_key, &newer));
    OK(tm_key_delete(job.old_key));
    EXPECT(TM_EINVAL, tm_key_delete(job.old_key));
    OK(tm_key_create(&newer, NULL));
    if (tm_key_get(newer) != NULL || newer == job.old_key) {
        FAIL("%s", "a new key has an old value");
    }
}

// ---- blocks ----

static void expect_bytes(const unsigned char *block, size_t from, size_t to,
                         unsigned value)
{
    for (size_t i = from; i < to; i++) {
        if (block[i] != (unsigned char)value) {
            FAIL("byte %zu of %p is %u, not %u", i, (const void *)block,
                 block[i], value);
        }
    }
}

static void align_blocks(void)
{
    void *blocks[40];
    unsigned n = 0;

    for (size_t alignment = 1; alignment <= TM_PAGE_SIZE; alignment *= 2) {
        for (size_t size = 1; size <= 5000; size = size * 17 + 3) {
            const tm_alloc_attr attr = {.alignment = alignment};
            unsigned char *block = tm_alloc(size, &attr);

            if (block == NULL || (size_t)block % alignment != 0 ||
                (size_t)block % 16 != 0) {
                FAIL("%zu bytes, alignment %zu: %p", size, alignment,
                     (void *)block);
            }
            expect_bytes(block, 0, size, 0);
            memset(block, 0xff, size);
            blocks[n++ % 40] = block;
        }
    }
    for (unsigned i = 0; i < (n < 40 ? n : 40); i++) {
        OK(tm_free(blocks[i]));
    }
}

static void *resize_blocks(void *arg)
{
    static const size_t sizes[] = {100, 300, 2048, 2049, 70000, 9000, 50, 8};
    const tm_alloc_attr attr = {
        .name = "list", .placement = TM_BLOCK, .protocol = TM_SEQUENTIAL};
    const unsigned value = 1 + (unsigned)(size_t)arg;
    unsigned char *block = (size_t)arg % 2 == 0 ? NULL : tm_alloc(1, &attr);
    size_t before = 0;

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        block = tm_realloc(block, sizes[i]);
        if (block == NULL) {
            FAIL("no %zu bytes", sizes[i]);
        }
        if (before < sizes[i]) {
            expect_bytes(block, 0, before, value);
            expect_bytes(block, before, sizes[i], 0);
        } else {
            expect_bytes(block, 0, sizes[i], value);
        }
        memset(block, (int)value, sizes[i]);
        before = sizes[i];
        if (tm_realloc(block, sizes[i]) != block) {
            FAIL("%s", "a block of that size has moved");
        }
        OK(tm_iteration_end(&job.barrier));
    }
    if (tm_realloc(block, 0) != NULL || tm_realloc(block + 1, 9) != NULL) {
        FAIL("%s", "a block is made of nothing");
    }
    expect_bytes(block, 0, before, value);
    OK(tm_free(block));
    return NULL;
}

static void blocks(void)
{
    if (tm_alloc(10, &(tm_alloc_attr){.alignment = 48}) != NULL ||
        tm_alloc(10, &(tm_alloc_attr){.alignment = 2 * TM_PAGE_SIZE}) != NULL) {
        FAIL("%s", "a block is aligned to what cannot be");
    }
    align_blocks();
    run_everywhere(resize_blocks);
}

// ---- ends of threads ----

static __attribute__((noinline)) void leave_early(size_t kind)
{
    const size_t result = 1000 + (size_t)tm_thread_self();

    switch (kind) {
    case 1:
        tm_thread_exit((void *)result);
    case 2:
        pthread_exit((void *)result);
    default:
        thrd_exit((int)result);
    }
}

static void *exit_somewhere(void *arg)
{
    OK(tm_iteration_end(&job.barrier));
    if (arg != NULL) {
        leave_early((size_t)arg);
    }
    return (void *)(size_t)(1000 + tm_thread_self());
}

// A kernel thread of the program's own.
static void *exit_alone(void *arg)
{
    pthread_exit(arg);
}

static void end_kernel_thread(void)
{
    void *result = NULL;
    pthread_t thread;

    if (pthread_create(&thread, NULL, exit_alone, &job) != 0 ||
        pthread_join(thread, &result) != 0 || result != &job) {
        FAIL("%s", "a kernel thread has another result");
    }
}

static void *count_down(void *arg)
{
    tm_mutex *mutex = arg;

    OK(tm_mutex_lock(mutex));
    job.n_done++;
    OK(tm_cond_signal(&job.cond));
    OK(tm_mutex_unlock(mutex));
    return NULL;
}

// Detached at the start, and later, perhaps when it has ended.
static void detach_many(unsigned n)
{
    const tm_thread_attr attr = {.is_detached = 1};
    tm_thread thread;

    for (unsigned i = 0; i < n; i++) {
        OK(tm_thread_create(&thread, i % 2 == 0 ? &attr : NULL, count_down,
                            &job.mutex));
        if (i % 2 == 1) {
            OK(tm_thread_detach(thread));
        }
        if (tm_thread_join(thread, NULL) == TM_OK) {
            FAIL("thread %u is joined", (unsigned)thread);
        }
    }
    OK(tm_mutex_lock(&job.mutex));
    while (job.n_done < n) {
        OK(tm_cond_wait(&job.cond, &job.mutex));
    }
    OK(tm_mutex_unlock(&job.mutex));
}

static void ends(void)
{
    tm_thread threads[4];

    EXPECT(TM_ENOTHREAD, tm_thread_join(0, NULL));
    EXPECT(TM_EINVAL, tm_thread_detach(0));
    EXPECT(TM_ENOTHREAD, tm_thread_detach(77));
    OK(tm_barrier_init(&job.barrier, 4));
    for (size_t i = 0; i < 4; i++) {
        OK(tm_thread_create(&threads[i], NULL, exit_somewhere, (void *)i));
    }
    for (size_t i = 0; i < 4; i++) {
        void *result;

        OK(tm_thread_join(threads[i], &result));
        if ((size_t)result != 1000 + threads[i]) {
            FAIL("thread %u: %zu", (unsigned)threads[i], (size_t)result);
        }
    }
    detach_many(200);
    end_kernel_thread();
}

static void *say_the_last_word(void *arg)
{
    struct timespec time = in_ms(300);

    OK(tm_mutex_lock(&job.mutex));
    while (tm_cond_timedwait(&job.cond, &job.mutex, &time) == TM_OK) {
    }
    job.n_done++;
    if (job.n_done == (unsigned)(size_t)arg) {
        printf("the last word\n");
        fflush(stdout);
    }
    OK(tm_mutex_unlock(&job.mutex));
    return NULL;
}

// main() leaves before its threads.
static void start_last_words(void)
{
    const tm_thread_attr attr = {.is_detached = 1};

    for (unsigned i = 0; i < 4; i++) {
        OK(tm_thread_create(NULL, i % 2 == 0 ? &attr : NULL, say_the_last_word,
                            (void *)4));
    }
}

static void main_exits(void)
{
    start_last_words();
    tm_thread_exit(NULL);
}

static void main_exits_as_posix(void)
{
    start_last_words();
    pthread_exit(NULL);
}

// ---- a long wait is no deadlock ----

static void *wait_for_long(void *arg)
{
    struct timespec time = in_ms(2500);

    (void)arg;
    EXPECT(TM_ETIMEDOUT, tm_sem_timedwait(&job.sem, &time));
    return NULL;
}

static void long_waits(void)
{
    OK(tm_sem_init(&job.sem, 0));
    run_everywhere(wait_for_long);
}

static void *tell_node(void *arg)
{
    return (char *)arg + tm_node_self();
}

// A thread starts where it is to; what is no place is refused.
static void places(void)
{
    const unsigned n_nodes = tm_node_count();
    const tm_thread_attr wrong[] = {
        {.placement = TM_ON_NODE, .node = n_nodes},
        {.placement = TM_ON_NODE, .node = 1u << 31},
        {.placement = TM_BLOCK},
        {.placement = TM_CYCLIC},
        {.placement = (tm_placement)99},
    };
    tm_thread thread;

    for (unsigned node = 0; node < n_nodes; node++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = node};
        void *result = NULL;

        OK(tm_thread_create(&thread, &attr, tell_node, (void *)100));
        OK(tm_thread_join(thread, &result));
        EXPECT(100 + (int)node, (int)(uintptr_t)result);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT(TM_EINVAL,
               tm_thread_create(&thread, &wrong[i], tell_node, NULL));
    }
    EXPECT(TM_EINVAL, tm_thread_create(&thread, NULL, NULL, NULL));
}

// ---- sleep ----

enum { NAP_MS = 20, MOST_NAPS = 500, N_NAPS = 10 };

static atomic_int has_run; // of each node

static void *run_meanwhile(void *arg)
{
    atomic_store(&has_run, 1);
    return arg;
}

// With what is to wait for descriptors, and has none.
static int nap_of_none(unsigned kind)
{
    const struct timespec time = {.tv_nsec = NAP_MS * 1000000};
    struct timeval left = {.tv_usec = NAP_MS * 1000};

    switch (kind) {
    case 5:
        return poll(NULL, 0, NAP_MS);
    case 6:
        return ppoll(NULL, 0, &time, NULL);
    case 7:
        return pselect(0, NULL, NULL, NULL, &time, NULL);
    case 8:
        return thrd_sleep(&time, NULL);
    default:
        return select(0, NULL, NULL, NULL, &left) + (int)left.tv_usec;
    }
}

static int nap(unsigned kind)
{
    struct timespec time = {.tv_nsec = NAP_MS * 1000000};
    int flags = 0;

    switch (kind) {
    case 0:
        return usleep(NAP_MS * 1000);
    case 1:
        return nanosleep(&time, NULL);
    case 2:
        return (int)sleep(1);
    case 3:
        time = in_ms(NAP_MS);
        flags = TIMER_ABSTIME;
        break;
    case 4:
        break;
    default:
        return nap_of_none(kind);
    }
    return clock_nanosleep(CLOCK_REALTIME, flags, &time, NULL);
}

static void must_have_slept(unsigned kind, const struct timespec *began)
{
    struct timespec time = *began;

    time.tv_sec += kind == 2;
    time.tv_nsec += kind == 2 ? 0 : NAP_MS * 1000000 - 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    must_be_over(&time);
}

// Another thread of the node runs meanwhile, also if there is one worker.
static void *sleep_here(void *arg)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                 .node = tm_node_self()};
    struct timespec began;
    tm_thread thread;

    for (unsigned kind = 0; kind < N_NAPS; kind++) {
        atomic_store(&has_run, 0);
        OK(tm_thread_create(&thread, &attr, run_meanwhile, NULL));
        for (unsigned i = 0; !atomic_load(&has_run); i++) {
            if (i == MOST_NAPS) {
                FAIL("sleeping as in %u lets nobody run", kind);
            }
            began = in_ms(0);
            OK(nap(kind));
            must_have_slept(kind, &began);
        }
        OK(tm_thread_join(thread, NULL));
    }
    return arg;
}

static void naps(void)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                 .node = tm_node_count() - 1};
    const struct timespec wrong = {.tv_nsec = 1000000000};
    const struct timespec *volatile none = NULL;
    tm_thread thread;

    OK(tm_thread_create(&thread, &attr, sleep_here, NULL));
    OK(tm_thread_join(thread, NULL));
    sleep_here(NULL);
    if (nanosleep(&wrong, NULL) == 0 || errno != EINVAL) {
        FAIL("%s", "a time that is none is slept");
    }
    if (nanosleep(none, NULL) == 0 || errno != EFAULT ||
        clock_nanosleep(CLOCK_MONOTONIC, 0, none, NULL) != EFAULT ||
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, none, NULL) != EFAULT) {
        FAIL("%s", "what cannot be read is slept");
    }
}

// ---- a lock of the C library

enum { N_READERS = 3, N_LINES = 60, LINE = 32 };

static FILE *lines; // of this node
static pthread_once_t opening = PTHREAD_ONCE_INIT;
static TM_SHARED wchar_t (*pages)[1024]; // [N_READERS * N_LINES]

static void open_lines(void)
{
    lines = tmpfile();
    if (lines == NULL) {
        FAIL("%s", "no file");
    }
    for (unsigned i = 0; i < N_READERS * N_LINES; i++) {
        fwprintf(lines, L"line %u\n", i);
    }
    rewind(lines);
}

// What is read goes to a page that is not here yet: the C library has locked the file
// when it comes.
static void *read_lines(void *arg)
{
    const unsigned first = (unsigned)(uintptr_t)arg * N_LINES;

    pthread_once(&opening, open_lines);
    OK(tm_barrier_wait(&job.barrier));
    for (unsigned i = 0; i < N_LINES; i++) {
        if (fgetws(pages[first + i * 23 % N_LINES], LINE, lines) == NULL) {
            FAIL("%s", "a line was read twice");
        }
    }
    return NULL;
}

static void streams(void)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                 .node = tm_node_count() - 1};
    tm_thread threads[N_READERS];
    bool is_read[N_READERS * N_LINES] = {false};

    pages = tm_alloc(sizeof *pages * N_READERS * N_LINES, NULL);
    memset(pages, 0, sizeof *pages * N_READERS * N_LINES);
    OK(tm_barrier_init(&job.barrier, N_READERS));
    for (uintptr_t i = 0; i < N_READERS; i++) {
        OK(tm_thread_create(&threads[i], &attr, read_lines, (void *)i));
    }
    for (unsigned i = 0; i < N_READERS; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    for (unsigned i = 0; i < N_READERS * N_LINES; i++) {
        unsigned number;

        if (swscanf(pages[i], L"line %u\n", &number) != 1 ||
            number >= N_READERS * N_LINES || is_read[number]) {
            FAIL("page %u has %ls", i, pages[i]);
        }
        is_read[number] = true;
    }
    tm_free(pages);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"times", times},
        {"races", races},
        {"kinds", kinds},
        {"ends", ends},
        {"book", book},
        {"own", own},
        {"blocks", blocks},
        {"first", first},
        {"places", places},
        {"naps", naps},
        {"streams", streams},
        {"main_exits", main_exits},
        {"main_exits_as_posix", main_exits_as_posix},
        {"long_waits", long_waits},
    };

    OK(tm_init(&argc, &argv));
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (argc == 2 && strcmp(argv[1], tests[i].name) == 0) {
            tests[i].run();
            printf("%s: good\n", argv[1]);
            return 0;
        }
    }
    fprintf(stderr, "usage: posix TEST\n");
    return 64;
}
