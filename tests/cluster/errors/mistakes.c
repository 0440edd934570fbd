// SPDX-License-Identifier: BSD-3-Clause
//
// mistakes NAME [NODE]: a thread on the last node, or that one, or main() if there is one
// node, makes a mistake.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>
#include <unistd.h>

struct shared {
    char *block;
    char *freed;
    char *small;
    char *gone;
    char *table; // that is read only
    tm_mutex mutex;
    tm_rwlock lock;
    tm_barrier barrier;
};

static TM_SHARED struct shared shared;

enum { N_OF_A_SIZE = 70 }; // more than two slabs take

static void main_prepares(void);

static void null_pointer(void)
{
    *(volatile int *)NULL = 1;
}

static void wild_pointer(void)
{
    (void)*(volatile int *)0x123456789000;
}

static void unreal_pointer(void)
{
    (void)*(volatile int *)0x8123456789000000;
}

static void past_the_end(void)
{
    shared.block[12288 + 8] = 1; // the block has 10000 bytes: 3 pages
}

static void use_after_free(void)
{
    (void)*(volatile char *)(shared.freed + 5000);
}

static void main_fills_table(void)
{
    static const tm_alloc_attr attr = {
        .name = "table", .protocol = TM_ADAPTIVE, .sharing = TM_READ_ONLY};

    shared.table = tm_alloc(20000, &attr);
    for (int i = 0; i < 20000; i++) {
        shared.table[i] = (char)i;
    }
}

static void write_what_is_read_only(void)
{
    if (shared.table[5000] == (char)5000) {
        shared.table[5000] = 1;
    }
}

static void read_table(void)
{
    (void)*(volatile char *)&shared.table[5000];
    (void)tm_barrier_wait(&shared.barrier);
}

static void main_fills_and_prepares(void)
{
    main_fills_table();
    main_prepares();
}

static void main_fills_again(void)
{
    (void)tm_barrier_wait(&shared.barrier);
    shared.table[16000] = 1; // nobody has read this page
    shared.table[5001] = 1;
}

static void in_the_library(void)
{
    memset(shared.block + 8192, 1, strlen(shared.block) + 16384);
}

__attribute__((noinline)) static int search(int depth)
{
    volatile char room[1024];

    room[0] = (char)depth;
    return depth == 0 ? 0 : search(depth + 1) + room[0];
}

static void stack_overflow(void)
{
    printf("%d\n", search(1));
}

static void giving_up(void)
{
    abort();
}

static void leaving(void)
{
    exit(5);
}

static void leaving_in_peace(void)
{
    exit(0);
}

static void division(void)
{
    volatile int one = 1;
    volatile int zero = 0;

    printf("%d\n", one / zero);
}

static void illegal_instruction(void)
{
    __builtin_trap();
}

static void wrong_unlock(void)
{
    (void)tm_mutex_unlock(&shared.mutex);
}

static void double_unlock(void)
{
    (void)tm_mutex_lock(&shared.mutex);
    (void)tm_mutex_unlock(&shared.mutex);
    (void)tm_mutex_unlock(&shared.mutex);
}

static void *lock_alone(void *arg)
{
    (void)!tm_mutex_lock(&shared.mutex);
    return arg;
}

static void kernel_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, lock_alone, NULL);
    pthread_join(thread, NULL);
}

static void wrong_rwlock(void)
{
    (void)tm_rwlock_unlock(&shared.lock);
}

// main() holds it.
static void others_rwlock(void)
{
    (void)tm_rwlock_unlock(&shared.lock);
}

static void main_reads(void)
{
    (void)tm_rwlock_rdlock(&shared.lock);
}

// main() holds it.
static void others_mutex(void)
{
    (void)tm_mutex_unlock(&shared.mutex);
}

static void main_locks(void)
{
    (void)tm_mutex_lock(&shared.mutex);
}

static void no_barrier(void)
{
    (void)tm_barrier_wait(&shared.barrier);
}

static void too_few(void)
{
    (void)tm_barrier_init(&shared.barrier, 3);
    (void)tm_barrier_wait(&shared.barrier);
}

// main() waits at it by another call, or gives it another count.
static void mixed_calls(void)
{
    (void)tm_iteration_end(&shared.barrier);
}

static void main_prepares(void)
{
    (void)tm_barrier_init(&shared.barrier, 2);
}

static void main_waits(void)
{
    (void)tm_barrier_wait(&shared.barrier);
}

static void other_count(void)
{
    (void)tm_barrier_wait(&shared.barrier);
}

static void main_counts(void)
{
    tm_status status;

    do {
        status = tm_barrier_init(&shared.barrier, 2);
        tm_thread_yield();
        if (status == TM_OK) {
            status = tm_barrier_init(&shared.barrier, 3);
        }
    } while (status == TM_OK);
    printf("tm_barrier_init() says: %s\n", tm_strerror(status));
    exit(0);
}

static void double_free(void)
{
    tm_status status = tm_free(shared.freed);

    printf("tm_free() says: %s\n", tm_strerror(status));
}

static void wrong_free(void)
{
    tm_status status = tm_free(shared.block + 16);

    printf("tm_free() says: %s\n", tm_strerror(status));
}

// A small block; by main() before or after a thread does it, or twice by that.
static void free_small(void)
{
    tm_status status = tm_free(shared.small);

    if (status != TM_OK) {
        printf("tm_free() says: %s\n", tm_strerror(status));
    }
}

static void free_small_twice(void)
{
    free_small();
    free_small();
}

static void main_waits_and_frees(void)
{
    (void)tm_barrier_wait(&shared.barrier);
    free_small();
}

static void free_small_and_say(void)
{
    free_small();
    (void)tm_barrier_wait(&shared.barrier);
}

// All of a slab; what it was in is no block any more.
static void free_all_of_a_size(void)
{
    char *blocks[N_OF_A_SIZE];

    for (unsigned i = 0; i < N_OF_A_SIZE; i++) {
        blocks[i] = tm_alloc(2000, NULL);
    }
    shared.gone = blocks[N_OF_A_SIZE - 1];
    for (unsigned i = 0; i < N_OF_A_SIZE; i++) {
        (void)tm_free(blocks[i]);
    }
}

static void free_what_is_gone(void)
{
    tm_status status = tm_free(shared.gone);

    printf("tm_free() says: %s\n", tm_strerror(status));
}

static void free_inside_small(void)
{
    tm_status status = tm_free(shared.small + 16);

    printf("tm_free() says: %s\n", tm_strerror(status));
}

static void overrun(void)
{
    tm_status status;

    shared.small[103] = 1;
    status = tm_free(shared.small);
    printf("tm_free() says: %s\n", tm_strerror(status));
    shared.block[10000] = 1;
    status = tm_free(shared.block);
    printf("tm_free() says: %s\n", tm_strerror(status));
}

static void handle(int signal, siginfo_t *info, void *context)
{
    static const char text[] = "the program's own handler\n";

    (void)signal;
    (void)info;
    (void)context;
    (void)!write(2, text, sizeof text - 1);
    _exit(5);
}

static void own_handler(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};

    sigaction(SIGFPE, &action, NULL);
    division();
}

// Bytes that are bound to shared.mutex, all but the last page.
static char *make_guarded(void)
{
    char *block =
        tm_alloc(3 * TM_PAGE_SIZE,
                 &(tm_alloc_attr){.name = "guarded", .protocol = TM_ENTRY});

    (void)!tm_bind(&shared.mutex, block, 2 * TM_PAGE_SIZE);
    return block;
}

static void without_the_mutex(void)
{
    make_guarded()[5000] = 1;
}

static void after_the_mutex(void)
{
    char *block = make_guarded();

    (void)!tm_mutex_lock(&shared.mutex);
    block[0] = 1;
    (void)!tm_mutex_unlock(&shared.mutex);
    (void)*(volatile char *)(block + 5000); // another page
}

static void bound_to_nothing(void)
{
    char *block = make_guarded();

    (void)!tm_mutex_lock(&shared.mutex);
    block[2 * TM_PAGE_SIZE] = 1;
}

static void write_what_is_read(void)
{
    char *block = tm_alloc(
        TM_PAGE_SIZE, &(tm_alloc_attr){.name = "table", .protocol = TM_ENTRY});

    (void)!tm_bind_rwlock(&shared.lock, block, 100);
    (void)!tm_rwlock_rdlock(&shared.lock);
    block[0] = (char)(block[1] + 1);
}

static void main_guards(void)
{
    shared.gone = make_guarded();
}

static void others_data(void)
{
    char *block = shared.gone != NULL ? shared.gone : make_guarded();

    block[1] = 1;
}

static const struct {
    const char *name;
    void (*make)(void);
    void (*before)(void); // by main(), where the mistake takes two
    void (*after)(void);
} mistakes[] = {
    {"null_pointer", null_pointer, NULL, NULL},
    {"wild_pointer", wild_pointer, NULL, NULL},
    {"unreal_pointer", unreal_pointer, NULL, NULL},
    {"past_the_end", past_the_end, NULL, NULL},
    {"use_after_free", use_after_free, NULL, NULL},
    {"in_the_library", in_the_library, NULL, NULL},
    {"stack_overflow", stack_overflow, NULL, NULL},
    {"giving_up", giving_up, NULL, NULL},
    {"leaving", leaving, NULL, NULL},
    {"leaving_in_peace", leaving_in_peace, NULL, NULL},
    {"division", division, NULL, NULL},
    {"illegal_instruction", illegal_instruction, NULL, NULL},
    {"wrong_unlock", wrong_unlock, NULL, NULL},
    {"double_unlock", double_unlock, NULL, NULL},
    {"kernel_thread", kernel_thread, NULL, NULL},
    {"wrong_rwlock", wrong_rwlock, NULL, NULL},
    {"no_barrier", no_barrier, NULL, NULL},
    {"too_few", too_few, NULL, NULL},
    {"double_free", double_free, NULL, NULL},
    {"wrong_free", wrong_free, NULL, NULL},
    {"double_free_small", free_small, free_small, NULL},
    {"double_free_small_here", free_small_twice, NULL, NULL},
    {"double_free_small_later", free_small_and_say, main_prepares,
     main_waits_and_frees},
    {"double_free_gone", free_what_is_gone, free_all_of_a_size, NULL},
    {"wrong_free_small", free_inside_small, NULL, NULL},
    {"overrun", overrun, NULL, NULL},
    {"own_handler", own_handler, NULL, NULL},
    {"read_only_reader", write_what_is_read_only, main_fills_table, NULL},
    {"read_only_writer", read_table, main_fills_and_prepares, main_fills_again},
    {"others_mutex", others_mutex, main_locks, NULL},
    {"others_rwlock", others_rwlock, main_reads, NULL},
    {"mixed_calls", mixed_calls, main_prepares, main_waits},
    {"without_the_mutex", without_the_mutex, NULL, NULL},
    {"after_the_mutex", after_the_mutex, NULL, NULL},
    {"bound_to_nothing", bound_to_nothing, NULL, NULL},
    {"others_data", others_data, main_guards, NULL},
    {"write_what_is_read", write_what_is_read, NULL, NULL},
    {"other_count", other_count, main_prepares, main_counts},
};

static void *make(void *row)
{
    mistakes[(size_t)row].make();
    return NULL;
}

static void prepare(void)
{
    shared.block = tm_alloc(10000, &(tm_alloc_attr){.name = "grid"});
    shared.freed = tm_alloc(20000, &(tm_alloc_attr){.name = "old"});
    shared.small = tm_alloc(100, &(tm_alloc_attr){.name = "tiny"});
    strcpy(shared.block, "as in the core file");
    shared.freed[5000] = 1;
    if (tm_free(shared.freed) != TM_OK) {
        exit(99);
    }
}

int main(int argc, char **argv)
{
    size_t row = 0;
    tm_thread thread;
    tm_thread_attr attr = {.name = "clumsy"};

    tm_init(&argc, &argv);
    prepare();
    while (strcmp(mistakes[row].name, argv[1]) != 0) {
        row++;
    }
    if (tm_node_count() == 1) {
        mistakes[row].make();
        return 0;
    }
    if (mistakes[row].before != NULL) {
        mistakes[row].before();
    }
    attr.placement = TM_ON_NODE;
    attr.node = argc > 2 ? (unsigned)atoi(argv[2]) : tm_node_count() - 1;
    if (tm_thread_create(&thread, &attr, make, (void *)row) != TM_OK) {
        return 98;
    }
    if (mistakes[row].after != NULL) {
        mistakes[row].after();
    }
    (void)tm_thread_join(thread, NULL);
    return 0;
}
