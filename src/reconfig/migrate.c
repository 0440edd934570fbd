// SPDX-License-Identifier: BSD-3-Clause
//
// A thread on its way between two nodes.
//
//   old node: suspended -> packed -> THREAD_MOVE, THREAD_STACK ... -> forgotten
//   new node: THREAD_MOVE: a record with room for the stack; THREAD_STACK fills it
//             from the low end; when it is full the thread is made of it
//
// Messages between two nodes stay in order, so parts of one thread come one after
// the other; threads of different nodes may interleave.
#include "reconfig/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/list.h"
#include "base/log.h"

#define BYTES_MAX (80u << 20) // of the largest stack and arena

struct traveller {
    struct traveller *next;
    node_id from;
    struct message_thread_move move;
    char name[16];
    size_t size;
    size_t n_come;
    char bytes[];
};

struct migration {
    const struct port *port;
    migration_arrived_fn *arrived;
    void *owner;
    struct traveller *travellers;
};

struct migration *migration_new(const struct port *port,
                                migration_arrived_fn *arrived, void *owner)
{
    struct migration *migration = calloc(1, sizeof *migration);

    if (migration != NULL) {
        migration->port = port;
        migration->arrived = arrived;
        migration->owner = owner;
    }
    return migration;
}

void migration_free(struct migration *migration)
{
    if (migration == NULL) {
        return;
    }
    list_take_each (traveller, migration->travellers) {
        free(traveller);
    }
    free(migration);
}

static void send_stack(const struct port *port, node_id to,
                       const struct moved_thread *thread)
{
    struct message message = {.type = MESSAGE_thread_stack};
    size_t offset = 0;

    while (offset < thread->packed.size) {
        size_t part = thread->packed.size - offset;

        part = part > MESSAGE_BODY_MAX ? MESSAGE_BODY_MAX : part;
        message.u.thread_stack.thread = thread->number;
        message.u.thread_stack.offset = offset;
        message.body = (const char *)thread->packed.bytes + offset;
        message.body_size = (uint32_t)part;
        port_send(port, to, &message);
        offset += part;
    }
}

void migration_write(const struct port *port, node_id to,
                     const struct moved_thread *thread)
{
    uint8_t body[32];
    struct wire_writer writer = {body, body + sizeof body, 0};
    struct message message = {.type = MESSAGE_thread_move, .body = body};

    wire_put_thread_name(&writer, &(struct wire_thread_name){thread->name});
    message.body_size = (uint32_t)(writer.at - body);
    message.u.thread_move = (struct message_thread_move){
        .thread = thread->number,
        .context = thread->packed.context,
        .end = thread->packed.end,
        .compute_ns = thread->compute_ns,
        .moves = thread->moves,
        .n_barriers = thread->n_barriers,
    };
    port_send(port, to, &message);
    send_stack(port, to, thread);
}

void migration_send(struct migration *migration, node_id to,
                    const struct moved_thread *thread)
{
    migration_write(migration->port, to, thread);
}

static tm_status begin(struct migration *migration, node_id from,
                       const struct message *message)
{
    const struct message_thread_move *move = &message->u.thread_move;
    struct wire_reader reader = wire_read_body(message);
    const char *name = wire_get_thread_name(&reader).name;
    struct traveller *traveller;

    if (reader.failed || move->end <= move->context ||
        move->end - move->context > BYTES_MAX) {
        return TM_EWIRE;
    }
    traveller = calloc(1, sizeof *traveller + move->end - move->context);
    ensure_memory(traveller != NULL);
    traveller->from = from;
    traveller->move = *move;
    traveller->size = move->end - move->context;
    snprintf(traveller->name, sizeof traveller->name, "%s", name);
    list_push(migration->travellers, traveller);
    return TM_OK;
}

static tm_status arrive(struct migration *migration,
                        struct traveller *traveller)
{
    struct moved_thread moved = {
        .number = traveller->move.thread,
        .compute_ns = traveller->move.compute_ns,
        .moves = traveller->move.moves,
        .n_barriers = traveller->move.n_barriers,
        .name = traveller->name,
        .packed = {.slot = (unsigned)(uint32_t)traveller->move.thread,
                   .context = traveller->move.context,
                   .end = traveller->move.end,
                   .bytes = traveller->bytes,
                   .size = traveller->size},
    };
    tm_status status = migration->arrived(migration->owner, &moved);

    free(traveller);
    return status;
}

static tm_status add_part(struct migration *migration, node_id from,
                          const struct message *message)
{
    struct traveller *traveller = migration->travellers;

    while (traveller != NULL &&
           (traveller->from != from ||
            traveller->move.thread != message->u.thread_stack.thread)) {
        traveller = traveller->next;
    }
    if (traveller == NULL || message->body_size == 0 ||
        message->u.thread_stack.offset != traveller->n_come ||
        message->body_size > traveller->size - traveller->n_come) {
        return TM_EWIRE;
    }
    memcpy(traveller->bytes + traveller->n_come, message->body,
           message->body_size);
    traveller->n_come += message->body_size;
    if (traveller->n_come == traveller->size) {
        list_remove(migration->travellers, traveller);
        return arrive(migration, traveller);
    }
    return TM_OK;
}

tm_status migration_receive(struct migration *migration, node_id from,
                            const struct message *message)
{
    tm_status status = message->type == MESSAGE_thread_move
                           ? begin(migration, from, message)
                           : add_part(migration, from, message);

    if (status != TM_OK) {
        log_error("a thread that node %u sends is malformed", from);
    }
    return status;
}
