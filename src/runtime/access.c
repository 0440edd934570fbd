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
#include "base/ensure.h"
#include "base/log.h"
#include "os/image.h"
#include "os/range.h"
#include "runtime/kernel_paging.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/report.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

// So many faults at one page that should not have been are a bug, not bad luck.
#define REPEATS_MAX 1000000u

// A signal until its handler runs, and the return from it: docs/benchmarks.md.
#define TRAP_NS 3400u

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

// When a fault began, by the clocks that are read for it; 0: not read.
struct begun {
    uint64_t wall_ns;
    uint64_t cpu_ns;
};

// Reading processor time is a system call: it is read in one fault in so many, no divisor
// of usual numbers of pages, and the others are taken to be like these. A thread's first
// faults are measured more often, for the very first take longer.
#define MEASURED 61u
#define MEASURED_EARLY 8u
#define EARLY 64u

// On a node that emulates a slow one each nanosecond counts several times: there it is
// read in every fault, and nothing else.
static struct begun begin_fault(struct node *node, struct thread *thread)
{
    uint64_t n;

    if (node->options.share < 1) {
        return (struct begun){.cpu_ns = clock_thread_cpu_ns()};
    }
    n = thread->n_faults++;
    return (struct begun){
        .wall_ns = clock_now_ns(),
        .cpu_ns = n % (n < EARLY ? MEASURED_EARLY : MEASURED) == 0
                      ? clock_thread_cpu_ns()
                      : 0,
    };
}

// What handling a fault took of the processor. Not what it took by the clock: others
// have the processor and the node lock meanwhile.
// @param pages  whether it had to do with memory that is short: these take longer
static uint64_t handling_ns(struct node *node, const struct begun *begun,
                            int pages)
{
    _Atomic uint64_t *usual_ns = &node->handling_ns[pages != 0];
    uint64_t mean_ns;
    uint64_t ns;

    if (node->options.share < 1) {
        return node_slowed_ns(node,
                              clock_thread_cpu_ns() - begun->cpu_ns + TRAP_NS);
    }
    mean_ns = atomic_load_explicit(usual_ns, memory_order_relaxed);
    if (begun->cpu_ns > 0) {
        ns = iteration_cpu_since(node, begun->cpu_ns);
        mean_ns = mean_ns == 0 ? ns : (7 * mean_ns + ns) / 8;
        atomic_store_explicit(usual_ns, mean_ns, memory_order_relaxed);
    }
    return mean_ns + TRAP_NS;
}

// This access can be served now.
static void touch(struct node *node, const struct thread *thread, page_no page,
                  int is_write)
{
    if (tracking_is_on(&node->tracking)) {
        tracking_touch(node, thread, page, is_write);
    }
}

// @return 1 try again, 0 an error of the program
static int fault(struct node *node, struct thread *thread,
                 const struct trap *trap, page_no page,
                 const struct begun *begun)
{
    const int is_write = trap->is_write;
    const int may_switch = image_is_program_text(trap->pc);
    enum fault_result result;
    struct wait wait;
    uint64_t began_ns;
    uint64_t paged_ns;
    uint64_t handled_ns;
    int is_for_memory = 0;

    wait_init(&wait);
    node_enter(node);
    paged_ns = paging_admit(node, thread, trap->pc, page, is_write);
    began_ns = kernel_paging_began(node, page, is_write);
    result = engine_fault(node->engine, page, is_write, &thread->history,
                          &wait.waiter);
    if (result == FAULT_ALLOWED) {
        paged_ns += kernel_paging_ended(node, thread, page, began_ns);
        touch(node, thread, page, is_write);
        is_for_memory = paging_is_short(node);
    } else if (result == FAULT_WAIT) {
        paging_note_away(node, thread);
    }
    node_leave(node);
    handled_ns = handling_ns(node, begun, is_for_memory || paged_ns > 0);
    thread->handling_ns += handled_ns;
    if (is_for_memory) {
        paging_note_cost(node, thread,
                         node->options.share < 1
                             ? paged_ns + handled_ns
                             : clock_now_ns() - begun->wall_ns + TRAP_NS);
    }
    if (result != FAULT_WAIT) {
        watch_repeats(thread, page);
        return result == FAULT_ALLOWED;
    }
    thread->repeats = 0;
    began_ns = clock_now_ns();
    // What this thread has mapped is not for others.
    wait_for(&wait, may_switch && !tracking_is_on(&node->tracking));
    atomic_fetch_add_explicit(&node->fault_ns, clock_now_ns() - began_ns,
                              memory_order_relaxed);
    engine_note_missed(node->engine, page, is_write, &thread->history);
    if (paging_is_on(node) || engine_holds(node->engine, page) ||
        tracking_is_on(&node->tracking)) {
        int is_wanted;

        node_enter(node);
        paging_note_back(node, thread);
        touch(node, thread, page, is_write); // while it is held
        is_wanted = engine_resumed(node->engine, page);
        node_leave(node);
        if (is_wanted) {
            node_wake_service(node); // to let it go when it is due
        }
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
        usleep(1000);
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

int access_trap(void *owner, const struct trap *trap)
{
    struct node *node = owner;
    struct thread *thread = thread_self();
    struct begun begun;
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
    if (node_step(node) != RUNTIME_RUNNING || thread == NULL) {
        return deny(node, trap, page);
    }
    begun = begin_fault(node, thread);
    node_pay(node);
    tracking_enter(&node->tracking);
    if (!fault(node, thread, trap, page, &begun)) {
        return deny(node, trap, page);
    }
    return 1;
}
