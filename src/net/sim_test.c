// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sim_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

#define N_NODES 5u

static uint64_t seed;

static int choose_seed(void **unused)
{
    const char *given = getenv("TM_TEST_SEED");

    (void)unused;
    seed = given != NULL ? strtoull(given, NULL, 0) : clock_now_ns();
    print_message("TM_TEST_SEED=%llu\n", (unsigned long long)seed);
    return 0;
}

/** Nodes that send each other numbered messages and answer some of them. */
struct chat {
    struct sim *sim;
    uint32_t sent[N_NODES][N_NODES];
    uint32_t received[N_NODES][N_NODES];
    uint64_t last_ns;
    unsigned n_overtaken; ///< messages that one of another pair came before
    uint64_t latest_sent;
    unsigned n_left; ///< answers to be given yet
    struct member {
        struct chat *chat;
        node_id self;
    } members[N_NODES];
};

static void say(struct chat *chat, node_id from, node_id to)
{
    uint8_t body[300];
    uint32_t size = (uint32_t)sim_random(chat->sim, sizeof body);
    struct message message = {
        .type = MESSAGE_thread_stack,
        .u.thread_stack = {.thread = chat->sent[from][to]++,
                           .offset = sim_now_ns(chat->sim)},
        .body = body,
        .body_size = size,
    };

    memset(body, (int)size, size);
    port_send(sim_port(chat->sim, from), to, &message);
    memset(body, 0xee, sizeof body);
}

static void hear(void *owner, node_id from, const struct message *message)
{
    struct member *member = owner;
    struct chat *chat = member->chat;
    const uint8_t *body = message->body;
    uint64_t now_ns = sim_now_ns(chat->sim);

    assert_int_equal(message->type, MESSAGE_thread_stack);
    assert_int_equal(message->u.thread_stack.thread,
                     chat->received[from][member->self]++);
    assert_true(now_ns >= chat->last_ns);
    assert_true(now_ns ==
                sim_port(chat->sim, 0)->now_ns(sim_port(chat->sim, 0)->owner));
    for (uint32_t i = 0; i < message->body_size; i++) {
        assert_int_equal(body[i], (uint8_t)message->body_size);
    }
    chat->n_overtaken += message->u.thread_stack.offset < chat->latest_sent;
    chat->latest_sent = message->u.thread_stack.offset;
    chat->last_ns = now_ns;
    for (unsigned i = 0; i < 2 && chat->n_left > 0; i++) {
        chat->n_left--;
        say(chat, member->self, (node_id)sim_random(chat->sim, N_NODES));
    }
}

static void start_chat(struct chat *chat, const struct sim_config *config)
{
    *chat = (struct chat){.sim = sim_new(config), .n_left = 5000};
    assert_non_null(chat->sim);
    for (unsigned i = 0; i < N_NODES; i++) {
        chat->members[i] = (struct member){chat, (node_id)i};
        sim_attach(chat->sim, (node_id)i, hear, &chat->members[i]);
    }
    for (unsigned from = 0; from < N_NODES; from++) {
        for (unsigned to = 0; to < N_NODES; to++) {
            say(chat, (node_id)from, (node_id)to);
        }
    }
}

static struct sim_config mean_config(uint64_t with_seed)
{
    return (struct sim_config){
        .n_nodes = N_NODES,
        .seed = with_seed,
        .delay_min_ns = 100,
        .delay_max_ns = 20000,
        .pause_ppm = 20000,
        .pause_ns = 300000,
    };
}

static uint64_t hash_of_chat(const struct sim_config *config)
{
    struct chat chat;
    uint64_t hash;

    start_chat(&chat, config);
    while (sim_step(chat.sim)) {
    }
    hash = sim_event_hash(chat.sim);
    sim_free(chat.sim);
    return hash;
}

static unsigned run_chat(uint64_t with_seed)
{
    struct sim_config config = mean_config(with_seed);
    struct chat chat;

    start_chat(&chat, &config);
    while (sim_step(chat.sim)) {
    }
    assert_memory_equal(chat.sent, chat.received, sizeof chat.sent);
    assert_int_equal(chat.n_left, 0);
    assert_int_equal(sim_n_delivered(chat.sim), 5000 + N_NODES * N_NODES);
    sim_free(chat.sim);
    return chat.n_overtaken;
}

// How often pairs overtake each other differs a lot between seeds: a chat may
// come down to one pair. Over some of them it is certain.
static void every_message_arrives_once_and_pairs_keep_their_order(void **unused)
{
    enum { N_CHATS = 20 };
    unsigned n_overtaken = 0;

    (void)unused;
    for (uint64_t i = 0; i < N_CHATS; i++) {
        n_overtaken += run_chat(seed + i);
    }
    assert_true(n_overtaken > 50 * N_CHATS);
}

static void the_same_seed_gives_the_same_events(void **unused)
{
    struct sim_config config = mean_config(seed);

    (void)unused;
    assert_true(hash_of_chat(&config) == hash_of_chat(&config));
}

static void another_seed_gives_other_events(void **unused)
{
    struct sim_config config = mean_config(seed);
    struct sim_config other = mean_config(seed + 1);

    (void)unused;
    assert_true(hash_of_chat(&config) != hash_of_chat(&other));
}

static void the_hash_sees_contents(void **unused)
{
    struct sim_config config = {.n_nodes = 1};
    uint64_t hashes[2];

    (void)unused;
    for (uint32_t i = 0; i < 2; i++) {
        struct chat chat = {.sim = sim_new(&config)};

        chat.members[0].chat = &chat;
        sim_attach(chat.sim, 0, hear, &chat.members[0]);
        chat.latest_sent = i; // any difference outside does not count
        port_send(sim_port(chat.sim, 0), 0,
                  &(struct message){.type = MESSAGE_thread_stack,
                                    .u.thread_stack = {.offset = i}});
        assert_true(sim_step(chat.sim));
        hashes[i] = sim_event_hash(chat.sim);
        sim_free(chat.sim);
    }
    assert_true(hashes[0] != hashes[1]);
}

static void delays_stay_in_their_range_without_pauses(void **unused)
{
    struct sim_config config = {.n_nodes = N_NODES,
                                .seed = seed,
                                .delay_min_ns = 50,
                                .delay_max_ns = 50};
    struct chat chat;

    (void)unused;
    start_chat(&chat, &config);
    while (sim_step(chat.sim)) {
        assert_int_equal(sim_now_ns(chat.sim) % 50, 0);
    }
    assert_int_equal(chat.n_overtaken, 0);
    sim_free(chat.sim);
}

static void note_time(void *owner, node_id from, const struct message *message)
{
    uint64_t **next = owner;

    (void)from;
    **next = message->u.thread_stack
                 .offset; // set by the sender: nothing of interest
    (*next)++;
}

static void a_paused_node_gets_nothing_until_its_pause_ends(void **unused)
{
    struct sim_config config = {.n_nodes = 2,
                                .delay_min_ns = 10,
                                .delay_max_ns = 10,
                                .pause_ppm = 1000000,
                                .pause_ns = 1000};
    struct sim *sim = sim_new(&config);
    struct message message = {.type = MESSAGE_thread_stack};
    uint64_t notes[4];
    uint64_t *next = notes;

    (void)unused;
    sim_attach(sim, 1, note_time, &next);
    for (unsigned i = 0; i < 4; i++) {
        message.u.thread_stack.offset = i;
        port_send(sim_port(sim, 0), 1, &message);
    }
    for (unsigned i = 0; i < 4; i++) {
        assert_true(sim_step(sim));
        assert_int_equal(sim_now_ns(sim), 10 + i * 1000);
        assert_int_equal(notes[i], i);
    }
    assert_false(sim_step(sim));
    sim_free(sim);
}

struct alarms {
    struct sim *sim;
    uint64_t rung[100];
    unsigned n_rung;
};

static void ring(void *owner, uint64_t argument)
{
    struct alarms *alarms = owner;

    assert_true(sim_now_ns(alarms->sim) == argument);
    alarms->rung[alarms->n_rung++] = argument;
}

static void timers_ring_in_order_of_time(void **unused)
{
    struct sim_config config = {.n_nodes = 1, .seed = seed};
    struct alarms alarms = {.sim = sim_new(&config)};

    (void)unused;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t delay_ns = sim_random(alarms.sim, 40);

        sim_after(alarms.sim, delay_ns, ring, &alarms, delay_ns);
    }
    while (sim_step(alarms.sim)) {
    }
    assert_int_equal(alarms.n_rung, 100);
    for (unsigned i = 1; i < 100; i++) {
        assert_true(alarms.rung[i - 1] <= alarms.rung[i]);
    }
    sim_free(alarms.sim);
}

static void random_numbers_are_below_their_bound_and_reach_it(void **unused)
{
    struct sim_config config = {.n_nodes = 1, .seed = seed};
    struct sim *sim = sim_new(&config);
    unsigned n_seen[7] = {0};

    (void)unused;
    for (unsigned i = 0; i < 7000; i++) {
        n_seen[sim_random(sim, 7)]++;
    }
    for (unsigned i = 0; i < 7; i++) {
        assert_in_range(n_seen[i], 700, 1300);
    }
    assert_int_equal(sim_random(sim, 1), 0);
    sim_free(sim);
}

static void what_is_under_way_is_freed(void **unused)
{
    struct sim_config config = mean_config(seed);
    struct chat chat;

    (void)unused;
    start_chat(&chat, &config);
    for (unsigned i = 0; i < 100; i++) {
        assert_true(sim_step(chat.sim));
    }
    sim_free(chat.sim); // LSan looks
    sim_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_arrives_once_and_pairs_keep_their_order),
        cmocka_unit_test(the_same_seed_gives_the_same_events),
        cmocka_unit_test(another_seed_gives_other_events),
        cmocka_unit_test(the_hash_sees_contents),
        cmocka_unit_test(delays_stay_in_their_range_without_pauses),
        cmocka_unit_test(a_paused_node_gets_nothing_until_its_pause_ends),
        cmocka_unit_test(timers_ring_in_order_of_time),
        cmocka_unit_test(random_numbers_are_below_their_bound_and_reach_it),
        cmocka_unit_test(what_is_under_way_is_freed),
    };

    return cmocka_run_group_tests(tests, choose_seed, NULL);
}
