// SPDX-License-Identifier: BSD-3-Clause
/*
 * A random program without data races, made from a seed.
 *
 * Threads go through phases (random_plan.h). In a phase each does a number of
 * things in an order of its own: it writes its bytes of every block, reads bytes
 * that nobody writes in this phase, adds to counters, each under a mutex of its own, uses atomic
 * operations, allocates blocks and frees those that others allocated, hands
 * items over in a queue of semaphores or of condition variables, and lets a
 * child thread do part of its work. At the end of the phase there is a barrier,
 * the end of an iteration, or a reduction.
 *
 * Blocks are of all protocols, and of all that can be said of their sharing. What TM_SCOPE
 * promises is enough: each byte is used under one mutex, or passes from thread to thread
 * by a call that orders all.
 *
 * Whatever is read is compared with what the seed says that it must be. The
 * checksum at the end depends on nothing but the seed.
 *
 *     random_program [-s SEED] [-t THREADS] [-f PHASES] [-x TIMES] [-r] [-w] [-m] [-b]
 *
 * -r makes it a program with a data race, which changes no checksum.
 * -x gives blocks that are so many times as large; the checksum depends on it.
 * -w makes it wide: what random_wide.c has, as far as the seed says so.
 * -m: nodes come and go, so no thread and no block is put on a node that is named.
 * -b: what a mutex guards, counters and the queue, is bound to it.
 *
 * One file, though it is long: what a thread may do in a phase, the end of a phase
 * and the checks at the end go by the same shared state.
 */
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "random_wide.h"

enum { N_COUNTERS = 4, N_SLOTS = 4, ITEM_WORDS = 200, MOST_TICKETS = 20000 };
enum { SIGN_S = 5, FEW_PHASES = 100 };

static TM_SHARED struct {
    struct plan plan;
    tm_barrier barrier;
    int64_t *plain_word; // on a page of `sequential`
    int64_t *words;      // [3] for tm_fetch_add() and the like
    uint32_t *tickets;   // [MOST_TICKETS]
    struct queue *queue;
    struct scoped *scoped;
    int is_racy;
    int is_wide;
    int has_members;     // nodes come and go
    int is_bound;        // data are bound to mutexes
    uint64_t *values[2]; // [N_COUNTERS] counters, and what must go with each
} job;

// What all write in each phase, if it is racy.
TM_SHARED uint64_t contested;

// Block 0 of the plan.
static TM_SHARED unsigned char globals[10000];

// A value in one page and what must go with it in another.
static TM_SHARED struct {
    tm_mutex mutex;
} counters[N_COUNTERS];
static TM_SHARED uint64_t values[N_COUNTERS];
static TM_SHARED struct {
    unsigned char gap[TM_PAGE_SIZE];
    uint64_t of[N_COUNTERS];
} marks;

// A word a thread.
static TM_SHARED uint64_t given[MOST_WORKERS];
static TM_SHARED uint64_t taken[MOST_WORKERS];

// What threads allocated in a phase, for another to free in the next.
static TM_SHARED struct parcel {
    unsigned char *bytes;
    unsigned size;
} parcels[2][MOST_WORKERS];

// The same as counters, in a block of scope consistency.
struct scoped {
    uint64_t values[N_COUNTERS];
    unsigned char gap[TM_PAGE_SIZE];
    uint64_t marks[N_COUNTERS];
};

struct item {
    uint64_t number;
    uint64_t words[ITEM_WORDS];
};

struct queue {
    tm_mutex mutex;
    tm_sem empty;
    tm_sem full;
    tm_cond has_room;
    tm_cond has_item;
    unsigned first;
    unsigned n_items;
    uint64_t sum;
    struct item items[N_SLOTS];
};

// Nodes that stay, from 0 on.
static unsigned n_named_nodes(void)
{
    return job.has_members ? 1 : tm_node_count();
}

static enum wide_style style(void)
{
    return job.is_wide ? wide_style() : NARROW;
}

static uint64_t state_of(unsigned me, unsigned phase, unsigned what)
{
    return mix(job.plan.seed * 1000 + what, (uint64_t)me << 32 | phase);
}

static void check_byte(unsigned block, unsigned n_phases, unsigned i)
{
    const unsigned char is = job.plan.blocks[block][i];
    const unsigned char should = value_after(&job.plan, block, n_phases, i);

    if (is != should) {
        FAIL("block %u, byte %u (%p) after %u phases: %02x, not %02x", block, i,
             (void *)&job.plan.blocks[block][i], n_phases, is, should);
    }
}

// Write the caller's bytes of a block, upwards or downwards.
static void stroke_write(unsigned me, unsigned phase, unsigned block)
{
    const struct stroke stroke = stroke_of(&job.plan, block, phase);
    const unsigned n = stroke.end - stroke.start;
    uint64_t state = state_of(me, phase, 10 + block);
    const int is_down = draw(&state, 2) == 0;
    const unsigned pause = 1 + (unsigned)draw(&state, 2000);

    for (unsigned k = 0; k < n; k++) {
        const unsigned i = is_down ? stroke.end - 1 - k : stroke.start + k;

        if (stroke_writer(&job.plan, &stroke, i) == (int)me) {
            job.plan.blocks[block][i] = value_of(&job.plan, block, phase, i);
            if (i % pause == 0) {
                tm_thread_yield();
                check_byte(block, phase + 1, i);
            }
        }
    }
}

static void write_all(unsigned me, unsigned phase)
{
    for (unsigned block = 0; block < job.plan.n_blocks; block++) {
        stroke_write(me, phase, (block + me) % job.plan.n_blocks);
    }
}

static void *child_work(void *arg)
{
    const uintptr_t number = (uintptr_t)arg;

    stroke_write(number >> 32 & 0xffff, (unsigned)(number & 0xffffffff),
                 (unsigned)(number >> 48));
    return arg;
}

// As write_all(), but a child on some node writes one block.
static void write_with_child(unsigned me, unsigned phase)
{
    uint64_t state = state_of(me, phase, 1);
    const unsigned block = (unsigned)draw(&state, job.plan.n_blocks);
    const unsigned choice = (unsigned)draw(&state, n_named_nodes() + 1);
    const tm_thread_attr attr = {
        .name = "child",
        .placement = choice > 0 ? TM_ON_NODE : TM_ANYWHERE,
        .node = choice > 0 ? choice - 1 : 0,
    };
    const uintptr_t number =
        (uintptr_t)block << 48 | (uintptr_t)me << 32 | phase;
    tm_thread child;
    void *result;

    OK(tm_thread_create(&child, &attr, child_work, (void *)number));
    for (unsigned other = 0; other < job.plan.n_blocks; other++) {
        if (other != block) {
            stroke_write(me, phase, other);
        }
    }
    OK(tm_thread_join(child, &result));
    if (result != (void *)number) {
        FAIL("a child returned %p", result);
    }
}

static void act_write(unsigned me, unsigned phase)
{
    uint64_t state = state_of(me, phase, 2);

    if (draw(&state, 6) == 0) {
        write_with_child(me, phase);
    } else {
        write_all(me, phase);
    }
}

// Runs of bytes that this phase does not write.
static void act_read(unsigned me, unsigned phase)
{
    uint64_t state = state_of(me, phase, 3);

    for (unsigned n = (unsigned)draw(&state, 40); n > 0; n--) {
        const unsigned block = (unsigned)draw(&state, job.plan.n_blocks);
        const unsigned size = job.plan.sizes[block];
        const struct stroke stroke = stroke_of(&job.plan, block, phase);
        unsigned i = (unsigned)draw(&state, size);

        for (unsigned end = i + 50; i < size && i < end; i++) {
            if (stroke_writer(&job.plan, &stroke, i) < 0) {
                check_byte(block, phase, i);
            }
        }
    }
}

static uint64_t addend(unsigned me, unsigned phase, unsigned counter)
{
    return state_of(me, phase, 20 + counter) % 3;
}

static void scoped_check(unsigned counter)
{
    const uint64_t value = job.values[0][counter];

    if (job.scoped->values[counter] != value ||
        job.scoped->marks[counter] != value * 3) {
        FAIL("counter %u is %" PRIu64 ", in the block of its scope %" PRIu64
             ", its mark %" PRIu64,
             counter, value, job.scoped->values[counter],
             job.scoped->marks[counter]);
    }
}

static void counter_add(unsigned counter, uint64_t value)
{
    OK(tm_mutex_lock(&counters[counter].mutex));
    scoped_check(counter);
    if (job.values[1][counter] != job.values[0][counter] * 3) {
        FAIL("counter %u is %" PRIu64 ", its mark %" PRIu64, counter,
             job.values[0][counter], job.values[1][counter]);
    }
    job.values[0][counter] += value;
    job.scoped->marks[counter] += 3 * value;
    if (value == 2) {
        tm_thread_yield();
    }
    job.values[1][counter] += 3 * value;
    job.scoped->values[counter] += value;
    OK(tm_mutex_unlock(&counters[counter].mutex));
}

static void act_count(unsigned me, unsigned phase)
{
    for (unsigned counter = 0; counter < N_COUNTERS; counter++) {
        if (addend(me, phase, counter) > 0) {
            counter_add(counter, addend(me, phase, counter));
        }
    }
}

static unsigned n_tickets(unsigned me, unsigned phase)
{
    return state_of(me, phase, 4) % 5;
}

static void act_tickets(unsigned me, unsigned phase)
{
    int64_t last = -1;

    for (unsigned n = n_tickets(me, phase); n > 0; n--) {
        const int64_t ticket = tm_fetch_add(&job.words[0], 1);

        if (ticket <= last || ticket >= MOST_TICKETS) {
            FAIL("ticket %" PRId64 " after %" PRId64, ticket, last);
        }
        if (job.tickets[ticket] != 0) {
            FAIL("ticket %" PRId64 " was given twice", ticket);
        }
        job.tickets[ticket] = (uint32_t)mix(job.plan.seed, ticket) | 1;
        last = ticket;
    }
}

// Add by compare and exchange; swap numbers; a plain atomic addition.
static void act_atomics(unsigned me, unsigned phase)
{
    uint64_t state = state_of(me, phase, 5);
    const int64_t value = (int64_t)draw(&state, 1000);
    int64_t seen = tm_atomic_load(&job.words[1]);
    int64_t was;

    while ((was = tm_compare_exchange(&job.words[1], seen, seen + value)) !=
           seen) {
        seen = was;
    }
    given[me] += (uint64_t)value;
    taken[me] += (uint64_t)tm_exchange(&job.words[2], value);
    __atomic_fetch_add(job.plain_word, value, __ATOMIC_SEQ_CST);
}

static tm_protocol some_protocol(uint64_t *state)
{
    return (tm_protocol)draw(state, TM_SCOPE + 1);
}

// But not that it is only read.
static tm_sharing some_sharing(uint64_t *state)
{
    const unsigned sharing = (unsigned)draw(state, TM_REDUCTION + 1);

    return sharing == TM_READ_ONLY ? TM_SHARING_DEFAULT : (tm_sharing)sharing;
}

static unsigned char parcel_byte(unsigned size, unsigned i)
{
    return (unsigned char)mix(job.plan.seed + size, i);
}

static void parcel_open(unsigned me, unsigned phase)
{
    struct parcel *parcel =
        &parcels[(phase + 1) % 2][(me + phase) % job.plan.n_threads];

    if (phase == 0 || parcel->bytes == NULL) {
        return;
    }
    for (unsigned i = 0; i < parcel->size; i++) {
        if (parcel->bytes[i] != parcel_byte(parcel->size, i)) {
            FAIL("a block of %u bytes at %p, byte %u: %02x, not %02x",
                 parcel->size, (void *)parcel->bytes, i, parcel->bytes[i],
                 parcel_byte(parcel->size, i));
        }
    }
    OK(tm_free(parcel->bytes));
    parcel->bytes = NULL;
}

static void parcel_make(unsigned me, unsigned phase)
{
    static const unsigned most[] = {16, 100, 2048, 5000, 70000};
    uint64_t state = state_of(me, phase, 6);
    struct parcel *parcel = &parcels[phase % 2][me];
    tm_alloc_attr attr = {.name = "parcel"};

    parcel->bytes = NULL;
    if (draw(&state, 3) == 0) {
        return;
    }
    parcel->size = 1 + (unsigned)draw(&state, most[draw(&state, 5)]);
    attr.protocol = some_protocol(&state);
    attr.sharing = some_sharing(&state);
    attr.placement = (tm_placement)draw(&state, 4);
    attr.node = (unsigned)draw(&state, n_named_nodes());
    parcel->bytes = tm_alloc(parcel->size, draw(&state, 2) ? &attr : NULL);
    if (parcel->bytes == NULL) {
        FAIL("no memory for %u bytes", parcel->size);
    }
    for (unsigned i = 0; i < parcel->size; i++) {
        if (parcel->bytes[i] != 0) {
            FAIL("new block of %u bytes at %p: byte %u is %02x", parcel->size,
                 (void *)parcel->bytes, i, parcel->bytes[i]);
        }
        parcel->bytes[i] = parcel_byte(parcel->size, i);
    }
}

static void act_parcels(unsigned me, unsigned phase)
{
    parcel_open(me, phase);
    parcel_make(me, phase);
}

/*
 * The queue. In a phase it is worked by semaphores, by condition variables, or
 * not at all; of a wide program there may be a pipeline instead. Thread 0 produces,
 * thread 1 consumes, the others do as the seed says.
 */
enum {
    BY_SEMAPHORE,
    BY_CONDITION,
    NO_QUEUE,
    PIPELINE_BY_SEMAPHORE,
    PIPELINE_BY_CONDITION,
    N_KINDS
};

static unsigned meeting_kind(unsigned phase)
{
    const unsigned n_kinds = style() == NARROW ? NO_QUEUE + 1 : N_KINDS;

    return job.plan.n_threads < 2 ? NO_QUEUE : state_of(0, phase, 7) % n_kinds;
}

static int has_queue(unsigned phase)
{
    return meeting_kind(phase) < NO_QUEUE;
}

static int is_producer(unsigned me, unsigned phase)
{
    return me < 2 ? me == 0 : state_of(me, phase, 8) % 2 == 0;
}

static unsigned n_produced(unsigned me, unsigned phase)
{
    return is_producer(me, phase) ? 1 + state_of(me, phase, 9) % 6 : 0;
}

static unsigned n_consumed(unsigned me, unsigned phase)
{
    unsigned total = 0;
    unsigned n_consumers = 0;
    unsigned before = 0;

    for (unsigned i = 0; i < job.plan.n_threads; i++) {
        total += n_produced(i, phase);
        n_consumers += !is_producer(i, phase);
        before += i < me && !is_producer(i, phase);
    }
    return is_producer(me, phase)
               ? 0
               : total / n_consumers + (before < total % n_consumers);
}

static uint64_t item_number(unsigned me, unsigned phase, unsigned i)
{
    return (uint64_t)phase << 32 | me << 16 | i;
}

static void item_put(uint64_t number)
{
    struct item *item =
        &job.queue->items[(job.queue->first + job.queue->n_items) % N_SLOTS];

    item->number = number;
    for (unsigned i = 0; i < ITEM_WORDS; i++) {
        item->words[i] = mix(number, i);
    }
    job.queue->n_items++;
}

static void item_get(void)
{
    const struct item *item = &job.queue->items[job.queue->first % N_SLOTS];

    for (unsigned i = 0; i < ITEM_WORDS; i++) {
        if (item->words[i] != mix(item->number, i)) {
            FAIL("item %" PRIx64 ", word %u is wrong", item->number, i);
        }
    }
    job.queue->sum += item->number;
    job.queue->first++;
    job.queue->n_items--;
}

static void queue_put(uint64_t number, unsigned kind)
{
    if (kind == BY_SEMAPHORE) {
        OK(tm_sem_wait(&job.queue->empty));
    }
    OK(tm_mutex_lock(&job.queue->mutex));
    while (kind == BY_CONDITION && job.queue->n_items == N_SLOTS) {
        OK(tm_cond_wait(&job.queue->has_room, &job.queue->mutex));
    }
    item_put(number);
    if (kind == BY_CONDITION) {
        OK(tm_cond_signal(&job.queue->has_item));
    }
    OK(tm_mutex_unlock(&job.queue->mutex));
    if (kind == BY_SEMAPHORE) {
        OK(tm_sem_post(&job.queue->full));
    }
}

static void queue_get(unsigned kind)
{
    if (kind == BY_SEMAPHORE) {
        OK(tm_sem_wait(&job.queue->full));
    }
    OK(tm_mutex_lock(&job.queue->mutex));
    while (kind == BY_CONDITION && job.queue->n_items == 0) {
        OK(tm_cond_wait(&job.queue->has_item, &job.queue->mutex));
    }
    item_get();
    if (kind == BY_CONDITION) {
        OK(tm_cond_broadcast(&job.queue->has_room));
    }
    OK(tm_mutex_unlock(&job.queue->mutex));
    if (kind == BY_SEMAPHORE) {
        OK(tm_sem_post(&job.queue->empty));
    }
}

static void work_queue(unsigned me, unsigned phase, unsigned kind)
{
    for (unsigned i = 0; i < n_produced(me, phase); i++) {
        queue_put(item_number(me, phase, i), kind);
    }
    for (unsigned i = n_consumed(me, phase); i > 0; i--) {
        queue_get(kind);
    }
}

// What waits for other threads, so only one of them in a phase.
static void act_meet(unsigned me, unsigned phase)
{
    const unsigned kind = meeting_kind(phase);

    if (kind > NO_QUEUE) {
        act_pipeline(me, phase, kind == PIPELINE_BY_CONDITION);
    } else if (kind < NO_QUEUE) {
        work_queue(me, phase, kind);
    }
}

static double reduce_value(unsigned me, unsigned phase)
{
    return (double)(state_of(me, phase, 11) % 100000) / 977.0 + 0.1;
}

static double combine(tm_op op, double a, double b)
{
    switch (op) {
    case TM_SUM:
        return a + b;
    case TM_PRODUCT:
        return a * b;
    case TM_MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static void end_by_double(unsigned me, unsigned phase)
{
    const tm_op op = (tm_op)(state_of(0, phase, 12) % 4);
    double expected = reduce_value(0, phase);
    double result;

    for (unsigned i = 1; i < job.plan.n_threads; i++) {
        expected = combine(op, expected, reduce_value(i, phase));
    }
    OK(tm_reduce_double(&job.barrier, op, reduce_value(me, phase), &result));
    if (result != expected) {
        FAIL("phase %u: operation %d gives %a, not %a", phase, (int)op, result,
             expected);
    }
}

static void end_by_int64(unsigned me, unsigned phase)
{
    const int64_t expected = (int64_t)job.plan.n_threads * (1 + phase) * 7;
    int64_t result;

    OK(tm_reduce_int64(&job.barrier, TM_SUM,
                       (int64_t)(1 + phase) * 7 + me -
                           (job.plan.n_threads - 1 - me),
                       &result));
    if (result != expected) {
        FAIL("phase %u: sum %" PRId64 ", not %" PRId64, phase, result,
             expected);
    }
}

static void phase_end(unsigned me, unsigned phase)
{
    switch (style() == REGULAR ? 4 : state_of(0, phase, 13) % 5) {
    case 0:
        end_by_double(me, phase);
        break;
    case 1:
        end_by_int64(me, phase);
        break;
    case 2:
        OK(tm_barrier_wait(&job.barrier));
        break;
    default:
        OK(tm_iteration_end(&job.barrier));
    }
}

// A sign of life for who waits: a run may take minutes, a phase does not.
static void say_phase(unsigned phase)
{
    static time_t said_s; // of each node
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (said_s == 0) {
        said_s = now.tv_sec;
    } else if (now.tv_sec - said_s >= SIGN_S) {
        said_s = now.tv_sec;
        printf("goes on: phase %u\n", phase);
    }
}

typedef void act(unsigned me, unsigned phase);

// An order of the thread's own. @param n_acts  7 or more, no multiple of 2, 3 or 5
static void do_all(act *const acts[], unsigned n_acts, unsigned me,
                   unsigned phase)
{
    const unsigned first = (unsigned)(state_of(me, phase, 14) % n_acts);
    const unsigned step = 1 + (unsigned)(state_of(me, phase, 15) % 6);

    for (unsigned i = 0; i < n_acts; i++) {
        acts[(first + i * step) % n_acts](me, phase);
    }
}

static void act_nothing(unsigned me, unsigned phase)
{
    (void)me;
    (void)phase;
}

static void do_phase(unsigned me, unsigned phase)
{
    static act *const narrow[] = {
        act_write,   act_read,    act_count, act_tickets,
        act_atomics, act_parcels, act_meet,
    };
    static act *const mixed[] = {
        act_write,   act_read, act_count,   act_tickets, act_atomics,
        act_parcels, act_meet, act_streams, act_churn,   act_load,
        act_boards,  act_own,  act_nothing,
    };

    switch (style()) {
    case NARROW:
        do_all(narrow, sizeof narrow / sizeof narrow[0], me, phase);
        break;
    case MIXED:
        do_all(mixed, sizeof mixed / sizeof mixed[0], me, phase);
        break;
    default:
        act_streams(me, phase);
        act_load(me, phase);
        act_count(me, phase);
    }
}

static void *thread_work(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;

    for (unsigned phase = 0; phase < job.plan.n_phases; phase++) {
        if (job.is_racy) {
            contested = mix(me, phase);
        }
        do_phase(me, phase);
        phase_end(me, phase);
        if (me == 0) {
            say_phase(phase);
        }
    }
    return arg;
}

// Is what it must be?
static void expect(const char *what, uint64_t is, uint64_t should)
{
    if (is != should) {
        FAIL("%s: %" PRIu64 ", not %" PRIu64, what, is, should);
    }
}

static void check_sums(void)
{
    const struct plan *plan = &job.plan;
    uint64_t sums[N_COUNTERS] = {0};
    const int is_regular = style() == REGULAR; // neither tickets nor items
    uint64_t n_drawn = 0;
    uint64_t items = 0;
    uint64_t words = 0;
    uint64_t swapped = (uint64_t)tm_atomic_load(&job.words[2]);

    for (unsigned me = 0; me < plan->n_threads; me++) {
        words += given[me];
        swapped += taken[me];
        for (unsigned phase = 0; phase < plan->n_phases; phase++) {
            for (unsigned i = 0; i < N_COUNTERS; i++) {
                sums[i] += addend(me, phase, i);
            }
            n_drawn += is_regular ? 0 : n_tickets(me, phase);
            for (unsigned i = 0;
                 !is_regular && has_queue(phase) && i < n_produced(me, phase);
                 i++) {
                items += item_number(me, phase, i);
            }
        }
    }
    for (unsigned i = 0; i < N_COUNTERS; i++) {
        OK(tm_mutex_lock(&counters[i].mutex));
        expect("a counter", job.values[0][i], sums[i]);
        scoped_check(i);
        OK(tm_mutex_unlock(&counters[i].mutex));
    }
    expect("tickets", (uint64_t)tm_atomic_load(&job.words[0]), n_drawn);
    for (unsigned i = 0; i < n_drawn; i++) {
        expect("a ticket", job.tickets[i], (uint32_t)mix(plan->seed, i) | 1);
    }
    OK(tm_mutex_lock(&job.queue->mutex));
    expect("the sum of the items", job.queue->sum, items);
    OK(tm_mutex_unlock(&job.queue->mutex));
    expect("additions", (uint64_t)tm_atomic_load(&job.words[1]), words);
    expect("plain additions", (uint64_t)*job.plain_word, words);
    expect("what was swapped", swapped, words);
}

static void check_blocks(void)
{
    const unsigned n_phases = style() == REGULAR ? 0 : job.plan.n_phases;
    uint64_t sum = job.is_wide ? wide_check(job.plan.n_phases) : 0;

    for (unsigned block = 0; block < job.plan.n_blocks; block++) {
        for (unsigned i = 0; i < job.plan.sizes[block]; i++) {
            check_byte(block, n_phases, i);
            sum = mix(sum, job.plan.blocks[block][i]);
        }
        if (block > 0) {
            OK(tm_free(job.plan.blocks[block]));
        }
    }
    printf("checksum: %016" PRIx64 "\n", sum);
}

static void *allocate(size_t size, tm_protocol protocol, uint64_t *state)
{
    const tm_alloc_attr attr = {
        .name = "block",
        .protocol = protocol,
        .sharing = some_sharing(state),
        .placement = (tm_placement)draw(state, 4),
        .node = (unsigned)draw(state, n_named_nodes()),
    };
    void *block = tm_alloc(size, &attr);

    if (block == NULL) {
        FAIL("no memory for %zu bytes", size);
    }
    return block;
}

// The queue, whose bytes behind `first` its mutex guards; the counters, each value in one
// page and its mark in another.
static void queue_bind(void)
{
    OK(tm_bind(&job.queue->mutex, &job.queue->first,
               sizeof *job.queue - offsetof(struct queue, first)));
}

static void counters_make(void)
{
    const tm_alloc_attr attr = {.name = "counters", .protocol = TM_ENTRY};

    job.values[0] = values;
    job.values[1] = marks.of;
    if (!job.is_bound) {
        return;
    }
    job.values[0] = tm_alloc((size_t)2 * TM_PAGE_SIZE, &attr);
    if (job.values[0] == NULL) {
        FAIL("no memory for %u counters", N_COUNTERS);
    }
    job.values[1] = job.values[0] + TM_PAGE_SIZE / sizeof(uint64_t);
    for (unsigned i = 0; i < N_COUNTERS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            OK(tm_bind(&counters[i].mutex, &job.values[k][i],
                       sizeof(uint64_t)));
        }
    }
}

// @param times  blocks are so many times as large as the seed says
static void job_make(unsigned times)
{
    static const unsigned most[] = {60, 4096, 9000, 40000};
    struct plan *plan = &job.plan;
    uint64_t state = mix(plan->seed, 77);
    uint64_t size_state = mix(plan->seed, 78);

    plan->n_blocks = 1 + (unsigned)draw(&size_state, MOST_BLOCKS);
    for (unsigned block = 0; block < plan->n_blocks; block++) {
        const unsigned size = most[draw(&size_state, 4)];

        plan->sizes[block] = 1 + (unsigned)draw(&size_state, size) * times;
        plan->blocks[block] =
            allocate(plan->sizes[block], some_protocol(&state), &state);
        if (block == 0) {
            OK(tm_free(plan->blocks[0]));
            plan->sizes[0] = sizeof globals;
            plan->blocks[0] = globals;
        }
        for (unsigned i = 0; block % 2 == 1 && i < plan->sizes[block]; i++) {
            plan->blocks[block][i] = start_value(block, i);
        }
    }
    job.plain_word = allocate(sizeof(int64_t), TM_SEQUENTIAL, &state);
    job.words = allocate(3 * sizeof(int64_t), some_protocol(&state), &state);
    job.tickets = allocate(MOST_TICKETS * sizeof(uint32_t),
                           some_protocol(&state), &state);
    job.queue =
        allocate(sizeof *job.queue,
                 job.is_bound ? TM_ENTRY : some_protocol(&state), &state);
    if (job.is_bound) {
        queue_bind();
    }
    counters_make();
    job.scoped = allocate(sizeof *job.scoped, TM_SCOPE, &state);
    OK(tm_sem_init(&job.queue->empty, N_SLOTS));
    OK(tm_sem_init(&job.queue->full, 0));
    OK(tm_barrier_init(&job.barrier, plan->n_threads));
}

static void threads_run(unsigned n_threads)
{
    tm_thread threads[MOST_WORKERS];

    for (unsigned i = 0; i < n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, thread_work,
                            (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < n_threads; i++) {
        void *result;

        OK(tm_thread_join(threads[i], &result));
        if (result != (void *)(uintptr_t)i) {
            FAIL("thread %u returned %p", i, result);
        }
    }
}

// @return 0 an option is wrong
static int options_read(int argc, char **argv, unsigned *times)
{
    struct plan *plan = &job.plan;
    int option;

    while ((option = getopt(argc, argv, "s:t:f:x:rwmb")) != -1) {
        switch (option) {
        case 's':
            plan->seed = strtoull(optarg, NULL, 0);
            break;
        case 't':
            plan->n_threads = (unsigned)atoi(optarg);
            break;
        case 'f':
            plan->n_phases = (unsigned)atoi(optarg);
            break;
        case 'x':
            *times = (unsigned)atoi(optarg);
            break;
        case 'r':
            job.is_racy = 1;
            break;
        case 'w':
            job.is_wide = 1;
            break;
        case 'm':
            job.has_members = 1;
            break;
        case 'b':
            job.is_bound = 1;
            break;
        default:
            return 0;
        }
    }
    return 1;
}

// Before tm_init(), so on every node.
static void plan_draw(struct plan *plan)
{
    if (job.is_wide) {
        wide_draw(plan);
    }
    if (plan->n_phases == 0) {
        plan->n_phases = job.is_wide ? wide_phases() : 12;
        if (job.has_members && plan->n_phases < FEW_PHASES) {
            plan->n_phases *= 4; // they take their time
        }
    }
    if (plan->n_threads == 0) {
        plan->n_threads = 1 + (unsigned)(mix(plan->seed, 79) % FEW_WORKERS);
    }
}

int main(int argc, char **argv)
{
    struct plan *plan = &job.plan;
    unsigned times = 1;

    plan->seed = 1;
    if (!options_read(argc, argv, &times)) {
        return 64;
    }
    plan_draw(plan);
    tm_init(&argc, &argv);
    job_make(times);
    if (job.is_wide) {
        wide_open(plan, !job.has_members);
    }
    threads_run(plan->n_threads);
    for (unsigned me = 0; me < plan->n_threads; me++) {
        OK(tm_free(parcels[(plan->n_phases + 1) % 2][me].bytes));
    }
    check_sums();
    check_blocks();
    return 0;
}
