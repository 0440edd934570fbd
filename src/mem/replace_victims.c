// SPDX-License-Identifier: BSD-3-Clause
/*
 * Who goes, and who is to come. The members of a worker's threads, farthest first,
 * lie in *streams*: one cycle a worker, backwards from where it stands through
 * all turns, and for each open turn what is still needed in it. A stream is only
 * its foremost candidate; the farthest of all streams' candidates is taken. If
 * its page has a nearer use (I1 in replace.c) it becomes a member there, and
 * perhaps the candidate of that stream.
 *
 * I4  Within a call, no member lies farther than what was taken last, but those
 *     that were taken; none lies between a stream's last and its candidate.
 *
 * Strays are drawn at random, in groups of pages next to each other, which does
 * not harm where there are many groups, and saves the disk seeks: the more there are,
 * the larger. What goes like that comes back like that, long after an order is known.
 * Drawn ones are swapped to the front of the list, so that none is drawn twice.
 *
 * Pages touched last are spared until nothing else is left: the thread that
 * faulted on one has perhaps not run since.
 */
#include <stdlib.h>

#include "mem/replace_priv.h"

#define SPARED 32u ///< touches; never more than an eighth of the pages

// Pages of a group of strays, powers of two.
#define GROUP_LEAST 16u
#define GROUP_MOST 64u
#define GROUPS_LEAST 128u ///< in memory, if they are larger than the smallest

struct stream {
    struct replace_worker *worker;
    struct replace_thread *open; ///< whose needs; NULL: the worker's cycle
    struct replace_thread *at;   ///< the candidate's; NULL: there is no more
    uint32_t position;
    uint64_t time;
};

/** What is asked of replace_victims(). */
struct question {
    page_no *victims;
    unsigned n;
    unsigned max;
    int (*may_go)(void *context, page_no page);
    void *context;
    uint32_t spared; ///< touches
    int of_spared;   ///< only they, now
};

static int is_full(const struct question *question)
{
    return question->n == question->max;
}

static void consider(struct replace *replace, struct question *question,
                     page_no page, const struct page_note *note)
{
    int is_spared = replace->touches - note->stamp < question->spared;

    if (is_spared == question->of_spared &&
        question->may_go(question->context, page)) {
        question->victims[question->n++] = page;
    }
}

/* ---- strays ---- */

static uint64_t draw(struct replace *replace, uint64_t limit)
{
    replace->random ^= replace->random << 13;
    replace->random ^= replace->random >> 7;
    replace->random ^= replace->random << 17;
    return (replace->random >> 11) % limit;
}

static void swap_strays(struct replace *replace, size_t i, size_t j)
{
    uint32_t page = replace->strays[i];

    replace->strays[i] = replace->strays[j];
    replace->strays[j] = page;
    replace_note_find(replace, replace->strays[i])->place = (uint32_t)i;
    replace_note_find(replace, replace->strays[j])->place = (uint32_t)j;
}

static unsigned group_size(const struct replace *replace)
{
    unsigned size = GROUP_LEAST;

    while (size < GROUP_MOST &&
           replace->n_resident >= (size_t)2 * size * GROUPS_LEAST) {
        size *= 2;
    }
    return size;
}

/** Consider the strays of a group that were not drawn yet.
 * @return how many were drawn by now */
static size_t draw_group(struct replace *replace, struct question *question,
                         page_no first, unsigned size, size_t n_drawn)
{
    for (page_no page = first; page < first + size; page++) {
        const struct page_note *note = replace_note_find(replace, page);

        if (note == NULL || !note->is_resident || note->ring != 0 ||
            note->place < n_drawn || is_full(question)) {
            continue;
        }
        consider(replace, question, page, note);
        swap_strays(replace, note->place, n_drawn++);
    }
    return n_drawn;
}

static void ask_strays(struct replace *replace, struct question *question)
{
    const unsigned size = group_size(replace);
    size_t n_drawn = 0;

    while (n_drawn < replace->n_strays && !is_full(question)) {
        size_t i = n_drawn + draw(replace, replace->n_strays - n_drawn);
        page_no page = replace->strays[i];

        if (question->max == 1) {
            consider(replace, question, page, replace_note_find(replace, page));
            swap_strays(replace, i, n_drawn++);
        } else {
            n_drawn = draw_group(replace, question, page - page % size, size,
                                 n_drawn);
        }
    }
}

/* ---- members ---- */

/** @return the last member at a position in [low, high), NOWHERE if none */
static uint32_t member_below(const struct replace_thread *thread, uint32_t low,
                             uint32_t high)
{
    uint32_t word;
    uint64_t bits;

    if (low >= high || thread->n_members == 0) {
        return NOWHERE;
    }
    word = (high - 1) / 64;
    bits = thread->members[word] & ~UINT64_C(0) >> (63 - (high - 1) % 64);
    while (bits == 0) {
        if (word == low / 64) {
            return NOWHERE;
        }
        bits = thread->members[--word];
    }
    high = word * 64 + 63 - (uint32_t)__builtin_clzll(bits);
    return high >= low ? high : NOWHERE;
}

/** What an open turn needs, the last first: [tail, n), [first, from), [from,
 * top). */
static uint32_t needed_before(const struct replace_thread *thread,
                              uint32_t position)
{
    uint32_t found = NOWHERE;
    int was_in_tail = position >= thread->tail;

    if (was_in_tail) {
        found = member_below(thread, thread->tail, position);
        position = thread->from;
    }
    if (found == NOWHERE && (was_in_tail || position < thread->from)) {
        found = member_below(thread, thread->first, position);
        position = thread->top;
    }
    return found != NOWHERE ? found
                            : member_below(thread, thread->from, position);
}

static void find_needed(struct stream *stream, int is_first)
{
    struct replace_thread *thread = stream->open;
    uint32_t found =
        needed_before(thread, is_first ? thread->n_uses : stream->position);

    stream->at = found == NOWHERE ? NULL : thread;
    stream->position = found;
}

/** What a thread does not need before its turn is over, if that is open: [0,
 * first), [top, tail); else everything. */
static uint32_t later_before(const struct replace_thread *thread,
                             uint32_t position)
{
    uint32_t found;

    if (!thread->is_open) {
        return member_below(
            thread, 0, position < thread->n_uses ? position : thread->n_uses);
    }
    found = member_below(thread, thread->top,
                         position < thread->tail ? position : thread->tail);
    if (found != NOWHERE) {
        return found;
    }
    return member_below(thread, 0,
                        position < thread->first ? position : thread->first);
}

static void find_in_cycle(struct stream *stream, int is_first)
{
    const struct replace_worker *worker = stream->worker;
    uint32_t first = worker->turn != NULL ? worker->turn->index : worker->n - 1;
    uint32_t index = is_first ? first : stream->at->index;
    uint32_t below = is_first ? NOWHERE : stream->position;

    for (;;) {
        struct replace_thread *thread = worker->order[index];

        stream->at = thread;
        stream->position = later_before(thread, below);
        if (stream->position != NOWHERE) {
            return;
        }
        index = index == 0 ? worker->n - 1 : index - 1;
        below = NOWHERE;
        if (index == first) {
            stream->at = NULL;
            return;
        }
    }
}

static void find_candidate(struct stream *stream, int is_first)
{
    if (stream->open != NULL) {
        find_needed(stream, is_first);
    } else {
        find_in_cycle(stream, is_first);
    }
    if (stream->at != NULL) {
        stream->time = replace_use_time(stream->at, stream->position);
    }
}

static uint32_t begin_streams(struct replace *replace)
{
    uint32_t n = 2 * replace->n_workers;
    struct stream *streams;

    if (n > replace->streams_room) {
        replace->streams =
            replace_resize(replace->streams, n, sizeof *replace->streams);
        replace->streams_room = n;
    }
    streams = replace->streams;
    n = 0;
    for (uint32_t i = 0; i < replace->n_workers; i++) {
        struct replace_worker *worker = replace->workers[i];

        if (worker->total == 0) {
            continue;
        }
        streams[n++] = (struct stream){.worker = worker};
        if (replace_open_turn(worker) != NULL) {
            streams[n++] = (struct stream){worker, worker->turn, NULL, 0, 0};
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        find_candidate(&streams[i], 1);
    }
    return n;
}

static struct stream *farthest(struct stream *streams, uint32_t n)
{
    struct stream *best = NULL;

    for (uint32_t i = 0; i < n; i++) {
        if (streams[i].at != NULL &&
            (best == NULL || streams[i].time > best->time)) {
            best = &streams[i];
        }
    }
    return best;
}

/** A page became a member of a nearer use: perhaps a stream's candidate. */
static void tell_streams(struct replace *replace, uint32_t n, uint32_t use,
                         uint64_t time)
{
    struct replace_thread *thread = replace_use_thread(replace, use);
    uint32_t position = use - thread->first_use;
    struct replace_thread *open =
        replace_is_needed_now(thread, position) ? thread : NULL;

    for (uint32_t i = 0; i < n; i++) {
        struct stream *stream = &replace->streams[i];

        if (stream->worker == thread->worker && stream->open == open &&
            (stream->at == NULL || stream->time < time)) {
            stream->at = thread;
            stream->position = position;
            stream->time = time;
        }
    }
}

static void ask_members(struct replace *replace, struct question *question)
{
    uint32_t n = begin_streams(replace);
    struct stream *stream;

    while (!is_full(question) &&
           (stream = farthest(replace->streams, n)) != NULL) {
        uint32_t use = stream->at->first_use + stream->position;
        page_no page = stream->at->pages[stream->position];
        struct page_note *note = replace_note_find(replace, page);
        uint64_t time;
        uint32_t next = replace_use_after(replace, note, &time);

        find_candidate(stream, 0);
        if (next == use) {
            consider(replace, question, page, note);
        } else {
            replace_member_clear(replace, note);
            replace_member_set(replace, note, next);
            tell_streams(replace, n, next, time);
        }
    }
}

/* ---- public ---- */

unsigned replace_victims(struct replace *replace, page_no *victims,
                         unsigned max,
                         int (*may_go)(void *context, page_no page),
                         void *context)
{
    size_t eighth = replace->n_resident / 8;
    struct question question = {
        .victims = victims,
        .max = max,
        .may_go = may_go,
        .context = context,
        .spared = eighth < SPARED ? (uint32_t)eighth : SPARED,
    };

    replace_plan_renew(replace);
    for (int i = 0; i < 2; i++) {
        question.of_spared = i;
        ask_strays(replace, &question);
        ask_members(replace, &question);
    }
    return question.n;
}

/** What replace_ahead() has yet to find. */
struct search {
    page_no *pages;
    unsigned n;
    unsigned max;
    uint32_t horizon;
};

static void search_positions(struct replace *replace, struct search *search,
                             const struct replace_thread *thread,
                             uint32_t first, uint32_t end)
{
    for (uint32_t q = first;
         q < end && search->n < search->max && search->horizon > 0;
         q++, search->horizon--) {
        struct page_note *note = replace_note_find(replace, thread->pages[q]);

        if (!note->is_resident && !note->is_doubted &&
            note->asked != replace->questions) {
            note->asked = replace->questions;
            search->pages[search->n++] = thread->pages[q];
        }
    }
}

/** What a thread still needs in its turn; of one that returns, what it will come
 * to in this pass and the next. */
static void search_turn(struct replace *replace, struct search *search,
                        const struct replace_thread *thread)
{
    if (!thread->is_returning) {
        search_positions(replace, search, thread, thread->progress,
                         thread->n_uses);
    } else {
        search_positions(replace, search, thread, thread->last, thread->top);
        search_positions(replace, search, thread, thread->low, thread->high);
    }
}

unsigned replace_ahead(struct replace *replace, unsigned number,
                       uint32_t horizon, page_no *pages, unsigned max)
{
    struct replace_worker *worker = replace_worker_get(replace, number);
    const struct replace_thread *turn = worker->turn;
    struct search search = {pages, 0, max, horizon};

    replace_plan_renew(replace);
    replace->questions = (replace->questions + 1) & 0x1fffffff;
    if (replace_open_turn(worker) != NULL) {
        search_turn(replace, &search, turn);
    }
    for (uint32_t i = 0; i < worker->n; i++) {
        uint32_t first = turn != NULL ? turn->index + 1 : 0;
        const struct replace_thread *thread =
            worker->order[(first + i) % worker->n];

        search_positions(replace, &search, thread, 0,
                         thread->is_open ? thread->first : thread->n_uses);
    }
    return search.n;
}
