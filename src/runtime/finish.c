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
#include "runtime/observer.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/races.h"
#include "runtime/report.h"
#include "runtime/runtime.h"
#include "runtime/service.h"
#include "runtime/threads.h"

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
    parts_finish();
    node_set_step(RUNTIME_ENDED);
    send_finish(exit_code);
    observer_stop();
    ult_stop(runtime.ult, STOP_TIMEOUT_MS);
    service_join();
    parts_close();
    runtime.transport->close(runtime.net);
}

tm_status tm_end(void)
{
    if (node_step() != RUNTIME_RUNNING || runtime.self != 0 ||
        tm_thread_self() != 0) {
        log_error("tm_end() is for main() on the root, once, after tm_init()");
        return TM_ESTATE;
    }
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
    parts_close();
    fflush(NULL);
    bootstrap_done(&runtime.bootstrap, runtime.exit_code);
    _exit(runtime.exit_code);
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
