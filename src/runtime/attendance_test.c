// SPDX-License-Identifier: BSD-3-Clause
//
// Who attends to the network, on a simulated clock: 1 to 8 nodes on two processors, one to
// three workers each, with doorbells, without, or with workers that give way. A kernel
// thread does one indivisible thing a step (puts a message, rings, polls, arms, ...), and
// between any two of them others run: each processor is given to a service thread with
// real-time priority first, to others in turn. Workers compute, ask other nodes and wait
// for all answers; service threads and idle workers do as runtime/service.c and
// runtime/idle_polling.c do. After each step, of each node that somebody has sent something
// and, if it had to, rung: somebody is about to poll. TM_TEST_SEEDS=first,number chooses
// the seeds.
#include "runtime/attendance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/seeds_test.h"
#include "runtime/service_priority.h"

#define US_NS 1000u
#define MS_NS (1000 * US_NS)
#define SECOND_NS (1000 * (uint64_t)MS_NS)
#define NEVER_NS UINT64_MAX
#define MOST_NAP_NS (100 * US_NS) // while nobody polls

enum {
    N_SEEDS = 60,
    MOST_NODES = 8,
    MOST_WORKERS = 3,
    N_PROCESSORS = 2,
    MOST_THREADS = MOST_NODES * (MOST_WORKERS + 1),
    N_ROUNDS = 100, // of each worker: computes, asks, waits
    MOST_ASKED = 3,
    MOST_WAITING = 4096,
};

enum wake_by { DOORBELL, DESCRIPTOR, GIVING_WAY, N_WAKE_BY };

// What a thread does next.
enum next {
    GOES_ON, // the service thread
    UNMUTES_FIRST,
    SERVES,
    ARMS,
    SERVES_LAST,
    COMPUTES, // a worker
    BEGINS_POLLING,
    MUTES,
    POLLS,
    UNMUTES,
    RECHECKS,
    WAKES,
    SLEEPS,
    HAS_ENDED,
};

struct sent {
    unsigned to;
    unsigned from;
    int is_answer;
    unsigned worker; // that asks
};

struct kernel_thread {
    unsigned node;
    unsigned worker;
    int is_service;
    int is_urgent;
    enum next next;
    uint64_t busy_until_ns; // with its step
    uint64_t ready_ns;      // sleeps until then
    int listens;            // a ring ends its sleep
    uint64_t used_ns;       // processor time
    uint64_t since_ns;      // polling: since, and until when
    uint64_t until_ns;
    unsigned actions; // still to be carried out
    unsigned n_rounds;
    unsigned n_missing; // answers
    struct sent out[MOST_WAITING];
    unsigned n_out;
    int is_put; // the first of them, but its receiver is not rung yet
};

struct node_model {
    struct attendance attendance;
    struct attendant attendant;
    struct service_priority priority;
    int wants_ring;
    int has_ring;
    int is_woken; // by the eventfd
    int n_muted;  // the transport's count
    struct sent come[MOST_WAITING];
    unsigned n_come;
    unsigned n_announced; // of these: their senders need not ring any more
    uint64_t lost_ns;     // since then nobody attends to them; 0: somebody does
    unsigned n_polls;
};

struct world {
    unsigned n_nodes;
    unsigned n_workers;
    enum wake_by wake_by;
    int is_storm; // all answers are questions again
    uint64_t state;
    uint64_t now_ns;
    unsigned n_threads;
    unsigned n_sent;
    unsigned n_rings;
    unsigned n_chances; // to be rung: armed, unmuted
    uint64_t urgent_ns;
    uint64_t worker_ns;
    struct node_model nodes[MOST_NODES];
    struct kernel_thread threads[MOST_THREADS];
    struct processor {
        uint64_t now_ns;
        struct kernel_thread *thread;
        uint64_t since_ns;
    } processors[N_PROCESSORS];
};

static struct world world; // large

static uint64_t random_upto(uint64_t most)
{
    return random_index(&world.state, most + 1);
}

static struct node_model *node_of(const struct kernel_thread *thread)
{
    return &world.nodes[thread->node];
}

static int has_doorbell(void)
{
    return world.wake_by == DOORBELL;
}

static struct kernel_thread *thread_at(unsigned node, unsigned index)
{
    return &world.threads[node * (world.n_workers + 1) + index];
}

// ---- the transport

static void queue_message(struct kernel_thread *thread, struct sent sent)
{
    assert_true(thread->n_out < MOST_WAITING);
    thread->out[thread->n_out++] = sent;
}

static void put_message(struct kernel_thread *thread)
{
    struct node_model *to = &world.nodes[thread->out[0].to];

    assert_true(to->n_come < MOST_WAITING);
    to->come[to->n_come++] = thread->out[0];
    world.n_sent++;
    thread->is_put = 1;
}

// Does a worker poll that has muted its senders before? Who is about to mute excuses all.
static int is_polled_and_muted(unsigned node)
{
    int polls = 0;

    for (unsigned i = 1; i <= world.n_workers; i++) {
        const struct kernel_thread *worker = thread_at(node, i);

        if (worker->next == MUTES) {
            return 0;
        }
        polls |= worker->next == POLLS;
    }
    return polls;
}

static void ring_receiver(struct kernel_thread *thread)
{
    unsigned number = thread->out[0].to;
    struct node_model *to = &world.nodes[number];

    to->n_announced = to->n_come;
    if (to->wants_ring) {
        to->wants_ring = 0;
        to->has_ring = 1;
        world.n_rings++;
        assert_false(has_doorbell() && is_polled_and_muted(number)); // W3
    }
    thread->is_put = 0;
    thread->n_out--;
    memmove(&thread->out[0], &thread->out[1],
            thread->n_out * sizeof thread->out[0]);
}

// @return as the transport's arm()
static int arm_node(struct node_model *node)
{
    if (!has_doorbell() && node->n_come > 0) {
        return 0;
    }
    node->has_ring = 0;
    if (!has_doorbell() || node->n_muted == 0) {
        node->wants_ring = 1;
        world.n_chances++;
    }
    return 1;
}

static void note_polling(struct node_model *node, int is_polling)
{
    node->n_muted += is_polling ? 1 : -1;
    assert_in_range(node->n_muted, 0, MOST_WORKERS);
    if (has_doorbell()) {
        node->wants_ring = node->n_muted == 0 ? 1 : 0;
        world.n_chances += node->n_muted == 0;
    }
}

static void handle_message(struct kernel_thread *thread, struct sent sent)
{
    struct kernel_thread *worker = thread_at(thread->node, sent.worker);

    if (!sent.is_answer || world.is_storm) {
        queue_message(thread, (struct sent){.to = sent.from,
                                            .from = thread->node,
                                            .is_answer = 1,
                                            .worker = sent.worker});
    } else {
        worker->n_missing--;
        if (worker->n_missing == 0 && worker->next == SLEEPS) {
            worker->ready_ns = world.now_ns;
        }
    }
}

// @return messages handled
static unsigned take_messages(struct kernel_thread *thread)
{
    struct node_model *node = node_of(thread);
    unsigned n = node->n_come;

    for (unsigned i = 0; i < n; i++) {
        handle_message(thread, node->come[i]);
    }
    node->n_come = node->n_announced = 0;
    node->n_polls++;
    thread->busy_until_ns += n * random_upto(20 * US_NS);
    return n;
}

// ---- the service thread

static int all_idle(unsigned node)
{
    int is_idle = 1;

    for (unsigned i = 1; i <= world.n_workers; i++) {
        is_idle &= thread_at(node, i)->next != COMPUTES;
    }
    return is_idle;
}

static void sleep_for(struct kernel_thread *thread, uint64_t ns, int listens)
{
    thread->ready_ns = world.now_ns + ns;
    thread->listens = listens;
    thread->next = GOES_ON;
}

static void do_as_state_says(struct kernel_thread *thread)
{
    struct node_model *node = node_of(thread);

    switch (node->attendant.state) {
    case ATTENDANT_POLLS:
        thread->next = GOES_ON;
        break;
    case ATTENDANT_ARMS:
        thread->next = ARMS;
        break;
    case ATTENDANT_POLLS_LAST:
        thread->next = SERVES_LAST;
        break;
    case ATTENDANT_SLEEPS:
        sleep_for(thread,
                  attendant_sleep_ns(
                      &node->attendant, &node->attendance, has_doorbell(), 0,
                      (struct attendant_unsent){0}, NEVER_NS, world.now_ns),
                  1);
        break;
    case ATTENDANT_NAPS:
    case ATTENDANT_YIELDS:
        sleep_for(thread,
                  attendant_nap_ns(&node->attendant, &node->attendance,
                                   has_doorbell(), world.now_ns),
                  0);
        break;
    }
}

static void go_on(struct kernel_thread *thread)
{
    struct node_model *node = node_of(thread);
    unsigned actions = attendant_go_on(&node->attendant, &node->attendance,
                                       has_doorbell(), world.now_ns);

    node->is_woken = 0;
    if (node->attendant.state == ATTENDANT_POLLS) {
        thread->next = actions == ATTENDANCE_UNMUTE ? UNMUTES_FIRST : SERVES;
    } else {
        do_as_state_says(thread);
    }
}

static void serve_and_tick(struct kernel_thread *thread)
{
    struct node_model *node = node_of(thread);
    enum attendant_event event = ATTENDANT_NOTHING;

    if (take_messages(thread) > 0) {
        event = ATTENDANT_NEWS;
    } else if (attendant_is_covered(&node->attendant, &node->attendance,
                                    has_doorbell(), all_idle(thread->node),
                                    world.now_ns)) {
        event = ATTENDANT_COVERED;
    }
    if (attendant_ticks(&node->attendant, world.now_ns)) {
        node->attendant.tick_ns = world.now_ns;
        thread->is_urgent = service_priority_note(&node->priority, world.now_ns,
                                                  thread->used_ns);
    }
    attendant_step(&node->attendant, event, world.now_ns);
    do_as_state_says(thread);
}

static void step_service(struct kernel_thread *thread)
{
    struct node_model *node = node_of(thread);

    switch (thread->next) {
    case UNMUTES_FIRST:
        note_polling(node, 0);
        thread->next = SERVES;
        break;
    case SERVES:
        serve_and_tick(thread);
        break;
    case ARMS:
        attendant_step(&node->attendant,
                       arm_node(node) ? ATTENDANT_ARMED : ATTENDANT_REFUSED,
                       world.now_ns);
        do_as_state_says(thread);
        break;
    case SERVES_LAST:
        attendant_step(&node->attendant,
                       take_messages(thread) > 0 ? ATTENDANT_NEWS
                                                 : ATTENDANT_NOTHING,
                       world.now_ns);
        do_as_state_says(thread);
        break;
    default:
        go_on(thread);
        break;
    }
}

// ---- workers

static void ask_others(struct kernel_thread *thread)
{
    unsigned n = 1 + (unsigned)random_upto(MOST_ASKED - 1);

    for (unsigned i = 0; i < n && world.n_nodes > 1; i++) {
        unsigned other = (unsigned)random_upto(world.n_nodes - 2);

        thread->n_missing++;
        queue_message(thread,
                      (struct sent){.to = other + (other >= thread->node),
                                    .from = thread->node,
                                    .worker = thread->worker});
    }
}

// Mostly for a microsecond, as between two barriers; for long now and then.
static void compute(struct kernel_thread *thread)
{
    uint64_t us = random_upto(9) > 0 ? 5 : random_upto(9) > 0 ? 100 : 5000;

    if (world.is_storm) {
        us = 1000;
    } else if (thread->n_rounds == N_ROUNDS) {
        thread->next = HAS_ENDED;
        thread->ready_ns = NEVER_NS;
        return;
    } else {
        thread->n_rounds++;
        ask_others(thread);
        thread->next = BEGINS_POLLING;
    }
    thread->busy_until_ns += random_upto(us * US_NS);
}

// The next of the actions that are left, in their order, or what comes after all.
static void go_on_with_actions(struct kernel_thread *thread, enum next after)
{
    static const struct {
        unsigned action;
        enum next next;
    } order[] = {
        {ATTENDANCE_MUTE, MUTES},
        {ATTENDANCE_UNMUTE, UNMUTES},
        {ATTENDANCE_RECHECK, RECHECKS},
        {ATTENDANCE_WAKE, WAKES},
    };

    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (thread->actions & order[i].action) {
            thread->actions &= ~order[i].action;
            thread->next = order[i].next;
            return;
        }
    }
    thread->next = after;
}

static void begin_polling(struct kernel_thread *thread)
{
    struct attendance *attendance = &node_of(thread)->attendance;

    thread->since_ns = world.now_ns;
    thread->until_ns = attendance_poll_until_ns(attendance, world.now_ns);
    thread->actions = attendance->spins
                          ? attendance_begin_polling(attendance, world.now_ns)
                          : 0;
    go_on_with_actions(thread, POLLS);
}

static void fall_asleep(struct kernel_thread *thread)
{
    thread->next = SLEEPS;
    thread->ready_ns = thread->n_missing > 0 ? NEVER_NS : world.now_ns;
}

static void poll_once(struct kernel_thread *thread)
{
    struct attendance *attendance = &node_of(thread)->attendance;

    take_messages(thread);
    attendance_note_gap(attendance, world.now_ns,
                        world.now_ns + random_upto(2 * US_NS));
    if (thread->n_missing > 0 &&
        attendance_polls(attendance, world.now_ns, thread->until_ns)) {
        return;
    }
    thread->actions = attendance_end_polling(attendance, has_doorbell(),
                                             thread->since_ns, world.now_ns);
    go_on_with_actions(thread, SLEEPS);
    if (thread->next == SLEEPS) {
        fall_asleep(thread);
    }
}

static void step_worker(struct kernel_thread *thread)
{
    struct node_model *node = node_of(thread);

    switch (thread->next) {
    case COMPUTES:
        compute(thread);
        return;
    case BEGINS_POLLING:
        begin_polling(thread);
        return;
    case MUTES:
        note_polling(node, 1);
        thread->next = POLLS;
        return;
    case POLLS:
        poll_once(thread);
        return;
    case UNMUTES:
        note_polling(node, 0);
        break;
    case RECHECKS:
        take_messages(thread);
        break;
    case WAKES:
        node->is_woken = 1;
        break;
    default:
        thread->next = thread->n_missing > 0 ? BEGINS_POLLING : COMPUTES;
        return;
    }
    go_on_with_actions(thread, SLEEPS);
    if (thread->next == SLEEPS) {
        fall_asleep(thread);
    }
}

// ---- processors

static int is_awake(const struct kernel_thread *thread)
{
    const struct node_model *node = node_of(thread);

    return thread->ready_ns <= world.now_ns || thread->n_out > 0 ||
           (thread->is_service &&
            (node->is_woken || (thread->listens && node->has_ring)));
}

static int can_run(const struct kernel_thread *thread)
{
    return thread->busy_until_ns <= world.now_ns && is_awake(thread);
}

// Who has the processor keeps it for a millisecond, but for those with real-time priority.
static struct kernel_thread *choose_thread(const struct processor *processor)
{
    struct kernel_thread *chosen = NULL;
    unsigned first = (unsigned)random_upto(world.n_threads - 1);

    for (unsigned i = 0; i < world.n_threads; i++) {
        struct kernel_thread *thread =
            &world.threads[(first + i) % world.n_threads];

        if (can_run(thread) &&
            (chosen == NULL || thread->is_urgent > chosen->is_urgent)) {
            chosen = thread;
        }
    }
    if (processor->thread != NULL && can_run(processor->thread) &&
        processor->thread->is_urgent >= chosen->is_urgent &&
        world.now_ns < processor->since_ns + MS_NS) {
        return processor->thread;
    }
    return chosen;
}

static void run_thread(struct kernel_thread *thread)
{
    int was_urgent = thread->is_urgent;
    uint64_t used_ns;

    // A step is quick, but for now and then.
    thread->busy_until_ns =
        world.now_ns + 100 +
        random_upto(random_upto(3) > 0 ? US_NS / 2 : 20 * US_NS);
    if (thread->is_put) {
        ring_receiver(thread);
    } else if (thread->n_out > 0) {
        put_message(thread);
    } else {
        thread->ready_ns = 0;
        (thread->is_service ? step_service : step_worker)(thread);
    }
    used_ns = thread->busy_until_ns - world.now_ns;
    thread->used_ns += used_ns;
    *(was_urgent ? &world.urgent_ns : &world.worker_ns) += used_ns;
}

// W1, W2: is somebody about to poll? Who is awake is; also the
// service thread in a nap, or about to be woken.
static int is_attended(unsigned node)
{
    const struct kernel_thread *service = thread_at(node, 0);

    if (is_awake(service) || service->busy_until_ns > world.now_ns ||
        (!service->listens &&
         service->ready_ns <= world.now_ns + MOST_NAP_NS)) {
        return 1;
    }
    for (unsigned i = 1; i <= world.n_workers; i++) {
        enum next next = thread_at(node, i)->next;

        if (next >= BEGINS_POLLING && next <= WAKES) {
            return 1;
        }
    }
    return 0;
}

static void check_attendance(void)
{
    for (unsigned i = 0; i < world.n_nodes; i++) {
        assert_true(world.nodes[i].n_announced == 0 || is_attended(i));
    }
    assert_true(world.n_rings <= world.n_chances);
    assert_true(world.n_rings <= world.n_sent);
}

// Nobody can run: when can somebody?
static uint64_t find_next_ns(void)
{
    uint64_t next_ns = NEVER_NS;

    for (unsigned i = 0; i < world.n_threads; i++) {
        const struct kernel_thread *thread = &world.threads[i];
        uint64_t ready_ns = is_awake(thread) ? 0 : thread->ready_ns;

        if (ready_ns < thread->busy_until_ns) {
            ready_ns = thread->busy_until_ns;
        }
        next_ns = ready_ns < next_ns ? ready_ns : next_ns;
    }
    return next_ns;
}

static void step_world(void)
{
    struct processor *processor = &world.processors[0];
    struct kernel_thread *thread;

    if (world.processors[1].now_ns < processor->now_ns) {
        processor = &world.processors[1];
    }
    world.now_ns = processor->now_ns;
    thread = choose_thread(processor);
    if (thread == NULL) {
        processor->now_ns = find_next_ns();
        return;
    }
    if (thread != processor->thread) {
        processor->thread = thread;
        processor->since_ns = world.now_ns;
    }
    run_thread(thread);
    processor->now_ns = thread->busy_until_ns;
    check_attendance();
}

static void make_world(uint64_t seed, unsigned n_nodes, unsigned n_workers,
                       enum wake_by wake_by)
{
    world = (struct world){
        .n_nodes = n_nodes,
        .n_workers = n_workers,
        .n_threads = n_nodes * (n_workers + 1),
        .wake_by = wake_by,
        .state = seed,
    };
    for (unsigned i = 0; i < N_PROCESSORS; i++) {
        world.processors[i].now_ns = SECOND_NS; // nothing was just now
    }
    for (unsigned i = 0; i < world.n_threads; i++) {
        struct kernel_thread *thread = &world.threads[i];

        thread->node = i / (n_workers + 1);
        thread->worker = i % (n_workers + 1);
        thread->is_service = thread->worker == 0;
        thread->is_urgent = thread->is_service;
        thread->next = thread->is_service ? GOES_ON : COMPUTES;
    }
    for (unsigned i = 0; i < n_nodes; i++) {
        world.nodes[i].attendance.spins = wake_by != GIVING_WAY;
        service_priority_init(&world.nodes[i].priority, n_nodes, n_workers,
                              N_PROCESSORS);
    }
}

static void run_until(uint64_t end_ns)
{
    while (world.now_ns < end_ns) {
        step_world();
    }
}

static int all_have_ended(void)
{
    int has_ended = 1;

    for (unsigned i = 0; i < world.n_threads; i++) {
        has_ended &=
            world.threads[i].is_service || world.threads[i].next == HAS_ENDED;
    }
    return has_ended;
}

// ---- tests

// Then nobody says anything, and all sleep.
static void check_silence(void)
{
    unsigned n_rings;
    uint64_t end_ns;

    run_until(world.now_ns + 100 * MS_NS);
    n_rings = world.n_rings;
    for (unsigned i = 0; i < world.n_nodes; i++) {
        assert_int_equal(world.nodes[i].n_come, 0);
        world.nodes[i].n_polls = 0;
    }
    end_ns = world.now_ns + 100 * MS_NS;
    run_until(end_ns);
    assert_int_equal(world.n_rings, n_rings);
    for (unsigned i = 0; i < world.n_nodes; i++) {
        assert_true(world.nodes[i].n_polls <= 12); // two in 20 ms
    }
}

static void run_seed(uint64_t seed)
{
    uint64_t state = seed;
    unsigned n_nodes = 1 + (unsigned)random_index(&state, MOST_NODES);
    unsigned n_workers = 1 + (unsigned)random_index(&state, MOST_WORKERS);
    uint64_t end_ns;

    make_world(seed, n_nodes, n_workers,
               (enum wake_by)random_index(&state, N_WAKE_BY));
    end_ns = world.processors[0].now_ns + 20 * SECOND_NS;
    while (!all_have_ended()) {
        step_world();
        assert_true(world.now_ns < end_ns);
    }
    check_silence();
}

static void each_message_is_attended_to_and_nobody_rings_in_vain(void **unused)
{
    const struct seeds seeds = seeds_of_test(N_SEEDS);

    (void)unused;
    for (unsigned long long seed = seeds.first; seed < seeds.end; seed++) {
        printf("TM_TEST_SEEDS=%llu,1\n", seed);
        run_seed(seed);
    }
}

// Service threads that always have something to handle, and workers that compute.
static void storm_for_a_second(unsigned n_nodes)
{
    make_world(n_nodes, n_nodes, 1, GIVING_WAY);
    world.is_storm = 1;
    for (unsigned i = 0; i < n_nodes; i++) {
        for (unsigned k = 0; k < 20; k++) {
            queue_message(thread_at(i, 1),
                          (struct sent){.to = (i + 1) % n_nodes, .from = i});
        }
    }
    run_until(2 * SECOND_NS);
}

static void service_threads_leave_half_of_the_processors(void **unused)
{
    (void)unused;
    for (unsigned n_nodes = 3; n_nodes <= MOST_NODES; n_nodes++) {
        storm_for_a_second(n_nodes);
        assert_true(world.urgent_ns <= N_PROCESSORS * SECOND_NS * 6 / 10);
        assert_true(world.urgent_ns >= N_PROCESSORS * SECOND_NS * 1 / 10);
    }
}

// Does a worker still poll after a gap between two polls?
static int polls_after_gap(struct attendance attendance, uint64_t gap_ns)
{
    const uint64_t start_ns = SECOND_NS;
    const uint64_t end_ns = start_ns + gap_ns;

    attendance_note_gap(&attendance, start_ns, end_ns);
    return attendance_polls(&attendance, end_ns,
                            attendance_poll_until_ns(&attendance, end_ns));
}

// An interrupt, or what the host does with a virtual processor, takes 100 us; another
// program that wants the processor has it for milliseconds.
static void a_short_gap_ends_polling_only_where_processors_are_scarce(
    void **unused)
{
    const struct attendance scarce = {0};
    const struct attendance alone = {.is_alone = 1};

    (void)unused;
    assert_false(polls_after_gap(scarce, 100 * US_NS));
    assert_true(polls_after_gap(alone, 100 * US_NS));
    assert_false(polls_after_gap(alone, 2 * MS_NS));
}

// W5: what it sleeps while so many messages wait for room.
static uint64_t sleep_with_unsent(struct attendant *attendant, unsigned n,
                                  int is_busy, uint64_t now_ns)
{
    static const struct attendance attendance;

    return attendant_sleep_ns(attendant, &attendance, 1, is_busy,
                              (struct attendant_unsent){.n = n}, NEVER_NS,
                              now_ns);
}

static void who_waits_for_room_looks_less_often_in_the_end(void **unused)
{
    const uint64_t soon_ns = 50 * US_NS;
    const uint64_t most_ns = 20 * MS_NS;
    struct attendant attendant = {0};
    uint64_t now_ns = SECOND_NS;
    unsigned n_looks = 0;

    (void)unused;
    assert_int_equal(sleep_with_unsent(&attendant, 0, 0, now_ns), most_ns);
    while (now_ns < 2 * SECOND_NS) {
        uint64_t sleep_ns = sleep_with_unsent(&attendant, 3, 0, now_ns);

        assert_in_range(sleep_ns, soon_ns, most_ns);
        now_ns += sleep_ns;
        n_looks++;
    }
    assert_in_range(n_looks, 50, 70);
    assert_int_equal(sleep_with_unsent(&attendant, 3, 1, now_ns), MS_NS);
    // One has gone, and the others soon will.
    assert_int_equal(sleep_with_unsent(&attendant, 2, 0, now_ns), soon_ns);
    assert_int_equal(sleep_with_unsent(&attendant, 0, 0, now_ns), most_ns);
    now_ns += SECOND_NS;
    assert_int_equal(sleep_with_unsent(&attendant, 1, 0, now_ns), soon_ns);
}

// A long message is one until its last piece has gone.
static void who_sends_a_long_message_looks_soon_as_long_as_pieces_go(
    void **unused)
{
    static const struct attendance attendance;
    struct attendant attendant = {0};
    struct attendant_unsent unsent = {.n = 1};
    uint64_t now_ns = SECOND_NS;
    uint64_t since_ns;

    (void)unused;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t sleep_ns = attendant_sleep_ns(&attendant, &attendance, 1, 0,
                                               unsent, NEVER_NS, now_ns);

        assert_int_equal(sleep_ns, 50 * US_NS);
        now_ns += sleep_ns;
        unsent.n_steps++;
    }
    since_ns = now_ns;
    for (unsigned i = 0; i < 3; i++) {
        now_ns += attendant_sleep_ns(&attendant, &attendance, 1, 0, unsent,
                                     NEVER_NS, now_ns);
    }
    assert_int_equal(now_ns - since_ns, (50 + 50 + 100) * US_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_is_attended_to_and_nobody_rings_in_vain),
        cmocka_unit_test(service_threads_leave_half_of_the_processors),
        cmocka_unit_test(
            a_short_gap_ends_polling_only_where_processors_are_scarce),
        cmocka_unit_test(who_waits_for_room_looks_less_often_in_the_end),
        cmocka_unit_test(
            who_sends_a_long_message_looks_soon_as_long_as_pieces_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
