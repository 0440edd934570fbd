// SPDX-License-Identifier: BSD-3-Clause
/*
 * A page whose story is known: main() writes it, a thread of node 1 reads it, one of node 2
 * writes it, and main() reads it again, one after the other. It is the first of a TM_SHARED
 * variable, and the second of a block called `named`.
 */
#include "program.h"

enum { N_WORDS = 3 * 4096 / sizeof(uint64_t), WORD = 4096 / sizeof(uint64_t) };

static TM_SHARED uint64_t told[N_WORDS];
static TM_SHARED uint64_t *named;
static TM_SHARED tm_sem turns[3];

static void *read_it(void *unused)
{
    OK(tm_sem_wait(&turns[0]));
    if (told[0] != 1 || named[WORD] != 1) {
        FAIL("%" PRIu64 " and %" PRIu64, told[0], named[WORD]);
    }
    OK(tm_sem_post(&turns[1]));
    return unused;
}

static void *write_it(void *unused)
{
    OK(tm_sem_wait(&turns[1]));
    told[1] = 2;
    named[WORD + 1] = 2;
    OK(tm_sem_post(&turns[2]));
    return unused;
}

static void start(tm_thread *thread, void *(*f)(void *), unsigned node)
{
    const tm_thread_attr attr = {.placement = TM_ON_NODE,
                                 .node = node % tm_node_count()};

    OK(tm_thread_create(thread, &attr, f, NULL));
}

int main(int argc, char **argv)
{
    tm_thread threads[2];

    tm_init(&argc, &argv);
    named = tm_alloc(4 * 4096, &(tm_alloc_attr){.name = "named"});
    if (named == NULL) {
        FAIL("no %s", "memory");
    }
    for (unsigned i = 0; i < 3; i++) {
        OK(tm_sem_init(&turns[i], 0));
    }
    start(&threads[0], read_it, 1);
    start(&threads[1], write_it, 2);
    told[0] = 1;
    named[WORD] = 1;
    OK(tm_sem_post(&turns[0]));
    OK(tm_sem_wait(&turns[2]));
    printf("%" PRIu64 "\n", told[0] + told[1] + named[WORD] + named[WORD + 1]);
    OK(tm_thread_join(threads[0], NULL));
    OK(tm_thread_join(threads[1], NULL));
    return 0;
}
