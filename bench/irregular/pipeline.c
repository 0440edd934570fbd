// SPDX-License-Identifier: BSD-3-Clause
/*
 * A pipeline: each thread is a stage, which takes items of 4 KiB from the one before, works
 * on them, and gives them to the next one. Between two stages there are slots, and two
 * semaphores that count which are full and which are free.
 *
 *     pipeline [THREADS [ITEMS]]
 */
#include "pipeline.h"
#include "program.h"

enum { STAGES_MAX = 64, N_SLOTS = 4 };

struct link {
    tm_sem n_full;
    tm_sem n_free;
    struct item *slots; // [N_SLOTS]
};

static TM_SHARED struct link
    links[STAGES_MAX]; // from the stage of that number on
static TM_SHARED uint64_t sum;

static void *run_stage(void *arg)
{
    const size_t me = (size_t)arg;
    const int is_last = me + 1 == program.n_threads;
    uint64_t mine = 0;

    for (size_t i = 0; i < program.size; i++) {
        struct item item;

        if (me == 0) {
            item_begin(&item, i);
        } else {
            struct link *before = &links[me - 1];

            tm_sem_wait(&before->n_full);
            item = before->slots[i % N_SLOTS];
            tm_sem_post(&before->n_free);
        }
        item_work(&item, me);
        if (is_last) {
            mine += item_sum(&item);
        } else {
            tm_sem_wait(&links[me].n_free);
            links[me].slots[i % N_SLOTS] = item;
            tm_sem_post(&links[me].n_full);
        }
    }
    if (is_last) {
        sum = mine;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    program_begin(argc, argv, (struct program){2, 5000, 1});
    for (unsigned i = 0; i + 1 < program.n_threads; i++) {
        links[i].slots = program_alloc("slots", N_SLOTS * sizeof(struct item));
        tm_sem_init(&links[i].n_full, 0);
        tm_sem_init(&links[i].n_free, N_SLOTS);
    }
    program_run(run_stage);
    if (sum != items_expected(program.size, program.n_threads)) {
        PROGRAM_FAIL("other items came out than went in");
    }
    program_print("items", (double)program.size, sum);
    return 0;
}
