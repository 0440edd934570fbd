// SPDX-License-Identifier: BSD-3-Clause
/*
 * A swap file's calls done by a kernel thread of ours, one after the other: for
 * where io_uring is refused, as container runtimes do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/swap_thread.h"

struct swap_engine_state {
    struct swap_thread thread;
    int fd;
    int wake;

    // Guarded by the thread's mutex.
    struct swap_job_list ended;
};

static ssize_t call(int fd, const struct swap_job *job)
{
    off_t offset = (off_t)job->offset;

    switch (job->kind) {
    case SWAP_READ:
        return preadv(fd, job->parts, (int)job->n_parts, offset);
    case SWAP_WRITE:
        return pwritev(fd, job->parts, (int)job->n_parts, offset);
    default:
        return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                         (off_t)job->n_bytes);
    }
}

int swap_job_call(int fd, const struct swap_job *job)
{
    ssize_t result;

    do {
        result = call(fd, job);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : (int)result;
}

static void do_job(struct swap_engine_state *state, struct swap_job *job)
{
    const uint64_t one = 1;

    job->result = swap_job_call(state->fd, job);
    mutex_lock(&state->thread.mutex);
    swap_jobs_put(&state->ended, job);
    mutex_unlock(&state->thread.mutex);
    // Fails only if the counter is full, and then it is readable anyway.
    (void)!write(state->wake, &one, sizeof one);
}

static void serve(void *owner, struct swap_job *jobs)
{
    while (jobs != NULL) {
        struct swap_job *next = jobs->next;

        do_job(owner, jobs);
        jobs = next;
    }
}

static int thread_open(struct swap_engine_state **state, int fd, int wake)
{
    struct swap_engine_state *made = calloc(1, sizeof *made);
    int error;

    if (made == NULL) {
        return ENOMEM;
    }
    made->fd = fd;
    made->wake = wake;
    swap_jobs_init(&made->ended);
    error = swap_thread_open(&made->thread, serve, made);
    if (error != 0) {
        free(made);
        return error;
    }
    *state = made;
    return 0;
}

static void thread_submit(struct swap_engine_state *state, struct swap_job *job)
{
    swap_thread_post(&state->thread, job);
}

static struct swap_job *thread_reap(struct swap_engine_state *state)
{
    struct swap_job *job;

    mutex_lock(&state->thread.mutex);
    job = swap_jobs_take(&state->ended);
    mutex_unlock(&state->thread.mutex);
    return job;
}

static void thread_close(struct swap_engine_state *state)
{
    swap_thread_close(&state->thread);
    free(state);
}

const struct swap_engine swap_engine_thread = {
    .name = "thread",
    .open = thread_open,
    .submit = thread_submit,
    .reap = thread_reap,
    .close = thread_close,
};
