// SPDX-License-Identifier: BSD-3-Clause
//
// A fault, from the signal to the next try of the instruction; ARCHITECTURE.md
// tells it as a story. Runs on the faulting thread's stack, inside the signal
// handler, which is as good as a function call: a fault never interrupts the
// runtime itself (A1), so no lock is held and nothing is half done.
//
// While the page is fetched other threads run, if the instruction is the
// program's own. Inside the C library the kernel thread waits in place: its state
// (stdio's, say) must not be entered twice.
#include "base/clock.h"
#include "base/log.h"
#include "os/image.h"
#include "os/kthread.h"
#include "os/range.h"
#include "runtime/error_report.h"
#include "runtime/event_trace.h"
#include "runtime/meter.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"
#include "runtime/unchanged.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

// So many faults at one page that should not have been are a bug, not bad luck.
#define REPEATS_MAX 1000000u

// Milliseconds, for a core file's sake.
#define LOCK_TRIES 100u

static void watch_repeats(struct thread *thread, page_no page)
{
    thread->repeats = page == thread->last_page ? thread->repeats + 1 : 0;
    thread->last_page = page;
    if (thread->repeats > REPEATS_MAX) {
        log_fatal(EXIT_INTERNAL, "internal error: page %llu faults for ever",
                  (unsigned long long)page);
    }
}

// This access can be served now.
static void touch(struct node *node, const struct thread *thread, page_no page,
                  int is_write)
{
    if (tracking_is_on(&node->tracking)) {
        tracking_touch(node, thread, page, is_write);
    }
}

// For --report: an instruction has faulted. In a call of the C library that Teamster has
// taken over it is the program's call that counts.
static struct fault_line *note_line(struct node *node,
                                    const struct thread *thread,
                                    const struct trap *trap)
{
    return node->fault_lines == NULL
               ? NULL
               : fault_lines_note(node->fault_lines,
                                  thread->wrapped != NULL ? thread->place - 1
                                                          : trap->pc,
                                  trap->is_write);
}

// Have it served, by the pager first, then by the page's protocol.
// @param[out] line  that a wait is to be added to; NULL: none
static enum fault_result serve(struct node *node, struct thread *thread,
                               const struct trap *trap, page_no page,
                               struct wait *wait, struct fault_paging *paging,
                               struct fault_line **line)
{
    const int is_paged = paging_follows_faults(&node->paging);
    enum fault_result result;
    uint64_t began_ns;

    node_enter(node);
    began_ns = story_is_on(&node->story) ? clock_now_ns() : 0;
    if (is_paged) {
        paging_admit(node, thread, trap->pc, page, trap->is_write, paging);
    }
    thread->history.instruction = trap->pc;
    result = engine_fault(node->engine, page, trap->is_write, &thread->history,
                          &wait->waiter);
    if (is_paged) {
        paging_note_result(node, thread, page, result, paging);
    }
    if (result == FAULT_ALLOWED) {
        touch(node, thread, page, trap->is_write);
    }
    *line = result == FAULT_ALLOWED || result == FAULT_WAIT
                ? note_line(node, thread, trap)
                : NULL;
    if (began_ns > 0) {
        story_fault(node, thread, trap, page, began_ns);
    }
    node_leave(node);
    return result;
}

// The page has come from another node. The thread tries again, and what was held for
// it may go.
static void resume(struct node *node, struct thread *thread, page_no page,
                   int is_write)
{
    int is_wanted;

    node_enter(node);
    paging_note_back(node, thread);
    touch(node, thread, page, is_write); // while it is pinned
    is_wanted = engine_resumed(node->engine, page, &thread->history);
    node_leave(node);
    if (is_wanted) {
        node_wake_service(node); // to let it go when it is due
    }
}

// What a thread has mapped while it is tracked is not for others.
static void await_page(struct node *node, const struct thread *thread,
                       const struct trap *trap, page_no page, struct wait *wait,
                       struct fault_line *line)
{
    const uint64_t began_ns = clock_now_ns();

    tasking_fetch_begins(node, thread);
    wait_for(wait, image_is_program_text(trap->pc) &&
                       !tracking_is_on(&node->tracking));
    tasking_fetch_ends(node, thread);
    meter_note_wait(node, began_ns);
    trace_fault(node, thread, page, trap->is_write, began_ns);
    if (line != NULL) {
        fault_line_waited(line, clock_now_ns() - began_ns);
    }
}

// @return 1 try again, 0 an error of the program
static int fault(struct node *node, struct thread *thread,
                 const struct trap *trap, page_no page,
                 const struct fault_clock *clock)
{
    struct fault_paging paging = {0};
    enum fault_result result;
    struct fault_line *line;
    struct wait wait;

    wait_init(&wait);
    result = serve(node, thread, trap, page, &wait, &paging, &line);
    meter_end(node, thread, clock, &paging);
    if (result != FAULT_WAIT) {
        watch_repeats(thread, page);
        return result == FAULT_ALLOWED;
    }
    thread->repeats = 0;
    await_page(node, thread, trap, page, &wait, line);
    engine_note_missed(node->engine, page, trap->is_write, &thread->history);
    if (paging_is_on(&node->paging) || tracking_is_on(&node->tracking) ||
        engine_is_to_hear(node->engine, page, &thread->history)) {
        resume(node, thread, page, trap->is_write);
    }
    return 1;
}

// The process ends now. The core file shows what shared memory is here, unless
// somebody keeps the lock; that may be this very kernel thread, if the error is one
// of the runtime's, so the order of locks does not count.
static void prepare_end(struct node *node)
{
    for (unsigned i = 0; i < LOCK_TRIES && node_step(node) == RUNTIME_RUNNING;
         i++) {
        if (pthread_mutex_trylock(&node->lock.pthread) == 0) {
            engine_keep_in_core(node->engine);
            pthread_mutex_unlock(&node->lock.pthread);
            return;
        }
        kthread_sleep_until(clock_now_ns() + 1000000);
    }
}

// An error of the program in watched memory. It is to be as in any program,
// SIGSEGV: for the program's own handler, or else the instruction runs again and
// raises it.
static int deny(struct node *node, const struct trap *trap, page_no page)
{
    char *address = space_address(&node->space, page);

    int is_handled = trap_is_handled(trap, SIGSEGV);

    report_trap(node, trap);
    if (!is_handled) {
        prepare_end(node);
    }
    if (trap->signal == SIGSEGV || trap->code <= 0) {
        return 0;
    }
    if (is_handled) {
        trap_present(trap, SIGSEGV);
        return 1;
    }
    atomic_store_explicit(&node->denied, (uintptr_t)address,
                          memory_order_relaxed);
    range_deny(address, TM_PAGE_SIZE);
    return 1;
}

static int is_denied(struct node *node, const struct trap *trap)
{
    uintptr_t denied =
        atomic_load_explicit(&node->denied, memory_order_relaxed);

    return trap->signal == SIGSEGV && trap->code > 0 && denied != 0 &&
           trap->address / TM_PAGE_SIZE * TM_PAGE_SIZE == denied;
}

// An access below a stack that an unchanged program's thread has in shared memory.
static int is_overflow(const struct node *node, const struct trap *trap)
{
    return node->unchanged != NULL &&
           node->unchanged->overflown((void *)trap->address) > 0;
}

int access_trap(void *owner, const struct trap *trap)
{
    struct node *node = owner;
    struct thread *thread = thread_self();
    struct fault_clock clock;
    page_no page;

    if (trap->signal != node->fault_source->signal ||
        !space_find(&node->space, (void *)trap->address, &page)) {
        // What the program handles itself is its own affair.
        if (!is_denied(node, trap) && !trap_is_handled(trap, trap->signal)) {
            report_trap(node, trap);
            prepare_end(node);
        }
        return 0;
    }
    if (node->unchanged != NULL) {
        node_await_end(node);
    }
    if (node_step(node) != RUNTIME_RUNNING || thread == NULL ||
        is_overflow(node, trap)) {
        return deny(node, trap, page);
    }
    clock = meter_begin(node, thread);
    node_pay(node);
    tracking_enter(&node->tracking);
    if (!fault(node, thread, trap, page, &clock)) {
        return deny(node, trap, page);
    }
    return 1;
}
