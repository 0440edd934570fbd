// SPDX-License-Identifier: BSD-3-Clause
//
// The rounds of workers (rounds.h). A round of a worker begins with the first thread
// that arrives in it, and ends when one of its threads arrives again. Threads may
// go to another worker of the node between two arrivals, and come back while the
// round that they left still lasts; who leaves the node may come back, too.
//
// W1 A thread is in the round of one worker at most: in that of the worker of its
//    place if the place names the present round, else in none.
#include "runtime/rounds.h"
#include "base/ensure.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

tm_status rounds_init(struct rounds *rounds, unsigned n_workers)
{
    rounds->n_workers = n_workers;
    rounds->of_worker = calloc(n_workers, sizeof *rounds->of_worker);
    return rounds->of_worker == NULL ? TM_ENOMEM : TM_OK;
}

void rounds_release(struct rounds *rounds)
{
    for (unsigned i = 0; rounds->of_worker != NULL && i < rounds->n_workers;
         i++) {
        free(rounds->of_worker[i].threads);
    }
    free(rounds->of_worker);
    rounds->of_worker = NULL;
}

int rounds_is_over(const struct rounds *rounds, unsigned worker,
                   const struct round_place *place)
{
    return place->worker == worker &&
           place->round == rounds->of_worker[worker].number + 1;
}

void rounds_next(struct rounds *rounds, unsigned worker)
{
    rounds->of_worker[worker].n = 0;
    rounds->of_worker[worker].number++;
}

void rounds_leave(struct rounds *rounds, uint32_t thread,
                  struct round_place *place)
{
    struct round *round = &rounds->of_worker[place->worker];
    uint32_t at = 0;

    if (place->round == round->number + 1) {
        while (round->threads[at] != thread) {
            at++;
        }
        round->n--;
        memmove(&round->threads[at], &round->threads[at + 1],
                (round->n - at) * sizeof *round->threads);
    }
    *place = (struct round_place){0};
}

void rounds_arrive(struct rounds *rounds, unsigned worker, uint32_t thread,
                   struct round_place *place)
{
    struct round *round = &rounds->of_worker[worker];

    ensure(!rounds_is_over(rounds, worker, place));
    rounds_leave(rounds, thread, place);
    vector_reserve(round->threads, round->room, round->n + 1);
    round->threads[round->n++] = thread;
    place->worker = worker;
    place->round = round->number + 1;
}
