// SPDX-License-Identifier: BSD-3-Clause
//
// One node of the world dies at its Nth message: it takes no more, its threads do not
// go on, and of what it has sent to each other node a part still arrives. The others
// look after each other as nodes of several hosts do (cluster/failure_detector.h), and end when
// they hear of a death. Whoever runs the world for N = 1, 2, 3, ... has seen every
// moment in which a node can die. First comes the run in which nobody does. Until a death
// all others are the same as that, event by event, so their records are looked at from the
// death on only; and, as most of what happens then is that clocks tick, when a message has
// come.
//
// D1  Some survivor is told of this death, none of another, and within DETECT_NS. It ends,
//     and so all others do, as a launcher has them: so no thread waits for ever.
// D2  Until then the records of each survivor are valid (check_world).
// D3  A node that has ended half way can be taken apart: no byte is lost or used
//     again (address sanitizer).
#include "death.h"

#include <limits.h>
#include <stdio.h>

#include "cluster/failure_detector.h"

#define TIMEOUT_S 5
#define DETECT_NS ((TIMEOUT_S + 2) * 1000000000ull)
#define POLL_NS 200000000ull
#define LAST_WORDS 8 // of the dead node, to each other one, at most
#define NOBODY_DIES UINT_MAX

static struct {
    unsigned nth; // 0: no run of these
    node_id victim;
    unsigned n_messages; // that have come to it
    int is_dead;
    uint64_t died_ns;
    uint64_t n_delivered;      // when the records were looked at last
    unsigned n_words[MAX_IDS]; // that still come from it
    int is_gone[MAX_IDS];
    unsigned n_gone;
    unsigned n_blocked; // threads of survivors, when these ended
    struct failure_detector pulses[MAX_IDS];
    uint16_t host_of[MAX_IDS]; // two on each
} death;

jmp_buf death_exit;

void death_at_each_message(uint64_t (*run)(tm_protocol protocol),
                           tm_protocol protocol, unsigned step)
{
    unsigned n_blocked = 0;
    unsigned n_deaths = 0;
    unsigned n_messages;

    death = (typeof(death)){.nth = NOBODY_DIES};
    run(protocol);
    n_messages = death.n_messages;
    for (unsigned nth = 1; nth <= n_messages; nth += step) {
        death = (typeof(death)){.nth = nth};
        run(protocol);
        CHECK(death.is_dead);
        n_blocked += death.n_blocked;
        n_deaths++;
    }
    printf("%u deaths, %u threads of survivors were waiting\n", n_deaths,
           n_blocked);
}

int death_leaves_unchanged(const struct world *world)
{
    const uint64_t n_delivered = sim_n_delivered(world->sim);
    const int is_same = death.is_dead && n_delivered == death.n_delivered;

    death.n_delivered = n_delivered;
    return death.nth != 0 && death.nth != NOBODY_DIES &&
           (!death.is_dead || is_same);
}

int death_is_gone(const struct world *world, node_id node)
{
    (void)world;
    return death.is_gone[node];
}

static int is_over(const struct world *world)
{
    return death.is_dead && death.n_gone == world->n_nodes;
}

void death_end_if_over(const struct world *world)
{
    CHECK(sim_now_ns(world->sim) < LIMIT_NS);
    if (is_over(world)) {
        longjmp(death_exit, 1);
    }
}

static void go(struct world *world, node_id node)
{
    death.is_gone[node] = 1;
    death.n_gone++;
    for (unsigned i = 0; i < world->n_threads; i++) {
        const struct thread *thread = &world->threads[i];

        death.n_blocked += node != death.victim && thread->node == node &&
                           (thread->step == WAITING || thread->is_waiting_page);
    }
}

static void die(struct world *world)
{
    death.is_dead = 1;
    death.died_ns = sim_now_ns(world->sim);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        death.n_words[i] = (unsigned)sim_random(world->sim, LAST_WORDS + 1);
    }
    go(world, death.victim);
}

int death_takes(struct world *world, node_id at, node_id from,
                const struct message *message)
{
    if (death.nth == 0) {
        return 0;
    }
    if (at == death.victim && message->type != MESSAGE_beat &&
        ++death.n_messages == death.nth) {
        die(world);
    }
    if (death.is_gone[at] ||
        (death.is_dead && from == death.victim && death.n_words[at]-- == 0)) {
        death.n_words[at] = 0;
        return 1;
    }
    detector_hear(&death.pulses[at], from);
    return message->type == MESSAGE_beat;
}

static void end_all(struct world *world)
{
    for (unsigned i = 0; i < world->n_nodes; i++) {
        if (!death.is_gone[i]) {
            go(world, (node_id)i);
        }
    }
}

static int is_running(const struct world *world)
{
    return death.is_dead || world->n_ended < world->n_threads ||
           world->lives_left > 0;
}

static void poll_pulse(void *owner, uint64_t node)
{
    struct world *world = owner;
    node_id silent = NODE_NONE;

    if (death.is_gone[node]) {
        return;
    }
    switch (detector_poll(&death.pulses[node], &silent)) {
    case DETECTOR_LOST:
        CHECK(death.is_dead && silent == death.victim);             // D1
        CHECK(sim_now_ns(world->sim) - death.died_ns <= DETECT_NS); // D1
        end_all(world);
        return;
    case DETECTOR_SUSPECT:
        CHECK(death.is_dead && silent == death.victim);
        break;
    default:
        break;
    }
    if (is_running(world)) {
        sim_after(world->sim, POLL_NS, poll_pulse, world, node);
    }
}

void death_open(struct world *world)
{
    if (death.nth == 0) {
        return;
    }
    death.victim = (node_id)sim_random(world->sim, world->n_nodes);
    for (unsigned i = 0; i < world->n_nodes; i++) {
        death.host_of[i] = (uint16_t)(i / 2);
    }
    for (unsigned i = 0; i < world->n_nodes; i++) {
        detector_init(&death.pulses[i], sim_port(world->sim, (node_id)i),
                      death.host_of, TIMEOUT_S);
        sim_after(world->sim, 1000 * i, poll_pulse, world, i);
    }
}
