// SPDX-License-Identifier: BSD-3-Clause
/*
 * Data that are bound to mutexes (protocol entry).
 *
 *     bound mixed SEED N      two threads a node, N operations each, on objects of all
 *                             sizes side by side, a mutex for each; on a buffer that fills
 *                             and empties, with condition variables; on a record that goes
 *                             from mutex to mutex; on a table with a reader-writer
 *                             lock. Every word is checked.
 *     bound large SEED N      a thread a node, N times: lock a mutex, and a reader-writer
 *                             lock, each with more than goes into one message.
 *     bound migratory 1 N     a thread a node, N times each: lock, 64 words on each of 4
 *                             pages, unlock. Prints messages and bytes of an operation,
 *                             and fails if they are too many.
 */
#include "program.h"

#include <string.h>

enum {
    N_OBJECTS = 48,
    MOST_WORDS = 900,
    N_SLOTS = 5,
    N_HOMES = 4,
    TABLE_WORDS = 1100, // of three pages
    MOST_THREADS = 32,
    LARGE_WORDS = 70000, // two messages' and more
    N_PAGES = 4,
    N_WORDS = 64, // of a page
    WORDS_A_PAGE = TM_PAGE_SIZE / sizeof(uint64_t),
    MOST_MESSAGES = 4, // an operation
    MOST_BYTES = 5 * 1024,
    QUIET_BYTES = 20000,
};

/** Words of an object: how often it was used, then what that gives. */
struct object {
    uint64_t *words;
    unsigned n_words;
};

/** Bound to one mutex. */
struct buffer {
    unsigned first;
    unsigned n;
    uint64_t n_put;
    uint64_t n_taken;
    uint64_t slots[N_SLOTS][10];
};

/** Goes from mutex to mutex; `home` says which it is bound to. */
struct wanderer {
    uint64_t home; // bound to a mutex of its own
    uint64_t words[20];
};

static TM_SHARED struct {
    uint64_t seed;
    unsigned n_threads;
    unsigned n_operations;
    struct object objects[N_OBJECTS];
    struct buffer *buffer;
    struct wanderer *wanderer;
    uint64_t *table;    // [TABLE_WORDS]
    uint64_t *large[2]; // [LARGE_WORDS] with a mutex, with a reader-writer lock
    uint64_t *pages;
    tm_barrier barrier;
    tm_mutex mutexes[N_OBJECTS];
    tm_mutex buffer_mutex;
    tm_cond has_room;
    tm_cond has_item;
    tm_mutex home_mutex;
    tm_mutex homes[N_HOMES];
    tm_rwlock table_lock;
    uint64_t used[MOST_THREADS]; // by each: objects
    uint64_t stepped[MOST_THREADS];
    uint64_t written[MOST_THREADS]; // the table
} job;

static void *allocate(const char *name, size_t size)
{
    const tm_alloc_attr attr = {.name = name, .protocol = TM_ENTRY};
    void *block = tm_alloc(size, &attr);

    if (block == NULL) {
        FAIL("no memory for %zu bytes", size);
    }
    return block;
}

// ---- objects

static void make_objects(void)
{
    uint64_t state = mix(job.seed, 1);
    unsigned n_words = 0;
    uint64_t *words;

    for (unsigned i = 0; i < N_OBJECTS; i++) {
        const unsigned most = i % 4 == 0 ? MOST_WORDS : 12;

        job.objects[i].n_words = 1 + (unsigned)draw(&state, most);
        n_words += job.objects[i].n_words;
    }
    words = allocate("objects", n_words * sizeof *words);
    for (unsigned i = 0; i < N_OBJECTS; i++) {
        job.objects[i].words = words;
        OK(tm_bind(&job.mutexes[i], words,
                   job.objects[i].n_words * sizeof *words));
        words += job.objects[i].n_words;
    }
}

static uint64_t word_of(unsigned object, uint64_t count, unsigned i)
{
    return count == 0 ? 0 : mix(count * N_OBJECTS + object, i);
}

// The caller has its mutex.
static void check_object(unsigned number)
{
    const struct object *object = &job.objects[number];

    for (unsigned i = 1; i < object->n_words; i++) {
        if (object->words[i] != word_of(number, object->words[0], i)) {
            FAIL("object %u, used %" PRIu64 " times: word %u is %" PRIx64,
                 number, object->words[0], i, object->words[i]);
        }
    }
}

static void use_object(unsigned me, uint64_t *state)
{
    const unsigned number = (unsigned)draw(state, N_OBJECTS);
    const struct object *object = &job.objects[number];
    const int only_looks = draw(state, 4) == 0;

    if (draw(state, 4) != 0) {
        OK(tm_mutex_lock(&job.mutexes[number]));
    } else if (tm_mutex_trylock(&job.mutexes[number]) != TM_OK) {
        return;
    }
    check_object(number);
    if (!only_looks) {
        object->words[0]++;
        for (unsigned i = 1; i < object->n_words; i++) {
            object->words[i] = word_of(number, object->words[0], i);
            if (i % 100 == 0) {
                tm_thread_yield();
            }
        }
        job.used[me]++;
    }
    OK(tm_mutex_unlock(&job.mutexes[number]));
}

// ---- the buffer: even threads put, odd ones take

static void put_item(uint64_t item)
{
    struct buffer *buffer = job.buffer;
    uint64_t *slot;

    OK(tm_mutex_lock(&job.buffer_mutex));
    while (buffer->n == N_SLOTS) {
        OK(tm_cond_wait(&job.has_room, &job.buffer_mutex));
    }
    slot = buffer->slots[(buffer->first + buffer->n++) % N_SLOTS];
    for (unsigned i = 0; i < 10; i++) {
        slot[i] = mix(item, i);
    }
    slot[0] = item;
    buffer->n_put++;
    OK(tm_cond_signal(&job.has_item));
    OK(tm_mutex_unlock(&job.buffer_mutex));
}

static void take_item(void)
{
    struct buffer *buffer = job.buffer;
    const uint64_t *slot;

    OK(tm_mutex_lock(&job.buffer_mutex));
    while (buffer->n == 0) {
        OK(tm_cond_wait(&job.has_item, &job.buffer_mutex));
    }
    slot = buffer->slots[buffer->first];
    for (unsigned i = 1; i < 10; i++) {
        if (slot[i] != mix(slot[0], i)) {
            FAIL("item %" PRIu64 ": word %u is wrong", slot[0], i);
        }
    }
    buffer->first = (buffer->first + 1) % N_SLOTS;
    buffer->n--;
    buffer->n_taken++;
    OK(tm_cond_signal(&job.has_room));
    OK(tm_mutex_unlock(&job.buffer_mutex));
}

// ---- the wanderer

static void lock_two(unsigned a, unsigned b)
{
    OK(tm_mutex_lock(&job.homes[a < b ? a : b]));
    if (a != b) {
        OK(tm_mutex_lock(&job.homes[a < b ? b : a]));
    }
}

static void unlock_two(unsigned a, unsigned b)
{
    OK(tm_mutex_unlock(&job.homes[a]));
    if (a != b) {
        OK(tm_mutex_unlock(&job.homes[b]));
    }
}

// Take it to another mutex, and a step further.
static void move_wanderer(unsigned me, uint64_t *state)
{
    struct wanderer *wanderer = job.wanderer;
    const unsigned to = (unsigned)draw(state, N_HOMES);
    unsigned home;

    OK(tm_mutex_lock(&job.home_mutex));
    home = (unsigned)wanderer->home;
    lock_two(home, to);
    for (unsigned i = 1; i < 20; i++) {
        if (wanderer->words[i] != wanderer->words[0] * i) {
            FAIL("the wanderer, step %" PRIu64 ": word %u is %" PRIu64,
                 wanderer->words[0], i, wanderer->words[i]);
        }
    }
    OK(tm_bind(&job.homes[to], wanderer->words, sizeof wanderer->words));
    wanderer->words[0]++;
    for (unsigned i = 1; i < 20; i++) {
        wanderer->words[i] += i;
    }
    wanderer->home = to;
    unlock_two(home, to);
    OK(tm_mutex_unlock(&job.home_mutex));
    job.stepped[me]++;
}

// ---- the table: a count, which the other words follow from

static void check_table(void)
{
    for (unsigned i = 1; i < TABLE_WORDS; i++) {
        const uint64_t right = job.table[0] == 0 ? 0 : mix(job.table[0], i);

        if (job.table[i] != right && (i % 7 == job.table[0] % 7 || i < 100)) {
            FAIL("the table, written %" PRIu64 " times: word %u is %" PRIx64,
                 job.table[0], i, job.table[i]);
        }
    }
}

static void read_table(void)
{
    uint64_t count;

    OK(tm_rwlock_rdlock(&job.table_lock));
    check_table();
    count = job.table[0];
    tm_thread_yield();
    OK(tm_rwlock_rdlock(&job.table_lock)); // once more
    OK(tm_rwlock_unlock(&job.table_lock));
    if (job.table[0] != count) {
        FAIL("the table is written while it is read, %" PRIu64, count);
    }
    OK(tm_rwlock_unlock(&job.table_lock));
}

// The first words, and one in seven of the others.
static void write_table(unsigned me)
{
    OK(tm_rwlock_wrlock(&job.table_lock));
    check_table();
    job.table[0]++;
    for (unsigned i = 1; i < TABLE_WORDS; i++) {
        if (i < 100 || i % 7 == job.table[0] % 7) {
            job.table[i] = mix(job.table[0], i);
        }
    }
    job.written[me]++;
    OK(tm_rwlock_unlock(&job.table_lock));
}

// ---- mixed

static void *mix_all(void *number)
{
    const unsigned me = (unsigned)(uintptr_t)number;
    uint64_t state = mix(job.seed, 100 + me);

    for (unsigned i = 0; i < job.n_operations; i++) {
        use_object(me, &state);
        if (i % 3 == 0 && me % 2 == 0) {
            put_item((uint64_t)me << 32 | i);
        } else if (i % 3 == 0) {
            take_item();
        }
        if (i % 5 == 0) {
            move_wanderer(me, &state);
        }
        if (draw(&state, 3) > 0) {
            read_table();
        } else {
            write_table(me);
        }
        if (i % 50 == 0) {
            OK(tm_iteration_end(&job.barrier));
        }
    }
    return NULL;
}

static void make_mixed(void)
{
    make_objects();
    job.buffer = allocate("buffer", sizeof *job.buffer);
    OK(tm_bind(&job.buffer_mutex, job.buffer, sizeof *job.buffer));
    job.wanderer = allocate("wanderer", sizeof *job.wanderer);
    OK(tm_bind(&job.home_mutex, &job.wanderer->home,
               sizeof job.wanderer->home));
    OK(tm_bind(&job.homes[0], job.wanderer->words, sizeof job.wanderer->words));
    job.table = allocate("table", TABLE_WORDS * sizeof *job.table);
    OK(tm_bind_rwlock(&job.table_lock, job.table,
                      TABLE_WORDS * sizeof *job.table));
}

static void check_mixed(void)
{
    uint64_t n_used = 0;
    uint64_t n_stepped = 0;
    uint64_t n_written = 0;

    for (unsigned i = 0; i < job.n_threads; i++) {
        n_used += job.used[i];
        n_stepped += job.stepped[i];
        n_written += job.written[i];
    }
    OK(tm_rwlock_rdlock(&job.table_lock));
    check_table();
    if (job.table[0] != n_written) {
        FAIL("the table was written %" PRIu64 " times, not %" PRIu64,
             job.table[0], n_written);
    }
    OK(tm_rwlock_unlock(&job.table_lock));
    for (unsigned i = 0; i < N_OBJECTS; i++) {
        OK(tm_mutex_lock(&job.mutexes[i]));
        check_object(i);
        n_used -= job.objects[i].words[0];
        OK(tm_mutex_unlock(&job.mutexes[i]));
    }
    OK(tm_mutex_lock(&job.buffer_mutex));
    OK(tm_mutex_lock(&job.home_mutex));
    OK(tm_mutex_lock(&job.homes[job.wanderer->home]));
    if (n_used != 0 || job.wanderer->words[0] != n_stepped ||
        job.buffer->n_put != job.buffer->n_taken || job.buffer->n != 0) {
        FAIL("%" PRId64 " uses are missing; %" PRIu64 " steps of %" PRIu64
             "; %" PRIu64 " items of %" PRIu64,
             (int64_t)n_used, job.wanderer->words[0], n_stepped,
             job.buffer->n_taken, job.buffer->n_put);
    }
    OK(tm_mutex_unlock(&job.homes[job.wanderer->home]));
    OK(tm_mutex_unlock(&job.home_mutex));
    OK(tm_mutex_unlock(&job.buffer_mutex));
    OK(tm_free(job.objects[0].words));
    OK(tm_free(job.buffer));
    OK(tm_free(job.wanderer));
    OK(tm_free(job.table));
}

// ---- large

// Every other time all words are written.
static void use_large(uint64_t *words, int is_writer)
{
    const uint64_t count = words[0] - words[0] % 2;

    for (unsigned i = 1; i < LARGE_WORDS; i++) {
        if (words[i] != (count == 0 ? 0 : mix(count, i))) {
            FAIL("written %" PRIu64 " times: word %u is %" PRIx64, count, i,
                 words[i]);
        }
    }
    if (!is_writer) {
        return;
    }
    words[0]++;
    for (unsigned i = 1; words[0] % 2 == 0 && i < LARGE_WORDS; i++) {
        words[i] = mix(words[0], i);
    }
}

static void *use_large_ones(void *number)
{
    uint64_t state = mix(job.seed, 200 + (uint64_t)(uintptr_t)number);

    for (unsigned i = 0; i < job.n_operations; i++) {
        OK(tm_mutex_lock(&job.mutexes[0]));
        use_large(job.large[0], 1);
        OK(tm_mutex_unlock(&job.mutexes[0]));
        if (draw(&state, 2) == 0) {
            OK(tm_rwlock_wrlock(&job.table_lock));
            use_large(job.large[1], 1);
        } else {
            OK(tm_rwlock_rdlock(&job.table_lock));
            use_large(job.large[1], 0);
        }
        OK(tm_rwlock_unlock(&job.table_lock));
    }
    return NULL;
}

static void make_large(void)
{
    const size_t size = LARGE_WORDS * sizeof(uint64_t);

    job.large[0] = allocate("large", size);
    job.large[1] = allocate("large table", size);
    OK(tm_bind(&job.mutexes[0], job.large[0], size));
    OK(tm_bind_rwlock(&job.table_lock, job.large[1], size));
}

static void check_large(void)
{
    OK(tm_mutex_lock(&job.mutexes[0]));
    use_large(job.large[0], 0);
    if (job.large[0][0] != (uint64_t)job.n_operations * job.n_threads) {
        FAIL("%" PRIu64 " uses of %u", job.large[0][0],
             job.n_operations * job.n_threads);
    }
    OK(tm_mutex_unlock(&job.mutexes[0]));
}

// ---- migratory

static void count_all(uint64_t *messages, uint64_t *bytes)
{
    struct tm_node_stats stats;

    *messages = 0;
    *bytes = 0;
    for (unsigned i = 0; i < tm_node_count(); i++) {
        OK(tm_stats(i, &stats));
        *messages += stats.messages_sent;
        *bytes += stats.bytes_sent;
    }
}

// Nodes measure at their start what messages cost: until that is over.
static void await_quiet(void)
{
    uint64_t messages;
    uint64_t before;
    uint64_t now;

    count_all(&messages, &now);
    do {
        before = now;
        usleep(100000);
        count_all(&messages, &now);
    } while (now - before > QUIET_BYTES);
}

static void *migrate_all(void *number)
{
    (void)number;
    OK(tm_barrier_wait(&job.barrier));
    for (unsigned i = 0; i < job.n_operations; i++) {
        OK(tm_mutex_lock(&job.mutexes[0]));
        for (unsigned k = 0; k < N_PAGES * N_WORDS; k++) {
            job.pages[k / N_WORDS * WORDS_A_PAGE + k % N_WORDS]++;
        }
        OK(tm_mutex_unlock(&job.mutexes[0]));
        spin(20000);
        tm_thread_yield();
    }
    OK(tm_barrier_wait(&job.barrier));
    return NULL;
}

static void make_migratory(void)
{
    job.pages = allocate("pages", (size_t)N_PAGES * TM_PAGE_SIZE);
    OK(tm_bind(&job.mutexes[0], job.pages, (size_t)N_PAGES * TM_PAGE_SIZE));
}

static void check_migratory(const uint64_t cost[2])
{
    const double n = (double)job.n_operations * job.n_threads;
    const double messages = (double)cost[0] / n;
    const double bytes = (double)cost[1] / n;

    OK(tm_mutex_lock(&job.mutexes[0]));
    for (unsigned k = 0; k < N_PAGES * WORDS_A_PAGE; k++) {
        const uint64_t right = k % WORDS_A_PAGE < N_WORDS
                                   ? (uint64_t)job.n_operations * job.n_threads
                                   : 0;

        if (job.pages[k] != right) {
            FAIL("word %u is %" PRIu64 ", not %" PRIu64, k, job.pages[k],
                 right);
        }
    }
    OK(tm_mutex_unlock(&job.mutexes[0]));
    printf("an operation: %.2f messages, %.0f bytes\n", messages, bytes);
    if (messages > MOST_MESSAGES || bytes > MOST_BYTES) {
        FAIL("more than %d messages or %d bytes", MOST_MESSAGES, MOST_BYTES);
    }
}

// ---- all

static const struct mode {
    const char *name;
    unsigned n_threads; // a node
    void (*make)(void);
    void *(*body)(void *number);
    void (*check)(void);
} modes[] = {
    {"mixed", 2, make_mixed, mix_all, check_mixed},
    {"large", 1, make_large, use_large_ones, check_large},
    {"migratory", 1, make_migratory, migrate_all, NULL},
};

enum { N_MODES = sizeof modes / sizeof modes[0] };

static void start_threads(tm_thread *threads, void *(*body)(void *))
{
    const unsigned n_nodes = tm_node_count();

    for (unsigned i = 0; i < job.n_threads; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = i % n_nodes};

        OK(tm_thread_create(&threads[i], &attr, body, (void *)(uintptr_t)i));
    }
}

// What the threads send between two barriers.
static void count_cost(uint64_t cost[2])
{
    uint64_t before[2];

    await_quiet();
    count_all(&before[0], &before[1]);
    OK(tm_barrier_wait(&job.barrier));
    OK(tm_barrier_wait(&job.barrier));
    count_all(&cost[0], &cost[1]);
    cost[0] -= before[0];
    cost[1] -= before[1];
}

static void run_mode(const struct mode *mode)
{
    const int is_counted = mode->check == NULL;
    tm_thread threads[MOST_THREADS];
    uint64_t cost[2];

    job.n_threads = tm_node_count() * mode->n_threads;
    OK(tm_barrier_init(&job.barrier, job.n_threads + (is_counted ? 1u : 0u)));
    mode->make();
    start_threads(threads, mode->body);
    if (is_counted) {
        count_cost(cost);
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    if (is_counted) {
        check_migratory(cost);
    } else {
        mode->check();
    }
}

int main(int argc, char **argv)
{
    unsigned mode = 0;

    tm_init(&argc, &argv);
    while (argc == 4 && mode < N_MODES &&
           strcmp(argv[1], modes[mode].name) != 0) {
        mode++;
    }
    if (argc != 4 || mode == N_MODES) {
        return 64;
    }
    job.seed = strtoull(argv[2], NULL, 0);
    job.n_operations = (unsigned)atoi(argv[3]);
    run_mode(&modes[mode]);
    printf("right\n");
    return 0;
}
