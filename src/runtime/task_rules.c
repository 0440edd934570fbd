// SPDX-License-Identifier: BSD-3-Clause
// What tasks must not do, because they run on any thread.
#include <inttypes.h>
#include <stdio.h>

#include "runtime/error_report.h"
#include "runtime/node.h"
#include "runtime/threads.h"

void tasking_forbid(struct node *node, const char *function)
{
    const struct thread *thread = thread_self();
    char text[160];

    if (thread->family == NULL) {
        return;
    }
    snprintf(text, sizeof text,
             "thread %" PRIu64 " calls %s() in a task or a loop's body, which "
             "must not: it runs on any thread",
             thread->number, function);
    report_program_error(node, text);
}

void tasking_check_end(struct node *node, const struct thread *thread,
                       const char *what)
{
    char text[128];

    if (thread->n_groups == 0) {
        return;
    }
    snprintf(text, sizeof text,
             "thread %" PRIu64 " has %s without tm_wait() for a group that it "
             "spawned into",
             thread->number, what);
    node_enter_serving(node);
    report_program_error(node, text);
}
