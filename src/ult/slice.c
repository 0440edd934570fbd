// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel thread looks at the workers every SLICE_NS, less often while no worker has more than
// one thread: one that still runs the thread which it
// ran last time, and has others, gets a signal. Its handler runs on the thread's alternate
// stack, as a fault's does, and yields as that one does; the processor's state is in the
// signal's frame.
//
// A thread is switched only where a fault could switch it: in the program's own code.
// Elsewhere the signal does nothing, and comes again.
//
// `n_runs` may be read while it changes: then a slice is a little longer or shorter.
#include "ult/slice.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "os/kthread.h"
#include "os/trap.h"
#include "ult/ult_priv.h"

enum { SLICE_NS = 2 * 1000 * 1000, ALONE_NS = 5 * SLICE_NS, SIGNAL = SIGURG };

static void give_way(const struct trap *trap)
{
    struct worker *worker = worker_self();

    if (worker != NULL && worker->current != NULL &&
        worker->system->may_switch(worker->system->may_switch_owner, trap->pc,
                                   trap->sp) &&
        !queue_is_empty(worker)) {
        ult_yield();
    }
}

// @return 1 it may have others to run
static int look_at(struct worker *worker)
{
    const uint64_t n_runs =
        atomic_load_explicit(&worker->n_runs, memory_order_relaxed);
    const int has_others =
        atomic_load(&worker->n_threads) > (worker->index != 0);

    if (n_runs == worker->n_runs_seen && worker->kernel_id != 0 && has_others &&
        atomic_load(&worker->asleep) == 0) {
        syscall(SYS_tgkill, getpid(), worker->kernel_id, SIGNAL);
    }
    worker->n_runs_seen = n_runs;
    return has_others;
}

static void *look(void *argument)
{
    struct ult_system *system = argument;
    int has_others = 0;

    while (!atomic_load(&system->is_stopping)) {
        kthread_sleep_until(clock_now_ns() +
                            (uint64_t)(has_others ? SLICE_NS : ALONE_NS));
        has_others = 0;
        for (unsigned i = 0; i < system->config.n_workers; i++) {
            has_others |= look_at(&system->workers[i]);
        }
    }
    return NULL;
}

tm_status slice_start(struct ult_system *system,
                      int (*may_switch)(void *owner, uintptr_t pc,
                                        uintptr_t sp),
                      void *owner)
{
    tm_status status;

    system->may_switch = may_switch;
    system->may_switch_owner = owner;
    status = trap_install_switch(SIGNAL, give_way);
    if (status == TM_OK) {
        status = kthread_start(&system->slicer, "tm-slices", look, system);
    }
    system->has_slicer = status == TM_OK;
    return status;
}

void slice_stop(struct ult_system *system)
{
    if (system->has_slicer) {
        pthread_join(system->slicer, NULL);
        system->has_slicer = 0;
    }
}
