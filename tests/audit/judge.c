// SPDX-License-Identifier: BSD-3-Clause
/*
 * The judge: vector clocks of threads ([Mattern89]), and of each byte the last write
 * ([Flanagan09], FastTrack's epochs, per byte).
 *
 * A thread counts what it gives to others: clock[t][t]. An object (mutex, semaphore,
 * barrier, word of the atomic functions) has a clock that threads give to and take
 * from. A write by t with count c is ordered before what u does now if
 * c <= clock[u][t].
 *
 * The states of a byte
 *   UNKNOWN   nobody has been seen to write it; reads are not judged
 *   KNOWN     `value` was written last, by `thread` with `count`
 *   BUSY      two atomic functions used it at a time; known again with the next that
 *             is alone, for that is ordered after all of them
 *   LEFT_OUT  writes have raced, or used something the judge does not know: not judged
 *             until the byte is filled again
 *
 * J1 What is told is an order that the program's own allows: all that is ordered before
 *    an event has been told before. So at a read the last write told is the only one
 *    that can be the last ordered one, or it races with the read.
 * J2 Nothing is ordered that the calls do not promise to order. Where a call's partner
 *    is not known (a semaphore above 1, two atomics at a time), only what holds for
 *    all possible partners is taken (the least of their clocks), or nothing. So a read
 *    may go unjudged; none is called wrong that is right in a program without races.
 * J3 A mismatch is a suspicion, kept with the reader's count, until all has been told: a
 *    write that comes later and is not ordered after it was a race, and takes
 *    it back.
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MOST_SUSPECTS = 10000 };

enum state { UNKNOWN, KNOWN, BUSY, LEFT_OUT };

struct byte {
    uint32_t thread;
    uint32_t count;
    uint32_t place;
    uint8_t value;
    uint8_t state;
    uint8_t is_suspect;
};

struct clock {
    uint32_t *of;
    unsigned n;
};

struct episode {
    struct clock clock;
    unsigned n_arrived;
    unsigned n_gone;
    struct episode *next;
};

enum kind { MUTEX, BARRIER, SEMAPHORE, WORD };

struct object {
    uint64_t name;
    enum kind kind;
    struct clock clock;
    unsigned count;          // of a barrier's threads, of a semaphore's tokens
    unsigned n_under_way;    // of atomic functions
    uint64_t last_overlap;   // the number of the event that made them two
    struct episode *filling; // of a barrier
};

struct thread {
    struct clock clock;
    struct episode *episode; // at whose barrier it is
    uint64_t began;          // its atomic function, a number of an event
};

struct suspect {
    struct judge_wrong wrong;
    uint32_t count; // the reader's
    int is_taken_back;
};

struct judge {
    struct thread *threads;
    size_t n_threads;
    struct object *objects; // hashed by name, kind
    size_t n_objects;
    size_t room;
    struct byte **pages; // hashed by number
    uint64_t *page_numbers;
    size_t n_pages;
    size_t page_room;
    uint64_t last_number; // of the page found last
    struct byte *last_page;
    struct suspect *suspects;
    size_t n_suspects;
    uint64_t n_events;
    struct judge_counts counts;
};

static void *need(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "audit: no memory\n");
        exit(71);
    }
    return memory;
}

// ---- clocks

static uint32_t clock_get(const struct clock *clock, size_t thread)
{
    return thread < clock->n ? clock->of[thread] : 0;
}

static void clock_widen(struct clock *clock, size_t n)
{
    if (n > clock->n) {
        clock->of = need(realloc(clock->of, n * sizeof *clock->of));
        memset(clock->of + clock->n, 0, (n - clock->n) * sizeof *clock->of);
        clock->n = (unsigned)n;
    }
}

static void clock_join(struct clock *clock, const struct clock *other)
{
    clock_widen(clock, other->n);
    for (size_t i = 0; i < other->n; i++) {
        if (other->of[i] > clock->of[i]) {
            clock->of[i] = other->of[i];
        }
    }
}

static void clock_least(struct clock *clock, const struct clock *other)
{
    for (size_t i = 0; i < clock->n; i++) {
        if (clock_get(other, i) < clock->of[i]) {
            clock->of[i] = clock_get(other, i);
        }
    }
}

static void clock_clear(struct clock *clock)
{
    memset(clock->of, 0, clock->n * sizeof *clock->of);
}

// ---- what there is

static struct thread *thread_of(struct judge *judge, uint64_t number)
{
    if (number >= judge->n_threads) {
        const size_t n = number + 64;

        judge->threads =
            need(realloc(judge->threads, n * sizeof *judge->threads));
        memset(judge->threads + judge->n_threads, 0,
               (n - judge->n_threads) * sizeof *judge->threads);
        judge->n_threads = n;
    }
    if (judge->threads[number].clock.n <= number) {
        clock_widen(&judge->threads[number].clock, number + 1);
        judge->threads[number].clock.of[number] = 1;
    }
    return &judge->threads[number];
}

// It has given its clock to somebody: what it does from now on is later.
static void thread_count(struct judge *judge, uint64_t number)
{
    thread_of(judge, number)->clock.of[number]++;
    judge->n_events++;
    judge->counts.events++;
}

static size_t hashed(uint64_t name, size_t room)
{
    return (size_t)(name * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
}

static struct object *slot_of(struct object *objects, size_t room,
                              uint64_t name, enum kind kind)
{
    size_t i = hashed(name + (uint64_t)kind * 977, room);

    while (objects[i].name != 0 &&
           (objects[i].name != name || objects[i].kind != kind)) {
        i = (i + 1) & (room - 1);
    }
    return &objects[i];
}

static void objects_grow(struct judge *judge)
{
    const size_t room = judge->room == 0 ? 1024 : 2 * judge->room;
    struct object *objects = need(calloc(room, sizeof *objects));

    for (size_t i = 0; i < judge->room; i++) {
        const struct object *object = &judge->objects[i];

        if (object->name != 0) {
            *slot_of(objects, room, object->name, object->kind) = *object;
        }
    }
    free(judge->objects);
    judge->objects = objects;
    judge->room = room;
}

static struct object *object_of(struct judge *judge, uint64_t name,
                                enum kind kind)
{
    struct object *object;

    if (2 * judge->n_objects >= judge->room) {
        objects_grow(judge);
    }
    object = slot_of(judge->objects, judge->room, name, kind);
    if (object->name == 0) {
        object->name = name;
        object->kind = kind;
        judge->n_objects++;
    }
    return object;
}

static size_t page_slot(const struct judge *judge, uint64_t number)
{
    size_t i = hashed(number, judge->page_room);

    while (judge->pages[i] != NULL && judge->page_numbers[i] != number) {
        i = (i + 1) & (judge->page_room - 1);
    }
    return i;
}

static void pages_grow(struct judge *judge)
{
    struct byte **pages = judge->pages;
    uint64_t *numbers = judge->page_numbers;
    const size_t room = judge->page_room;

    judge->page_room = room == 0 ? 1024 : 2 * room;
    judge->pages = need(calloc(judge->page_room, sizeof *judge->pages));
    judge->page_numbers =
        need(calloc(judge->page_room, sizeof *judge->page_numbers));
    for (size_t i = 0; i < room; i++) {
        if (pages[i] != NULL) {
            const size_t to = page_slot(judge, numbers[i]);

            judge->pages[to] = pages[i];
            judge->page_numbers[to] = numbers[i];
        }
    }
    free(pages);
    free(numbers);
}

// The bytes of a page.
static struct byte *page_of(struct judge *judge, uint64_t number)
{
    size_t i;

    if (judge->last_page != NULL && judge->last_number == number) {
        return judge->last_page;
    }
    if (2 * judge->n_pages >= judge->page_room) {
        pages_grow(judge);
    }
    i = page_slot(judge, number);
    if (judge->pages[i] == NULL) {
        judge->pages[i] = need(calloc(PAGE, sizeof **judge->pages));
        judge->page_numbers[i] = number;
        judge->n_pages++;
    }
    judge->last_number = number;
    judge->last_page = judge->pages[i];
    return judge->last_page;
}

static struct byte *byte_of(struct judge *judge, uint64_t address)
{
    return &page_of(judge, address / PAGE)[address % PAGE];
}

// ---- reads and writes

static int is_ordered(const struct thread *thread, const struct byte *byte)
{
    return byte->count <= clock_get(&thread->clock, byte->thread);
}

static void suspect(struct judge *judge, const struct judge_access *read,
                    unsigned i, struct byte *byte)
{
    const struct thread *thread = thread_of(judge, read->thread);
    struct suspect *it;

    judge->counts.wrong++;
    if (judge->n_suspects == MOST_SUSPECTS) {
        return;
    }
    it = &judge->suspects[judge->n_suspects++];
    it->wrong = (struct judge_wrong){
        .read = *read,
        .byte = read->address + i,
        .is = (uint8_t)(read->value >> 8 * i),
        .should = byte->value,
        .writer = byte->thread,
        .write_place = byte->place,
    };
    it->count = clock_get(&thread->clock, read->thread);
    it->is_taken_back = 0;
    byte->is_suspect = 1;
}

static void take_back(struct judge *judge, const struct thread *writer,
                      uint64_t address)
{
    for (size_t i = 0; i < judge->n_suspects; i++) {
        struct suspect *it = &judge->suspects[i];

        if (it->wrong.byte == address && !it->is_taken_back &&
            it->count > clock_get(&writer->clock, it->wrong.read.thread)) {
            it->is_taken_back = 1;
            judge->counts.wrong--;
            judge->counts.raced++;
        }
    }
}

void judge_read(struct judge *judge, const struct judge_access *access)
{
    const struct thread *thread = thread_of(judge, access->thread);
    int is_raced = 0;
    int is_unknown = 0;

    judge->counts.reads++;
    for (unsigned i = 0; i < access->size; i++) {
        struct byte *byte = byte_of(judge, access->address + i);

        if (byte->state != KNOWN) {
            is_unknown |= byte->state == UNKNOWN;
            is_raced |= byte->state != UNKNOWN;
        } else if (!is_ordered(thread, byte)) {
            is_raced = 1;
        } else if (byte->value != (uint8_t)(access->value >> 8 * i)) {
            suspect(judge, access, i, byte);
            return;
        }
    }
    judge->counts.raced += is_raced != 0;
    judge->counts.unknown += is_unknown && !is_raced;
}

void judge_write(struct judge *judge, const struct judge_access *access)
{
    const struct thread *thread = thread_of(judge, access->thread);
    const uint32_t count = clock_get(&thread->clock, access->thread);
    int is_wild = 0;

    judge->counts.writes++;
    for (unsigned i = 0; i < access->size; i++) {
        struct byte *byte = byte_of(judge, access->address + i);

        if (byte->is_suspect) {
            take_back(judge, thread, access->address + i);
        }
        if (byte->state == KNOWN && !is_ordered(thread, byte)) {
            byte->state = LEFT_OUT;
            is_wild = 1;
        } else if (byte->state != LEFT_OUT) {
            byte->state = KNOWN;
        }
        byte->thread = (uint32_t)access->thread;
        byte->count = count;
        byte->place = (uint32_t)access->place;
        byte->value = (uint8_t)(access->value >> 8 * i);
    }
    judge->counts.wild += is_wild != 0;
}

void judge_fill(struct judge *judge, uint64_t thread, uint64_t address,
                size_t size, const uint8_t *bytes, uint64_t place)
{
    const uint32_t count = clock_get(&thread_of(judge, thread)->clock, thread);

    for (size_t i = 0; i < size; i++) {
        *byte_of(judge, address + i) = (struct byte){
            .thread = (uint32_t)thread,
            .count = count,
            .place = (uint32_t)place,
            .value = bytes == NULL ? 0 : bytes[i],
            .state = KNOWN,
        };
    }
}

void judge_leave_out(struct judge *judge, uint64_t address, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        byte_of(judge, address + i)->state = LEFT_OUT;
    }
}

// ---- what orders

static void give(struct judge *judge, uint64_t thread, struct clock *clock)
{
    clock_join(clock, &thread_of(judge, thread)->clock);
    thread_count(judge, thread);
}

static void take(struct judge *judge, uint64_t thread,
                 const struct clock *clock)
{
    clock_join(&thread_of(judge, thread)->clock, clock);
    judge->n_events++;
    judge->counts.events++;
}

void judge_create(struct judge *judge, uint64_t thread, uint64_t child)
{
    thread_of(judge, thread);
    thread_of(judge, child); // may move the former
    give(judge, thread, &thread_of(judge, child)->clock);
}

void judge_join(struct judge *judge, uint64_t thread, uint64_t child)
{
    thread_of(judge, thread);
    thread_of(judge, child);
    take(judge, thread, &thread_of(judge, child)->clock);
}

void judge_lock(struct judge *judge, uint64_t thread, uint64_t object)
{
    take(judge, thread, &object_of(judge, object, MUTEX)->clock);
}

void judge_unlock(struct judge *judge, uint64_t thread, uint64_t object)
{
    give(judge, thread, &object_of(judge, object, MUTEX)->clock);
}

void judge_barrier(struct judge *judge, uint64_t object, unsigned count)
{
    object_of(judge, object, BARRIER)->count = count;
}

void judge_arrive(struct judge *judge, uint64_t thread, uint64_t object)
{
    struct object *barrier = object_of(judge, object, BARRIER);

    if (barrier->filling == NULL) {
        barrier->filling = need(calloc(1, sizeof *barrier->filling));
    }
    thread_of(judge, thread)->episode = barrier->filling;
    give(judge, thread, &barrier->filling->clock);
    if (++barrier->filling->n_arrived == barrier->count) {
        barrier->filling = NULL;
    }
}

void judge_depart(struct judge *judge, uint64_t thread, uint64_t object)
{
    struct episode *episode = thread_of(judge, thread)->episode;

    (void)object;
    if (episode == NULL) {
        return;
    }
    take(judge, thread, &episode->clock);
    thread_of(judge, thread)->episode = NULL;
    if (++episode->n_gone == episode->n_arrived) {
        free(episode->clock.of);
        free(episode);
    }
}

void judge_semaphore(struct judge *judge, uint64_t thread, uint64_t object,
                     unsigned value)
{
    struct object *semaphore = object_of(judge, object, SEMAPHORE);

    clock_clear(&semaphore->clock);
    semaphore->count = value;
    give(judge, thread, &semaphore->clock);
}

void judge_post(struct judge *judge, uint64_t thread, uint64_t object)
{
    struct object *semaphore = object_of(judge, object, SEMAPHORE);

    if (semaphore->count++ == 0) {
        clock_clear(&semaphore->clock);
        give(judge, thread, &semaphore->clock);
    } else {
        clock_least(&semaphore->clock, &thread_of(judge, thread)->clock);
        thread_count(judge, thread);
    }
}

void judge_wait(struct judge *judge, uint64_t thread, uint64_t object)
{
    struct object *semaphore = object_of(judge, object, SEMAPHORE);

    take(judge, thread, &semaphore->clock);
    if (semaphore->count > 0) {
        semaphore->count--;
    }
}

void judge_atomic_begin(struct judge *judge, uint64_t thread, uint64_t word)
{
    struct object *object = object_of(judge, word, WORD);

    take(judge, thread, &object->clock);
    thread_of(judge, thread)->began = judge->n_events;
    if (object->n_under_way++ > 0) {
        object->last_overlap = judge->n_events;
    }
}

static void make_busy(struct judge *judge, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++) {
        struct byte *byte = byte_of(judge, word + i);

        byte->state = byte->state == LEFT_OUT ? LEFT_OUT : BUSY;
    }
}

void judge_atomic_end(struct judge *judge, uint64_t thread, uint64_t word,
                      const struct judge_access *read,
                      const struct judge_access *write)
{
    struct object *object = object_of(judge, word, WORD);
    const int is_alone = object->last_overlap < thread_of(judge, thread)->began;

    object->n_under_way--;
    if (is_alone && read != NULL) {
        judge_read(judge, read);
    }
    if (is_alone && write != NULL) {
        judge_write(judge, write);
    } else if (!is_alone) {
        make_busy(judge, word);
    }
    give(judge, thread, &object->clock);
}

// ---- set-up and result

struct judge *judge_new(void)
{
    struct judge *judge = need(calloc(1, sizeof *judge));

    judge->suspects = need(calloc(MOST_SUSPECTS, sizeof *judge->suspects));
    thread_of(judge, 0);
    return judge;
}

void judge_free(struct judge *judge)
{
    for (size_t i = 0; i < judge->n_threads; i++) {
        free(judge->threads[i].clock.of);
    }
    for (size_t i = 0; i < judge->room; i++) {
        free(judge->objects[i].clock.of);
        if (judge->objects[i].filling != NULL) {
            free(judge->objects[i].filling->clock.of);
            free(judge->objects[i].filling);
        }
    }
    for (size_t i = 0; i < judge->page_room; i++) {
        free(judge->pages[i]);
    }
    free(judge->threads);
    free(judge->objects);
    free(judge->pages);
    free(judge->page_numbers);
    free(judge->suspects);
    free(judge);
}

const struct judge_wrong *judge_wrong(struct judge *judge, size_t n)
{
    for (size_t i = 0; i < judge->n_suspects; i++) {
        if (!judge->suspects[i].is_taken_back && n-- == 0) {
            return &judge->suspects[i].wrong;
        }
    }
    return NULL;
}

struct judge_counts judge_counts(const struct judge *judge)
{
    return judge->counts;
}
