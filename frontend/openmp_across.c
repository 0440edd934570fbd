// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's loops whose iterations wait for others: `ordered(n)` with `depend(source)` and
// `depend(sink:)`. Iterations are counted from 0 on, the outermost loop is shared out. Each
// piece of it has a post: how far its thread has come, as the numbers of an iteration, which
// rise.
//
// A thread does not tell at each `source` how far it is: it remembers that, and posts it when
// somebody waits for it, which a hint tells it; before it calls Teamster, since it may wait
// there; and at the end of its chunk. In a program with atomic accesses, which may wait by
// these, it tells each. So a message tells of as many iterations as have been run meanwhile, and one that waits
// knows of all of these.
//
// A1  Who waits is posted to: it notes that at the post, under the mutex, and sets the hint of
//     the thread that has the piece; who takes a piece that is awaited sets its own.
// A2  A thread that waits has posted all.
#include "openmp_loops.h"

#include <stdarg.h>
#include <string.h>

/** Of a piece; under the mutex of the share. */
struct post {
    unsigned owner; // 1 + the number of the thread that has it; 0: nobody yet
    unsigned n_awaiting;
    bool has_any;
    unsigned long counts[]; // of the latest iteration
};

/** What a thread remembers of the loop that it is in. */
struct across {
    unsigned long first; // of its chunk
    unsigned long end;
    bool is_posted; // what is remembered of its own
    bool has_seen;
    unsigned long seen_piece;
    unsigned long
        counts[]; // its own latest iteration; then that seen of another piece
};

/** Has the program atomic accesses? */
extern char tmf_is_racy[] __attribute__((weak));

static struct member *self(void)
{
    return openmp_self();
}

// ---- posts

static unsigned long piece_of(const struct share *share, unsigned long first,
                              unsigned n_threads)
{
    const unsigned long each = share->end / n_threads;
    const unsigned long more = share->end % n_threads;

    if (share->kind == GUIDED) {
        return first;
    }
    if (share->kind != STATIC || share->chunk > 0) {
        return first / (share->chunk == 0 ? 1 : share->chunk);
    }
    return first < more * (each + 1)
               ? first / (each + 1)
               : more + (first - more * (each + 1)) / each;
}

static size_t post_size(unsigned n_counts)
{
    return sizeof(struct post) + n_counts * sizeof(unsigned long);
}

static struct post *post_of(const struct member *member, unsigned long first)
{
    const struct share *share = member->share;
    char *posts = share->block[FOR_POSTS];

    return (struct post *)(void *)(posts + piece_of(share, first, member->n) *
                                               post_size(share->n_counts));
}

static unsigned *hint_of(const struct member *member, unsigned number)
{
    return &member->team->is_awaited[number % OPENMP_HINTS];
}

static bool has_come(const unsigned long *counts, const unsigned long *wanted,
                     unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (counts[i] != wanted[i]) {
            return counts[i] > wanted[i];
        }
    }
    return true;
}

static bool is_there(const struct post *post, const unsigned long *wanted,
                     unsigned n)
{
    return post->has_any && has_come(post->counts, wanted, n);
}

// REQUIRES(share_lock)
static void post_own(struct member *member)
{
    struct across *across = member->across;
    struct post *post;

    if (across->is_posted) {
        return;
    }
    across->is_posted = true;
    front_thread()->before_call = NULL;
    post = post_of(member, across->counts[0]);
    post->has_any = true;
    memcpy(post->counts, across->counts,
           member->share->n_counts * sizeof post->counts[0]);
    if (post->n_awaiting > 0) {
        share_wake(member);
    }
}

static void post_at_once(void)
{
    struct member *member = self();

    front_thread()->before_call = NULL;
    if (member->across != NULL && !member->across->is_posted) {
        share_lock(member);
        post_own(member);
        share_unlock(member);
    }
}

// A chunk is one piece, but for guided ones. REQUIRES(share_lock)
static void own_pieces(const struct member *member, unsigned long first,
                       unsigned long end)
{
    end = member->share->kind == GUIDED ? end : first + 1;
    for (unsigned long at = first; at < end; at++) {
        struct post *post = post_of(member, at);

        post->owner = member->number + 1;
        if (post->n_awaiting > 0) {
            openmp_set_hint(hint_of(member, member->number), 1);
        }
    }
}

void openmp_across_chunk(struct member *member, unsigned long first,
                         unsigned long end)
{
    struct across *across = member->across;

    post_own(member);
    if (first == end) {
        front_free(across);
        member->across = NULL;
        return;
    }
    across->first = first;
    across->end = end;
    own_pieces(member, first, end);
}

// ---- the program's

void openmp_begin_across(struct team *team)
{
    if (team->is_awaited == NULL) {
        team->is_awaited = openmp_new_hints();
    }
}

static struct across *new_across(unsigned n_counts)
{
    struct across *across = front_allocate(
        sizeof *across + 2ul * n_counts * sizeof across->counts[0]);

    if (across == NULL) {
        front_fatal("OpenMP: no memory for a loop");
    }
    *across = (struct across){.is_posted = true};
    return across;
}

static bool begin_across(struct share settings, unsigned n,
                         unsigned long *first, unsigned long *end,
                         uintptr_t *reductions, void **memory)
{
    struct member *member = self();
    const unsigned n_threads = member->n;

    settings.is_unsigned = 1;
    settings.n_counts = n;
    if (settings.end > 0 && n_threads > 1) {
        settings.block_size[FOR_POSTS] =
            (piece_of(&settings, settings.end - 1, n_threads) + 1) *
            post_size(n);
        member->across = new_across(n);
    }
    return loop_begin(settings, first, end, reductions, memory);
}

// Does somebody wait for the caller? It is told once.
static bool is_awaited(const struct member *member)
{
    unsigned *hint = hint_of(member, member->number);
    const bool is_so = openmp_read_hint(hint);

    if (is_so) {
        openmp_set_hint(hint, 0);
    }
    return is_so;
}

static void note_iteration(const unsigned long *counts)
{
    struct member *member = self();
    struct across *across = member->across;

    if (across == NULL) {
        return;
    }
    if (!across->is_posted &&
        piece_of(member->share, counts[0], member->n) !=
            piece_of(member->share, across->counts[0], member->n)) {
        post_at_once();
    }
    memcpy(across->counts, counts,
           member->share->n_counts * sizeof across->counts[0]);
    across->is_posted = false;
    front_thread()->before_call = post_at_once;
    if (is_awaited(member) || tmf_is_racy != NULL) {
        post_at_once();
    }
}

// REQUIRES(share_lock)
static void wait_for(struct member *member, const unsigned long *wanted)
{
    const unsigned n = member->share->n_counts;
    struct post *post = post_of(member, wanted[0]);

    post->n_awaiting++;
    while (!is_there(post, wanted, n)) {
        if (post->owner > 0) {
            openmp_set_hint(hint_of(member, post->owner - 1), 1);
        }
        share_wait(member);
    }
    post->n_awaiting--;
}

static bool is_known(const struct member *member, const unsigned long *wanted)
{
    const struct across *across = member->across;
    const unsigned n = member->share->n_counts;

    if (wanted[0] >= member->share->end) {
        return true; // there is none
    }
    if (wanted[0] >= across->first && wanted[0] < across->end) {
        return true; // its own, and earlier
    }
    return across->has_seen &&
           across->seen_piece ==
               piece_of(member->share, wanted[0], member->n) &&
           has_come(across->counts + n, wanted, n);
}

static void await_iteration(const unsigned long *wanted)
{
    struct member *member = self();
    struct across *across = member->across;
    const struct post *post;
    unsigned n;

    if (across == NULL || is_known(member, wanted)) {
        return;
    }
    n = member->share->n_counts;
    front_thread()->before_call = NULL; // it is posted here
    share_lock(member);
    post_own(member);
    post = post_of(member, wanted[0]);
    if (!is_there(post, wanted, n)) {
        wait_for(member, wanted);
    }
    across->has_seen = true;
    across->seen_piece = piece_of(member->share, wanted[0], member->n);
    memcpy(across->counts + n, post->counts, n * sizeof post->counts[0]);
    share_unlock(member);
}

#define POST_AND_WAIT(post, wait, type)                                        \
    void post(type *counts);                                                   \
    void post(type *counts)                                                    \
    {                                                                          \
        note_iteration((unsigned long *)counts);                               \
    }                                                                          \
    void wait(type first, ...);                                                \
    void wait(type first, ...)                                                 \
    {                                                                          \
        const unsigned n = self()->share->n_counts;                            \
        unsigned long wanted[n];                                               \
        va_list more;                                                          \
                                                                               \
        wanted[0] = (unsigned long)first;                                      \
        va_start(more, first);                                                 \
        for (unsigned i = 1; i < n; i++) {                                     \
            wanted[i] = (unsigned long)va_arg(more, type);                     \
        }                                                                      \
        va_end(more);                                                          \
        await_iteration(wanted);                                               \
    }

POST_AND_WAIT(GOMP_doacross_post, GOMP_doacross_wait, long)
POST_AND_WAIT(GOMP_doacross_ull_post, GOMP_doacross_ull_wait, ulong)

#define ACROSS(name, type, extra, settings)                                    \
    bool name(unsigned n, type *counts extra(), type *first, type *last);      \
    bool name(unsigned n, type *counts extra(), type *first, type *last)       \
    {                                                                          \
        const ulong start = 0;                                                 \
        const ulong end = (ulong)counts[0];                                    \
        const ulong step = 1;                                                  \
                                                                               \
        return begin_across(settings, n, (unsigned long *)first,               \
                            (unsigned long *)last, NULL, NULL);                \
    }

#define ACROSS_WITH_MEMORY(name, type)                                         \
    bool name(unsigned n, type *counts, unsigned schedule, type chunk,         \
              type *first, type *last, uintptr_t *reductions, void **memory);  \
    bool name(unsigned n, type *counts, unsigned schedule, type chunk,         \
              type *first, type *last, uintptr_t *reductions, void **memory)   \
    {                                                                          \
        const struct share all = loop_of(0, (ulong)counts[0], 1, STATIC, 0);   \
                                                                               \
        return begin_across(loop_of_kind(all, schedule, (long)chunk), n,       \
                            (unsigned long *)first, (unsigned long *)last,     \
                            reductions, memory);                               \
    }

#define WITH_ULL_CHUNK() , ulong chunk

ACROSS(GOMP_loop_doacross_static_start, long, WITH_CHUNK, OF(STATIC))
ACROSS(GOMP_loop_doacross_dynamic_start, long, WITH_CHUNK, OF(DYNAMIC))
ACROSS(GOMP_loop_doacross_guided_start, long, WITH_CHUNK, OF(GUIDED))
ACROSS(GOMP_loop_doacross_runtime_start, long, NO_MORE, OF_RUN_TIME)
ACROSS(GOMP_loop_ull_doacross_static_start, ulong, WITH_ULL_CHUNK, OF(STATIC))
ACROSS(GOMP_loop_ull_doacross_dynamic_start, ulong, WITH_ULL_CHUNK, OF(DYNAMIC))
ACROSS(GOMP_loop_ull_doacross_guided_start, ulong, WITH_ULL_CHUNK, OF(GUIDED))
ACROSS(GOMP_loop_ull_doacross_runtime_start, ulong, NO_MORE, OF_RUN_TIME)
ACROSS_WITH_MEMORY(GOMP_loop_doacross_start, long)
ACROSS_WITH_MEMORY(GOMP_loop_ull_doacross_start, ulong)
