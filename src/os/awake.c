// SPDX-License-Identifier: BSD-3-Clause
#include "os/awake.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/log.h"
#include "os/kthread.h"

// Who was started for an earlier run ends.
static _Atomic uintptr_t run;

static void *stay_awake(void *argument)
{
    const struct sched_param none = {0};

    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
        log_debug("cannot keep a processor awake: %m");
        return NULL; // it would take time from those that compute
    }
    while (atomic_load_explicit(&run, memory_order_relaxed) ==
           (uintptr_t)argument) {
        __builtin_ia32_pause();
    }
    return NULL;
}

void awake_start(unsigned n)
{
    void *argument = (void *)(atomic_fetch_add(&run, 1) + 1);
    pthread_t thread;

    while (n-- > 0 && kthread_start_with(&thread, "tm-awake", stay_awake,
                                         argument) == TM_OK) {
        pthread_detach(thread);
    }
}

void awake_stop(void)
{
    atomic_fetch_add(&run, 1);
}
