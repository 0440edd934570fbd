// SPDX-License-Identifier: BSD-3-Clause
//
// The service thread makes the network progress and answers every request. It
// sleeps on the transport's descriptor, on the launcher's socket or the neighbours'
// processes, on the swap file's, and on an eventfd by which other kernel threads wake it; while
// something is due by time it polls every millisecond. It never waits for the
// network.
//
// When it polls, arms the transport, sleeps and naps is the table of attendance.c: here it
// is carried out.
//
// With other nodes it has real-time priority, where the system allows that: with all
// processors computing it answers in a tenth of a millisecond instead of four. It gives
// that back for a while when it has used its share (service_priority.c).
#include "runtime/service.h"
#include "base/clock.h"
#include "base/log.h"
#include "os/kthread.h"
#include "os/processor.h"
#include "runtime/liveness.h"
#include "runtime/members.h"
#include "runtime/node.h"
#include "runtime/outside.h"
#include "runtime/paging.h"
#include "runtime/parts.h"
#include "runtime/service_priority.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// Of the service thread.
struct pace {
    struct attendant attendant;
    int is_busy; // something is due by time
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
    case BOOTSTRAP_SAVE:
        node_enter_serving(node);
        checkpoint_ask(node);
        node_leave(node);
        break;
    case BOOTSTRAP_HEARD:
        outside_heard(node);
        break;
    case BOOTSTRAP_SHOW:
        node_enter_serving(node);
        showing_set(node, node->bootstrap.is_to_show);
        node_leave(node);
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

// Node lock.
static enum attendant_event poll_transport(struct node *node)
{
    return node->transport->progress(node->net) > 0 ? ATTENDANT_NEWS
                                                    : ATTENDANT_NOTHING;
}

// What is due by time, if some is. Node lock.
static void tick_if_due(struct node *node, struct pace *pace, uint64_t now_ns)
{
    if (attendant_ticks(&pace->attendant, now_ns)) {
        pace->is_busy = tick(node);
        pace->attendant.tick_ns = clock_now_ns();
        keep_pace(node, pace);
    }
}

// W1: the last poll comes after arming. Node lock.
static void arm_transport(struct node *node, struct attendant *attendant,
                          uint64_t now_ns)
{
    int is_armed = node->transport->arm(node->net);

    attendant_step(attendant, is_armed ? ATTENDANT_ARMED : ATTENDANT_REFUSED,
                   now_ns);
    if (attendant->state == ATTENDANT_POLLS_LAST) {
        attendant_step(attendant, poll_transport(node), now_ns);
    }
}

static struct attendant_unsent unsent_of(const struct node *node)
{
    return (struct attendant_unsent){
        .n = node->transport->n_unsent(node->net),
        .n_steps = node->transport->n_steps(node->net),
    };
}

// @return how long to sleep at most, if it is to sleep
static uint64_t attend(struct node *node, struct pace *pace, int has_doorbell,
                       uint64_t now_ns)
{
    struct attendant *attendant = &pace->attendant;
    enum attendant_event event;
    uint64_t most_ns;

    node_enter_serving(node);
    event = poll_transport(node);
    (void)paging_poll(node);
    tick_if_due(node, pace, now_ns);
    if (event == ATTENDANT_NOTHING &&
        attendant_is_covered(attendant, &node->attendance, has_doorbell,
                             node->attendance.spins && polling_all_idle(node),
                             now_ns)) {
        event = ATTENDANT_COVERED;
    }
    attendant_step(attendant, event, now_ns);
    if (attendant->state == ATTENDANT_ARMS) {
        arm_transport(node, attendant, now_ns);
    }
    most_ns = attendant_sleep_ns(attendant, &node->attendance, has_doorbell,
                                 pace->is_busy, unsent_of(node),
                                 engine_due_ns(node->engine), clock_now_ns());
    node_leave(node);
    return most_ns;
}

static void serve_once(struct node *node, struct pace *pace)
{
    struct attendant *attendant = &pace->attendant;
    const int has_doorbell = polling_has_doorbell(node);
    const uint64_t now_ns = clock_now_ns();
    uint64_t most_ns = 0;

    polling_carry_out(node, attendant_go_on(attendant, &node->attendance,
                                            has_doorbell, now_ns));
    if (attendant->state == ATTENDANT_POLLS) {
        most_ns = attend(node, pace, has_doorbell, now_ns);
        __builtin_ia32_pause();
        if (node_is_finishing(node)) {
            node->end_process(node);
        }
    }
    if (attendant->state == ATTENDANT_SLEEPS) {
        sleep_for(node, most_ns, node->transport->wait_fd(node->net));
    } else if (attendant->state != ATTENDANT_POLLS) {
        sleep_for(node,
                  attendant_nap_ns(attendant, &node->attendance, has_doorbell,
                                   now_ns),
                  -1);
    }
}

static void *serve(void *argument)
{
    struct node *node = argument;
    struct pace pace = {0};

    service_priority_init(&pace.priority,
                          capacity_n_beside(node, node->n_nodes),
                          node->n_workers, processor_count());
    keep_pace(node, &pace);
    while (!atomic_load_explicit(&node->is_stopping, memory_order_acquire)) {
        serve_once(node, &pace);
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
}

void service_close(struct node *node)
{
    close(node->wake_fd);
}
