// SPDX-License-Identifier: BSD-3-Clause
// reconfig/ and the roster: threads that come from other nodes, in parts; reports of
// iterations, which the root's scheme makes plans of; who takes part in the run. What is
// taken makes sense, whatever bytes it came in.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/roster.h"
#include "reconfig/migrate.h"
#include "reconfig/scheme.h"

enum { N_NODES = 3, STEPS = 128, STACK_MAX = 64 << 20 };

// ---- what the scheme asks for ----

struct wishes {
    int track;
    int think;
};

static void track(void *owner)
{
    ((struct wishes *)owner)->track = 1;
}

static double ask_cost(void *owner)
{
    (void)owner;
    return 0.01;
}

static void think(void *owner)
{
    ((struct wishes *)owner)->think = 1;
}

static void move(void *owner, uint64_t thread, node_id node)
{
    (void)owner;
    (void)thread;
    FUZZ_CHECK(node < N_NODES);
}

static void set_period(void *owner, uint64_t period, uint64_t phase)
{
    (void)owner;
    FUZZ_CHECK(period == 0 ? phase == 0 : phase < period);
}

static void leave(void *owner, const struct remap *plan, const uint32_t *from,
                  const uint32_t *to, int has_moved)
{
    (void)owner;
    (void)has_moved;
    for (uint32_t i = 0; i < plan->view.n_threads; i++) {
        FUZZ_CHECK(from[i] < N_NODES && to[i] < N_NODES);
    }
}

static void describe(void *owner, unsigned node, struct node_view *view)
{
    (void)owner;
    FUZZ_CHECK(node < N_NODES);
    *view = (struct node_view){.power = 1 + node,
                               .n_processors = 1,
                               .memory_pages = 100,
                               .free_pages = 1000,
                               .total_pages = 1000,
                               .packet_s = 1e-5,
                               .packet_bytes = 8192};
}

static const struct page_use *uses(void *owner, uint64_t thread, size_t *n)
{
    static struct page_use page;

    (void)owner;
    page = (struct page_use){thread % 64, USE_READ | USE_WRITE, 8};
    *n = 1;
    return &page;
}

static void explain(void *owner, const char *text)
{
    (void)owner;
    FUZZ_CHECK(strlen(text) > 0);
}

static struct scheme *new_scheme(struct wishes *wishes)
{
    const struct scheme_ops ops = {
        .owner = wishes,
        .track = track,
        .tracking_s = ask_cost,
        .think = think,
        .move = move,
        .set_period = set_period,
        .leave = leave,
        .describe = describe,
        .uses = uses,
        .explain = explain,
    };
    const struct scheme_config config = {
        .policy = policy_find("cpu-mem"),
        .n_nodes = N_NODES,
        .explains = 1,
    };

    return scheme_new(&config, &ops);
}

// ---- steps ----

static tm_status arrived(void *owner, const struct moved_thread *moved)
{
    const uint8_t *bytes = moved->packed.bytes;

    (void)owner;
    FUZZ_CHECK(moved->packed.size > 0 && moved->packed.size <= STACK_MAX);
    FUZZ_CHECK(memchr(moved->name, '\0', 16) != NULL);
    FUZZ_CHECK(bytes[0] + bytes[moved->packed.size - 1] <
               512); // it is all there
    return moved->packed.slot > 0 ? TM_OK : TM_EWIRE;
}

static void take_roster(struct wire_reader *input, size_t length)
{
    struct roster roster;
    uint8_t again[ROSTER_BYTES_MAX];
    const uint8_t *bytes = wire_get_bytes(input, length);

    roster_init(&roster, N_NODES);
    if (roster_decode(&roster, bytes, length) == TM_OK) {
        FUZZ_CHECK(roster_encode(&roster, again) == length);
        FUZZ_CHECK(memcmp(again, bytes, length) == 0);
    }
    FUZZ_CHECK(roster_is_valid(&roster));
}

struct world {
    struct migration *migration;
    struct scheme *scheme;
    struct wishes wishes;
    uint64_t now_ns;
};

static void take_message(struct world *world, struct wire_reader *input,
                         node_id from, size_t length)
{
    struct message message;

    if (message_decode(wire_get_bytes(input, length), (uint32_t)length,
                       &message) != TM_OK) {
        return;
    }
    if (message.type == MESSAGE_thread_move ||
        message.type == MESSAGE_thread_stack) {
        (void)!migration_receive(world->migration, from, &message);
    } else if (message.type == MESSAGE_iteration) {
        (void)!scheme_receive(world->scheme, from, &message, world->now_ns);
    }
}

static void look_after_scheme(struct world *world, unsigned what)
{
    struct wishes wishes = world->wishes;

    memset(&world->wishes, 0, sizeof world->wishes);
    if (wishes.think) {
        scheme_think(world->scheme);
        scheme_thought(world->scheme, 0);
    }
    if (wishes.track) {
        scheme_tracked(world->scheme, what & 128);
    }
}

/** what u8, length u8, bytes. */
static void step(struct world *world, struct wire_reader *input)
{
    uint8_t what = wire_get_u8(input);
    size_t length = wire_get_u8(input);

    if (length > fuzz_left(input)) {
        length = fuzz_left(input);
    }
    world->now_ns += 20000000u * (1 + (what >> 2) % 16);
    if (what % 4 == 3) {
        take_roster(input, length);
    } else {
        take_message(world, input, what % 4, length);
        look_after_scheme(world, what);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire_reader input = wire_read(data, size);
    struct port port = {.self = 0};
    struct world world = {.now_ns = 1};

    roster_init(&port.roster, N_NODES);
    world.migration = migration_new(&port, arrived, NULL);
    world.scheme = new_scheme(&world.wishes);
    FUZZ_CHECK(world.migration != NULL && world.scheme != NULL);
    for (unsigned i = 0; i < STEPS && fuzz_left(&input) > 0; i++) {
        step(&world, &input);
    }
    scheme_free(world.scheme);
    migration_free(world.migration);
    return 0;
}
