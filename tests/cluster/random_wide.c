// SPDX-License-Identifier: BSD-3-Clause
/*
 * What makes a random program wide: arrays that all nodes go through in order, a
 * pipeline of all threads, blocks that come and go, threads of unlike load, and boards
 * under reader-writer locks, which somebody sets up once.
 *
 * An array is a TM_SHARED variable that is filled before or after tm_init(), or a
 * block of any protocol and placement; some words of some blocks lie in two pages. In every second phase each thread writes a
 * part of its own; these parts end within pages, and may go round from phase to
 * phase. In the other phases all threads read, in order and all at once: all of the
 * array, or only what a neighbour wrote, or a word of each page. A phase may write
 * each word as it is, all words, or a word of each page. So a word's value follows
 * from the number of phases alone (W1), and is compared before each write and at
 * each read.
 *
 * W1 An array's word is start_word() and what the phases so far have added.
 * W2 In one phase an array is either written, each word by one thread, or read.
 * W3 Nobody waits in an act but in the pipeline, which is a phase's only act of
 *    that kind; so threads may do their acts in any order.
 */
#include "random_wide.h"

#include <string.h>
#include <time.h>

// As many words as a program may have without a budget; a TM_SHARED variable stays
// in memory, so with one they are few.
#ifndef GLOBAL_WORDS
#define GLOBAL_WORDS 1500
#endif

enum {
    N_GLOBALS = 8,
    MOST_STREAMS = 16,
    MOST_WORDS = 80000,
    SPARSE = TM_PAGE_SIZE / sizeof(int32_t),
    CROSSING = TM_PAGE_SIZE - 2, // each SPARSEth word lies in two pages
    LINK_WORDS = 60,
    N_BOARDS = 2,
    N_OWN = 8,
    BOARD_WORDS = 700,
    MOST_LINKS = MOST_WORKERS,
};

enum reading { READ_ALL, READ_NEIGHBOUR, READ_SPARSE, N_READINGS };
enum writing { WRITE_SAME, WRITE_ALL, WRITE_SPARSE, N_WRITINGS };

typedef int32_t loose_word __attribute__((aligned(1)));

struct stream {
    char *block; // of a TM_SHARED variable: NULL
    loose_word *words;
    unsigned length;
    int goes_round;
    enum reading reading;
};

// From one thread of the pipeline to the next: room for one item.
struct link {
    tm_sem empty;
    tm_sem full;
    tm_mutex mutex;
    tm_cond changed;
    int is_full;
    uint64_t number;
    uint64_t words[LINK_WORDS];
};

static TM_SHARED struct {
    uint64_t seed;
    unsigned n_threads;
    enum wide_style style;
    int has_named_nodes;
    unsigned n_streams;
    struct stream streams[MOST_STREAMS];
    unsigned loads[MOST_WORKERS];
    struct link *links;
    tm_key key;
    tm_mutex mutex;
    unsigned n_own_acts;
} wide;

static TM_SHARED int32_t globals[N_GLOBALS][GLOBAL_WORDS];

static TM_SHARED struct board {
    tm_rwlock lock;
    tm_once once;
    unsigned version; // 0: not set up yet
    uint64_t words[BOARD_WORDS];
} boards[N_BOARDS];

// ---- arrays

static uint64_t drawn(unsigned what, uint64_t of)
{
    return mix(wide.seed * 1000 + 500 + what, of);
}

static int32_t start_word(unsigned stream, unsigned i)
{
    return (int32_t)(1 + i + stream * 1000003u);
}

static int is_written(unsigned stream, unsigned phase)
{
    return (stream + phase) % 2 == 0;
}

static enum writing writing_of(unsigned stream, unsigned phase)
{
    const enum writing writing =
        (enum writing)(drawn(stream, phase) % N_WRITINGS);

    return wide.style == REGULAR && phase % 16 > 0 ? WRITE_SPARSE : writing;
}

static enum reading reading_of(unsigned stream, unsigned phase)
{
    const enum reading reading = wide.streams[stream].reading;

    return wide.style == REGULAR && phase % 16 > 1 && reading == READ_ALL
               ? READ_SPARSE
               : reading;
}

// What phases have added to words: to all, and to each SPARSEth.
struct added {
    int32_t all;
    int32_t sparse;
};

static struct added added_by(unsigned stream, unsigned n_phases)
{
    struct added added = {0, 0};

    for (unsigned phase = 0; phase < n_phases; phase++) {
        if (is_written(stream, phase)) {
            added.all += 7 * (writing_of(stream, phase) == WRITE_ALL);
            added.sparse += 13 * (writing_of(stream, phase) == WRITE_SPARSE);
        }
    }
    return added;
}

static int32_t word_of(const struct added *added, unsigned stream, unsigned i)
{
    return start_word(stream, i) + added->all +
           (i % SPARSE == 0 ? added->sparse : 0);
}

static void check_word(const struct added *added, unsigned stream, unsigned i,
                       unsigned phase)
{
    const int32_t is = wide.streams[stream].words[i];
    const int32_t should = word_of(added, stream, i);

    if (is != should) {
        FAIL("array %u, word %u of %u (%p) in phase %u: %" PRId32
             ", not %" PRId32,
             stream, i, wide.streams[stream].length,
             (void *)&wide.streams[stream].words[i], phase, is, should);
    }
}

// Where a part begins; parts end within pages.
static unsigned part_start(unsigned stream, unsigned part)
{
    return (unsigned)((uint64_t)wide.streams[stream].length * part /
                      wide.n_threads);
}

static unsigned part_of(unsigned stream, unsigned me, unsigned phase)
{
    return (me + (wide.streams[stream].goes_round ? phase / 2 : 0)) %
           wide.n_threads;
}

// The next word of a part from i on that a phase uses.
static unsigned next_word(unsigned i, int is_sparse)
{
    return is_sparse ? (i + SPARSE - 1) / SPARSE * SPARSE : i;
}

static void stream_write(unsigned stream, unsigned me, unsigned phase)
{
    loose_word *words = wide.streams[stream].words;
    const enum writing writing = writing_of(stream, phase);
    const struct added before = added_by(stream, phase);
    const struct added after = added_by(stream, phase + 1);
    const unsigned part = part_of(stream, me, phase);
    const unsigned end = part_start(stream, part + 1);
    const int is_sparse = writing == WRITE_SPARSE;

    for (unsigned i = next_word(part_start(stream, part), is_sparse); i < end;
         i = next_word(i + 1, is_sparse)) {
        check_word(&before, stream, i, phase);
        words[i] = word_of(&after, stream, i);
    }
}

static void stream_read(unsigned stream, unsigned me, unsigned phase)
{
    const struct added added = added_by(stream, phase);
    const enum reading reading = reading_of(stream, phase);
    unsigned first = 0;
    unsigned end = wide.streams[stream].length;

    if (reading == READ_NEIGHBOUR) {
        const unsigned part = part_of(stream, (me + 1) % wide.n_threads, phase);

        first = part_start(stream, part);
        end = part_start(stream, part + 1);
    }
    for (unsigned i = next_word(first, reading == READ_SPARSE); i < end;
         i = next_word(i + 1, reading == READ_SPARSE)) {
        check_word(&added, stream, i, phase);
    }
}

void act_streams(unsigned me, unsigned phase)
{
    for (unsigned stream = 0; stream < wide.n_streams; stream++) {
        if (is_written(stream, phase)) {
            stream_write(stream, me, phase);
        } else {
            stream_read(stream, me, phase);
        }
    }
}

static void stream_fill(unsigned stream)
{
    for (unsigned i = 0; i < wide.streams[stream].length; i++) {
        wide.streams[stream].words[i] = start_word(stream, i);
    }
}

// Lengths of all sizes alike often.
static unsigned draw_length(uint64_t *state, unsigned most)
{
    unsigned below = most;

    for (uint64_t n = draw(state, 6); n > 0 && below > 64; n--) {
        below /= 4;
    }
    return 1 + (unsigned)draw(state, below);
}

static void stream_draw(unsigned stream, uint64_t *state)
{
    struct stream *it = &wide.streams[stream];

    it->goes_round = (int)draw(state, 2);
    it->reading = (enum reading)draw(state, N_READINGS);
    if (stream < N_GLOBALS) {
        it->words = globals[stream];
        it->length = draw(state, 2) ? GLOBAL_WORDS
                                    : draw_length(state, GLOBAL_WORDS - 1);
    } else {
        it->length = draw_length(state, MOST_WORDS);
    }
}

// ---- memory and a value of a thread's own

struct own {
    unsigned n_acts;
    unsigned char *blocks[N_OWN];
    unsigned sizes[N_OWN];
};

static unsigned char own_byte(unsigned size, unsigned k, unsigned i)
{
    return (unsigned char)(size * 7 + k + i);
}

static void own_free(struct own *own, unsigned k)
{
    for (unsigned i = 0; i < own->sizes[k]; i++) {
        if (own->blocks[k][i] != own_byte(own->sizes[k], k, i)) {
            FAIL("own memory, block %u of %u bytes, byte %u: %02x", k,
                 own->sizes[k], i, own->blocks[k][i]);
        }
    }
    OK(tm_thread_free(own->blocks[k]));
    own->blocks[k] = NULL;
}

static void own_alloc(struct own *own, unsigned k, unsigned size)
{
    own->blocks[k] = tm_thread_alloc(size);
    own->sizes[k] = size;
    if (own->blocks[k] == NULL) {
        FAIL("no room for %u bytes of a thread's own", size);
    }
    for (unsigned i = 0; i < size; i++) {
        own->blocks[k][i] = own_byte(size, k, i);
    }
}

static void own_end(void *value)
{
    struct own *own = value;

    for (unsigned k = 0; k < N_OWN; k++) {
        if (own->blocks[k] != NULL) {
            own_free(own, k);
        }
    }
    OK(tm_mutex_lock(&wide.mutex));
    wide.n_own_acts += own->n_acts;
    OK(tm_mutex_unlock(&wide.mutex));
    OK(tm_thread_free(own));
}

void act_own(unsigned me, unsigned phase)
{
    struct own *own = tm_key_get(wide.key);
    uint64_t state = drawn(105 + me, phase);

    if (own == NULL) {
        own = tm_thread_alloc(sizeof *own);
        if (own == NULL) {
            FAIL("%s", "no room for a thread's own memory");
        }
        memset(own, 0, sizeof *own);
        OK(tm_key_set(wide.key, own));
    }
    if (own->n_acts != phase) {
        FAIL("phase %u of a thread's own is %u", phase, own->n_acts);
    }
    own->n_acts++;
    for (unsigned n = (unsigned)draw(&state, 5); n > 0; n--) {
        const unsigned k = (unsigned)draw(&state, N_OWN);

        if (own->blocks[k] != NULL) {
            own_free(own, k);
        } else {
            own_alloc(own, k, draw_length(&state, 5000));
        }
    }
}

// ---- set-up

// Most threads are light, some are heavy, and stay so.
static void draw_loads(uint64_t *state)
{
    for (unsigned i = 0; i < MOST_WORKERS; i++) {
        wide.loads[i] = 1u << draw(state, 14);
    }
}

void wide_draw(const struct plan *plan)
{
    uint64_t state = mix(plan->seed, 501);

    wide.seed = plan->seed;
    wide.style = draw(&state, 5) < 2 ? REGULAR : MIXED;
    wide.n_streams =
        N_GLOBALS + (unsigned)draw(&state, MOST_STREAMS - N_GLOBALS + 1);
    for (unsigned i = 0; i < wide.n_streams; i++) {
        stream_draw(i, &state);
    }
    draw_loads(&state);
    for (unsigned i = 0; i < N_GLOBALS; i += 2) {
        stream_fill(i);
    }
}

enum wide_style wide_style(void)
{
    return wide.style;
}

unsigned wide_phases(void)
{
    return wide.style == REGULAR ? 40 + drawn(100, 0) % 360
                                 : 2 + drawn(100, 0) % 24;
}

static void *allocate(size_t size, uint64_t *state)
{
    const tm_alloc_attr attr = {
        .name = "array",
        .protocol = (tm_protocol)draw(state, 3),
        .placement = (tm_placement)draw(state, 4),
        .node =
            (unsigned)draw(state, wide.has_named_nodes ? tm_node_count() : 1),
    };
    void *block = tm_alloc(size, draw(state, 3) > 0 ? &attr : NULL);

    if (block == NULL) {
        FAIL("no memory for %zu bytes", size);
    }
    return block;
}

static void open_links(uint64_t *state)
{
    wide.links = allocate(MOST_LINKS * sizeof *wide.links, state);
    for (unsigned i = 0; i < MOST_LINKS; i++) {
        OK(tm_sem_init(&wide.links[i].empty, 1));
        OK(tm_sem_init(&wide.links[i].full, 0));
    }
}

void wide_open(const struct plan *plan, int has_named_nodes)
{
    uint64_t state = mix(plan->seed, 502);

    wide.n_threads = plan->n_threads;
    wide.has_named_nodes = has_named_nodes;
    for (unsigned i = N_GLOBALS; i < wide.n_streams; i++) {
        struct stream *it = &wide.streams[i];
        const unsigned gap = draw(&state, 3) == 0 ? CROSSING : 0;

        it->block = allocate(gap + it->length * sizeof(int32_t), &state);
        it->words = (loose_word *)(it->block + gap);
    }
    for (unsigned i = 0; i < wide.n_streams; i++) {
        if (i >= N_GLOBALS || i % 2 == 1) {
            stream_fill(i);
        }
    }
    open_links(&state);
    OK(tm_key_create(&wide.key, own_end));
}

// ---- the pipeline

static uint64_t link_word(uint64_t number, unsigned stage, unsigned i)
{
    return mix(number + wide.seed, (uint64_t)stage << 32 | i);
}

static void link_put(struct link *link, uint64_t number, unsigned stage,
                     int is_by_condition)
{
    if (is_by_condition) {
        OK(tm_mutex_lock(&link->mutex));
        while (link->is_full) {
            OK(tm_cond_wait(&link->changed, &link->mutex));
        }
    } else {
        OK(tm_sem_wait(&link->empty));
    }
    link->number = number;
    for (unsigned i = 0; i < LINK_WORDS; i++) {
        link->words[i] = link_word(number, stage, i);
    }
    if (is_by_condition) {
        link->is_full = 1;
        OK(tm_cond_signal(&link->changed));
        OK(tm_mutex_unlock(&link->mutex));
    } else {
        OK(tm_sem_post(&link->full));
    }
}

static void link_get(struct link *link, uint64_t number, unsigned stage,
                     int is_by_condition)
{
    if (is_by_condition) {
        OK(tm_mutex_lock(&link->mutex));
        while (!link->is_full) {
            OK(tm_cond_wait(&link->changed, &link->mutex));
        }
    } else {
        OK(tm_sem_wait(&link->full));
    }
    if (link->number != number) {
        FAIL("item %" PRIx64 " comes to stage %u, not %" PRIx64, link->number,
             stage, number);
    }
    for (unsigned i = 0; i < LINK_WORDS; i++) {
        if (link->words[i] != link_word(number, stage, i)) {
            FAIL("item %" PRIx64 " at stage %u: word %u is wrong", number,
                 stage, i);
        }
    }
    if (is_by_condition) {
        link->is_full = 0;
        OK(tm_cond_broadcast(&link->changed));
        OK(tm_mutex_unlock(&link->mutex));
    } else {
        OK(tm_sem_post(&link->empty));
    }
}

void act_pipeline(unsigned me, unsigned phase, int is_by_condition)
{
    const unsigned n_items = 1 + drawn(101, phase) % 12;

    for (unsigned k = 0; k < n_items; k++) {
        const uint64_t number = (uint64_t)phase << 32 | k;

        if (me > 0) {
            link_get(&wide.links[me - 1], number, me - 1, is_by_condition);
        }
        if (me + 1 < wide.n_threads) {
            link_put(&wide.links[me], number, me, is_by_condition);
        }
    }
}

// ---- boards

static uint64_t board_word(unsigned board, unsigned version, unsigned i)
{
    return mix(wide.seed + version, (uint64_t)board << 32 | i);
}

static void board_fill(unsigned board)
{
    struct board *it = &boards[board];

    for (unsigned i = 0; i < BOARD_WORDS; i++) {
        it->words[i] = board_word(board, it->version, i);
        if (i % 100 == 99) {
            tm_thread_yield();
        }
    }
}

static void board_check(unsigned board)
{
    const struct board *it = &boards[board];

    for (unsigned i = 0; i < BOARD_WORDS; i++) {
        const uint64_t should = board_word(board, it->version, i);

        if (it->words[i] != should) {
            FAIL("board %u, version %u, word %u: %" PRIx64 ", not %" PRIx64,
                 board, it->version, i, it->words[i], should);
        }
        if (i % 100 == 99) {
            tm_thread_yield();
        }
    }
}

// Once there is no lock yet.
static void set_up(unsigned board)
{
    if (boards[board].version != 0) {
        FAIL("board %u is set up twice", board);
    }
    boards[board].version = 1;
    board_fill(board);
}

static void set_up_0(void)
{
    set_up(0);
}

static void set_up_1(void)
{
    set_up(1);
}

static void board_read(unsigned board, uint64_t *state)
{
    struct timespec soon;
    tm_status status;

    switch (draw(state, 3)) {
    case 0:
        status = tm_rwlock_tryrdlock(&boards[board].lock);
        break;
    case 1:
        clock_gettime(CLOCK_REALTIME, &soon);
        status = tm_rwlock_timedrdlock(&boards[board].lock, &soon);
        break;
    default:
        status = tm_rwlock_rdlock(&boards[board].lock);
    }
    if (status != TM_EBUSY && status != TM_ETIMEDOUT) {
        OK(status);
        board_check(board);
        OK(tm_rwlock_unlock(&boards[board].lock));
    }
}

static unsigned n_board_writes(unsigned me, unsigned phase, unsigned board)
{
    return drawn(200 + me, phase * N_BOARDS + board) % 7 == 0;
}

void act_boards(unsigned me, unsigned phase)
{
    static void (*const set_ups[N_BOARDS])(void) = {set_up_0, set_up_1};
    uint64_t state = drawn(104 + me, phase);
    const unsigned board = (unsigned)draw(&state, N_BOARDS);

    for (unsigned k = 0; k < N_BOARDS; k++) {
        const unsigned it = (board + k) % N_BOARDS;

        OK(tm_once_run(&boards[it].once, set_ups[it]));
        board_read(it, &state);
        if (n_board_writes(me, phase, it) > 0) {
            OK(tm_rwlock_wrlock(&boards[it].lock));
            board_check(it);
            boards[it].version++;
            board_fill(it);
            OK(tm_rwlock_unlock(&boards[it].lock));
        }
    }
}

static void check_boards(unsigned n_phases)
{
    for (unsigned board = 0; board < N_BOARDS; board++) {
        unsigned version = 1;

        for (unsigned i = 0; i < n_phases * wide.n_threads; i++) {
            version +=
                n_board_writes(i % wide.n_threads, i / wide.n_threads, board);
        }
        if (boards[board].version != 0) { // such a phase has been
            board_check(board);
            if (boards[board].version != version) {
                FAIL("board %u has version %u, not %u", board,
                     boards[board].version, version);
            }
        }
    }
}

// ---- blocks that come and go, and time

// Allocate some blocks, fill them, and free them in another order.
void act_churn(unsigned me, unsigned phase)
{
    enum { MOST_BLOCKS_HELD = 4 };
    uint64_t state = drawn(102 + me, phase);
    unsigned char *blocks[MOST_BLOCKS_HELD];
    unsigned sizes[MOST_BLOCKS_HELD];
    const unsigned n = (unsigned)draw(&state, MOST_BLOCKS_HELD + 1);

    for (unsigned k = 0; k < n; k++) {
        sizes[k] = draw_length(&state, 40000);
        blocks[k] = allocate(sizes[k], &state);
        for (unsigned i = 0; i < sizes[k]; i++) {
            if (blocks[k][i] != 0) {
                FAIL("new block of %u bytes at %p: byte %u is %02x", sizes[k],
                     (void *)blocks[k], i, blocks[k][i]);
            }
            blocks[k][i] = (unsigned char)(sizes[k] + i);
        }
    }
    for (unsigned k = 0; k < n; k++) {
        const unsigned it = phase % 2 ? n - 1 - k : k;

        for (unsigned i = 0; i < sizes[it]; i++) {
            if (blocks[it][i] != (unsigned char)(sizes[it] + i)) {
                FAIL("own block of %u bytes at %p: byte %u is %02x", sizes[it],
                     (void *)blocks[it], i, blocks[it][i]);
            }
        }
        OK(tm_free(blocks[it]));
    }
}

// As long as the thread is heavy, and a little more or less.
void act_load(unsigned me, unsigned phase)
{
    spin(wide.loads[me] * (8 + drawn(103 + me, phase) % 16));
}

// ---- the end

uint64_t wide_check(unsigned n_phases)
{
    uint64_t sum = wide.seed;

    for (unsigned stream = 0; stream < wide.n_streams; stream++) {
        const struct added added = added_by(stream, n_phases);

        for (unsigned i = 0; i < wide.streams[stream].length; i++) {
            check_word(&added, stream, i, n_phases);
            sum = mix(sum, (uint64_t)wide.streams[stream].words[i]);
        }
        OK(tm_free(wide.streams[stream].block));
    }
    OK(tm_free(wide.links));
    check_boards(n_phases);
    if (wide.n_own_acts != 0 && wide.n_own_acts != n_phases * wide.n_threads) {
        FAIL("%u acts were of threads' own", wide.n_own_acts);
    }
    return sum;
}
