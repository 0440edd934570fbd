// SPDX-License-Identifier: BSD-3-Clause
//
// mistakes NAME: a thread on the last node, or main() if there is one node, makes
// a mistake.
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
    tm_mutex mutex;
    tm_barrier barrier;
};

static TM_SHARED struct shared shared;

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

static void no_barrier(void)
{
    (void)tm_barrier_wait(&shared.barrier);
}

static void too_few(void)
{
    (void)tm_barrier_init(&shared.barrier, 3);
    (void)tm_barrier_wait(&shared.barrier);
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

static const struct {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    {"null_pointer", null_pointer},
    {"wild_pointer", wild_pointer},
    {"unreal_pointer", unreal_pointer},
    {"past_the_end", past_the_end},
    {"use_after_free", use_after_free},
    {"in_the_library", in_the_library},
    {"stack_overflow", stack_overflow},
    {"giving_up", giving_up},
    {"division", division},
    {"illegal_instruction", illegal_instruction},
    {"wrong_unlock", wrong_unlock},
    {"double_unlock", double_unlock},
    {"no_barrier", no_barrier},
    {"too_few", too_few},
    {"double_free", double_free},
    {"wrong_free", wrong_free},
    {"overrun", overrun},
    {"own_handler", own_handler},
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
    attr.on_node = (int)tm_node_count();
    if (tm_thread_create(&thread, &attr, make, (void *)row) != TM_OK) {
        return 98;
    }
    (void)tm_thread_join(thread, NULL);
    return 0;
}
