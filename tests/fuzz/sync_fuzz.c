// SPDX-License-Identifier: BSD-3-Clause
// sync/: messages of synchronisation with any fields, from any node, to the root or to
// another node, with calls of its threads between them. What makes no sense is counted
// and changes nothing; the machine's invariants hold after each.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sync/sync.h"

enum { N_NODES = 3, MAX_THREADS = 8, STEPS = 64, KEYS = 3, WAITERS = STEPS };

static uint64_t now_ns;
static struct waiter waiters[WAITERS];

// ---- what the machine needs of others ----

static void send(void *owner, node_id to, const struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];

    (void)owner;
    FUZZ_CHECK(to < N_NODES);
    message_encode_header(message, header);
}

static uint64_t now(void *owner)
{
    (void)owner;
    return now_ns;
}

static void release(void *owner, node_id next, struct waiter *done)
{
    (void)owner;
    (void)next;
    waiter_wake(done, TM_OK, 0);
}

static tm_status start(void *owner, uint64_t thread, uint64_t function,
                       uint64_t arg, const char *name)
{
    (void)owner;
    (void)function;
    (void)arg;
    FUZZ_CHECK(thread_slot_of(thread) <= MAX_THREADS);
    FUZZ_CHECK(name != NULL && strlen(name) <= MESSAGE_BODY_MAX);
    return thread_slot_of(thread) % 2 == 0 ? TM_OK : TM_EWIRE;
}

static int set_target(void *owner, uint64_t thread, node_id node)
{
    (void)owner;
    (void)thread;
    FUZZ_CHECK(node < N_NODES);
    return 1;
}

static unsigned n_active(void *owner)
{
    (void)owner;
    return 1;
}

static unsigned n_threads(void *owner)
{
    (void)owner;
    return 2;
}

static void at_barrier(void *owner, uint64_t key, enum sync_stage stage)
{
    (void)owner;
    (void)key;
    (void)stage;
}

static void describe_place(void *owner, uint64_t place, char *text, size_t size)
{
    (void)owner;
    snprintf(text, size, "%lx", (unsigned long)place);
}

static void order(void *owner, uint64_t object, node_id to,
                  enum sync_order order)
{
    (void)owner;
    (void)object;
    (void)to;
    (void)order;
}

static void held(void *owner, uint64_t key, int is_held)
{
    (void)owner;
    (void)key;
    (void)is_held;
}

static void program_error(void *owner, const char *text)
{
    (void)owner;
    (void)text;
}

static void woken(struct waiter *waiter)
{
    (void)waiter;
}

// ---- steps ----

static uint64_t key_of(struct wire_reader *input)
{
    return 0x7e8000000000u + 64u * (wire_get_u8(input) % KEYS);
}

/** What a thread of this node calls. */
static void call(struct sync *sync, struct wire_reader *input,
                 struct waiter *waiter)
{
    static const tm_thread_attr attr = {.name = "t"};
    uint8_t what = wire_get_u8(input);
    uint64_t key = key_of(input);
    uint64_t thread = what >> 5;
    const enum sync_hold hold = thread % 2 == 0 ? HOLD_TO_READ : HOLD_TO_WRITE;

    *waiter = (struct waiter){.wake = woken, .thread = thread};
    switch (what % 12) {
    case 0:
        sync_lock(sync, key, 0, waiter);
        return;
    case 1:
        sync_lock(sync, key, 1, waiter);
        return;
    case 2:
        sync_unlock(sync, key, waiter);
        return;
    case 3:
        sync_sem_wait(sync, key, 0, waiter);
        return;
    case 4:
        sync_cond_signal(sync, key, 1, waiter);
        return;
    case 5:
        sync_barrier_init(sync, key, 2, waiter);
        return;
    case 6:
        sync_barrier_arrive(sync, key, ARRIVE_INT64, TM_SUM, 1, waiter);
        return;
    case 7:
        sync_rwlock(sync, key, hold, 0, waiter);
        return;
    case 8:
        sync_rwlock_unlock(sync, key, waiter);
        return;
    case 9:
        sync_key_create(sync, key, waiter);
        return;
    case 10:
        sync_once_begin(sync, key, waiter);
        return;
    default:
        sync_thread_create(sync, 1, 2, &attr, waiter);
        return;
    }
}

/** A message: from u8, length u8, the message. */
static void receive(struct sync *sync, struct wire_reader *input)
{
    node_id from = wire_get_u8(input) % N_NODES;
    size_t length = wire_get_u8(input);
    struct message message;
    uint64_t n_refused = sync_n_refused(sync);

    if (length > fuzz_left(input)) {
        length = fuzz_left(input);
    }
    if (message_decode(wire_get_bytes(input, length), (uint32_t)length,
                       &message) == TM_OK) {
        int is_taken = sync_receive(sync, from, &message) == TM_OK;

        FUZZ_CHECK(sync_n_refused(sync) == n_refused + !is_taken);
    }
}

static void say_who_waits(const struct sync *sync)
{
    uint64_t cursor = 0;
    char text[128];

    for (unsigned i = 0; i < 1000; i++) {
        if (!sync_next_wait(sync, &cursor, text, sizeof text)) {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sync_ops ops = {
        .release = release,
        .start = start,
        .set_target = set_target,
        .n_active = n_active,
        .n_threads = n_threads,
        .at_barrier = at_barrier,
        .describe_place = describe_place,
        .order = order,
        .order_mutex = order,
        .held = held,
        .program_error = program_error,
    };
    struct wire_reader input = wire_read(data, size);
    struct port port = {
        .self = wire_get_u8(&input) % N_NODES, .send = send, .now_ns = now};
    struct sync *sync;

    roster_init(&port.roster, N_NODES);
    sync = sync_new(&port, &ops, MAX_THREADS);
    FUZZ_CHECK(sync != NULL);
    now_ns = 1;
    for (unsigned i = 0; i < STEPS && fuzz_left(&input) > 0; i++) {
        if (wire_get_u8(&input) & 1) {
            call(sync, &input, &waiters[i]);
        } else {
            receive(sync, &input);
        }
        now_ns += 3000000;
        sync_poll(sync, 1);
        FUZZ_CHECK(sync_is_valid(sync));
    }
    say_who_waits(sync);
    sync_free(sync);
    return 0;
}
