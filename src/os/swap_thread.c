// SPDX-License-Identifier: BSD-3-Clause
#include "os/swap_thread.h"

#include <errno.h>

void swap_jobs_init(struct swap_job_list *list)
{
    *list = (struct swap_job_list){.last = &list->first};
}

void swap_jobs_put(struct swap_job_list *list, struct swap_job *job)
{
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
}

struct swap_job *swap_jobs_take(struct swap_job_list *list)
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
        swap_jobs_init(&thread->todo);
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
    swap_jobs_init(&thread->todo);
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
    swap_jobs_put(&thread->todo, job);
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
