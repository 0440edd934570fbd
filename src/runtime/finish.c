// SPDX-License-Identifier: BSD-3-Clause
//
// The end of a run.
//
//   root, main() returns or exit()   finish_at_exit: table of numbers, FINISH to
//                                    all, then DONE to the launcher
//   root, tm_end()                   the same, and main() goes on alone
//   another node, FINISH arrives,    its workers stop, it flushes and exits with 0
//   or the launcher's STOP
//   another node, exit() by a thread the launcher is told, and ends all; without
//                                    one FINISH to all, with the exit code, which
//                                    becomes the root's
//   anywhere, log_fatal()            finish_fatal: the launcher is told, at once
#include "runtime/finish.h"
#include "base/log.h"
#include "runtime/distribution.h"
#include "runtime/observer.h"
#include "runtime/paging.h"
#include "runtime/runtime.h"
#include "runtime/service.h"
#include "runtime/stats.h"
#include "runtime/tracking.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STOP_TIMEOUT_MS 300

static void send_finish(int exit_code)
{
    const struct roster *roster = &runtime.port.roster;
    struct message message = {
        .type = MESSAGE_finish,
        .u.finish = {.exit_code = (uint32_t)exit_code},
    };

    node_enter();
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != runtime.self) {
            port_send(&runtime.port, roster->live[i], &message);
        }
    }
    node_leave();
}

// Leave the cluster; after this only the process is left.
// @param exit_code  of the other nodes
static void leave(int exit_code)
{
    tracking_finish();
    tracking_close();
    node_set_step(RUNTIME_ENDED);
    send_finish(exit_code);
    observer_stop();
    ult_stop(runtime.ult, STOP_TIMEOUT_MS);
    service_join();
    paging_finish();
    runtime.transport->close(runtime.net);
}

// Reports still come, and plans are made, until the cluster is left.
static void tell_decisions(void)
{
    node_enter();
    distribution_print();
    profile_save();
    node_leave();
}

tm_status tm_end(void)
{
    if (node_step() != RUNTIME_RUNNING || runtime.self != 0 ||
        tm_thread_self() != 0) {
        log_error("tm_end() is for main() on the root, once, after tm_init()");
        return TM_ESTATE;
    }
    races_finish();
    if (runtime.options.stats) {
        stats_print_table();
    }
    tell_decisions();
    leave(0);
    paging_close();
    space_close(&runtime.space);
    return TM_OK;
}

// A thread of another node than the root has called exit().
static void end_from_here(int status)
{
    if (bootstrap_has_launcher(&runtime.bootstrap)) {
        bootstrap_failed(&runtime.bootstrap, status);
        return;
    }
    if (node_step() == RUNTIME_RUNNING) {
        leave(status & 0xff);
    }
}

void finish_at_exit(int status, void *argument)
{
    (void)argument;
    if (getpid() != runtime.pid) {
        return; // a child of fork()
    }
    if (status != 0 && node_step() == RUNTIME_RUNNING &&
        (thread_self() == NULL || thread_self()->number != 0)) {
        report_exit(status);
    }
    if (runtime.self != 0) {
        end_from_here(status);
        return;
    }
    if (node_step() == RUNTIME_RUNNING) {
        races_finish();
        if (runtime.options.stats && thread_self() != NULL &&
            thread_self()->number == 0) {
            stats_print_table();
        }
        tell_decisions();
        leave(0);
    }
    fflush(NULL);
    bootstrap_done(&runtime.bootstrap, races_exit_code(status));
    if (races_exit_code(status) != status) {
        exit(races_exit_code(status)); // goes on with the other handlers
    }
}

void finish_fatal(int exit_code)
{
    bootstrap_failed(&runtime.bootstrap, exit_code);
}

static _Noreturn void end_process(void)
{
    observer_stop();
    paging_finish();
    fflush(NULL);
    bootstrap_done(&runtime.bootstrap, runtime.exit_code);
    _exit(runtime.exit_code);
}

void finish_soon(int exit_code)
{
    if (!node_is_finishing()) {
        runtime.exit_code = exit_code;
        // Pairs with the load in node_is_finishing().
        atomic_store_explicit(&runtime.is_finishing, 1, memory_order_release);
    }
}

void finish_receive(const struct message *message)
{
    // The others' part in it is over; what the run has come to is the root's to say.
    finish_soon(runtime.self == 0 ? (int)message->u.finish.exit_code : 0);
}

// Service thread, outside the node lock: workers that are idle leave their loops,
// worker 0 into finish_serving(). One that computes is not waited for long.
void finish_now(void)
{
    node_set_step(RUNTIME_ENDED);
    ult_stop(runtime.ult, STOP_TIMEOUT_MS);
    usleep(STOP_TIMEOUT_MS * 1000);
    end_process();
}

void finish_serving(void)
{
    ult_work(runtime.ult);
    end_process();
}
