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
#include "base/clock.h"
#include "base/log.h"
#include "os/kthread.h"
#include "runtime/checkpoint.h"
#include "runtime/error_report.h"
#include "runtime/node.h"
#include "runtime/observer.h"
#include "runtime/outside.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/race_reports.h"
#include "runtime/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STOP_TIMEOUT_MS 300

static void send_finish(struct node *node, int exit_code)
{
    const struct roster *roster = &node->port.roster;
    struct message message = {
        .type = MESSAGE_finish,
        .u.finish = {.exit_code = (uint32_t)exit_code},
    };

    node_enter(node);
    for (unsigned i = 0; i < roster->n_live; i++) {
        if (roster->live[i] != node->self) {
            port_send(&node->port, roster->live[i], &message);
        }
    }
    node_leave(node);
}

// Leave the cluster; after this only the process is left.
// @param exit_code  of the other nodes
static void leave(struct node *node, int exit_code)
{
    outside_end(node);
    parts_finish(node);
    node_set_step(node, RUNTIME_ENDED);
    send_finish(node, exit_code);
    observer_stop(node);
    ult_stop(node->ult, STOP_TIMEOUT_MS);
    service_join(node);
    files_close(node); // it wakes the service thread
    service_close(node);
    parts_close(node);
    node->transport->close(node->net);
}

tm_status tm_end(void)
{
    struct node *const node = &this_node;

    if (node_step(node) != RUNTIME_RUNNING || node->self != 0 ||
        tm_thread_self() != 0) {
        log_error("tm_end() is for main() on the root, once, after tm_init()");
        return TM_ESTATE;
    }
    leave(node, 0);
    paging_close(node);
    space_close(&node->space);
    return TM_OK;
}

// A thread of another node than the root has called exit().
static void end_from_here(struct node *node, int status)
{
    if (bootstrap_has_launcher(&node->bootstrap)) {
        bootstrap_failed(&node->bootstrap, status);
        return;
    }
    if (node_step(node) == RUNTIME_RUNNING) {
        leave(node, status & 0xff);
    }
}

void finish_at_exit(int status, void *argument)
{
    struct node *node = argument;

    if (getpid() != node->pid) {
        return; // a child of fork()
    }
    node_note_ender(node);
    if (status != 0 && node->unchanged == NULL &&
        node_step(node) == RUNTIME_RUNNING &&
        (thread_self() == NULL || thread_self()->number != 0)) {
        report_exit(node, status);
    }
    if (node->self != 0) {
        end_from_here(node, status);
        return;
    }
    if (node_step(node) == RUNTIME_RUNNING) {
        leave(node, 0);
    }
    fflush(NULL);
    bootstrap_done(&node->bootstrap, race_reports_exit_code(node, status));
    if (race_reports_exit_code(node, status) != status) {
        exit(race_reports_exit_code(node,
                                    status)); // goes on with the other handlers
    }
}

void finish_fatal(int exit_code)
{
    struct node *const node = &this_node;

    bootstrap_failed(&node->bootstrap, exit_code);
}

static _Noreturn void end_process(struct node *node)
{
    observer_stop(node);
    files_close(node);
    parts_close(node);
    fflush(NULL);
    bootstrap_done(&node->bootstrap, node->exit_code);
    _exit(node->exit_code);
}

// Service thread, outside the node lock: workers that are idle leave their loops,
// worker 0 into finish_serving(). One that computes is not waited for long.
void finish_now(struct node *node)
{
    node_set_step(node, RUNTIME_ENDED);
    ult_stop(node->ult, STOP_TIMEOUT_MS);
    kthread_sleep_until(clock_now_ns() + STOP_TIMEOUT_MS * 1000000ull);
    end_process(node);
}

void finish_serving(struct node *node)
{
    ult_work(node->ult);
    end_process(node);
}
