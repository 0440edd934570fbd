// SPDX-License-Identifier: BSD-3-Clause
//
// A node's files of a checkpoint, brought to the next host (buddies.c): its own, which is in this host's
// memory, whole, and the older ones that it refers to. That host's leader has most of these from
// earlier generations, and gives them a second name:
//
//   copy_begin        the first older file is asked for (COPY_KEEP)
//   COPY_KEPT         it is there: the next one; it is not, for another host was the next one
//                     then: its parts are sent, as if it were new
//   own file          its first parts are sent: N_FLYING
//   COPY_TAKEN        the next one; when all are there, the next file
//   after the last    the root is told that this node has written
//
// What is done is done by the service thread: from memory to memory, a part at a time, so nobody waits
// for it, threads least of all. A part that cannot be taken ends it, and the root is told why.
//
// Y1 The root is told when no part is under way any more.
// Y2 What a host is not known to have is sent: it says what it has, and nobody remembers that.
#include "base/log.h"
#include "cluster/host_ring.h"
#include "os/checkpoint_manifest.h"
#include "os/descriptor.h"
#include "os/memory_watch.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PART_SIZE (64u << 10)
#define N_FLYING 4u

/** So many times what has come of another host's file must there be still, for this host's program. */
#define TIMES_OF_OTHERS 2u

_Static_assert(PART_SIZE <= MESSAGE_BODY_MAX, "a part is a body");

// ---- who has the files

static const struct checkpoint_older *file_under_way(const struct copy_out *out)
{
    return &out->files[out->n_begun - 1];
}

static void end(struct node *node, const char *why)
{
    struct copy_out *out = &node->buddies.out;

    descriptor_drop(&out->fd);
    told_saved(node, &out->files[out->n - 1].sum, why);
}

// @return NULL, or why it cannot be read
static const char *send_part(struct node *node, struct copy_out *out)
{
    static uint8_t bytes[PART_SIZE]; // under the node lock
    const struct checkpoint_older *file = file_under_way(out);
    const ssize_t size =
        pread(out->fd, bytes, sizeof bytes, (off_t)out->n_sent);
    const struct message message = {
        .type = MESSAGE_copy_part,
        .u.copy_part = {.generation = node->checkpoint.generation,
                        .of = file->generation,
                        .index = (uint32_t)file->index,
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

static void send_parts(struct node *node)
{
    struct copy_out *out = &node->buddies.out;

    while (out->why[0] == '\0' && out->n_flying < N_FLYING &&
           out->n_sent < file_under_way(out)->sum.n_bytes) {
        const char *why = send_part(node, out);

        if (why != NULL) {
            snprintf(out->why, sizeof out->why, "%s", why);
        }
    }
}

static void begin_parts(struct node *node)
{
    struct copy_out *out = &node->buddies.out;
    char path[CHECKPOINT_PATH_MAX];

    checkpoint_path_of(path, node->options.checkpoint.folder,
                       node->checkpoint.generation, file_under_way(out));
    out->n_sent = 0;
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0) {
        snprintf(out->why, sizeof out->why, "%s", strerror(errno));
    } else {
        send_parts(node);
    }
}

static void ask_for_it(struct node *node)
{
    struct copy_out *out = &node->buddies.out;
    const struct checkpoint_older *file = file_under_way(out);

    out->is_asked = 1;
    port_send(&node->port, out->to,
              &(struct message){
                  .type = MESSAGE_copy_keep,
                  .u.copy_keep = {.generation = node->checkpoint.generation,
                                  .newest = node->checkpoint.newest,
                                  .of = file->generation,
                                  .index = (uint32_t)file->index,
                                  .n_bytes = file->sum.n_bytes},
              });
}

static void begin_file(struct node *node)
{
    struct copy_out *out = &node->buddies.out;

    out->n_begun++;
    if (file_under_way(out)->generation == node->checkpoint.generation) {
        begin_parts(node);
    } else {
        ask_for_it(node);
    }
}

// To the next file, if nothing of one is under way.
static void go_on(struct node *node)
{
    struct copy_out *out = &node->buddies.out;

    while (out->n_flying == 0 && !out->is_asked) { // Y1
        descriptor_drop(&out->fd);
        if (out->why[0] != '\0' || out->n_begun == out->n) {
            end(node, out->why[0] == '\0' ? NULL : out->why);
            return;
        }
        begin_file(node);
    }
}

void copy_begin(struct node *node, const struct checkpoint_older *files,
                unsigned n)
{
    struct copy_out *out = &node->buddies.out;

    node_enter(node);
    *out = (struct copy_out){
        .fd = -1,
        .to = host_ring_next(&node->port.roster, node->members.host_of,
                             node->self),
        .n = n,
    };
    memcpy(out->files, files, n * sizeof *files);
    if (out->to == NODE_NONE) {
        end(node, NULL);
    } else {
        go_on(node);
    }
    node_leave(node);
}

tm_status copy_take_kept(struct node *node, node_id from,
                         const struct message_copy_kept *kept)
{
    struct copy_out *out = &node->buddies.out;

    if (!out->is_asked || from != out->to ||
        kept->generation != node->checkpoint.generation) {
        return TM_EWIRE;
    }
    out->is_asked = 0;
    if (!kept->is_kept) { // Y2
        begin_parts(node);
    }
    go_on(node);
    return TM_OK;
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
    send_parts(node);
    go_on(node);
    return TM_OK;
}

void copy_close(struct node *node)
{
    descriptor_drop(&node->buddies.out.fd);
}

// ---- the next host

// Is this the leader that another node's files go to?
static int is_for_here(const struct node *node, node_id from)
{
    return node->options.buddy && roster_has(&node->port.roster, from) &&
           host_ring_next(&node->port.roster, node->members.host_of, from) ==
               node->self;
}

static int keep_file(const struct node *node,
                     const struct message_copy_keep *keep)
{
    const char *folder = node->options.checkpoint.folder;
    const struct checkpoint_older older = {.generation = keep->of,
                                           .index = keep->index,
                                           .sum = {.n_bytes = keep->n_bytes}};

    return checkpoint_open_generation(folder, keep->generation) == NULL &&
           checkpoint_keep(folder, keep->generation, keep->newest, &older) ==
               NULL;
}

tm_status copy_take_keep(struct node *node, node_id from,
                         const struct message_copy_keep *keep)
{
    if (!is_for_here(node, from) || keep->index >= TM_MAX_NODES ||
        keep->of > keep->newest || keep->newest >= keep->generation) {
        return TM_EWIRE;
    }
    port_send(&node->port, from,
              &(struct message){
                  .type = MESSAGE_copy_kept,
                  .u.copy_kept = {.generation = keep->generation,
                                  .is_kept = (uint8_t)keep_file(node, keep)},
              });
    return TM_OK;
}

static const char *write_part(const struct node *node,
                              const struct message *message)
{
    const struct message_copy_part *part = &message->u.copy_part;
    const struct checkpoint_older file = {.generation = part->of,
                                          .index = part->index};
    const char *folder = node->options.checkpoint.folder;
    char path[CHECKPOINT_PATH_MAX];
    const char *why = checkpoint_open_generation(folder, part->generation);
    ssize_t written;
    int fd;

    if (why != NULL) {
        return why;
    }
    checkpoint_path_of(path, folder, part->generation, &file);
    if (part->offset == 0) {
        unlink(path); // what other generations have under that name stays
    }
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
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

// @param n_bytes  of another host's file of a generation that would be here
static const char *why_not_taken(const struct node *node, uint64_t generation,
                                 uint64_t n_bytes)
{
    struct memory_watch watch;
    struct memory_state memory;

    if (memory_open(&watch, "") != TM_OK) {
        return NULL;
    }
    memory_read(&watch, &memory);
    return planned_faults_spare(&node->planned_faults, generation,
                                memory.available.bytes) /
                       TIMES_OF_OTHERS >=
                   n_bytes
               ? NULL
               : "the next host has too little memory for it";
}

// Memory is looked at now and then, for that takes some calls of the kernel.
static const char *take_part(struct node *node, const struct message *message)
{
    enum { LOOK_SIZE = 16 * PART_SIZE };
    const struct message_copy_part *part = &message->u.copy_part;
    const char *why = NULL;

    if (part->offset % LOOK_SIZE == 0) {
        why = why_not_taken(node, part->generation, part->offset + LOOK_SIZE);
    }
    return why != NULL ? why : write_part(node, message);
}

static int is_of_sender(const struct node *node, node_id from,
                        const struct message_copy_part *part)
{
    return part->of == part->generation
               ? part->index == roster_place(&node->port.roster, from)
               : part->of < part->generation && part->index < TM_MAX_NODES;
}

tm_status copy_take_part(struct node *node, node_id from,
                         const struct message *message)
{
    const uint64_t generation = message->u.copy_part.generation;
    const char *why;

    if (!is_for_here(node, from) ||
        !is_of_sender(node, from, &message->u.copy_part)) {
        return TM_EWIRE;
    }
    why = planned_faults_refuse_copy(&node->planned_faults)
              ? strerror(ENOSPC)
              : take_part(node, message);
    port_send(&node->port, from,
              &(struct message){
                  .type = MESSAGE_copy_taken,
                  .u.copy_taken = {.generation = generation},
                  .body = why,
                  .body_size = why == NULL ? 0 : (uint32_t)strlen(why),
              });
    return TM_OK;
}
