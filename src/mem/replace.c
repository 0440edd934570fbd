// SPDX-License-Identifier: BSD-3-Clause
/*
 * Which page goes. The programs that run here are iterative, and their threads
 * are known: a worker gives them their turns in a fixed order, and each uses its
 * pages in an order of first use that one tracked iteration has shown. So the
 * future is known, and what Belady's rule asks for can be done: let that page go
 * whose next use is farthest. Under a cyclic order that is the page that was used
 * last; plain LRU, which keeps just that, pages everything in as soon as
 * anything does not fit.
 *
 * What is not known is where a thread is within its turn: it is seen only when it
 * faults, or runs into a tripwire. Its *progress* is the furthest position in its
 * order at which it was seen; what lies ahead is needed now. What lies behind is
 * used again one sweep later, except for a *lookback*, because a page's first use
 * is not its last (a stencil). It costs no page-ins in a thread's only pass: as
 * many pages are missing after a sweep as before, they only lie elsewhere. It does
 * where memory is small, so it is bounded by that too.
 *
 * A thread may go over its pages several times in one turn: matrix
 * multiplication reads all of B for each row. It is found out by faults behind
 * the lookback; from RETURNS of them on the thread is *returning*, this turn and
 * the next: the positions [low, high) that it came back to form a cycle of their
 * own, which is to be gone through once more before anybody else's turn.
 *
 * A resident page is a *member* of one use of it (replace_plan.c), or a *stray*
 * of which nobody knows: those go first, at random, and before anything has been
 * learned that is all that happens. Random choice misses exp(-pW/M) of a sweep,
 * far less than LRU. A thread that keeps touching pages outside its set is
 * *irregular*: its set counts for nothing until it is learned anew.
 *
 * Times change with each turn and touch, but nothing is moved then:
 *
 * I1  A member's use is one of its page's, so it is never nearer than the page's
 *     next use. The walk over members, farthest first, looks up the page's next
 *     use; is it another, the page becomes a member there, which the walk has
 *     yet to come to (replace_victims.c).
 * I2  Each resident page is a member of exactly one use, or a stray.
 * I3  An open turn needs [from, n); a returning one [low, high), and what it has
 *     not come to beyond. struct replace_thread has the order.
 *
 * Context: the node lock. Source: [Belady66]; [Mattson70] for what LRU does.
 */
#include "mem/replace.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "mem/replace_priv.h"

#define LOOKBACK 128u
#define RETURNS 4u    ///< faults behind the lookback that show a second pass
#define SURPRISES 64u ///< touches outside the set that are put up with
#define FEW_TOUCHES 32u

void *replace_resize(void *array, size_t n, size_t size)
{
    void *resized = realloc(array, n * size);

    if (resized == NULL) {
        log_fatal(EXIT_MEMORY, "out of memory for the pager's records (%zu)",
                  n * size);
    }
    return resized;
}

struct page_note *replace_note_find(const struct replace *replace, page_no page)
{
    const size_t i = page / NOTES_PER_CHUNK;
    struct page_note *chunk = i < replace->n_chunks ? replace->chunks[i] : NULL;

    return chunk == NULL ? NULL : &chunk[page % NOTES_PER_CHUNK];
}

struct page_note *replace_note_get(struct replace *replace, page_no page)
{
    struct page_note **chunk;

    ensure(page < replace->n_pages);
    chunk = &replace->chunks[page / NOTES_PER_CHUNK];
    if (*chunk == NULL) {
        *chunk = replace_resize(NULL, NOTES_PER_CHUNK, sizeof **chunk);
        memset(*chunk, 0, NOTES_PER_CHUNK * sizeof **chunk);
    }
    return &(*chunk)[page % NOTES_PER_CHUNK];
}

/* ---- life ---- */

struct replace *replace_new(page_no n_pages,
                            const struct replace_options *options)
{
    struct replace *replace = replace_resize(NULL, 1, sizeof *replace);

    ensure(n_pages <= UINT32_MAX);
    memset(replace, 0, sizeof *replace);
    replace->n_pages = n_pages;
    replace->lookback = options != NULL && options->lookback != 0
                            ? options->lookback
                            : LOOKBACK;
    // Any odd number does for the generator's state.
    replace->random =
        (options != NULL ? options->seed : 0) * UINT64_C(0x9e3779b97f4a7c15) ^
        UINT64_C(0x2545f4914f6cdd1d);
    replace->random |= 1;
    replace->n_chunks = n_pages / NOTES_PER_CHUNK + 1;
    replace->chunks = calloc(replace->n_chunks, sizeof *replace->chunks);
    ensure_memory(replace->chunks != NULL);
    replace->is_stale = 1;
    return replace;
}

static void thread_free(struct replace_thread *thread)
{
    free(thread->pages);
    free(thread->members);
    free(thread);
}

void replace_free(struct replace *replace)
{
    if (replace == NULL) {
        return;
    }
    for (uint32_t i = 0; i < replace->n_threads; i++) {
        thread_free(replace->threads[i]);
    }
    for (uint32_t i = 0; i < replace->n_workers; i++) {
        free(replace->workers[i]->order);
        free(replace->workers[i]);
    }
    for (size_t i = 0; i < replace->n_chunks; i++) {
        free(replace->chunks[i]);
    }
    free(replace->chunks);
    free(replace->threads);
    free(replace->workers);
    free(replace->strays);
    free(replace->use_owner);
    free(replace->use_next);
    free(replace->rings);
    free(replace->streams);
    free(replace);
}

/* ---- what is known of the program ---- */

static int is_set(const struct replace_thread *thread, const page_no *pages,
                  size_t n)
{
    for (size_t i = 0; i < n && thread->n == n; i++) {
        if (thread->pages[i] != pages[i]) {
            return 0;
        }
    }
    return thread->n == n && !thread->is_irregular;
}

void replace_learn(struct replace *replace, uint32_t number,
                   const page_no *pages, size_t n)
{
    struct replace_thread *thread = replace_thread_find(replace, number, 1);

    ensure(n < UINT32_MAX);
    for (size_t i = 0; i < n; i++) {
        replace_note_get(replace, pages[i])->is_doubted = 0;
    }
    if (is_set(thread, pages, n)) {
        return;
    }
    thread->pages = replace_resize(thread->pages, n + 1, 4);
    for (size_t i = 0; i < n; i++) {
        thread->pages[i] = (uint32_t)pages[i];
    }
    thread->n = (uint32_t)n;
    thread->progress = thread->last = 0;
    thread->is_returning = 0;
    thread->low = NOWHERE;
    thread->high = 0;
    thread->n_returns = thread->n_touches = thread->n_surprises = 0;
    thread->is_irregular = 0;
    replace->is_stale = 1;
}

static void leave_order(struct replace_thread *thread)
{
    struct replace_worker *worker = thread->worker;
    uint32_t kept = 0;

    if (worker == NULL) {
        return;
    }
    thread->is_open = 0;
    for (uint32_t i = 0; i < worker->n; i++) {
        if (worker->order[i] != thread) {
            worker->order[kept++] = worker->order[i];
        }
    }
    worker->n = kept;
    if (worker->turn == thread) {
        worker->turn = NULL;
    }
    thread->worker = NULL;
}

void replace_forget(struct replace *replace, uint32_t number)
{
    struct replace_thread *thread = replace_thread_find(replace, number, 0);

    if (thread == NULL) {
        return;
    }
    leave_order(thread);
    for (uint32_t i = 0; i < replace->n_threads; i++) {
        if (replace->threads[i] == thread) {
            replace->n_threads--;
            memmove(replace->threads + i, replace->threads + i + 1,
                    (replace->n_threads - i) * sizeof *replace->threads);
        }
    }
    thread_free(thread);
    replace->is_stale = 1;
}

static int is_order(const struct replace_worker *worker,
                    const uint32_t *threads, size_t n)
{
    for (size_t i = 0; i < n && worker->n == n; i++) {
        if (worker->order[i]->number != threads[i]) {
            return 0;
        }
    }
    return worker->n == n;
}

void replace_order(struct replace *replace, unsigned number,
                   const uint32_t *threads, size_t n)
{
    struct replace_worker *worker = replace_worker_get(replace, number);
    struct replace_thread **order;
    struct replace_thread *turn = worker->turn;

    if (is_order(worker, threads, n)) {
        return;
    }
    order = replace_resize(NULL, n + 1, sizeof *order);
    for (uint32_t i = 0; i < worker->n; i++) {
        worker->order[i]->worker = NULL;
    }
    worker->n = 0;
    worker->turn = NULL;
    for (size_t i = 0; i < n; i++) {
        order[i] = replace_thread_find(replace, threads[i], 1);
        ensure(order[i]->worker != worker); // named twice
        leave_order(order[i]);
        order[i]->worker = worker;
        worker->turn = order[i] == turn ? turn : worker->turn;
    }
    if (turn != NULL && turn->worker != worker) {
        turn->is_open = 0;
    }
    free(worker->order);
    worker->order = order;
    worker->n = (uint32_t)n;
    replace->is_stale = 1;
}

/* ---- what happens ---- */

/** A turn is over: what it has shown counts for the next one. */
static void finish_turn(struct replace *replace, struct replace_thread *thread)
{
    thread->is_open = 0;
    if (thread->n_touches >= FEW_TOUCHES && thread->n_returns == 0) {
        thread->is_returning = 0;
    }
    if (thread->n_surprises > SURPRISES + thread->n_touches &&
        !thread->is_irregular && thread->n > 0) {
        thread->is_irregular = 1;
        replace->is_stale = 1;
    }
    thread->n_surprises /= 2;
}

static void begin_turn(struct replace_thread *thread)
{
    thread->is_open = 1;
    thread->progress = 0;
    thread->last = 0;
    thread->n_touches = 0;
    thread->n_returns = 0;
    if (!thread->is_returning) {
        thread->low = NOWHERE;
        thread->high = 0;
    }
}

void replace_turn(struct replace *replace, unsigned number, uint32_t who)
{
    struct replace_worker *worker = replace_worker_get(replace, number);
    struct replace_thread *thread = replace_thread_find(replace, who, 0);

    if (replace_open_turn(worker) != NULL) {
        finish_turn(replace, worker->turn);
    }
    if (thread != NULL && thread->worker == worker) {
        begin_turn(thread);
        worker->turn = thread;
    }
    replace_plan_renew(replace);
    replace_worker_place(replace, worker);
}

static void move_on(struct replace_thread *thread, uint32_t position)
{
    thread->n_touches++;
    thread->last = position + 1;
    if (position >= thread->progress) {
        thread->progress = position + 1;
    } else if (position < thread->from || thread->is_returning) {
        thread->n_returns++;
        if (position < thread->low) {
            thread->low = position;
        }
        if (position >= thread->high) {
            thread->high = position + 1;
        }
        thread->is_returning |= thread->n_returns >= RETURNS;
    }
}

void replace_touch(struct replace *replace, unsigned number, page_no page)
{
    struct replace_worker *worker = replace_worker_get(replace, number);
    struct replace_thread *thread = worker->turn;
    struct page_note *note;
    uint32_t position;

    replace_plan_renew(replace);
    note = replace_note_get(replace, page);
    note->stamp = ++replace->touches;
    note->is_touched = 1;
    note->is_doubted = 0;
    if (thread == NULL || !thread->is_open) {
        return;
    }
    position = replace_position_of(replace, thread, page);
    if (position == NOWHERE) {
        thread->n_surprises++;
        return;
    }
    move_on(thread, position);
    replace_worker_place(replace, worker);
}

void replace_trust(struct replace *replace, page_no page)
{
    struct page_note *note = replace_note_get(replace, page);

    note->is_touched = 1;
    note->is_doubted = 0;
}

static void add(struct replace *replace, page_no page, int is_used)
{
    struct page_note *note;

    replace_plan_renew(replace);
    note = replace_note_get(replace, page);
    if (note->is_resident) {
        return;
    }
    note->is_resident = 1;
    note->is_touched |= (uint32_t)is_used;
    note->stamp = replace->touches;
    replace->n_resident++;
    if (note->ring != 0) {
        replace_member_set(replace, note,
                           replace_use_after(replace, note, NULL));
    } else {
        replace_stray_add(replace, page, note);
    }
}

void replace_add(struct replace *replace, page_no page)
{
    add(replace, page, 1);
}

void replace_add_ahead(struct replace *replace, page_no page)
{
    add(replace, page, 0);
}

void replace_remove(struct replace *replace, page_no page)
{
    struct page_note *note = replace_note_get(replace, page);

    replace_plan_renew(replace);
    if (!note->is_resident) {
        return;
    }
    if (note->ring != 0) {
        replace_member_clear(replace, note);
    } else {
        replace_stray_remove(replace, note);
    }
    note->is_doubted = !note->is_touched;
    note->is_touched = 0;
    note->is_resident = 0;
    replace->n_resident--;
}

/* ---- answers: the simple ones ---- */

struct replace_needs replace_needs(struct replace *replace)
{
    replace_plan_renew(replace);
    return replace->needs;
}

uint64_t replace_next_use(struct replace *replace, page_no page)
{
    const struct page_note *note;
    uint64_t time = REPLACE_NEVER;

    replace_plan_renew(replace);
    note = replace_note_find(replace, page);
    if (note != NULL && note->ring != 0) {
        (void)replace_use_after(replace, note, &time);
    }
    return time;
}
