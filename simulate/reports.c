// SPDX-License-Identifier: BSD-3-Clause
//
// What a simulated node tells the root of an iteration: the same message, at the same moment,
// as runtime/iteration.c, by the virtual clock.
#include "base/memory.h"
#include "base/vector.h"
#include "simulate/lab_priv.h"

static uint64_t now_ns(const struct lab_node *node)
{
    return node->lab->events.now_ns;
}

// A period of barriers is not looked for: the program says where iterations end.
void report_note(struct actor *actor)
{
    struct lab_node *node = actor->node;

    if (node->lab->decider == NULL) {
        return; // nobody wants to know
    }
    vector_reserve(node->arrivals, node->n_room, node->n_arrivals + 1);
    node->arrivals[node->n_arrivals++] = (struct told_arrival){
        .number = actor->number,
        .comp_ns = actor->comp_ns,
        .n_barriers = actor->n_barriers,
    };
    actor->comp_ns = 0;
}

static uint16_t put_peers(struct lab_node *node, struct wire_writer *writer)
{
    const struct roster *roster = &node->port.roster;
    uint16_t n_peers = 0;

    for (unsigned i = 0; i < roster->n_live; i++) {
        uint64_t *bytes = &node->sent_bytes[roster->live[i]];

        if (*bytes > 0) {
            wire_put_peer_bytes(writer,
                                &(struct wire_peer_bytes){(uint16_t)i, *bytes});
            *bytes = 0;
            n_peers++;
        }
    }
    return n_peers;
}

static void put_arrivals(const struct lab_node *node,
                         struct wire_writer *writer)
{
    for (uint32_t i = 0; i < node->n_arrivals; i++) {
        wire_put_thread_iteration(
            writer, &(struct wire_thread_iteration){
                        .thread = node->arrivals[i].number,
                        .comp_ns = node->arrivals[i].comp_ns,
                        .n_barriers = node->arrivals[i].n_barriers,
                        .place = 1,
                    });
    }
}

static uint64_t longest_wall_ns(struct lab_node *node)
{
    uint64_t longest = 0;

    for (unsigned i = 0; i < node->n_workers; i++) {
        worker_note(&node->workers[i]);
        longest = node->workers[i].wall_ns > longest ? node->workers[i].wall_ns
                                                     : longest;
        node->workers[i].wall_ns = 0;
    }
    return longest;
}

// Threads that wait for memory wait in place: their worker's time goes on.
static void add_memory(struct lab_node *node, struct message_iteration *report)
{
    struct pager_stats now = {0};

    if (node->pager == NULL) {
        return;
    }
    pager_stats(node->pager, &now);
    report->mem_ns = node->wait_ns / node->n_workers;
    report->out_ns = node->out_ns / node->n_workers;
    report->pages_in =
        now.ins + now.dropped - node->told.ins - node->told.dropped;
    report->pages_out = now.outs + now.outs_saved + now.dropped -
                        node->told.outs - node->told.outs_saved -
                        node->told.dropped;
    report->comp_ns -=
        report->mem_ns < report->comp_ns ? report->mem_ns : report->comp_ns;
    node->told = now;
    node->wait_ns = 0;
    node->out_ns = 0;
}

static void send_report(struct lab_node *node)
{
    const size_t room = node->n_arrivals * WIRE_SIZE_thread_iteration +
                        node->port.roster.n_live * WIRE_SIZE_peer_bytes;
    uint8_t *body = memory_new(room, 1);
    struct wire_writer writer = {body, body + room, 0};
    struct message message = {
        .type = MESSAGE_iteration,
        .u.iteration = {.busy_ns = node->busy_ns,
                        .comp_ns = longest_wall_ns(node),
                        .release_ns = node->release_ns,
                        .marked = MARKED_BY_PROGRAM},
        .body = body,
    };

    add_memory(node, &message.u.iteration);
    message.u.iteration.n_peers = put_peers(node, &writer);
    put_arrivals(node, &writer);
    message.body_size = (uint32_t)(writer.at - body);
    port_send(&node->port, 0, &message);
    free(body);
    node->n_arrivals = 0;
    node->busy_ns = 0;
    node->release_ns = 0;
}

static void note_sent(struct lab_node *node)
{
    node->busy_ns += now_ns(node) - node->began_ns;
    node->release_ns += now_ns(node) - node->arrived_ns;
    node->began_ns = now_ns(node);
    if (node->n_arrivals > 0) {
        send_report(node);
    }
}

void report_at_barrier(void *owner, uint64_t key, enum sync_stage stage)
{
    struct lab_node *node = owner;

    (void)key;
    switch (stage) {
    case STAGE_ARRIVED:
        node->arrived_ns = now_ns(node);
        break;
    case STAGE_SENT:
        note_sent(node);
        break;
    case STAGE_PASSING:
        node->began_ns = now_ns(node);
        if (node->id == 0) {
            decider_passes(node->lab);
        }
        break;
    }
}
