// SPDX-License-Identifier: BSD-3-Clause
/*
 * With how many others a node is connected if it talks to few: one thread on each node writes a
 * page, meets the others, and reads the next one's. Prints it, and fails if the nodes besides
 * the root have more than MOST connections, on average: some are the directory of what all use.
 *
 *     ways MOST
 *     ways full       a thread opens all files that it may before its node needs the others
 *
 * What a node cannot do without is the root, the directory, the node that leads it at barriers or
 * those that it leads, and its neighbours. A connection within a host is a doorbell.
 */
#include <string.h>

#include "program.h"

enum { N_ROUNDS = 3, PAGE = 4096, DIRECTORY_BLOCK = 256 * PAGE };

static TM_SHARED struct {
    tm_barrier barrier;
    unsigned n_ways[TM_MAX_NODES];
} job;

// Doorbells that this process has mapped, without its own.
static unsigned count_ways(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned n = 0;

    if (maps == NULL) {
        FAIL("%s cannot be read", "/proc/self/maps");
    }
    while (fgets(line, sizeof line, maps) != NULL) {
        n += strstr(line, "teamster-doorbell") != NULL;
    }
    fclose(maps);
    return n - 1;
}

static void *thread_work(void *argument)
{
    unsigned char *pages = argument;
    const unsigned self = tm_node_self();
    const unsigned next = (self + 1) % tm_node_count();

    for (unsigned i = 1; i <= N_ROUNDS; i++) {
        pages[(size_t)self * PAGE] = (unsigned char)(self + i);
        OK(tm_barrier_wait(&job.barrier));
        if (pages[(size_t)next * PAGE] != (unsigned char)(next + i)) {
            FAIL("node %u's page is an old one", next);
        }
        OK(tm_barrier_wait(&job.barrier));
    }
    job.n_ways[self] = count_ways();
    return NULL;
}

static void judge(unsigned n, double most)
{
    double sum = 0;

    for (unsigned i = 1; i < n; i++) {
        sum += job.n_ways[i];
    }
    printf("%u nodes: %.1f connections, %u of the root\n", n, sum / (n - 1),
           job.n_ways[0]);
    if (sum > most * (n - 1)) {
        FAIL("more than %.1f", most);
    }
}

// A page of each directory block.
static void *read_far(void *argument)
{
    const unsigned char *pages = argument;
    unsigned sum = 0;

    while (dup(0) >= 0) {
    }
    for (unsigned i = 0; i < tm_node_count(); i++) {
        sum += pages[(size_t)i * DIRECTORY_BLOCK];
    }
    printf("what was read adds up to %u\n", sum);
    return NULL;
}

static void fill_descriptors(unsigned n)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = 1};
    unsigned char *pages = tm_alloc((size_t)n * DIRECTORY_BLOCK, NULL);
    tm_thread thread;

    memset(pages, 1, (size_t)n * DIRECTORY_BLOCK);
    OK(tm_thread_create(&thread, &attr, read_far, pages));
    OK(tm_thread_join(thread, NULL));
    tm_free(pages);
}

static void talk_to_few(unsigned n, double most)
{
    tm_thread threads[TM_MAX_NODES];
    void *pages = tm_alloc((size_t)n * PAGE, NULL);

    OK(tm_barrier_init(&job.barrier, n));
    for (unsigned i = 0; i < n; i++) {
        const tm_thread_attr attr = {.placement = TM_ON_NODE, .node = i};

        OK(tm_thread_create(&threads[i], &attr, thread_work, pages));
    }
    for (unsigned i = 0; i < n; i++) {
        OK(tm_thread_join(threads[i], NULL));
    }
    judge(n, most);
    tm_free(pages);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    tm_init(&argc, &argv);
    if (strcmp(what, "full") == 0) {
        fill_descriptors(tm_node_count());
    } else {
        talk_to_few(tm_node_count(), atof(what));
    }
    return 0;
}
