// SPDX-License-Identifier: BSD-3-Clause
//
// A node's file of a checkpoint, brought to the next host (buddies.c). It is in this host's memory,
// whole; parts of it go to that host's leader, who puts them into a file of the same name:
//
//   copy_begin        the first parts are sent: N_FLYING
//   COPY_TAKEN        the next one; when all are there, the root is told that this node has written
//
// What is done is done by the service thread: from memory to memory, a part at a time, so nobody waits
// for it, threads least of all. A part that cannot be taken ends it, and the root is told why.
//
// Y1 The root is told when no part is under way any more.
#include "base/log.h"
#include "cluster/host_ring.h"
#include "os/checkpoint_manifest.h"
#include "os/descriptor.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PART_SIZE (64u << 10)
#define N_FLYING 4u

_Static_assert(PART_SIZE <= MESSAGE_BODY_MAX, "a part is a body");

// ---- who has the file

static void end(struct node *node, const char *why)
{
    struct copy_out *out = &node->buddies.out;

    descriptor_drop(&out->fd);
    told_saved(node, &out->sum, why);
}

// @return NULL, or why it cannot be read
static const char *send_part(struct node *node, struct copy_out *out)
{
    static uint8_t bytes[PART_SIZE]; // under the node lock
    const ssize_t size =
        pread(out->fd, bytes, sizeof bytes, (off_t)out->n_sent);
    const struct message message = {
        .type = MESSAGE_copy_part,
        .u.copy_part = {.generation = node->checkpoint.generation,
                        .index = out->index,
                        .offset = out->n_sent},
        .body = bytes,
        .body_size = (uint32_t)size,
    };

    if (size <= 0) {
        return size < 0 ? strerror(errno) : "its file has become shorter";
    }
    port_send(&node->port, out->to, &message);
    out->n_sent += (uint64_t)size;
    out->n_flying++;
    return NULL;
}

static void send_more(struct node *node)
{
    struct copy_out *out = &node->buddies.out;

    while (out->why[0] == '\0' && out->n_flying < N_FLYING &&
           out->n_sent < out->sum.n_bytes) {
        const char *why = send_part(node, out);

        if (why != NULL) {
            snprintf(out->why, sizeof out->why, "%s", why);
        }
    }
    if (out->n_flying == 0) { // Y1
        end(node, out->why[0] == '\0' ? NULL : out->why);
    }
}

void copy_begin(struct node *node, uint32_t index,
                const struct checkpoint_sum *sum)
{
    struct copy_out *out = &node->buddies.out;
    char path[CHECKPOINT_PATH_MAX];

    checkpoint_file_path(path, node->options.checkpoint.folder,
                         node->checkpoint.generation, index);
    node_enter(node);
    *out = (struct copy_out){
        .fd = -1,
        .to = host_ring_next(&node->port.roster, node->members.host_of,
                             node->self),
        .index = index,
        .sum = *sum,
    };
    if (out->to == NODE_NONE) {
        end(node, NULL);
    } else {
        out->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (out->fd < 0) {
            end(node, strerror(errno));
        } else {
            send_more(node);
        }
    }
    node_leave(node);
}

tm_status copy_take_answer(struct node *node, node_id from,
                           const struct message *message)
{
    struct copy_out *out = &node->buddies.out;

    if (out->n_flying == 0 || from != out->to ||
        message->u.copy_taken.generation != node->checkpoint.generation) {
        return TM_EWIRE;
    }
    out->n_flying--;
    if (message->body_size > 0 && out->why[0] == '\0') {
        snprintf(out->why, sizeof out->why, "%.*s", (int)message->body_size,
                 (const char *)message->body);
    }
    send_more(node);
    return TM_OK;
}

void copy_close(struct node *node)
{
    descriptor_drop(&node->buddies.out.fd);
}

// ---- the next host

static const char *write_part(const struct node *node,
                              const struct message *message)
{
    const struct message_copy_part *part = &message->u.copy_part;
    const char *folder = node->options.checkpoint.folder;
    char path[CHECKPOINT_PATH_MAX];
    const char *why = checkpoint_open_generation(folder, part->generation);
    ssize_t written;
    int fd;

    if (why != NULL) {
        return why;
    }
    checkpoint_file_path(path, folder, part->generation, part->index);
    fd =
        open(path,
             O_WRONLY | O_CREAT | O_CLOEXEC | (part->offset == 0 ? O_TRUNC : 0),
             0600);
    if (fd < 0) {
        return strerror(errno);
    }
    errno = 0;
    written =
        pwrite(fd, message->body, message->body_size, (off_t)part->offset);
    why = written == (ssize_t)message->body_size ? NULL
          : errno != 0                           ? strerror(errno)
                                                 : strerror(ENOSPC);
    close(fd);
    return why;
}

tm_status copy_take_part(struct node *node, node_id from,
                         const struct message *message)
{
    const uint64_t generation = message->u.copy_part.generation;
    const char *why;

    if (!node->options.buddy || !roster_has(&node->port.roster, from) ||
        message->u.copy_part.index != roster_place(&node->port.roster, from) ||
        host_ring_next(&node->port.roster, node->members.host_of, from) !=
            node->self) {
        return TM_EWIRE;
    }
    why = planned_faults_refuse_copy(&node->planned_faults)
              ? strerror(ENOSPC)
              : write_part(node, message);
    port_send(&node->port, from,
              &(struct message){
                  .type = MESSAGE_copy_taken,
                  .u.copy_taken = {.generation = generation},
                  .body = why,
                  .body_size = why == NULL ? 0 : (uint32_t)strlen(why),
              });
    return TM_OK;
}
