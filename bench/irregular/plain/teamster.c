// SPDX-License-Identifier: BSD-3-Clause
#include "teamster.h"

#include <pthread.h>

struct start {
    void *(*start)(void *);
    void *arg;
    unsigned number;
};

static _Thread_local unsigned self_number;
static unsigned n_created;

static void *run(void *argument)
{
    const struct start start = *(struct start *)argument;

    free(argument);
    self_number = start.number;
    return start.start(start.arg);
}

// Only main() creates threads.
tm_status tm_thread_create(tm_thread *thread, const void *attr,
                           void *(*start)(void *), void *arg)
{
    struct start *copy = malloc(sizeof *copy);

    _Static_assert(sizeof(pthread_t) <= sizeof *thread, "fits");
    (void)attr;
    if (copy == NULL || n_created == PLAIN_THREADS_MAX) {
        free(copy);
        return -1;
    }
    *copy = (struct start){start, arg, n_created++};
    return pthread_create((pthread_t *)thread, NULL, run, copy);
}

tm_status tm_thread_join(tm_thread thread, void **result)
{
    return pthread_join((pthread_t)thread, result);
}

void tm_barrier_init(tm_barrier *barrier, unsigned count)
{
    barrier->count = count;
    plain_barrier_init(barrier, count);
}

tm_status tm_reduce_double(tm_barrier *barrier, tm_op op, double value,
                           double *result)
{
    double sum;

    (void)op;
    barrier->values[self_number] = value;
    tm_barrier_wait(barrier);
    sum = barrier->values[0];
    for (unsigned i = 1; i < barrier->count; i++) {
        sum += barrier->values[i];
    }
    *result = sum;
    tm_barrier_wait(barrier); // nobody's next value comes before
    return TM_OK;
}
