// SPDX-License-Identifier: BSD-3-Clause
/*
 * The kernel thread of a swap file's engine, and two engines: "thread", whose calls that
 * kernel thread does, one after the other, for where io_uring is refused, as container
 * runtimes do; and "at once", whose calls are done where they are submitted, which waits
 * for the disk: for tests that must be the same each time.
 */
#include "os/swap_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"

static void *run(void *argument)
{
    struct swap_thread *thread = argument;

    // Threads wait for what is handed to it.
    (void)kthread_hurry(pthread_self());
    for (;;) {
        // Pairs with the store in notify(): what was posted before is seen below.
        const uint32_t seen =
            atomic_load_explicit(&thread->posted, memory_order_acquire);
        struct swap_job *jobs;
        int is_closing;

        mutex_lock(&thread->mutex);
        jobs = thread->todo.first;
        thread->todo.first = NULL;
        is_closing = thread->is_closing;
        mutex_unlock(&thread->mutex);
        if (jobs != NULL) {
            thread->serve(thread->owner, jobs);
        } else if (is_closing) {
            return NULL;
        } else {
            kthread_wait(&thread->posted, seen, 0);
        }
    }
}

static void notify(struct swap_thread *thread)
{
    atomic_fetch_add_explicit(&thread->posted, 1, memory_order_release);
    kthread_wake(&thread->posted);
}

int swap_thread_open(struct swap_thread *thread,
                     void (*serve)(void *owner, struct swap_job *jobs),
                     void *owner)
{
    thread->serve = serve;
    thread->owner = owner;
    thread->is_closing = 0;
    thread->todo.first = NULL;
    atomic_init(&thread->posted, 0);
    mutex_init(&thread->mutex, RANK_SWAP);
    if (kthread_start(&thread->thread, "tm-swap", run, thread) != TM_OK) {
        mutex_release(&thread->mutex);
        return EAGAIN;
    }
    return 0;
}

void swap_thread_post(struct swap_thread *thread, struct swap_job *job)
{
    mutex_lock(&thread->mutex);
    list_append(&thread->todo, job);
    mutex_unlock(&thread->mutex);
    notify(thread);
}

void swap_thread_close(struct swap_thread *thread)
{
    mutex_lock(&thread->mutex);
    thread->is_closing = 1;
    mutex_unlock(&thread->mutex);
    notify(thread);
    pthread_join(thread->thread, NULL);
    mutex_release(&thread->mutex);
}

// ---- the engines

struct swap_engine_state {
    struct swap_thread thread; // not of "at once"
    int fd;
    int wake;
    struct mutex mutex;
    struct swap_job_list ended; // guarded by the mutex
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
    mutex_lock(&state->mutex);
    list_append(&state->ended, job);
    mutex_unlock(&state->mutex);
    // Fails only if the counter is full, and then it is readable anyway.
    (void)!write(state->wake, &one, sizeof one);
}

static void serve(void *owner, struct swap_job *jobs)
{
    list_take_each (job, jobs) {
        do_job(owner, job);
    }
}

static struct swap_job *reap(struct swap_engine_state *state)
{
    struct swap_job *job;

    mutex_lock(&state->mutex);
    job = state->ended.first;
    if (job != NULL) {
        state->ended.first = job->next;
    }
    mutex_unlock(&state->mutex);
    return job;
}

static int open_state(struct swap_engine_state **state, int fd, int wake)
{
    *state = calloc(1, sizeof **state);
    if (*state == NULL) {
        return ENOMEM;
    }
    (*state)->fd = fd;
    (*state)->wake = wake;
    mutex_init(&(*state)->mutex, RANK_SWAP);
    return 0;
}

static void close_state(struct swap_engine_state *state)
{
    mutex_release(&state->mutex);
    free(state);
}

static int thread_open(struct swap_engine_state **state, int fd, int wake)
{
    int error = open_state(state, fd, wake);

    if (error == 0) {
        error = swap_thread_open(&(*state)->thread, serve, *state);
        if (error != 0) {
            close_state(*state);
        }
    }
    return error;
}

static void thread_submit(struct swap_engine_state *state, struct swap_job *job)
{
    swap_thread_post(&state->thread, job);
}

static void thread_close(struct swap_engine_state *state)
{
    swap_thread_close(&state->thread);
    close_state(state);
}

const struct swap_engine swap_engine_thread = {
    .name = "thread",
    .open = thread_open,
    .submit = thread_submit,
    .reap = reap,
    .close = thread_close,
};

const struct swap_engine swap_engine_at_once = {
    .name = "at once",
    .open = open_state,
    .submit = do_job,
    .reap = reap,
    .close = close_state,
};
