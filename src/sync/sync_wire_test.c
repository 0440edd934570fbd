// SPDX-License-Identifier: BSD-3-Clause
//
// A node that is sent nonsense. All that it sends is collected and thrown away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sync/sync.h"

enum { N_NODES = 3, N_WAITERS = 64, IN_USE = 3 };

struct node {
    struct port port;
    struct sync *sync;
    struct waiter *releases; // not done yet
    unsigned n_sent;
    struct message last; // that was sent, and where to
    node_id last_to;
    unsigned n_woken;
    unsigned n_errors; // of the program
    uint64_t now_ns;
    uint64_t random;
    int woken[N_WAITERS];
    struct waiter waiters[N_WAITERS];
};

static struct node node;

static uint64_t random_below(uint64_t bound)
{
    node.random = node.random * 6364136223846793005u + 1442695040888963407u;
    return (node.random >> 33) % bound;
}

static void count_sent(void *owner, node_id to, const struct message *message)
{
    (void)owner;
    assert_true(to < N_NODES);
    node.n_sent++;
    node.last = *message;
    node.last_to = to;
}

static uint64_t now_ns(void *owner)
{
    (void)owner;
    return node.now_ns;
}

static void keep_release(void *owner, node_id next, struct waiter *done)
{
    (void)owner;
    (void)next;
    done->next = node.releases;
    node.releases = done;
}

static tm_status start(void *owner, uint64_t thread, uint64_t at, uint64_t arg,
                       const char *name)
{
    (void)owner;
    (void)at;
    (void)arg;
    assert_true(strlen(name) < 64);
    return thread == IN_USE ? TM_EWIRE : TM_OK;
}

static int set_target(void *owner, uint64_t thread, node_id target)
{
    (void)owner;
    assert_true(target < N_NODES);
    return thread % 2 == 0;
}

static unsigned two(void *owner)
{
    (void)owner;
    return 2;
}

static void ignore_stage(void *owner, uint64_t key, enum sync_stage stage)
{
    (void)owner;
    (void)key;
    (void)stage;
}

static void describe_place(void *owner, uint64_t place, char *text, size_t size)
{
    (void)owner;
    snprintf(text, size, "place %llu", (unsigned long long)place);
}

static void ignore_error(void *owner, const char *text)
{
    (void)owner;
    assert_true(strlen(text) > 20);
    node.n_errors++;
}

static void ignore_order(void *owner, uint64_t object, node_id to,
                         enum sync_order order)
{
    (void)owner;
    (void)object;
    (void)to;
    (void)order;
}

static void ignore_held(void *owner, uint64_t key, int is_held)
{
    (void)owner;
    (void)key;
    (void)is_held;
}

static void wakes(struct waiter *waiter)
{
    size_t i = (size_t)(waiter - node.waiters);

    assert_false(node.woken[i]); // each is woken once
    node.woken[i] = 1;
    node.n_woken++;
}

static void open_node(node_id self, uint64_t seed)
{
    struct sync_ops ops = {.release = keep_release,
                           .start = start,
                           .set_target = set_target,
                           .n_active = two,
                           .n_threads = two,
                           .at_barrier = ignore_stage,
                           .describe_place = describe_place,
                           .order = ignore_order,
                           .order_mutex = ignore_order,
                           .held = ignore_held,
                           .program_error = ignore_error};

    memset(&node, 0, sizeof node);
    node.random = seed;
    node.port =
        (struct port){.self = self, .send = count_sent, .now_ns = now_ns};
    roster_init(&node.port.roster, N_NODES);
    node.sync = sync_new(&node.port, &ops, 8);
    assert_non_null(node.sync);
    for (int i = 0; i < N_WAITERS; i++) {
        node.woken[i] = 1;
    }
}

static uint64_t some_key(void)
{
    return 0x1000 + 8 * random_below(3);
}

static void make_call(void)
{
    size_t i = (size_t)random_below(N_WAITERS);
    struct waiter *waiter = &node.waiters[i];
    tm_thread_attr attr = {.name = "name"};

    if (!node.woken[i]) {
        return;
    }
    node.woken[i] = 0;
    *waiter = (struct waiter){.wake = wakes, .thread = i};
    if (random_below(3) == 0) {
        waiter->until_ns = node.now_ns + random_below(3000000);
    }
    switch (random_below(12)) {
    case 0:
        sync_lock(node.sync, some_key(), (int)random_below(2), waiter);
        break;
    case 1:
        sync_unlock(node.sync, some_key(), waiter);
        break;
    case 2:
        sync_cond_wait(node.sync, some_key(), some_key(), waiter);
        break;
    case 3:
        sync_sem_wait(node.sync, some_key(), (int)random_below(2), waiter);
        break;
    case 4:
        sync_sem_post(node.sync, some_key(), waiter);
        break;
    case 5:
        sync_barrier_arrive(node.sync, some_key(),
                            (enum sync_arrival)random_below(4),
                            (tm_op)random_below(4), 5, waiter);
        break;
    case 6:
        sync_rwlock(node.sync, some_key(), (enum sync_hold)random_below(2),
                    (int)random_below(2), waiter);
        break;
    case 7:
        sync_rwlock_unlock(node.sync, some_key(), waiter);
        break;
    case 8:
        sync_key_create(node.sync, random_below(3), waiter);
        break;
    case 9:
        sync_key_delete(node.sync, random_below(3) | 1ull << 32, waiter);
        break;
    case 10:
        sync_once_begin(node.sync, some_key(), waiter);
        break;
    default:
        attr.placement = (tm_placement)random_below(5); // some are refused
        attr.node = (unsigned)random_below(5);
        sync_thread_create(node.sync, 99, 0, &attr, waiter);
        break;
    }
}

static void end_release(void)
{
    struct waiter *done = node.releases;

    if (done != NULL) {
        node.releases = done->next;
        waiter_wake(done, TM_OK, 0);
    }
}

/* Small numbers often, so that fields make sense now and then. */
static uint64_t some_number(void)
{
    switch (random_below(4)) {
    case 0:
        return random_below(4);
    case 1:
        return some_key();
    case 2: // a token: a low place, a low generation
        return random_below(8) | random_below(30) << 32;
    default:
        return random_below(1ull << 31) << random_below(33);
    }
}

static tm_status send_nonsense(void)
{
    uint8_t frame[200] = {0};
    struct wire_writer writer = {.at = frame, .end = frame + sizeof frame};
    struct message message;
    uint32_t size;

    uint64_t type = 40 + random_below(60);

    wire_put_u16(&writer, (uint16_t)(type < 80 ? type : type + 40));
    wire_put_u64(&writer, some_key());
    for (int i = 0; i < 20; i++) {
        if (random_below(2) == 0) {
            wire_put_u64(&writer, some_number());
        } else {
            wire_put_u8(&writer, (uint8_t)random_below(5));
        }
    }
    size = 2 + (uint32_t)random_below((uint64_t)(writer.at - frame) - 1);
    frame[size - 1] = random_below(2) == 0 ? 0 : frame[size - 1];
    if (message_decode(frame, size, &message) != TM_OK) {
        return TM_EWIRE;
    }
    return sync_receive(node.sync, (node_id)random_below(N_NODES), &message);
}

static void nonsense_is_refused_or_harmless(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        open_node((node_id)(seed % N_NODES), seed);
        for (int step = 0; step < 1500; step++) {
            switch (random_below(8)) {
            case 0:
                make_call();
                break;
            case 1:
                end_release();
                break;
            case 2:
                node.now_ns += random_below(2000000);
                sync_poll(node.sync, (int)random_below(2));
                break;
            default:
                send_nonsense();
                break;
            }
            if (!sync_is_valid(node.sync)) {
                fail_msg("not valid: seed %llu step %d",
                         (unsigned long long)seed, step);
            }
        }
        assert_true(sync_n_refused(node.sync) > 0);
        assert_true(node.n_woken > 0 && node.n_sent > 0);
        sync_free(node.sync);
    }
}

static void a_token_works_once(void **state)
{
    struct message message = {.type = MESSAGE_call_done};
    node_id manager = NODE_NONE;

    (void)state;
    open_node(1, 1);
    node.woken[0] = 0;
    node.waiters[0] = (struct waiter){.wake = wakes, .thread = 4};
    sync_sem_wait(node.sync, 0x1000, 0, &node.waiters[0]);
    message.u.call_done.token = 1ull << 32; // the first call's
    for (node_id from = 0; from < N_NODES; from++) {
        if (sync_receive(node.sync, from, &message) == TM_OK) {
            assert_int_equal(manager, NODE_NONE);
            manager = from;
        }
    }
    assert_int_not_equal(manager, NODE_NONE); // no other node's answer counts
    assert_int_equal(node.n_woken, 1);
    assert_int_equal(node.waiters[0].status, TM_OK);
    assert_int_equal(sync_receive(node.sync, manager, &message), TM_EWIRE);
    assert_int_equal(sync_n_refused(node.sync), 3);
    sync_free(node.sync);
}

static tm_status receive_from(node_id from, const struct message *message)
{
    tm_status status = sync_receive(node.sync, from, message);

    assert_true(sync_is_valid(node.sync));
    return status;
}

static void a_start_in_a_slot_in_use_is_refused(void **state)
{
    struct message message = {
        .type = MESSAGE_thread_start, .body = "", .body_size = 1};

    (void)state;
    open_node(1, 1);
    message.u.thread_start.thread = IN_USE;
    assert_int_equal(receive_from(0, &message), TM_EWIRE);
    assert_int_equal(sync_n_refused(node.sync), 1);
    message.u.thread_start.thread = IN_USE + 1;
    assert_int_equal(receive_from(0, &message), TM_OK);
    sync_free(node.sync);
}

static void wait_on_semaphore(int i)
{
    node.woken[i] = 0;
    node.waiters[i] = (struct waiter){.wake = wakes, .thread = (uint64_t)i};
    sync_sem_wait(node.sync, 0x1000, 0, &node.waiters[i]);
}

static void a_token_of_a_place_in_use_again_is_refused(void **state)
{
    struct message message = {.type = MESSAGE_call_done};
    uint64_t first;

    (void)state;
    open_node(1, 1);
    wait_on_semaphore(0);
    first = node.last.u.sem_wait.token;
    message.u.call_done.token = first;
    assert_int_equal(receive_from((node.last_to + 1) % N_NODES, &message),
                     TM_EWIRE);
    assert_int_equal(receive_from(node.last_to, &message), TM_OK);
    wait_on_semaphore(1);
    assert_int_equal((uint32_t)node.last.u.sem_wait.token, (uint32_t)first);
    assert_int_equal(receive_from(node.last_to, &message), TM_EWIRE);
    assert_int_equal(node.n_woken, 1);
    message.u.call_done.token = node.last.u.sem_wait.token;
    assert_int_equal(receive_from(node.last_to, &message), TM_OK);
    assert_int_equal(node.n_woken, 2);
    sync_free(node.sync);
}

static void a_signal_before_the_wait_is_noted_is_refused(void **state)
{
    struct message grant = {.type = MESSAGE_lock_grant};
    struct message done = {.type = MESSAGE_call_done};
    struct message wake = {.type = MESSAGE_cond_wake};
    node_id manager;

    (void)state;
    open_node(1, 1);
    memset(node.woken, 0, sizeof node.woken);
    node.waiters[0] = (struct waiter){.wake = wakes, .thread = 4};
    sync_lock(node.sync, 0x1000, 0, &node.waiters[0]);
    grant.u.lock_grant.key = 0x1000;
    grant.u.lock_grant.next = NODE_NONE;
    assert_int_equal(receive_from(node.last_to, &grant), TM_OK);
    node.waiters[1] = (struct waiter){.wake = wakes, .thread = 4};
    sync_cond_wait(node.sync, 0x2000, 0x1000, &node.waiters[1]);
    manager = node.last_to;
    done.u.call_done.token = node.last.u.cond_wait.token;
    wake.u.cond_wake.token = done.u.call_done.token;
    assert_int_equal(receive_from(manager, &wake), TM_EWIRE);
    assert_int_equal(receive_from(manager, &done), TM_OK);
    assert_int_equal(node.n_woken, 1);
    assert_int_equal(receive_from(manager, &wake), TM_OK);
    assert_int_equal(node.n_woken, 2); // with the mutex, which was free here
    sync_free(node.sync);
}

/* The root, with thread 1 running on a node. */
static void open_root_with_thread(node_id on_node)
{
    struct message message = {
        .type = MESSAGE_thread_create, .body = "", .body_size = 1};

    open_node(0, 1);
    message.u.thread_create.start = 99;
    message.u.thread_create.on_node = on_node + 1;
    assert_int_equal(receive_from(0, &message), TM_OK);
    assert_int_equal(node.last.type, MESSAGE_thread_start);
    assert_int_equal(node.last_to, on_node);
}

static void say_at(node_id at, uint32_t moves)
{
    struct message message = {.type = MESSAGE_thread_at};

    message.u.thread_at.thread = 1;
    message.u.thread_at.moves = moves;
    assert_int_equal(receive_from(at, &message), TM_OK);
}

static void ask_to_migrate(node_id to)
{
    struct message message = {.type = MESSAGE_thread_migrate};

    message.u.thread_migrate.thread = 1;
    message.u.thread_migrate.node = to;
    assert_int_equal(receive_from(0, &message), TM_OK);
}

static unsigned say_missed(node_id from, uint32_t order)
{
    struct message message = {.type = MESSAGE_thread_missed};
    unsigned n_sent = node.n_sent;

    message.u.thread_missed.thread = 1;
    message.u.thread_missed.order = order;
    assert_int_equal(receive_from(from, &message), TM_OK);
    return node.n_sent - n_sent;
}

static void of_two_moves_the_later_counts_whatever_comes_first(void **state)
{
    (void)state;
    open_root_with_thread(0);
    say_at(2, 2);
    say_at(1, 1);
    ask_to_migrate(0);
    assert_int_equal(say_missed(1, 1), 1); // sent on to where it is
    assert_int_equal(node.last_to, 2);
    assert_int_equal(say_missed(2, 1), 0); // nobody knows: the next thread_at
    node.last_to = NODE_NONE;
    say_at(1, 3);
    assert_int_equal(node.last.type, MESSAGE_thread_target);
    assert_int_equal(node.last_to, 1);
    sync_free(node.sync);
}

static void a_target_that_comes_back_late_does_not_replace_a_newer(void **state)
{
    (void)state;
    open_root_with_thread(0);
    ask_to_migrate(1);
    ask_to_migrate(2);
    assert_int_equal(say_missed(0, 1), 0);
    node.last_to = NODE_NONE;
    say_at(1, 1);
    assert_int_equal(node.last_to, NODE_NONE);
    assert_int_equal(say_missed(0, 2), 1);
    assert_int_equal(node.last.u.thread_target.node, 2);
    assert_int_equal(node.last_to, 1);
    sync_free(node.sync);
}

// ---- parts of managers, which come while nodes come or go

/* A key that this node is the manager of: whoever else is told of it refuses. */
static uint64_t own_key(void)
{
    struct message message = {.type = MESSAGE_sem_part};

    message.u.sem_part.key = 0x1000;
    while (sync_receive(node.sync, 0, &message) != TM_OK) {
        message.u.sem_part.key += 8;
    }
    return message.u.sem_part.key;
}

static tm_status send_part(struct message *message, const void *body,
                           size_t size)
{
    message->body = size > 0 ? body : NULL;
    message->body_size = (uint32_t)size;
    return message_body_is_good(message) ? sync_receive(node.sync, 2, message)
                                         : TM_EWIRE;
}

/* One request, of a node. */
static tm_status send_request(struct message *message, node_id of)
{
    uint8_t body[11];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_u16(&writer, of);
    wire_put_u8(&writer, 0);
    wire_put_u64(&writer, 5);
    return send_part(message, body, sizeof body);
}

static void requests_of_nodes_that_are_not_there_are_refused(void **state)
{
    static const node_id nobody[] = {N_NODES, TM_MAX_NODES, NODE_NONE};
    struct message cond = {.type = MESSAGE_cond_part};
    struct message sem = {.type = MESSAGE_sem_part};
    struct message signal = {.type = MESSAGE_cond_signal};
    uint64_t key;

    (void)state;
    open_node(1, 1);
    sync_freeze(node.sync, 1);
    key = own_key();
    cond.u.cond_part.key = signal.u.cond_signal.key = key;
    sem.u.sem_part.key = key;
    sem.u.sem_part.is_initialised = 1;
    signal.u.cond_signal.all = 1;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_request(&cond, nobody[i]), TM_EWIRE);
        assert_int_equal(send_request(&sem, nobody[i]), TM_EWIRE);
    }
    assert_int_equal(send_request(&cond, 2), TM_OK);
    assert_int_equal(receive_from(0, &signal), TM_OK);
    assert_int_equal(node.n_sent, 1); // to node 2 only
    sync_free(node.sync);
}

static void parts_that_no_manager_sends_are_refused(void **state)
{
    struct message sem = {.type = MESSAGE_sem_part};
    struct message lock = {.type = MESSAGE_lock_part};
    struct message last = {.type = MESSAGE_lock_last};

    (void)state;
    open_node(1, 1);
    sync_freeze(node.sync, 1);
    sem.u.sem_part.key = lock.u.lock_part.key = own_key();
    assert_int_equal(send_request(&sem, 2), TM_EWIRE); // never initialised
    sem.u.sem_part.is_initialised = sem.u.sem_part.value = 1;
    assert_int_equal(send_request(&sem, 2),
                     TM_EWIRE); // waits for what is there
    assert_int_equal(receive_from(2, &lock), TM_OK);
    assert_int_equal(receive_from(0, &lock), TM_EWIRE); // node 2 has it
    last.u.lock_last.key = lock.u.lock_part.key;
    assert_int_equal(receive_from(0, &last), TM_EWIRE);
    assert_true(sync_is_valid(node.sync));
    sync_free(node.sync);
}

/* n_threads of a node have arrived, and n_values are what they reduce. */
static tm_status send_meeting(struct message *message, node_id of,
                              uint32_t n_threads, unsigned n_values)
{
    uint8_t body[100];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    wire_put_u16(&writer, of);
    wire_put_u32(&writer, n_threads);
    for (unsigned i = 0; i < n_values; i++) {
        wire_put_u64(&writer, i);
        wire_put_u64(&writer, i);
    }
    message->u.barrier_part.n_nodes = 1;
    return send_part(message, body, (size_t)(writer.at - body));
}

static void meetings_that_cannot_be_are_refused(void **state)
{
    struct message meeting = {.type = MESSAGE_barrier_part};
    struct message_barrier_part *part = &meeting.u.barrier_part;

    (void)state;
    open_node(1, 1);
    sync_freeze(node.sync, 1);
    part->key = own_key();
    assert_int_equal(send_meeting(&meeting, 2, 0, 0), TM_EWIRE); // of nobody
    part->count = 4;
    assert_int_equal(send_meeting(&meeting, N_NODES, 2, 0), TM_EWIRE);
    assert_int_equal(send_meeting(&meeting, 2, 4, 0), TM_EWIRE); // all are here
    assert_int_equal(send_meeting(&meeting, 2, 2, 2), TM_EWIRE); // no reduction
    part->kind = ARRIVE_INT64;
    part->op = TM_MAX + 1;
    assert_int_equal(send_meeting(&meeting, 2, 2, 2), TM_EWIRE);
    part->op = TM_MAX;
    assert_int_equal(send_meeting(&meeting, 2, 2, 3), TM_EWIRE);
    assert_int_equal(send_meeting(&meeting, 2, 2, 2), TM_OK);
    assert_int_equal(send_meeting(&meeting, 0, 2, 2), TM_EWIRE); // 4 of 4
    assert_true(sync_is_valid(node.sync));
    sync_free(node.sync);
}

struct claim {
    uint32_t n_times; // 0: it waits
    uint8_t is_writer;
    node_id of;
};

/* Claims of threads 1, 2, 3, ... */
static tm_status send_claims(uint64_t key, unsigned n,
                             const struct claim *claims)
{
    struct message message = {.type = MESSAGE_rwlock_part};
    uint8_t body[200];
    struct wire_writer writer = {.at = body, .end = body + sizeof body};

    for (unsigned i = 0; i < n; i++) {
        wire_put_u32(&writer, claims[i].n_times);
        wire_put_u8(&writer, claims[i].is_writer);
        wire_put_u16(&writer, claims[i].of);
        wire_put_u64(&writer, i); // token
        wire_put_u64(&writer, i + 1);
        wire_put_u64(&writer, 0);
    }
    message.u.rwlock_part.key = key;
    return send_part(&message, body, (size_t)(writer.at - body));
}

static void claims_that_cannot_be_are_refused(void **state)
{
    static const struct {
        unsigned n;
        struct claim claims[3];
    } wrong[] = {
        {0, {{0, 0, 0}}},
        {1, {{0, 1, 2}}},                      // nobody is in its way
        {1, {{2, 1, 2}}},                      // twice to write
        {2, {{1, 1, 2}, {1, 1, 0}}},           // two writers
        {2, {{1, 1, 2}, {1, 0, 0}}},           // a writer and a reader
        {2, {{1, 0, 2}, {0, 0, 2}}},           // it could read
        {2, {{1, 0, 2}, {0, 1, N_NODES}}},     // would be answered nowhere
        {3, {{1, 0, 2}, {0, 1, 2}, {1, 0, 0}}} // holds it behind who waits
    };
    static const struct claim right[] = {
        {3, 0, TM_MAX_NODES - 1}, {0, 1, 2}, {0, 0, 0}};
    uint64_t key;

    (void)state;
    open_node(1, 1);
    sync_freeze(node.sync, 1);
    key = own_key();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(send_claims(key, wrong[i].n, wrong[i].claims),
                         TM_EWIRE);
    }
    assert_int_equal(send_claims(key, 3, right), TM_OK);
    assert_int_equal(send_claims(key, 1, right), TM_EWIRE); // behind these
    assert_int_equal(send_claims(key, 2, right + 1), TM_OK);
    assert_true(sync_is_valid(node.sync));
    sync_free(node.sync);
}

static void a_reader_writer_lock_goes_on_with_a_new_manager(void **state)
{
    static const struct claim claims[] = {{2, 0, 0}, {0, 1, 2}, {0, 0, 0}};
    struct message unlock = {.type = MESSAGE_rwlock_unlock};

    (void)state;
    open_node(1, 1);
    sync_freeze(node.sync, 1);
    unlock.u.rwlock_unlock.key = own_key();
    assert_int_equal(send_claims(unlock.u.rwlock_unlock.key, 3, claims), TM_OK);
    sync_freeze(node.sync, 0);
    unlock.u.rwlock_unlock.thread = 1;
    assert_int_equal(receive_from(0, &unlock), TM_OK);
    assert_int_equal(node.n_sent, 1); // it was held twice
    assert_int_equal(receive_from(0, &unlock), TM_OK);
    assert_int_equal(node.n_sent, 3); // the writer has it
    unlock.u.rwlock_unlock.thread = 2;
    assert_int_equal(receive_from(2, &unlock), TM_OK);
    assert_int_equal(node.n_sent, 5); // then the reader
    assert_int_equal(node.n_errors, 0);
    sync_free(node.sync);
}

static void what_is_done_once_is_refused_if_it_cannot_be(void **state)
{
    struct message part = {.type = MESSAGE_once_part};
    struct message ask = {.type = MESSAGE_once_ask};

    (void)state;
    open_node(1, 1);
    sync_freeze(node.sync, 1);
    part.u.once_part.key = ask.u.once_ask.key = own_key();
    assert_int_equal(send_part(&part, NULL, 0), TM_EWIRE); // nothing to tell
    part.u.once_part.state = 3;
    assert_int_equal(send_part(&part, NULL, 0), TM_EWIRE);
    part.u.once_part.state = 2;
    assert_int_equal(send_request(&part, 2), TM_EWIRE); // it is done
    part.u.once_part.state = 1;
    part.u.once_part.thread = 7;
    assert_int_equal(send_request(&part, N_NODES), TM_EWIRE);
    assert_int_equal(send_request(&part, 2), TM_OK);
    part.u.once_part.state = 2;
    assert_int_equal(send_part(&part, NULL, 0), TM_EWIRE); // it runs
    sync_freeze(node.sync, 0);
    ask.u.once_ask.thread = 9;
    assert_int_equal(receive_from(0, &ask), TM_OK); // it waits, too
    ask.u.once_ask.is_end = 1;
    ask.u.once_ask.thread = 8;
    assert_int_equal(receive_from(0, &ask), TM_EWIRE); // another does it
    ask.u.once_ask.thread = 7;
    assert_int_equal(receive_from(0, &ask), TM_OK);
    assert_int_equal(node.n_sent, 3); // to who waited, and who did it
    assert_int_equal(receive_from(0, &ask), TM_EWIRE);
    sync_free(node.sync);
}

/* @return a key that this node is the manager of */
static uint64_t open_manager(void)
{
    uint64_t key;

    open_node(1, 1);
    sync_freeze(node.sync, 1);
    key = own_key();
    sync_freeze(node.sync, 0);
    return key;
}

static tm_status ask_for_lock(node_id from, uint64_t key)
{
    const struct message ask = {.type = MESSAGE_lock_ask,
                                .u.lock_ask = {.key = key}};

    return receive_from(from, &ask);
}

static void a_mutex_comes_back_from_its_owner_only(void **state)
{
    struct message back = {.type = MESSAGE_lock_back};

    (void)state;
    back.u.lock_back.key = open_manager();
    assert_int_equal(ask_for_lock(0, back.u.lock_back.key), TM_OK);
    assert_int_equal(receive_from(2, &back), TM_EWIRE);
    assert_int_equal(ask_for_lock(2, back.u.lock_back.key), TM_OK);
    assert_int_equal(node.last.type, MESSAGE_lock_recall);
    assert_int_equal(receive_from(0, &back), TM_OK);
    assert_int_equal(node.last.type, MESSAGE_lock_grant);
    assert_int_equal(node.last_to, 2);
    sync_free(node.sync);
}

static void who_is_waited_for_is_not_detached(void **state)
{
    const struct message join = {.type = MESSAGE_thread_join,
                                 .u.thread_join = {.thread = 1}};
    const struct message detach = {.type = MESSAGE_thread_detach,
                                   .u.thread_detach = {.thread = 1}};

    (void)state;
    open_root_with_thread(2);
    assert_int_equal(receive_from(0, &join), TM_OK);
    assert_int_equal(receive_from(2, &detach), TM_OK);
    assert_int_equal(node.last.type, MESSAGE_call_done);
    assert_int_equal((int32_t)node.last.u.call_done.status, TM_EINVAL);
    sync_free(node.sync);
}

static void parts_come_while_members_change_only(void **state)
{
    struct message part = {.type = MESSAGE_sem_part};

    (void)state;
    part.u.sem_part.key = open_manager();
    assert_int_equal(send_part(&part, NULL, 0), TM_EWIRE);
    sync_freeze(node.sync, 1);
    assert_int_equal(send_part(&part, NULL, 0), TM_OK);
    sync_free(node.sync);
}

static void requests_that_do_not_fit_follow(void **state)
{
    const unsigned n = 4096 + 3;
    struct message init = {.type = MESSAGE_sem_init};
    struct message wait = {.type = MESSAGE_sem_wait};
    struct roster before;
    struct wire_reader reader;
    unsigned n_before;

    (void)state;
    init.u.sem_init.key = wait.u.sem_wait.key = open_manager();
    assert_int_equal(receive_from(0, &init), TM_OK);
    for (unsigned i = 0; i < n; i++) {
        wait.u.sem_wait.token = i;
        assert_int_equal(receive_from(2, &wait), TM_OK);
    }
    n_before = node.n_sent;
    before = node.port.roster;
    sync_freeze(node.sync, 1);
    roster_remove(&node.port.roster, 1);
    sync_roster_changed(node.sync, &before);
    sync_spread(node.sync);
    assert_int_equal(node.n_sent - n_before, 2);
    assert_int_equal(node.last.body_size, 3 * WIRE_SIZE_request);
    reader = wire_read_body(&node.last);
    assert_int_equal(wire_get_request(&reader).token, 4096);
    sync_free(node.sync);
}

static void a_trylock_is_asked_for_once_at_a_time(void **state)
{
    const uint64_t key = open_manager();
    const struct message ask = {.type = MESSAGE_lock_ask,
                                .u.lock_ask = {.key = key, .what = 1}};
    const struct message decline = {.type = MESSAGE_lock_decline,
                                    .u.lock_decline = {.key = key}};

    (void)state;
    assert_int_equal(ask_for_lock(0, key), TM_OK);
    assert_int_equal(receive_from(2, &ask), TM_OK);
    assert_int_equal(node.last.type, MESSAGE_lock_recall);
    assert_int_equal(receive_from(2, &ask), TM_EWIRE);
    assert_int_equal(receive_from(0, &decline), TM_OK);
    assert_int_equal(node.last.type, MESSAGE_lock_busy);
    assert_int_equal(receive_from(2, &ask), TM_OK);
    sync_free(node.sync);
}

static void who_sleeps_is_woken_when_the_time_is_over(void **state)
{
    const uint64_t length_ns = 1000000000;
    struct waiter *waiter = &node.waiters[0];

    (void)state;
    open_node(1, 1);
    node.woken[0] = 0;
    *waiter = (struct waiter){.wake = wakes, .until_ns = length_ns};
    sync_sleep(node.sync, waiter);
    assert_true(sync_has_timed(node.sync));
    node.now_ns = length_ns - 1;
    sync_poll(node.sync, 1);
    assert_int_equal(node.n_woken, 0);
    assert_true(sync_has_timed(node.sync));
    node.now_ns = length_ns;
    sync_poll(node.sync, 1);
    assert_int_equal(node.n_woken, 1);
    assert_false(sync_has_timed(node.sync));
    sync_free(node.sync);
}

static void arrive(node_id from, uint64_t key)
{
    const struct message arrive = {
        .type = MESSAGE_barrier_arrive,
        .u.barrier_arrive = {.key = key, .n_threads = 1, .kind = ARRIVE_WAIT}};

    assert_int_equal(receive_from(from, &arrive), TM_OK);
}

static void a_meeting_that_is_sent_away_is_known_no_more(void **state)
{
    struct message init = {.type = MESSAGE_barrier_init,
                           .u.barrier_init = {.count = 2}};
    struct roster before;
    unsigned n_before;

    (void)state;
    init.u.barrier_init.key = open_manager();
    assert_int_equal(receive_from(0, &init), TM_OK);
    arrive(2, init.u.barrier_init.key);
    before = node.port.roster;
    n_before = node.n_sent;
    sync_freeze(node.sync, 1);
    roster_remove(&node.port.roster, 1);
    sync_roster_changed(node.sync, &before);
    sync_spread(node.sync);
    assert_int_equal(node.n_sent - n_before, 2); // a semaphore's part, too
    assert_int_equal(node.last.type, MESSAGE_barrier_part);
    sync_spread(node.sync);
    assert_int_equal(node.last.type, MESSAGE_sem_part);
    sync_free(node.sync);
}

/* What the root knows of a barrier may be old: it is believed only of this episode,
 * with as many arrivals. */
static void an_episode_that_is_over_is_not_starved(void **state)
{
    struct message init = {.type = MESSAGE_barrier_init,
                           .u.barrier_init = {.count = 2}};
    struct message starved = {.type = MESSAGE_barrier_starved};

    (void)state;
    init.u.barrier_init.key = open_manager();
    starved.u.barrier_starved.key = init.u.barrier_init.key;
    starved.u.barrier_starved.n_arrived = 1;
    assert_int_equal(receive_from(0, &init), TM_OK);
    arrive(0, init.u.barrier_init.key);
    arrive(2, init.u.barrier_init.key);
    arrive(0, init.u.barrier_init.key);
    assert_int_equal(receive_from(0, &starved), TM_OK);
    assert_int_equal(node.n_errors, 0);
    starved.u.barrier_starved.episode = 1;
    assert_int_equal(receive_from(0, &starved), TM_OK);
    assert_int_equal(node.n_errors, 1);
    sync_free(node.sync);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_nodes_that_are_not_there_are_refused),
        cmocka_unit_test(parts_that_no_manager_sends_are_refused),
        cmocka_unit_test(meetings_that_cannot_be_are_refused),
        cmocka_unit_test(claims_that_cannot_be_are_refused),
        cmocka_unit_test(a_reader_writer_lock_goes_on_with_a_new_manager),
        cmocka_unit_test(what_is_done_once_is_refused_if_it_cannot_be),
        cmocka_unit_test(a_mutex_comes_back_from_its_owner_only),
        cmocka_unit_test(who_is_waited_for_is_not_detached),
        cmocka_unit_test(a_meeting_that_is_sent_away_is_known_no_more),
        cmocka_unit_test(parts_come_while_members_change_only),
        cmocka_unit_test(requests_that_do_not_fit_follow),
        cmocka_unit_test(a_trylock_is_asked_for_once_at_a_time),
        cmocka_unit_test(who_sleeps_is_woken_when_the_time_is_over),
        cmocka_unit_test(an_episode_that_is_over_is_not_starved),
        cmocka_unit_test(nonsense_is_refused_or_harmless),
        cmocka_unit_test(a_token_works_once),
        cmocka_unit_test(a_start_in_a_slot_in_use_is_refused),
        cmocka_unit_test(a_token_of_a_place_in_use_again_is_refused),
        cmocka_unit_test(a_signal_before_the_wait_is_noted_is_refused),
        cmocka_unit_test(of_two_moves_the_later_counts_whatever_comes_first),
        cmocka_unit_test(
            a_target_that_comes_back_late_does_not_replace_a_newer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
