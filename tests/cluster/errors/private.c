// SPDX-License-Identifier: BSD-3-Clause
//
// private NAME: main() gives a thread, on the last node, an address that may be of
// memory that each node has for itself. The thread does with it what its row says.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <teamster.h>

#define SMALL 200
#define LARGE 1000000

struct task {
    const char *name;
    int number;
};

struct settings {
    int n;
    char name[60];
};

static const struct task fixed[] = {{"fixed", 1}, {NULL, 0}};
static struct task tasks[] = {{"one", 1}, {"two", 2}, {"three", 3}};
static struct task changing[3];
static struct settings settings;
static double result;
static double results[100000];
static tm_barrier barrier;
static tm_mutex mutex;
static TM_SHARED struct task shared[3];

static void *look_away(void *arg)
{
    (void)arg;
    return NULL;
}

static void *read_it(void *arg)
{
    printf("it reads %d\n", *(volatile int *)arg);
    return NULL;
}

static void *write_it(void *arg)
{
    *(volatile int *)arg = 5;
    return NULL;
}

static void *pass_on(void *arg);

static void *give_null(void)
{
    return NULL;
}

static void *give_integer(void)
{
    return (void *)(intptr_t)4210752;
}

static void *give_negative(void)
{
    return (void *)(intptr_t)-1;
}

static void *give_bits_of_a_double(void)
{
    double value = 0.1;
    void *bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void *give_shared_variable(void)
{
    shared[1].number = 7;
    return &shared[1];
}

static void *give_block(void)
{
    return tm_alloc(SMALL, NULL);
}

static void *give_function(void)
{
    return (void *)(uintptr_t)give_block;
}

static void *give_library_function(void)
{
    return (void *)(uintptr_t)strlen;
}

static void *give_constant(void)
{
    return (void *)(uintptr_t)&fixed[1];
}

static void *give_string(void)
{
    return (void *)(uintptr_t) "constant";
}

static void *give_stream(void)
{
    return stdout;
}

// Each node has the same there, from the program's file.
static void *give_table(void)
{
    return &tasks[1];
}

// ... or from what main() did before tm_init().
static void *give_early(void)
{
    return &settings;
}

static void *give_barrier(void)
{
    (void)tm_barrier_init(&barrier, 1);
    return &barrier;
}

static void *give_mutex(void)
{
    (void)tm_mutex_lock(&mutex);
    (void)tm_mutex_unlock(&mutex);
    return &mutex;
}

static void *give_heap(void)
{
    return calloc(1, SMALL);
}

static void *give_large_heap(void)
{
    return calloc(1, LARGE);
}

static void *give_changed_variable(void)
{
    changing[2].number = 3;
    return &changing[2];
}

static void *give_place_for_a_result(void)
{
    return &result;
}

static void *give_place_far_in(void)
{
    return &results[99000];
}

static void *give_static_local(void)
{
    static int counter = 1;

    counter++;
    return &counter;
}

static const struct {
    const char *name;
    void *(*give)(void); // NULL: a local variable of main()
    void *(*body)(void *);
} rows[] = {
    {"null", give_null, look_away},
    {"integer", give_integer, look_away},
    {"negative", give_negative, look_away},
    {"bits_of_a_double", give_bits_of_a_double, look_away},
    {"shared_variable", give_shared_variable, read_it},
    {"block", give_block, read_it},
    {"function", give_function, look_away},
    {"library_function", give_library_function, look_away},
    {"constant", give_constant, read_it},
    {"string", give_string, read_it},
    {"stream", give_stream, look_away},
    {"table", give_table, read_it},
    {"early", give_early, read_it},
    {"barrier", give_barrier, look_away},
    {"mutex", give_mutex, look_away},
    {"heap", give_heap, look_away},
    {"large_heap", give_large_heap, look_away},
    {"changed_variable", give_changed_variable, look_away},
    {"place_for_a_result", give_place_for_a_result, write_it},
    {"place_far_in", give_place_far_in, write_it},
    {"static_local", give_static_local, look_away},
    {"read_local", NULL, read_it},
    {"write_local", NULL, write_it},
    {"local", NULL, look_away},
    {"stack", give_null, pass_on},
};

static void start(void *(*body)(void *), void *arg, const tm_thread_attr *attr)
{
    tm_thread thread;

    if (tm_thread_create(&thread, attr, body, arg) != TM_OK ||
        tm_thread_join(thread, NULL) != TM_OK) {
        exit(98);
    }
}

// A thread gives the next one, on the root, something of its own stack.
static void *pass_on(void *arg)
{
    int local = 1;

    (void)arg;
    start(look_away, &local, &(tm_thread_attr){.placement = TM_ON_NODE});
    return NULL;
}

// private NAME [home|free|...]: it starts here; wherever; on the last node.
static tm_thread_attr choose_node(int argc, char **argv)
{
    tm_thread_attr attr = {.placement = TM_ON_NODE, .node = 0};

    if (argc > 2 && strcmp(argv[2], "free") == 0) {
        attr.placement = TM_ANYWHERE;
    } else if (argc < 3 || strcmp(argv[2], "home") != 0) {
        attr.node = tm_node_count() - 1;
    }
    return attr;
}

int main(int argc, char **argv)
{
    size_t row = 0;
    int local = 1;
    void *given = &local;
    tm_thread_attr attr;

    snprintf(settings.name, sizeof settings.name, "%s", "as on all nodes");
    tm_init(&argc, &argv);
    attr = choose_node(argc, argv);
    while (strcmp(rows[row].name, argv[1]) != 0) {
        row++;
    }
    if (rows[row].give != NULL) {
        given = rows[row].give();
    }
    for (int i = 0; i < 2; i++) { // what is told is told once
        start(rows[row].body, given, &attr);
    }
    printf("local: %d\n", local);
    return 0;
}
