// SPDX-License-Identifier: BSD-3-Clause
/*
 * Threads that move in every iteration, at various depths of their stacks.
 *
 * Each thread walks: it calls itself down to a depth that the seed gives (a
 * frame is 1 KiB, so more than 100 KiB of stack are in use at the deepest),
 * and at the bottom it passes tm_iteration_end(), often on its way to another
 * node. Then it climbs up again and checks in each frame what that frame holds:
 * bytes on the stack, a pointer into the own stack and into that of the caller's
 * frame, numbers in floating point, and pointers to shared memory. The next
 * walk goes down again. Before each iteration the thread asks to be moved to a
 * random node; a request for another thread comes in as well.
 *
 * A thread that holds a mutex is not moved: whether it stays is checked too.
 *
 * Rounding mode and thread-local variables belong to the node's kernel thread,
 * not to the thread; nothing here relies on them.
 *
 *     migrate [-t THREADS] [-i ITERATIONS] [-s SEED] [-n]
 *
 * With -n threads do not ask to be moved (TEAMSTER_SHUFFLE moves them).
 */
#include <math.h>
#include <string.h>

#include "program.h"

enum { FRAME_BYTES = 1024, MOST_DEPTH = 150, MOST_THREADS = 64 };

static TM_SHARED struct {
    uint64_t seed;
    unsigned n_threads;
    unsigned n_iterations;
    int asks;
    tm_barrier barrier;
    tm_thread threads[MOST_THREADS];
} job;

// One slot a thread: how often it moved, what it computed.
static TM_SHARED struct slot {
    unsigned n_moves;
    double sum;
} slots[MOST_THREADS];

static TM_SHARED uint64_t turns[MOST_THREADS];

struct frame {
    const struct frame *above;
    unsigned depth;
    double root;
    unsigned char bytes[FRAME_BYTES - 32];
};

static void frame_fill(struct frame *frame, const struct frame *above,
                       unsigned depth, uint64_t key)
{
    frame->above = above;
    frame->depth = depth;
    frame->root = sqrt((double)(mix(key, depth) % 1000000));
    for (unsigned i = 0; i < sizeof frame->bytes; i++) {
        frame->bytes[i] = (unsigned char)mix(key + depth, i);
    }
}

static void frame_check(const struct frame *frame, const struct frame *above,
                        unsigned depth, uint64_t key)
{
    if (frame->above != above || frame->depth != depth) {
        FAIL("frame %u at %p is not where it was", depth, (const void *)frame);
    }
    if (frame->root != sqrt((double)(mix(key, depth) % 1000000))) {
        FAIL("frame %u: %a is not the root it held", depth, frame->root);
    }
    for (unsigned i = 0; i < sizeof frame->bytes; i++) {
        if (frame->bytes[i] != (unsigned char)mix(key + depth, i)) {
            FAIL("frame %u: byte %u has changed", depth, i);
        }
    }
}

// Ask for a move of the caller, and now and then for one of somebody else.
static void ask(unsigned me, uint64_t *state)
{
    const unsigned node = (unsigned)draw(state, tm_node_count());

    if (!job.asks) {
        return;
    }
    OK(tm_thread_migrate(job.threads[me], node));
    if (draw(state, 4) == 0) {
        const unsigned other = (unsigned)draw(state, job.n_threads);

        OK(tm_thread_migrate(job.threads[other], node));
    }
}

// Pass the end of an iteration, holding a mutex if the seed says so.
static void pass(unsigned me, uint64_t *state)
{
    static TM_SHARED tm_mutex mutexes[MOST_THREADS];
    const int holds = draw(state, 8) == 0;
    const unsigned node = tm_node_self();

    ask(me, state);
    if (holds) {
        OK(tm_mutex_lock(&mutexes[me]));
    }
    OK(tm_iteration_end(&job.barrier));
    if (holds && tm_node_self() != node) {
        FAIL("moved from node %u while it held a mutex", node);
    }
    if (holds) {
        OK(tm_mutex_unlock(&mutexes[me]));
    }
    slots[me].n_moves += tm_node_self() != node;
}

// Go down to the depth wanted, pass there, and check every frame on the way up.
__attribute__((noinline)) static double walk(const struct frame *above,
                                             unsigned depth, unsigned me,
                                             uint64_t *state)
{
    const uint64_t key = *state + me;
    const double before = (double)depth * 1.25;
    struct frame frame;
    double below = 0.0;

    frame_fill(&frame, above, depth, key);
    if (depth == 0) {
        pass(me, state);
    } else {
        below = walk(&frame, depth - 1, me, state);
    }
    frame_check(&frame, above, depth, key);
    return below + before + frame.root * 0.0;
}

// What the other threads wrote in the last iteration must be there.
static void turns_check(unsigned turn)
{
    for (unsigned i = 0; i < job.n_threads; i++) {
        if (turns[i] != mix(job.seed + turn, i)) {
            FAIL("turn %u: the word of thread %u is not there", turn, i);
        }
    }
}

static void *thread_work(void *arg)
{
    const unsigned me = (unsigned)(uintptr_t)arg;
    uint64_t state = mix(job.seed, me);
    const tm_thread self = tm_thread_self();
    double sum = 0.0;
    double expected = 0.0;

    job.threads[me] = self;
    OK(tm_barrier_wait(&job.barrier));
    for (unsigned turn = 0; turn < job.n_iterations; turn++) {
        const unsigned depth = (unsigned)draw(&state, MOST_DEPTH);

        turns[me] = mix(job.seed + turn, me);
        sum += walk(NULL, depth, me, &state);
        expected += (double)depth * (depth + 1) / 2.0 * 1.25;
        turns_check(turn);
        OK(tm_barrier_wait(&job.barrier));
        if (tm_thread_self() != self || sum != expected) {
            FAIL("turn %u: the sum is %a, not %a", turn, sum, expected);
        }
    }
    slots[me].sum = sum;
    return arg;
}

static unsigned threads_run(void)
{
    tm_thread threads[MOST_THREADS];
    unsigned n_moves = 0;

    for (unsigned i = 0; i < job.n_threads; i++) {
        OK(tm_thread_create(&threads[i], NULL, thread_work,
                            (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < job.n_threads; i++) {
        void *result = NULL;

        OK(tm_thread_join(threads[i], &result));
        if (result != (void *)(uintptr_t)i) {
            FAIL("thread %u returned %p", i, result);
        }
        n_moves += slots[i].n_moves;
    }
    return n_moves;
}

int main(int argc, char **argv)
{
    unsigned n_moves;
    int option;

    tm_init(&argc, &argv);
    job.n_threads = 8;
    job.n_iterations = 30;
    job.seed = 1;
    job.asks = 1;
    while ((option = getopt(argc, argv, "t:i:s:n")) != -1) {
        switch (option) {
        case 't':
            job.n_threads = (unsigned)atoi(optarg);
            break;
        case 'i':
            job.n_iterations = (unsigned)atoi(optarg);
            break;
        case 's':
            job.seed = strtoull(optarg, NULL, 0);
            break;
        case 'n':
            job.asks = 0;
            break;
        default:
            return 64;
        }
    }
    OK(tm_barrier_init(&job.barrier, job.n_threads));
    n_moves = threads_run();
    printf("moves: %u\n", n_moves);
    if (tm_node_count() > 1 && n_moves < job.n_iterations) {
        FAIL("%u moves in %u iterations are too few", n_moves,
             job.n_iterations);
    }
    return 0;
}
