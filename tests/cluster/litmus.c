// SPDX-License-Identifier: BSD-3-Clause
/*
 * Litmus tests over real nodes.
 *
 * A test is a few threads of a few accesses, such as "x=1 y? ; y=1 x?" (store
 * buffering): the first thread sets x to 1, then reads y. The program runs it
 * many times, on several copies of the variables, with random delays and from
 * random states of the pages, and
 * compares what was read and what the variables are at the end with all
 * outcomes that some order of the accesses can give, which it enumerates. Any
 * other outcome is forbidden, and ends the program with exit code 1.
 *
 * How an access is made is the mode. `relaxed` and `seq-cst` are C11 atomics on
 * pages of the protocol `sequential`. In all others the program is free of
 * data races, and every protocol must keep the promise. In `barrier` and
 * `iteration` the order is drawn beforehand and barriers keep it, so only one
 * outcome is right. In `bound` the variables are bound to their mutexes.
 *
 *     litmus [-t TEST] [-m MODE] [-p PAGES] [-r RUNS] [-s SEED] [-o N] [-c]
 *
 * -o: N more threads, on nodes of their own if there are as many, that have no steps: they
 * read now and then, and meet where the others do.
 * -c: the variables are in a block of TM_SCOPE. Under a mutex of its own each is as ever, so
 * all modes keep the promise but `condition`, which uses them outside of it.
 */
#include <stdatomic.h>
#include <string.h>

#include "program.h"

enum {
    N_COPIES = 16,
    N_VARIABLES = 3,
    N_READS = 4,
    MOST_THREADS = 4,
    MOST_ONLOOKERS = 60,
    MOST_STEPS = 8
};
enum { N_OUTCOMES = 1 << 2 * (N_READS + N_VARIABLES) };

enum mode {
    RELAXED,
    SEQ_CST,
    MUTEX,
    ONE_MUTEX,
    ATOMIC,
    SEMAPHORE,
    CONDITION,
    BARRIER,
    ITERATION,
    BOUND,
    N_MODES
};

static const char *const mode_names[N_MODES] = {
    "relaxed",   "seq-cst",   "mutex",   "one-mutex", "atomic",
    "semaphore", "condition", "barrier", "iteration", "bound",
};

// Steps of threads are separated by ';'. A variable is x, y or z.
static const struct {
    const char *name;
    const char *text;
} tests[] = {
    {"SB", "x=1 y? ; y=1 x?"},
    {"MP", "x=1 y=1 ; y? x?"},
    {"LB", "x? y=1 ; y? x=1"},
    {"R", "x=1 y=1 ; y=2 x?"},
    {"S", "x=2 y=1 ; y? x=1"},
    {"2+2W", "x=1 y=2 ; y=1 x=2"},
    {"CoRR", "x=1 ; x? x?"},
    {"CoRW", "x? x=1 ; x=2 x?"},
    {"CoWR", "x=1 x? ; x=2 x?"},
    {"CoRR2", "x=1 ; x=2 ; x? x? ; x? x?"},
    {"WRC", "x=1 ; x? y=1 ; y? x?"},
    {"RWC", "x=1 ; x? y? ; y=1 x?"},
    {"ISA2", "x=1 y=1 ; y? z=1 ; z? x?"},
    {"3SB", "x=1 y? ; y=1 z? ; z=1 x?"},
    {"IRIW", "x=1 ; y=1 ; x? y? ; y? x?"},
};

#define N_TESTS (sizeof tests / sizeof tests[0])

struct step {
    unsigned thread;
    unsigned variable;
    unsigned value; // 0: a read
    unsigned read;  // number of this read
};

// Steps in the order of the text: those of a thread follow each other.
struct litmus {
    unsigned n_threads;
    unsigned n_steps;
    struct step steps[MOST_STEPS];
};

struct outcome {
    unsigned reads[N_READS];
    unsigned ends[N_VARIABLES];
};

static TM_SHARED struct {
    struct litmus litmus;
    enum mode mode;
    unsigned n_runs;
    uint64_t seed;
    int is_scoped;
    int64_t *variables[N_COPIES][N_VARIABLES];
    tm_barrier barrier;
    tm_mutex mutexes[N_COPIES][N_VARIABLES];
    tm_sem semaphores[N_COPIES][N_VARIABLES];
    tm_cond conditions[N_COPIES][N_VARIABLES];
} job;

// What changes while threads run.
static TM_SHARED struct {
    struct outcome outcomes[N_COPIES];
    int is_busy[N_COPIES][N_VARIABLES];
} now;

// Of the root alone; the first thread runs there.
static unsigned counts[N_OUTCOMES];
static unsigned char allowed[N_OUTCOMES];

static void litmus_parse(struct litmus *litmus, const char *text)
{
    unsigned n_reads = 0;

    memset(litmus, 0, sizeof *litmus);
    for (; *text != '\0'; text++) {
        struct step *step = &litmus->steps[litmus->n_steps];

        if (*text == ';') {
            litmus->n_threads++;
        } else if (*text >= 'x' && *text <= 'z') {
            step->thread = litmus->n_threads;
            step->variable = (unsigned)(*text - 'x');
            if (*++text == '?') {
                step->read = n_reads++;
            } else {
                step->value = (unsigned)(*++text - '0');
            }
            litmus->n_steps++;
        }
    }
    litmus->n_threads++;
}

static unsigned outcome_number(const struct outcome *outcome)
{
    unsigned number = 0;

    for (unsigned i = 0; i < N_READS; i++) {
        number = number << 2 | (outcome->reads[i] & 3);
    }
    for (unsigned i = 0; i < N_VARIABLES; i++) {
        number = number << 2 | (outcome->ends[i] & 3);
    }
    return number;
}

// The first step of a thread that is not done, or -1.
static int next_step(const struct litmus *litmus, unsigned thread,
                     unsigned done)
{
    for (unsigned i = 0; i < litmus->n_steps; i++) {
        if (litmus->steps[i].thread == thread && !(done >> i & 1)) {
            return (int)i;
        }
    }
    return -1;
}

static void step_apply(const struct step *step, struct outcome *outcome)
{
    if (step->value != 0) {
        outcome->ends[step->variable] = step->value;
    } else {
        outcome->reads[step->read] = outcome->ends[step->variable];
    }
}

// Mark what every order of the steps that are left gives.
static void outcomes_allow(const struct litmus *litmus, unsigned done,
                           struct outcome outcome)
{
    if (done == (1u << litmus->n_steps) - 1) {
        allowed[outcome_number(&outcome)] = 1;
        return;
    }
    for (unsigned thread = 0; thread < litmus->n_threads; thread++) {
        int i = next_step(litmus, thread, done);

        if (i >= 0) {
            struct outcome after = outcome;

            step_apply(&litmus->steps[i], &after);
            outcomes_allow(litmus, done | 1u << i, after);
        }
    }
}

// Begin of an access in the modes that exclude each other.
static void enter(unsigned copy, unsigned variable)
{
    switch (job.mode) {
    case ONE_MUTEX:
    case MUTEX:
    case BOUND:
        variable = job.mode == ONE_MUTEX ? 0 : variable;
        OK(tm_mutex_lock(&job.mutexes[copy][variable]));
        break;
    case SEMAPHORE:
        OK(tm_sem_wait(&job.semaphores[copy][variable]));
        break;
    case CONDITION:
        OK(tm_mutex_lock(&job.mutexes[copy][variable]));
        while (now.is_busy[copy][variable]) {
            OK(tm_cond_wait(&job.conditions[copy][variable],
                            &job.mutexes[copy][variable]));
        }
        now.is_busy[copy][variable] = 1;
        OK(tm_mutex_unlock(&job.mutexes[copy][variable]));
        break;
    default:
        break;
    }
}

static void leave(unsigned copy, unsigned variable)
{
    switch (job.mode) {
    case ONE_MUTEX:
    case MUTEX:
    case BOUND:
        variable = job.mode == ONE_MUTEX ? 0 : variable;
        OK(tm_mutex_unlock(&job.mutexes[copy][variable]));
        break;
    case SEMAPHORE:
        OK(tm_sem_post(&job.semaphores[copy][variable]));
        break;
    case CONDITION:
        OK(tm_mutex_lock(&job.mutexes[copy][variable]));
        now.is_busy[copy][variable] = 0;
        OK(tm_cond_signal(&job.conditions[copy][variable]));
        OK(tm_mutex_unlock(&job.mutexes[copy][variable]));
        break;
    default:
        break;
    }
}

static int64_t word_read(const int64_t *word)
{
    switch (job.mode) {
    case RELAXED:
        return __atomic_load_n(word, __ATOMIC_RELAXED);
    case SEQ_CST:
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);
    case ATOMIC:
        return tm_atomic_load(word);
    default:
        return *word;
    }
}

static void word_write(int64_t *word, int64_t value)
{
    switch (job.mode) {
    case RELAXED:
        __atomic_store_n(word, value, __ATOMIC_RELAXED);
        break;
    case SEQ_CST:
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
        break;
    case ATOMIC:
        tm_atomic_store(word, value);
        break;
    default:
        *word = value;
    }
}

static void step_do(const struct step *step, unsigned copy, unsigned *reads)
{
    int64_t *word = job.variables[copy][step->variable];

    enter(copy, step->variable);
    if (step->value != 0) {
        word_write(word, step->value);
    } else {
        reads[step->read] = (unsigned)word_read(word);
    }
    leave(copy, step->variable);
}

// Between runs: where nobody else uses the variable, but for its mutex if it is bound to
// that.
static void variable_clear(unsigned copy, unsigned variable)
{
    if (job.mode == BOUND) {
        enter(copy, variable);
    }
    word_write(job.variables[copy][variable], 0);
    if (job.mode == BOUND) {
        leave(copy, variable);
    }
}

static int64_t variable_value(unsigned copy, unsigned variable)
{
    int64_t value;

    if (job.mode == BOUND) {
        enter(copy, variable);
    }
    value = word_read(job.variables[copy][variable]);
    if (job.mode == BOUND) {
        leave(copy, variable);
    }
    return value;
}

static void meet(void)
{
    if (job.mode == ITERATION) {
        OK(tm_iteration_end(&job.barrier));
    } else {
        OK(tm_barrier_wait(&job.barrier));
    }
}

// A delay: none, some nanoseconds, or about as long as a message takes.
static void dawdle(uint64_t *state)
{
    static const unsigned most[] = {1, 1, 50, 2000, 20000};

    spin(draw(state, most[draw(state, 5)]));
}

// The threads' steps without any order but that of the accesses themselves. The
// copies follow each other without a barrier, so that threads are at one copy
// at about the same time, and messages about the last one are still on their way.
static void run_free(const struct litmus *litmus, unsigned me, uint64_t *state,
                     unsigned reads[][N_READS])
{
    for (unsigned copy = 0; copy < N_COPIES; copy++) {
        for (unsigned i = 0; i < litmus->n_steps; i++) {
            if (litmus->steps[i].thread == me) {
                dawdle(state);
                step_do(&litmus->steps[i], copy, reads[copy]);
            }
        }
    }
}

// All steps in an order that the seed of the run gives, a barrier behind each.
// @return the outcome that this order has
static unsigned run_ordered(const struct litmus *litmus, unsigned me,
                            uint64_t order, unsigned reads[][N_READS])
{
    struct outcome outcome = {0};
    unsigned done = 0;

    while (done != (1u << litmus->n_steps) - 1) {
        int i =
            next_step(litmus, (unsigned)draw(&order, litmus->n_threads), done);

        if (i < 0) {
            continue;
        }
        done |= 1u << i;
        step_apply(&litmus->steps[i], &outcome);
        for (unsigned copy = 0; copy < N_COPIES; copy++) {
            if (litmus->steps[i].thread == me) {
                step_do(&litmus->steps[i], copy, reads[copy]);
            }
        }
        meet();
    }
    return outcome_number(&outcome);
}

// Bring the pages into a random state: one thread writes, some read.
static void prepare(unsigned me, uint64_t run_state, uint64_t *state)
{
    for (unsigned copy = 0; copy < N_COPIES; copy++) {
        if (me == draw(&run_state, job.litmus.n_threads)) {
            for (unsigned i = 0; i < N_VARIABLES; i++) {
                variable_clear(copy, i);
            }
            memset(&now.outcomes[copy], 0, sizeof now.outcomes[copy]);
        }
    }
    meet();
    for (unsigned i = 0; i < N_COPIES * N_VARIABLES; i++) {
        if (draw(state, 2) == 0 &&
            variable_value(i / N_VARIABLES, i % N_VARIABLES) != 0) {
            FAIL("a variable of copy %u is not 0 after a barrier",
                 i / N_VARIABLES);
        }
    }
    meet();
}

// What the first thread does after each run. @param expected  or N_OUTCOMES
static void judge(unsigned run, unsigned copy, unsigned expected)
{
    struct outcome outcome = now.outcomes[copy];
    unsigned number;

    for (unsigned i = 0; i < N_VARIABLES; i++) {
        outcome.ends[i] = (unsigned)variable_value(copy, i);
    }
    number = outcome_number(&outcome);
    if (!allowed[number]) {
        FAIL("run %u, copy %u: outcome %04x is forbidden", run, copy, number);
    }
    if (expected != N_OUTCOMES && number != expected) {
        FAIL("run %u, copy %u: outcome %04x, not %04x", run, copy, number,
             expected);
    }
    counts[number]++;
}

static void hand_in(const struct litmus *litmus, unsigned me,
                    unsigned reads[][N_READS])
{
    for (unsigned copy = 0; copy < N_COPIES; copy++) {
        for (unsigned i = 0; i < litmus->n_steps; i++) {
            const struct step *step = &litmus->steps[i];

            if (step->thread == me && step->value == 0) {
                now.outcomes[copy].reads[step->read] = reads[copy][step->read];
            }
        }
    }
}

// The first thread is on the root, which holds the counts. The others follow
// round all nodes, or round all nodes but the root, as the seed says.
static unsigned node_for(unsigned thread)
{
    const unsigned n_nodes = tm_node_count();

    if (n_nodes < 2 || thread == 0 || job.seed % 2 == 0) {
        return thread % n_nodes;
    }
    return 1 + (thread - 1 + (unsigned)(job.seed % n_nodes)) % (n_nodes - 1);
}

static void *thread_work(void *arg)
{
    const struct litmus litmus = job.litmus;
    const unsigned me = (unsigned)(uintptr_t)arg;

    if (tm_node_self() != node_for(me) ||
        (tm_node_count() > 1 && node_for(1) == node_for(0))) {
        FAIL("thread %u is not where it should be", me);
    }
    for (unsigned run = 0; run < job.n_runs; run++) {
        uint64_t run_state = mix(job.seed, run);
        uint64_t state = mix(run_state, 1 + me);
        unsigned reads[N_COPIES][N_READS] = {{0}};
        unsigned expected = N_OUTCOMES;

        prepare(me, run_state, &state);
        if (job.mode == BARRIER || job.mode == ITERATION) {
            expected = run_ordered(&litmus, me, run_state, reads);
        } else {
            run_free(&litmus, me, &state, reads);
        }
        hand_in(&litmus, me, reads);
        meet();
        for (unsigned copy = 0; me == 0 && copy < N_COPIES; copy++) {
            judge(run, copy, expected);
        }
        meet();
    }
    return NULL;
}

static void print_counts(const char *name)
{
    printf("%s %s:", name, mode_names[job.mode]);
    for (unsigned number = 0; number < N_OUTCOMES; number++) {
        if (counts[number] != 0) {
            printf(" %04x x %u", number, counts[number]);
        }
    }
    printf("\n");
}

static void threads_run(unsigned n_threads)
{
    tm_thread threads[MOST_THREADS + MOST_ONLOOKERS];

    for (unsigned i = 0; i < n_threads; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                     .node = (unsigned)node_for(i)};

        OK(tm_thread_create(&threads[i], &attr, thread_work,
                            (void *)(uintptr_t)i));
    }
    for (unsigned i = 0; i < n_threads; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
}

static void test_run(const char *name, const char *text, unsigned n_onlookers)
{
    unsigned n_threads;

    litmus_parse(&job.litmus, text);
    memset(counts, 0, sizeof counts);
    memset(allowed, 0, sizeof allowed);
    outcomes_allow(&job.litmus, 0, (struct outcome){0});
    n_threads = job.litmus.n_threads + n_onlookers;
    OK(tm_barrier_init(&job.barrier, n_threads));
    threads_run(n_threads);
    print_counts(name);
}

static void variables_allocate(unsigned n_pages)
{
    const tm_alloc_attr attr = {.name = "variables",
                                .protocol = job.mode <= SEQ_CST ? TM_SEQUENTIAL
                                            : job.mode == BOUND
                                                ? TM_ENTRY
                                                : TM_PROTOCOL_DEFAULT};
    char *block =
        tm_alloc((size_t)TM_PAGE_SIZE * N_VARIABLES * N_COPIES, &attr);

    if (block == NULL) {
        FAIL("no memory for %u pages", n_pages);
    }
    for (unsigned copy = 0; copy < N_COPIES; copy++) {
        for (unsigned i = 0; i < N_VARIABLES; i++) {
            const unsigned page = copy * N_VARIABLES + i % n_pages;

            job.variables[copy][i] =
                (int64_t *)(block + (size_t)page * TM_PAGE_SIZE) + i;
            if (job.mode == BOUND) {
                OK(tm_bind(&job.mutexes[copy][i], job.variables[copy][i],
                           sizeof(int64_t)));
            }
            OK(tm_sem_init(&job.semaphores[copy][i], 1));
        }
    }
}

static enum mode mode_named(const char *name)
{
    for (unsigned mode = 0; mode < N_MODES; mode++) {
        if (strcmp(name, mode_names[mode]) == 0) {
            return mode;
        }
    }
    fprintf(stderr, "litmus: no mode '%s'\n", name);
    exit(64);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    unsigned n_pages = 2;
    unsigned n_onlookers = 0;
    int option;

    tm_init(&argc, &argv);
    job.n_runs = 100;
    job.seed = 1;
    job.mode = MUTEX;
    while ((option = getopt(argc, argv, "t:m:p:r:s:o:c")) != -1) {
        switch (option) {
        case 't':
            only = optarg;
            break;
        case 'm':
            job.mode = mode_named(optarg);
            break;
        case 'p':
            n_pages = (unsigned)atoi(optarg);
            break;
        case 'r':
            job.n_runs = (unsigned)atoi(optarg);
            break;
        case 's':
            job.seed = strtoull(optarg, NULL, 0);
            break;
        case 'o':
            n_onlookers = (unsigned)atoi(optarg);
            break;
        case 'c':
            job.is_scoped = 1;
            break;
        default:
            return 64;
        }
    }
    if (n_onlookers > MOST_ONLOOKERS) {
        return 64;
    }
    variables_allocate(n_pages);
    for (unsigned i = 0; i < N_TESTS; i++) {
        if (only == NULL || strcmp(only, tests[i].name) == 0) {
            test_run(tests[i].name, tests[i].text, n_onlookers);
        }
    }
    return 0;
}
