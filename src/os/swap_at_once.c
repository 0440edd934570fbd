// SPDX-License-Identifier: BSD-3-Clause
/*
 * A swap file's calls done where they are submitted, which waits for the disk: for
 * tests that must be the same each time. Jobs come back in the order in which they
 * came, at the next reap.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/swap_engine.h"

struct swap_engine_state {
    int fd;
    int wake;
    struct swap_job *first;
    struct swap_job **last; ///< where the next one is linked
};

static int at_once_open(struct swap_engine_state **state, int fd, int wake)
{
    struct swap_engine_state *made = calloc(1, sizeof *made);

    if (made == NULL) {
        return ENOMEM;
    }
    made->fd = fd;
    made->wake = wake;
    made->last = &made->first;
    *state = made;
    return 0;
}

static void at_once_submit(struct swap_engine_state *state,
                           struct swap_job *job)
{
    const uint64_t one = 1;

    job->result = swap_job_call(state->fd, job);
    job->next = NULL;
    *state->last = job;
    state->last = &job->next;
    // Fails only if the counter is full, and then it is readable anyway.
    (void)!write(state->wake, &one, sizeof one);
}

static struct swap_job *at_once_reap(struct swap_engine_state *state)
{
    struct swap_job *job = state->first;

    if (job != NULL) {
        state->first = job->next;
        if (state->first == NULL) {
            state->last = &state->first;
        }
    }
    return job;
}

static void at_once_close(struct swap_engine_state *state)
{
    free(state);
}

const struct swap_engine swap_engine_at_once = {
    .name = "at once",
    .open = at_once_open,
    .submit = at_once_submit,
    .reap = at_once_reap,
    .close = at_once_close,
};
