// SPDX-License-Identifier: BSD-3-Clause
//
// A deadlock: every thread of every node waits, and nothing has happened for
// --deadlock-after seconds. The root asks all nodes once a second, in rounds:
//
//   quiet   no round under way; after 1 s -> asking
//   asking  IDLE_ASK sent to all; answers are added up; when all have come, either
//           somebody runs or something happened since the last round: quiet, the
//           clock starts anew; or all wait and nothing happened: when this has
//           lasted long enough -> telling
//   telling WAITS_ASK sent to all; when all have told, the run ends (or goes on,
//           with --deadlock=warn)
//
// D1 `activity` of a node counts the messages it has handled, without those of
//    this file, and without barrier_check, which managers of barriers send for as
//    long as a thread waits there; the sum over all nodes cannot stay the same while a message is on
//    its way that will wake somebody, for longer than messages travel.
#include "runtime/deadlock.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/error_report.h"
#include "runtime/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_EVERY_NS (1000u * 1000 * 1000)
#define SECOND_NS (1000ull * 1000 * 1000)

// Naming the place of a thread takes a while.
#define N_PLACED 32u

static void send_all(struct node *node, struct message *message, uint64_t round)
{
    message->u.idle_ask.round = round;
    port_send_all(&node->port, message);
}

static int tick(struct node *node)
{
    struct deadlock *deadlock = &node->deadlock;
    struct message message = {.type = MESSAGE_idle_ask};
    uint64_t now_ns = clock_now_ns();

    if (node->self != 0 || node->options.deadlock == DEADLOCK_OFF ||
        node_is_frozen(node) || node_step(node) != RUNTIME_RUNNING ||
        deadlock->step != DEADLOCK_QUIET ||
        now_ns - deadlock->asked_ns < ASK_EVERY_NS) {
        return 0;
    }
    deadlock->step = DEADLOCK_ASKING;
    deadlock->asked_ns = now_ns;
    deadlock->round++;
    deadlock->sum = 0;
    deadlock->n_answers = 0;
    deadlock->n_blocked = 0;
    send_all(node, &message, deadlock->round);
    return 0;
}

// What was found out until now counts for nothing.
static void restart(struct node *node, int is_first)
{
    struct deadlock *deadlock = &node->deadlock;

    (void)is_first;
    deadlock->step = DEADLOCK_QUIET;
    deadlock->asked_ns = clock_now_ns();
    deadlock->since_ns = 0;
    deadlock->round++; // answers of the old one count for nothing
}

static void answer_idle(struct node *node, node_id to, uint64_t round)
{
    struct message message = {.type = MESSAGE_idle};
    unsigned n_threads;
    unsigned n_parked;

    ult_census(node->ult, &n_threads, &n_parked);
    message.u.idle.round = round;
    message.u.idle.activity = node->activity;
    message.u.idle.blocked =
        n_threads == n_parked && !sync_has_timed(node->sync);
    port_send(&node->port, to, &message);
}

// Who waits for what, one after the other. @return 0 at the end
static int next_wait(struct node *node, uint64_t *cursor,
                     const struct open_group **group, char *text, size_t size)
{
    if (*group == NULL && sync_next_wait(node->sync, cursor, text, size)) {
        return 1;
    }
    *group = tasking_next_wait(node, *group, text, size);
    return *group != NULL;
}

static void answer_waits(struct node *node, node_id to, uint64_t round)
{
    uint8_t body[8192];
    struct message message = {.type = MESSAGE_waits, .body = body};
    uint64_t cursor = 0;
    const struct open_group *group = NULL;
    char bare[256];
    char line[512];
    size_t used = 0;

    for (unsigned n = 0; next_wait(node, &cursor, &group, bare, sizeof bare);
         n++) {
        const char *told = bare;

        if (n < N_PLACED) {
            report_complete_line(node, bare, line, sizeof line);
            told = line;
        }
        if (used + strlen(told) + sizeof "\n...\n" > sizeof body) {
            used += (size_t)snprintf((char *)body + used, sizeof body - used,
                                     "...\n");
            break;
        }
        used += (size_t)snprintf((char *)body + used, sizeof body - used,
                                 "%s\n", told);
    }
    engine_tell_waits(node->engine); // debug builds: a page that never comes
    message.u.waits.round = round;
    message.body_size = (uint32_t)used;
    port_send(&node->port, to, &message);
}

static void conclude(struct node *node, struct deadlock *deadlock)
{
    struct message message = {.type = MESSAGE_waits_ask};
    int is_stuck = deadlock->n_blocked == node->port.roster.n_live &&
                   deadlock->sum == deadlock->last_sum;

    deadlock->last_sum = deadlock->sum;
    deadlock->step = DEADLOCK_QUIET;
    if (!is_stuck) {
        deadlock->since_ns = 0;
        deadlock->has_warned = 0;
        return;
    }
    if (deadlock->since_ns == 0) {
        deadlock->since_ns = clock_now_ns();
    }
    if (clock_now_ns() - deadlock->since_ns <
            node->options.deadlock_after * SECOND_NS ||
        deadlock->has_warned) {
        return;
    }
    log_error("deadlock: all threads have been waiting for %u s",
              node->options.deadlock_after);
    deadlock->step = DEADLOCK_TELLING;
    deadlock->n_answers = 0;
    send_all(node, &message, deadlock->round);
}

static void receive_idle(struct node *node, const struct message_idle *idle)
{
    struct deadlock *deadlock = &node->deadlock;

    if (deadlock->step != DEADLOCK_ASKING || idle->round != deadlock->round) {
        return;
    }
    deadlock->sum += idle->activity;
    deadlock->n_blocked += idle->blocked != 0;
    if (++deadlock->n_answers == node->port.roster.n_live) {
        conclude(node, deadlock);
    }
}

static void print_lines(node_id from, const struct message *message)
{
    const char *at = message->body;
    const char *end = at + message->body_size;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        int length = (int)((newline == NULL ? end : newline) - at);

        log_error("node %u: %.*s", from, length, at);
        at += length + 1;
    }
}

static void receive_waits(struct node *node, node_id from,
                          const struct message *message)
{
    struct deadlock *deadlock = &node->deadlock;

    if (deadlock->step != DEADLOCK_TELLING ||
        message->u.waits.round != deadlock->round) {
        return;
    }
    print_lines(from, message);
    if (++deadlock->n_answers < node->port.roster.n_live) {
        return;
    }
    if (node->options.deadlock == DEADLOCK_ABORT) {
        log_fatal(EXIT_DEADLOCK, "the run ends; --deadlock=warn lets it go on");
    }
    deadlock->step = DEADLOCK_QUIET;
    deadlock->has_warned = 1;
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    switch (message->type) {
    case MESSAGE_idle_ask:
        answer_idle(node, from, message->u.idle_ask.round);
        break;
    case MESSAGE_waits_ask:
        answer_waits(node, from, message->u.waits_ask.round);
        break;
    case MESSAGE_idle:
        receive_idle(node, &message->u.idle);
        break;
    default:
        receive_waits(node, from, message);
        break;
    }
    return TM_OK;
}

const struct part part_deadlock = {
    .tick = tick,
    .owns = OWNER_deadlock,
    .receive = receive,
    .roster_changed = restart,
    .save = parts_save_nothing,
};
