// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a node's parts, and who is told what. A file below may tell all parts
// something, which are above it: so no part needs to know those that must be told.
//
// P1 Each type of message is of one part at most.
#include "runtime/parts.h"

#include <string.h>

#include "base/ensure.h"
#include "runtime/runtime.h"

// ---- what a part does not do

void part_no_step(void)
{
}

int part_no_tick(void)
{
    return 0;
}

tm_status part_no_receive(node_id from, const struct message *message)
{
    (void)from;
    (void)message;
    return TM_EWIRE;
}

void part_no_thread(struct thread *thread)
{
    (void)thread;
}

void part_no_roster(int is_first)
{
    (void)is_first;
}

void part_no_stats(struct tm_node_stats *stats)
{
    (void)stats;
}

// ---- all parts

#define EACH(part)                                                             \
    const struct part *const *part = runtime.parts;                            \
    *part != NULL;                                                             \
    part++

static void note_messages(const struct part *part)
{
    for (unsigned i = 0; i < PART_MESSAGES_MAX && part->messages[i] != 0; i++) {
        const unsigned type = part->messages[i];

        ensure(type < PARTS_MESSAGE_ENDS &&
               runtime.part_of[type] == NULL); // P1
        runtime.part_of[type] = part;
    }
}

void parts_use(const struct part *const *parts)
{
    memset(runtime.part_of, 0, sizeof runtime.part_of);
    runtime.parts = parts;
    for (EACH(part)) {
        note_messages(*part);
    }
}

void parts_open(void)
{
    for (EACH(part)) {
        (*part)->open();
    }
}

void parts_start(void)
{
    for (EACH(part)) {
        (*part)->start();
    }
}

int parts_tick(void)
{
    int is_busy = 0;

    for (EACH(part)) {
        is_busy |= (*part)->tick();
    }
    return is_busy;
}

tm_status parts_receive(node_id from, const struct message *message)
{
    const struct part *part = (unsigned)message->type < PARTS_MESSAGE_ENDS
                                  ? runtime.part_of[message->type]
                                  : NULL;

    return part == NULL ? TM_EWIRE : part->receive(from, message);
}

void parts_thread_arrived(struct thread *thread)
{
    for (EACH(part)) {
        (*part)->thread_arrived(thread);
    }
}

void parts_thread_left(struct thread *thread)
{
    for (EACH(part)) {
        (*part)->thread_left(thread);
    }
}

void parts_roster_changed(int is_first)
{
    for (EACH(part)) {
        (*part)->roster_changed(is_first);
    }
}

void parts_stats(struct tm_node_stats *stats)
{
    for (EACH(part)) {
        (*part)->stats(stats);
    }
}

void parts_finish(void)
{
    for (EACH(part)) {
        (*part)->finish();
    }
}

void parts_close(void)
{
    for (EACH(part)) {
        (*part)->close();
    }
}
