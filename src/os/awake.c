// SPDX-License-Identifier: BSD-3-Clause
#include "os/awake.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "os/kthread.h"

// The owner and each thread hold it, who lets go last frees it: a thread may come to
// run for the first time long after its owner is gone.
struct awake {
    _Atomic unsigned n_holders;
    _Atomic int is_over;
};

static void let_go(struct awake *awake)
{
    // Pairs with itself: what other holders did with it was before.
    if (atomic_fetch_sub_explicit(&awake->n_holders, 1, memory_order_acq_rel) ==
        1) {
        free(awake);
    }
}

static void *stay_awake(void *argument)
{
    struct awake *awake = argument;
    const struct sched_param none = {0};

    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
        log_debug("cannot keep a processor awake: %m");
    } else { // else it would take time from those that compute
        while (!atomic_load_explicit(&awake->is_over, memory_order_relaxed)) {
            __builtin_ia32_pause();
        }
    }
    let_go(awake);
    return NULL;
}

// @return 0 if the system allows no more
static int start_one(struct awake *awake)
{
    pthread_t thread;

    atomic_fetch_add_explicit(&awake->n_holders, 1, memory_order_relaxed);
    if (kthread_start(&thread, "tm-awake", stay_awake, awake) != TM_OK) {
        let_go(awake);
        return 0;
    }
    pthread_detach(thread);
    return 1;
}

struct awake *awake_start(unsigned n)
{
    struct awake *awake = calloc(1, sizeof *awake);

    if (awake == NULL) {
        log_error("no memory to keep processors awake");
        return NULL;
    }
    atomic_init(&awake->n_holders, 1);
    while (n > 0 && start_one(awake)) {
        n--;
    }
    return awake;
}

void awake_stop(struct awake *awake)
{
    if (awake != NULL) {
        atomic_store_explicit(&awake->is_over, 1, memory_order_relaxed);
        let_go(awake);
    }
}
