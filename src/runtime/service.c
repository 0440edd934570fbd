// SPDX-License-Identifier: BSD-3-Clause
//
// The service thread makes the network progress and answers every request. It
// sleeps on the transport's descriptor, on the launcher's socket or the neighbours'
// processes, on the swap file's, and on an eventfd by which other kernel threads wake it; while
// something is due by time it looks every millisecond. It never waits for the
// network.
//
// Waking a sleeping kernel thread on another processor takes longer than all the
// rest of a fetch, and whoever sends to a transport that is armed pays for it. So a
// worker that has nothing to run makes the network progress itself for a while
// (idle_polling.c); where processors are scarcer than workers it offers its own to others
// between two polls. While a worker polls, or polled just now, the service thread
// leaves the transport alone and unarmed and only polls now and then itself, every
// polling_period_ns(): the longest that a request can lie unseen. A worker that has polled
// for long says when it stops, so that this can be rare meanwhile: each time takes a
// processor from somebody, maybe a worker of another node that computes.
//
// If senders ring a doorbell (polling_has_doorbell), the worker tells them when it polls, and
// when it stops; the service thread sleeps on, and polls periodically only while a worker's
// polling is short.
//
// Where there are processors for all, a worker polls as long as an iteration
// may last (LONG_SPIN_NS): whoever sleeps is woken by an interrupt from another
// processor, which on a virtual machine takes 40 us. Where the workers
// sleep and there are processors for all, the service thread itself polls on for a
// while after something has come (keeps_polling).
//
// A transport may say that something is there, and nothing can be taken: its sender
// has lost its processor in the middle of it. Polling on at real-time priority
// could keep the sender from its processor. So the service thread
// sleeps a little after a few such polls.
//
// With other nodes it has real-time priority, where the system allows that: with all
// processors computing it answers in a tenth of a millisecond instead of four. It gives
// that back for a while when it has used its share (service_priority.c).
#include "runtime/service.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/kthread.h"
#include "os/processor.h"
#include "runtime/liveness.h"
#include "runtime/members.h"
#include "runtime/node.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/service_priority.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TICK_MS 1
#define LAZY_TICK_MS 20
#define POLLING_TICK_NS (2 * 1000 * 1000u)
#define POLLING_MARGIN_NS (20 * 1000u)
#define STUCK_POLLS 4u
#define STUCK_NS (50 * 1000u)
#define UNSENT_NS (50 * 1000u)

// Of the service thread.
struct pace {
    struct service_priority priority;
    int hurries; // has real-time priority
    int is_refused;
};

// What is due by time. @return 1 if it should be called again soon
static int tick(struct node *node)
{
    int is_busy = engine_tick(node->engine);

    is_busy |= parts_tick(node);
    if (node_is_frozen(node)) {
        return 1;
    }
    sync_poll(node->sync, polling_all_idle(node));
    return is_busy || sync_wants_poll(node->sync);
}

static void follow_launcher(struct node *node)
{
    switch (bootstrap_poll(&node->bootstrap)) {
    case BOOTSTRAP_GONE:
        log_fatal(EXIT_NODE_LOST, "the launcher has gone: node %u ends",
                  node->self);
    case BOOTSTRAP_STOP:
        liveness_stop(node);
        _exit(0);
    case BOOTSTRAP_END: // perhaps before the root's FINISH, which says the same
        node_enter_serving(node);
        node_finish_soon(node, 0);
        node_leave(node);
        break;
    case BOOTSTRAP_STATUS:
        log_error("node %u: %llu barriers passed", node->self,
                  (unsigned long long)sync_n_barriers(node->sync));
        break;
    case BOOTSTRAP_LIFE:
        node_enter_serving(node);
        liveness_hear_launcher(node, node->bootstrap.n_launcher_beats);
        node_leave(node);
        break;
    case BOOTSTRAP_CHANGE:
        members_follow(node);
        break;
    default:
        break;
    }
}

static void poll_disk(struct node *node)
{
    node_enter_serving(node);
    paging_serve_disk(node);
    node_leave(node);
}

// @param transport_fd  -1: what arrives does not end the sleep
static void sleep_for(struct node *node, uint64_t timeout_ns, int transport_fd)
{
    const struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / 1000000000u),
        .tv_nsec = (long)(timeout_ns % 1000000000u),
    };
    struct pollfd fds[5] = {
        {.fd = node->wake_fd, .events = POLLIN},
        {.fd = transport_fd, .events = POLLIN},
        {.fd = node->bootstrap.fd, .events = POLLIN},
        {.fd = paging_fd(node), .events = POLLIN},
        {.fd = process_watch_fd(node), .events = POLLIN},
    };
    uint64_t count;

    if (ppoll(fds, 5, &timeout, NULL) <= 0) {
        return;
    }
    if (fds[0].revents != 0) {
        ssize_t got = read(node->wake_fd, &count, sizeof count);

        (void)got;
    }
    if (fds[2].revents != 0) {
        follow_launcher(node);
    }
    if (fds[3].revents != 0) {
        poll_disk(node);
    }
    if (fds[4].revents != 0) {
        process_watch_poll(node);
    }
}

// How long to sleep when nothing is due. Senders do not ring a worker that polls,
// and it may lose its processor.
static uint64_t lazy_ns(struct node *node)
{
    uint64_t polled_ns =
        atomic_load_explicit(&node->polled_ns, memory_order_relaxed);

    return polling_has_doorbell(node) &&
                   clock_now_ns() < polled_ns + LAZY_TICK_MS * 1000000u
               ? POLLING_TICK_NS
               : LAZY_TICK_MS * 1000000u;
}

// After something has come, more often follows: keep polling for a while, if
// nobody else could use the processor.
static int keeps_polling(struct node *node, uint64_t last_ns)
{
    return node->spins && clock_now_ns() - last_ns < POLLING_SPIN_NS &&
           !polling_is_on(node) && polling_all_idle(node);
}

// Where processors are scarce every poll takes one from a worker.
static uint64_t polling_period_ns(struct node *node)
{
    return node->spins ? 50 * 1000u : 100 * 1000u;
}

// Is the service thread to poll now and then only: does a worker poll, or did so just
// now? If senders can ring: has it polled for a short time just now, so that it will
// again?
static int polls_periodically(struct node *node, uint64_t now_ns)
{
    const _Atomic uint64_t *then_ns =
        polling_has_doorbell(node) ? &node->polled_short_ns : &node->polled_ns;

    return now_ns < polling_period_ns(node) +
                        atomic_load_explicit(then_ns, memory_order_relaxed);
}

// How long to sleep between two polls. A worker that has been polling for long wakes the
// service thread when it stops (stop_polling), so until then they are for nothing; and
// each may take a processor from a worker of another node.
static uint64_t polling_sleep_ns(struct node *node, uint64_t now_ns)
{
    uint64_t since_ns =
        atomic_load_explicit(&node->polling_since_ns, memory_order_relaxed);

    return !polling_has_doorbell(node) && since_ns != 0 &&
                   now_ns > since_ns + POLLING_LONG_NS + POLLING_MARGIN_NS
               ? TICK_MS * 1000000u
               : polling_period_ns(node);
}

// How long to sleep when nothing arrives. Node lock.
static uint64_t sleep_ns(struct node *node, int is_busy)
{
    uint64_t most_ns = is_busy ? TICK_MS * 1000000u : lazy_ns(node);
    uint64_t due_ns = engine_due_ns(node->engine);
    uint64_t now_ns;

    if (node->transport->n_unsent(node->net) > 0) {
        most_ns = UNSENT_NS;
    }
    if (due_ns == UINT64_MAX) {
        return most_ns;
    }
    now_ns = clock_now_ns();
    if (due_ns <= now_ns) {
        return 0;
    }
    return due_ns - now_ns < most_ns ? due_ns - now_ns : most_ns;
}

// Real-time priority while it has a share of that left. Service thread.
static void keep_pace(struct node *node, struct pace *pace)
{
    int hurries = node->n_nodes > 1 &&
                  service_priority_note(&pace->priority, clock_now_ns(),
                                        clock_thread_cpu_ns());

    if (hurries == pace->hurries || pace->is_refused) {
        return;
    }
    pace->hurries = hurries;
    if (!hurries) {
        kthread_calm(pthread_self());
    } else if (kthread_hurry(pthread_self()) != 0) {
        pace->is_refused = 1;
        log_debug("service thread: no real-time priority");
    }
}

static void *serve(void *argument)
{
    struct node *node = argument;
    struct pace pace = {0};
    uint64_t last_tick_ns = 0;
    uint64_t last_ns = 0; // something came
    unsigned n_stuck = 0;
    int is_busy = 0;

    service_priority_init(&pace.priority,
                          capacity_n_beside(node, node->n_nodes),
                          node->n_workers, processor_count());
    keep_pace(node, &pace);
    while (!atomic_load_explicit(&node->is_stopping, memory_order_acquire)) {
        unsigned n_handled;
        int may_sleep = 0;
        uint64_t most_ns;
        uint64_t now_ns = clock_now_ns();

        if (polls_periodically(node, now_ns) &&
            now_ns - last_tick_ns < TICK_MS * 1000000u) {
            polling_begin_periodic(node);
            sleep_for(node, polling_sleep_ns(node, now_ns), -1);
            continue;
        }
        polling_end_periodic(node);
        node_enter_serving(node);
        n_handled = node->transport->progress(node->net);
        (void)paging_poll(node);
        if (clock_now_ns() - last_tick_ns >= TICK_MS * 1000000u) {
            is_busy = tick(node);
            last_tick_ns = clock_now_ns();
            keep_pace(node, &pace);
        }
        if (n_handled > 0) {
            last_ns = clock_now_ns();
            n_stuck = 0;
        } else if (!polls_periodically(node, now_ns) &&
                   !keeps_polling(node, last_ns)) {
            may_sleep = node->transport->arm(node->net);
            n_stuck = may_sleep ? 0 : n_stuck + 1;
        }
        most_ns = sleep_ns(node, is_busy);
        node_leave(node);
        __builtin_ia32_pause();
        if (node_is_finishing(node)) {
            node->end_process(node);
        }
        if (may_sleep) {
            sleep_for(node, most_ns, node->transport->wait_fd(node->net));
        } else if (n_stuck >= STUCK_POLLS) {
            sleep_for(node, STUCK_NS, -1);
        }
    }
    return NULL;
}

tm_status service_start(struct node *node,
                        void (*end_process)(struct node *node))
{
    tm_status status;

    node->end_process = end_process;
    node->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (node->wake_fd < 0) {
        log_error("cannot make an eventfd: %m");
        return TM_ESYSTEM;
    }
    worker_affinity_open(node);
    status = kthread_start(&node->service, "tm-service", serve, node);
    if (status != TM_OK) {
        close(node->wake_fd);
        return status;
    }
    return TM_OK;
}

void service_join(struct node *node)
{
    atomic_store_explicit(&node->is_stopping, 1, memory_order_release);
    node_wake_service(node);
    pthread_join(node->service, NULL);
    close(node->wake_fd);
}
