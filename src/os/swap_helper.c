// SPDX-License-Identifier: BSD-3-Clause
/*
 * A swap file's calls done by a kernel thread of ours, one after the other: for
 * where io_uring is refused, as container runtimes do.
 *
 * Jobs come in through one list and go out through another, both guarded by the
 * mutex. `posted` counts what the thread is to notice; it sleeps on that word.
 */
#include "os/swap_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mutex.h"
#include "os/kthread.h"

struct job_list {
    struct swap_job *first;
    struct swap_job **last; ///< where the next one is linked
};

struct swap_engine_state {
    int fd;
    int wake;
    pthread_t thread;
    _Atomic uint32_t posted;

    // Guarded by the mutex.
    struct mutex mutex;
    struct job_list todo;
    struct job_list ended;
    int is_closing;
};

static void put(struct job_list *list, struct swap_job *job)
{
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
}

static struct swap_job *take(struct job_list *list)
{
    struct swap_job *job = list->first;

    if (job != NULL) {
        list->first = job->next;
        if (list->first == NULL) {
            list->last = &list->first;
        }
    }
    return job;
}

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
    mutex_lock(&state->mutex);
    put(&state->ended, job);
    mutex_unlock(&state->mutex);
    // Fails only if the counter is full, and then it is readable anyway.
    (void)!write(state->wake, &one, sizeof one);
}

static void *serve(void *argument)
{
    struct swap_engine_state *state = argument;

    for (;;) {
        // Pairs with the store in post(): what was posted before is seen below.
        uint32_t seen =
            atomic_load_explicit(&state->posted, memory_order_acquire);
        struct swap_job *job;
        int is_closing;

        mutex_lock(&state->mutex);
        job = take(&state->todo);
        is_closing = state->is_closing;
        mutex_unlock(&state->mutex);
        if (job != NULL) {
            do_job(state, job);
        } else if (is_closing) {
            return NULL;
        } else {
            kthread_wait(&state->posted, seen, 0);
        }
    }
}

static void post(struct swap_engine_state *state)
{
    atomic_fetch_add_explicit(&state->posted, 1, memory_order_release);
    kthread_wake(&state->posted);
}

static int thread_open(struct swap_engine_state **state, int fd, int wake)
{
    struct swap_engine_state *made = calloc(1, sizeof *made);

    if (made == NULL) {
        return ENOMEM;
    }
    made->fd = fd;
    made->wake = wake;
    made->todo.last = &made->todo.first;
    made->ended.last = &made->ended.first;
    mutex_init(&made->mutex, RANK_SWAP);
    if (kthread_start_with(&made->thread, "tm-swap", serve, made) != TM_OK) {
        mutex_release(&made->mutex);
        free(made);
        return EAGAIN;
    }
    *state = made;
    return 0;
}

static void thread_submit(struct swap_engine_state *state, struct swap_job *job)
{
    mutex_lock(&state->mutex);
    put(&state->todo, job);
    mutex_unlock(&state->mutex);
    post(state);
}

static struct swap_job *thread_reap(struct swap_engine_state *state)
{
    struct swap_job *job;

    mutex_lock(&state->mutex);
    job = take(&state->ended);
    mutex_unlock(&state->mutex);
    return job;
}

static void thread_close(struct swap_engine_state *state)
{
    mutex_lock(&state->mutex);
    state->is_closing = 1;
    mutex_unlock(&state->mutex);
    post(state);
    pthread_join(state->thread, NULL);
    mutex_release(&state->mutex);
    free(state);
}

const struct swap_engine swap_engine_thread = {
    .name = "thread",
    .open = thread_open,
    .submit = thread_submit,
    .reap = thread_reap,
    .close = thread_close,
};
