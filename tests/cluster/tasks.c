// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tasks and loops, each compared with what a sequential program would get.
 *
 *     tasks WHAT
 */
#include <limits.h>
#include <string.h>

#include "program.h"

enum { N_THREADS = 3, QUEENS = 8, N_SORTED = 60000, ORDER = 96 };

static void add_int64(void *into, const void *value)
{
    *(int64_t *)into += *(const int64_t *)value;
}

static void expect(const char *what, int64_t is, int64_t wanted)
{
    if (is != wanted) {
        FAIL("%s: %" PRId64 " instead of %" PRId64, what, is, wanted);
    }
}

// ---- fib: results go back

struct fib {
    int n;
    int64_t result;
};

static int64_t plain_fib(int n)
{
    return n < 2 ? n : plain_fib(n - 1) + plain_fib(n - 2);
}

static void fib(void *arg)
{
    struct fib *me = arg;
    struct fib left = {me->n - 1, 0};
    struct fib right = {me->n - 2, 0};
    tm_group group = {0};

    if (me->n < 2) {
        me->result = me->n;
        return;
    }
    OK(tm_spawn_back(&group, fib, &left, sizeof left));
    fib(&right);
    OK(tm_wait(&group));
    me->result = left.result + right.result;
}

static void try_fib(void)
{
    struct fib all = {19, 0};

    fib(&all);
    expect("fib", all.result, plain_fib(19));
}

// ---- queens: tasks of tasks, in the group of them all, and a sum

struct board {
    int row;
    uint32_t columns, up, down;
};

static int64_t plain_queens(struct board board)
{
    int64_t n = 0;

    if (board.row == QUEENS) {
        return 1;
    }
    for (int i = 0; i < QUEENS; i++) {
        uint32_t at = 1u << i;

        if (!((board.columns | board.up | board.down) & at)) {
            n += plain_queens((struct board){board.row + 1, board.columns | at,
                                             (board.up | at) << 1,
                                             (board.down | at) >> 1});
        }
    }
    return n;
}

static void queens(void *arg)
{
    const struct board *board = arg;
    const int64_t one = 1;

    if (board->row == QUEENS) {
        OK(tm_contribute(&one));
        return;
    }
    for (int i = 0; i < QUEENS; i++) {
        uint32_t at = 1u << i;

        if (!((board->columns | board->up | board->down) & at)) {
            struct board next = {board->row + 1, board->columns | at,
                                 (board->up | at) << 1,
                                 (board->down | at) >> 1};

            OK(tm_spawn(NULL, queens, &next, sizeof next));
        }
    }
}

static void try_queens(void)
{
    const struct board empty = {0};
    const int64_t start = 1000;
    int64_t n = 0;
    const tm_reduction sum = {add_int64, sizeof n, &start, &n};
    tm_group group = {.reduction = &sum};

    for (int round = 0; round < 3; round++) {
        OK(tm_spawn(&group, queens, &empty, sizeof empty));
        OK(tm_wait(&group));
        expect("queens", n, 1000 + plain_queens(empty));
    }
}

// ---- quicksort: shared memory, written by tasks

struct range {
    uint32_t *at;
    long n;
};

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

static void sort_range(void *arg)
{
    struct range range = *(struct range *)arg;
    tm_group group = {0};

    while (range.n > 500) {
        uint32_t pivot = range.at[range.n / 2];
        long i = 0;
        long k = range.n - 1;
        struct range left;

        while (i <= k) {
            while (range.at[i] < pivot) {
                i++;
            }
            while (range.at[k] > pivot) {
                k--;
            }
            if (i <= k) {
                uint32_t kept = range.at[i];

                range.at[i++] = range.at[k];
                range.at[k--] = kept;
            }
        }
        left = (struct range){range.at, k + 1};
        OK(tm_spawn(&group, sort_range, &left, sizeof left));
        range.at += i;
        range.n -= i;
    }
    qsort(range.at, (size_t)range.n, sizeof *range.at, compare);
    OK(tm_wait(&group));
}

static void try_quicksort(void)
{
    struct range all = {tm_alloc(N_SORTED * sizeof(uint32_t), NULL), N_SORTED};
    uint32_t *sorted = malloc(N_SORTED * sizeof *sorted);

    for (unsigned i = 0; i < N_SORTED; i++) {
        sorted[i] = all.at[i] = (uint32_t)mix(i, 7) % 100000;
    }
    qsort(sorted, N_SORTED, sizeof *sorted, compare);
    sort_range(&all);
    expect("quicksort", memcmp(sorted, all.at, N_SORTED * sizeof *sorted), 0);
    free(sorted);
    OK(tm_free(all.at));
}

// ---- matmul, entered again and again

struct matrices {
    double *a, *b, *c;
};

static void rows(int64_t from, int64_t to, void *arg)
{
    const struct matrices *m = arg;

    for (int64_t i = from; i < to; i++) {
        for (int k = 0; k < ORDER; k++) {
            double sum = 0;

            for (int j = 0; j < ORDER; j++) {
                sum += m->a[i * ORDER + j] * m->b[j * ORDER + k];
            }
            m->c[i * ORDER + k] = sum;
        }
    }
}

static void try_matmul(void)
{
    const size_t size = ORDER * ORDER * sizeof(double);
    struct matrices m = {tm_alloc(size, NULL), tm_alloc(size, NULL),
                         tm_alloc(size, NULL)};
    struct matrices plain = {m.a, m.b, malloc(size)};

    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < ORDER * ORDER; i++) {
            m.a[i] = (double)(mix((uint64_t)i, (uint64_t)round) % 100);
            m.b[i] = (double)(mix((uint64_t)i, 1000) % 100);
        }
        OK(tm_parallel_for(0, ORDER, 1 + round, rows, &m,
                           &(tm_loop_attr){.arg_size = sizeof m}));
        rows(0, ORDER, &plain);
        expect("matmul", memcmp(plain.c, m.c, size), 0);
    }
    free(plain.c);
}

// ---- a tree that is not balanced: its nodes are counted

static int n_children(uint64_t node, int depth)
{
    return depth == 0 ? 40 : depth < 60 && mix(node, 5) % 100 < 24 ? 4 : 0;
}

struct tree {
    uint64_t node;
    int depth;
};

static int64_t plain_tree(uint64_t node, int depth)
{
    int64_t n = 1;

    for (int i = 0; i < n_children(node, depth); i++) {
        n += plain_tree(mix(node, (uint64_t)i), depth + 1);
    }
    return n;
}

static void tree(void *arg)
{
    const struct tree me = *(struct tree *)arg;
    const int64_t one = 1;

    OK(tm_contribute(&one));
    for (int i = 0; i < n_children(me.node, me.depth); i++) {
        struct tree child = {mix(me.node, (uint64_t)i), me.depth + 1};

        OK(tm_spawn(NULL, tree, &child, sizeof child));
    }
}

static void try_tree(void)
{
    const int64_t zero = 0;
    int64_t n = -1;
    const tm_reduction sum = {add_int64, sizeof n, &zero, &n};
    tm_group group = {.reduction = &sum};
    const struct tree root = {3, 0};

    OK(tm_spawn(&group, tree, &root, sizeof root));
    OK(tm_wait(&group));
    expect("tree", n, plain_tree(3, 0));
}

// ---- loops in loops, and reductions of both

static void inner(int64_t from, int64_t to, void *arg)
{
    int64_t *row = arg;

    for (int64_t i = from; i < to; i++) {
        row[i]++;
        OK(tm_contribute(&i));
    }
}

struct outer {
    int64_t *cells;
    int n;
};

static void outer(int64_t from, int64_t to, void *arg)
{
    const struct outer *me = arg;

    for (int64_t i = from; i < to; i++) {
        OK(tm_parallel_for(0, me->n, 3, inner, me->cells + i * me->n, NULL));
    }
}

static void try_nested(void)
{
    struct outer me = {tm_alloc(40 * 40 * sizeof(int64_t), NULL), 40};
    const int64_t zero = 0;
    int64_t n = -1;
    const tm_reduction sum = {add_int64, sizeof n, &zero, &n};
    const tm_loop_attr attr = {
        .name = "outer", .arg_size = sizeof me, .reduction = &sum};

    for (int round = 1; round <= 4; round++) {
        OK(tm_parallel_for(0, 40, 0, outer, &me, &attr));
        expect("sum", n, 40 * (40 * 39 / 2));
        for (int i = 0; i < 40 * 40; i++) {
            expect("cell", me.cells[i], round);
        }
    }
    OK(tm_parallel_for(5, 5, 0, outer, &me, &attr));
    expect("sum of nothing", n, 0);
}

// ---- what threads do at the same time, and iterations beside

static TM_SHARED struct {
    tm_barrier barrier;
    tm_mutex mutex;
    int64_t n;
    int64_t cells[N_THREADS][4096];
} common;

static void cells(int64_t from, int64_t to, void *arg)
{
    int64_t *own = arg;

    for (int64_t i = from; i < to; i++) {
        own[i] += i;
    }
}

static void count(void *arg)
{
    OK(tm_mutex_lock(&common.mutex));
    common.n += *(int64_t *)arg;
    OK(tm_mutex_unlock(&common.mutex));
}

static void *work(void *arg)
{
    const long me = (long)(intptr_t)arg;
    tm_group group = {0};
    struct fib some;

    for (int64_t round = 1; round <= 6; round++) {
        for (int64_t i = 0; i < 20; i++) {
            OK(tm_spawn(&group, count, &i, sizeof i));
        }
        OK(tm_parallel_for(0, 4096, 0, cells, common.cells[me], NULL));
        OK(tm_iteration_end(&common.barrier)); // with a group: it stays
        some = (struct fib){10, 0};
        fib(&some);
        expect("fib", some.result, 55);
        OK(tm_wait(&group));
        OK(tm_iteration_end(&common.barrier));
        for (int64_t i = 0; i < 4096; i++) {
            expect("cell", common.cells[(me + 1) % N_THREADS][i], round * i);
        }
        expect("count", common.n, round * N_THREADS * 190);
        OK(tm_iteration_end(&common.barrier));
    }
    return NULL;
}

static void try_threads(void)
{
    tm_thread threads[N_THREADS];

    OK(tm_barrier_init(&common.barrier, N_THREADS));
    for (long i = 0; i < N_THREADS; i++) {
        OK(tm_thread_create(&threads[i], NULL, work, (void *)i));
    }
    for (int i = 0; i < N_THREADS; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
}

// ---- mutexes: tasks want one that is held by who waits, or by each other

static void try_locks(void)
{
    tm_group group = {0};
    tm_group other = {0};
    struct fib some = {12, 0};

    OK(tm_mutex_lock(&common.mutex));
    OK(tm_spawn_back(&other, fib, &some, sizeof some));
    for (int64_t i = 0; i < 100; i++) {
        OK(tm_spawn(&group, count, &i, sizeof i));
    }
    OK(tm_wait(&other)); // runs none of those that want the mutex
    expect("fib", some.result, 144);
    OK(tm_mutex_unlock(&common.mutex));
    OK(tm_wait(&group));
    expect("count", common.n, 4950);
}

// ---- one that waits makes room for others

static void await_turn(void *arg)
{
    OK(tm_sem_wait(*(tm_sem **)arg));
}

static void give_turns(void *arg)
{
    for (int i = 0; i < 5; i++) {
        OK(tm_sem_post(*(tm_sem **)arg));
    }
}

static void try_room(void)
{
    static TM_SHARED tm_sem turns;
    tm_sem *const sem = &turns;
    tm_group group = {0};

    OK(tm_sem_init(sem, 0));
    OK(tm_spawn(&group, give_turns, &sem, sizeof sem));
    for (int i = 0; i < 5; i++) {
        OK(tm_spawn(&group, await_turn, &sem, sizeof sem));
    }
    OK(tm_wait(&group));
}

// ---- a node whose tasks wait for pages does not begin all that it has

// On a machine that others use messages may take as long as between hosts.
enum { N_PAGES = 512, BEGUN_MAX = 10 };

static volatile int n_begun; // on this node, and wait for their page

static void most_int64(void *into, const void *value)
{
    int64_t *most = into;
    const int64_t other = *(const int64_t *)value;

    *most = other > *most ? other : *most;
}

static void read_page(void *arg)
{
    const int64_t n = ++n_begun;

    expect("a page", **(const volatile char **)arg, 1);
    n_begun--;
    spin(20000);               // others want some of them
    if (tm_node_self() != 0) { // there main() runs tasks, too
        OK(tm_contribute(&n));
    }
}

static void try_fetches(void)
{
    const int64_t none = 0;
    int64_t most = 0;
    const tm_reduction reduction = {most_int64, sizeof most, &none, &most};
    tm_group group = {.reduction = &reduction};
    char *pages = tm_alloc(N_PAGES * TM_PAGE_SIZE, NULL);

    for (size_t i = 0; i < N_PAGES; i++) {
        pages[i * TM_PAGE_SIZE] = 1;
    }
    for (size_t i = 0; i < N_PAGES; i++) { // in an order that nobody guesses
        const char *page = &pages[i * 197 % N_PAGES * TM_PAGE_SIZE];

        OK(tm_spawn(&group, read_page, &page, sizeof page));
    }
    OK(tm_wait(&group));
    printf("%" PRId64 " tasks begun\n", most);
    if (most > BEGUN_MAX) {
        FAIL("%" PRId64 " tasks of a worker had begun", most);
    }
}

// ---- nodes come and go: node 1 leaves, node 2 comes

static TM_SHARED uint8_t who[2000];

static void note_who(int64_t from, int64_t to, void *arg)
{
    (void)arg;
    for (int64_t i = from; i < to; i++) {
        who[i] = (uint8_t)tm_node_self();
        spin(200);
    }
}

static int has_done_some(unsigned node)
{
    int n = 0;

    for (unsigned i = 0; i < sizeof who; i++) {
        n += who[i] == node;
    }
    return n > 0;
}

static void one_round(void)
{
    struct fib some = {12, 0};

    OK(tm_parallel_for(0, sizeof who, 0, note_who, NULL, NULL));
    fib(&some);
    expect("fib", some.result, 144);
    for (unsigned i = 0; i < sizeof who; i++) {
        if (!tm_node_is_alive(who[i]) && who[i] != 1) {
            FAIL("node %u has done %u", who[i], i);
        }
    }
}

static void try_members(void)
{
    memset(who, 255, sizeof who);
    do {
        one_round();
    } while (!tm_node_is_alive(2) || tm_node_is_alive(1));
    one_round();
    one_round();
    expect("node 1 works", has_done_some(1), 0);
    expect("node 2 works", has_done_some(2), 1);
}

// ---- what does not leave a node sends nothing

static uint64_t n_sent(void)
{
    struct tm_node_stats stats;

    OK(tm_stats(0, &stats));
    return stats.messages_sent;
}

static void nothing(void *arg)
{
    (void)arg;
}

static void spawn_local(int n)
{
    tm_group group = {.is_local = 1};

    for (int i = 0; i < n; i++) {
        OK(tm_spawn(&group, nothing, NULL, 0));
    }
    OK(tm_wait(&group));
}

static void try_local(void)
{
    uint64_t before;
    uint64_t n;

    spawn_local(1000);
    usleep(100 * 1000); // what the start has to say is said
    before = n_sent();
    spawn_local(200000);
    n = n_sent() - before;
    printf("%" PRIu64 " messages\n", n);
    if (n > 100) { // beats
        FAIL("%" PRIu64 " messages for local tasks", n);
    }
}

// ---- wrong arguments

static int64_t total;

static void try_arguments(void)
{
    tm_group group = {0};
    const tm_reduction none = {NULL, 8, &total, &total};
    tm_group bad = {.reduction = &none};
    int64_t value = 0;

    expect("no group", tm_spawn(NULL, nothing, NULL, 0), TM_EINVAL);
    expect("no function", tm_spawn(&group, NULL, NULL, 0), TM_EINVAL);
    expect("no argument", tm_spawn(&group, nothing, NULL, 8), TM_EINVAL);
    expect("too long", tm_spawn(&group, nothing, &value, TM_TASK_BYTES + 1),
           TM_EINVAL);
    expect("no result", tm_spawn_back(&group, nothing, NULL, 0), TM_EINVAL);
    expect("reduction", tm_spawn(&bad, nothing, NULL, 0), TM_EINVAL);
    expect("no value", tm_contribute(&value), TM_EINVAL);
    expect("nothing", tm_wait(&group), TM_OK);
    expect("no body", tm_parallel_for(0, 9, 0, NULL, NULL, NULL), TM_EINVAL);
    expect("grain", tm_parallel_for(0, 9, -1, cells, NULL, NULL), TM_EINVAL);
    expect(
        "arg_size",
        tm_parallel_for(0, 9, 0, cells, NULL, &(tm_loop_attr){.arg_size = 8}),
        TM_EINVAL);
    expect("empty", tm_parallel_for(9, 0, 0, cells, NULL, NULL), TM_OK);
    expect("too many", tm_parallel_for(-10, INT64_MAX, 0, cells, NULL, NULL),
           TM_EINVAL);
}

// ---- a group is its owner's, wherever it lies

static TM_SHARED tm_group of_main;

static void *use_anothers(void *arg)
{
    (void)arg;
    expect("spawn", tm_spawn(&of_main, nothing, NULL, 0), TM_EPERM);
    expect("wait", tm_wait(&of_main), TM_EPERM);
    return NULL;
}

static void use_its_waiters(void *arg)
{
    (void)arg;
    (void)use_anothers(NULL);
}

static void try_owners(void)
{
    tm_thread thread;
    const unsigned last = tm_node_count() - 1;

    for (int i = 0; i < 20; i++) {
        OK(tm_spawn(&of_main, use_its_waiters, NULL, 0));
    }
    OK(tm_thread_create(
        &thread, &(tm_thread_attr){.placement = TM_ON_NODE, .node = last},
        use_anothers, NULL));
    OK(tm_thread_join(thread, NULL));
    OK(tm_wait(&of_main));
}

// ---- loops whose parts are few: what they have cost misleads nobody

static TM_SHARED unsigned node_of[60];

static void note_nodes(int64_t from, int64_t to, void *arg)
{
    (void)arg;
    for (int64_t i = from; i < to; i++) {
        node_of[i] = tm_node_self();
        spin(i < 20 ? 1200000 : 400000);
    }
}

// @return how many iterations the node that has the fewest has done
static unsigned fewest(int64_t n)
{
    unsigned n_done[TM_MAX_NODES] = {0};
    unsigned least = UINT_MAX;

    for (int64_t i = 0; i < n; i++) {
        n_done[node_of[i]]++;
    }
    for (unsigned i = 0; i < tm_node_count(); i++) {
        least = n_done[i] < least ? n_done[i] : least;
    }
    return least;
}

static void try_few_parts(void)
{
    const tm_loop_attr one = {.name = "one part a node"};
    const tm_loop_attr three = {.name = "an iteration a node"};

    for (int i = 0; i < 6; i++) {
        OK(tm_parallel_for(0, 60, 1000, note_nodes, NULL, &one));
        // About 11 if times are right; on a busy machine they have been twice too long. A
        // node that is thought to take all of its time in one iteration gets none.
        expect("each node has some", fewest(60) >= 3, 1);
        OK(tm_parallel_for(0, tm_node_count(), 0, note_nodes, NULL, &three));
        expect("each node has one", fewest(tm_node_count()), 1);
    }
}

// ---- two tasks, or loop parts, that write one variable

static TM_SHARED int contested[1024];

static void write_all(int64_t from, int64_t to, void *arg)
{
    for (int64_t i = from; i < to; i++) {
        contested[100] = (int)(mix((uint64_t)i, (uintptr_t)arg) >> 40);
        spin(10000);
    }
}

static void try_race(void)
{
    for (intptr_t round = 0; round < 20; round++) {
        OK(tm_parallel_for(0, 60, 0, write_all, (void *)round, NULL));
    }
    printf("one of them: %d\n", contested[100]);
}

// ---- what ends the program

static void bad_barrier(void *arg)
{
    (void)arg;
    (void)tm_barrier_wait(&common.barrier);
}

static void bad_exit(void *arg)
{
    (void)arg;
    tm_thread_exit(NULL);
}

static void bad_group(void *arg)
{
    tm_group group = {0};

    (void)arg;
    OK(tm_spawn(&group, nothing, NULL, 0));
}

static void never(void *arg)
{
    static tm_sem sem;

    (void)arg;
    OK(tm_sem_init(&sem, 0));
    OK(tm_sem_wait(&sem));
}

static void leave(void *arg)
{
    exit(*(int *)arg);
}

static void do_one(void (*function)(void *), const void *arg, size_t size)
{
    tm_group group = {0};

    OK(tm_spawn(&group, function, arg, size));
    OK(tm_wait(&group));
    FAIL("%s", "it goes on");
}

static void try_barrier(void)
{
    do_one(bad_barrier, NULL, 0);
}

static void try_thread_exit(void)
{
    do_one(bad_exit, NULL, 0);
}

static void try_no_wait(void)
{
    do_one(bad_group, NULL, 0);
}

static void *end_too_early(void *arg)
{
    tm_group group = {0};

    OK(tm_spawn(&group, nothing, NULL, 0));
    return arg;
}

static void try_thread_ends(void)
{
    tm_thread thread;

    OK(tm_thread_create(&thread, NULL, end_too_early, NULL));
    OK(tm_thread_join(thread, NULL));
    FAIL("%s", "it goes on");
}

static void try_never(void)
{
    do_one(never, NULL, 0);
}

static void try_exit(void)
{
    const int code = 3;

    do_one(leave, &code, sizeof code);
}

static const struct {
    const char *name;
    void (*function)(void);
} tries[] = {
    {"fib", try_fib},
    {"queens", try_queens},
    {"sort", try_quicksort},
    {"matmul", try_matmul},
    {"tree", try_tree},
    {"nested", try_nested},
    {"threads", try_threads},
    {"locks", try_locks},
    {"room", try_room},
    {"fetches", try_fetches},
    {"members", try_members},
    {"local", try_local},
    {"arguments", try_arguments},
    {"race", try_race},
    {"barrier", try_barrier},
    {"thread_exit", try_thread_exit},
    {"no_wait", try_no_wait},
    {"thread_ends", try_thread_ends},
    {"owners", try_owners},
    {"few_parts", try_few_parts},
    {"never", try_never},
    {"exit", try_exit},
};

int main(int argc, char **argv)
{
    OK(tm_init(&argc, &argv));
    for (unsigned i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        if (argc > 1 && strcmp(tries[i].name, argv[1]) == 0) {
            tries[i].function();
            printf("%s: good\n", argv[1]);
            return 0;
        }
    }
    fprintf(stderr, "usage: tasks WHAT\n");
    return 2;
}
