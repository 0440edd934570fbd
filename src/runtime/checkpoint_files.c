// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a checkpoint, written by a kernel thread beside the program: what goes into them
// has been copied while threads were held, so these go on, and do not wait for the disk.
//
// A node has one such thread at most. It has nothing but its records, says to the root what has
// come of it as the last thing, and ends.
//
// F1 A file is written from copies, or while threads are held: what threads do meanwhile is
//    not in it.
#include "base/log.h"
#include "base/vector.h"
#include "os/kthread.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- records

static void add_bytes(struct cut_records *records, const void *bytes,
                      size_t size)
{
    vector_reserve(records->bytes, records->room, records->n + size);
    if (size > 0) {
        memcpy(records->bytes + records->n, bytes, size);
    }
    records->n += size;
}

void records_add(void *owner, node_id to, const struct message *message)
{
    struct cut_records *records = owner;
    uint8_t header[MESSAGE_HEADER_MAX];
    const uint32_t n = message_encode_header(message, header);
    const uint32_t size = n + message->body_size;

    (void)to;
    add_bytes(records, &size, sizeof size);
    add_bytes(records, header, n);
    add_bytes(records, message->body, message->body_size);
}

void records_write(const struct cut_records *records,
                   struct checkpoint_writer *writer)
{
    size_t at = 0;

    while (at < records->n) {
        uint32_t size;

        memcpy(&size, records->bytes + at, sizeof size);
        checkpoint_write(writer, records->bytes + at + sizeof size, size, NULL,
                         0);
        at += sizeof size + size;
    }
}

// ---- this node's file

const char *file_begin(struct node *node, struct checkpoint_writer *writer)
{
    char path[CHECKPOINT_PATH_MAX];
    unsigned index = 0;

    while (node->port.roster.live[index] != node->self) {
        index++;
    }
    checkpoint_file_path(path, node->options.checkpoint.folder,
                         node->checkpoint.generation, index);
    return checkpoint_write_begin(writer, path);
}

void file_tell_saved(struct node *node, const struct checkpoint_sum *sum,
                     const char *why)
{
    char text[CHECKPOINT_PATH_MAX + 160];
    const struct message message = {
        .type = MESSAGE_cut_saved,
        .u.cut_saved =
            {
                .cut = node->checkpoint.cut,
                .is_whole = why == NULL,
                .n_bytes = sum->n_bytes,
                .hash = sum->hash,
            },
        .body = why == NULL ? NULL : text,
        .body_size = why == NULL ? 0
                                 : (uint32_t)snprintf(
                                       text, sizeof text, "%s: %s",
                                       node->options.checkpoint.folder, why),
    };

    node_enter(node);
    port_send(&node->port, 0, &message);
    node_leave(node);
}

static void write_file(struct node *node)
{
    struct cut_records *records = &node->checkpoint.records;
    struct checkpoint_writer writer = {0};
    const char *why;

    planned_faults_delay_file(&node->planned_faults);
    why = file_begin(node, &writer);
    if (why == NULL) {
        records_write(records, &writer);
        why = checkpoint_write_end(&writer);
    }
    records_drop(records);
    file_tell_saved(node, &writer.sum, why);
}

void records_drop(struct cut_records *records)
{
    free(records->bytes);
    *records = (struct cut_records){0};
}

// ---- the manifest

static void confirm(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    const char *folder = node->options.checkpoint.folder;
    const char *why;

    if (checkpoint->why[0] == '\0') {
        why = checkpoint_commit(folder, checkpoint->manifest);
        if (why != NULL) {
            snprintf(checkpoint->why, sizeof checkpoint->why,
                     "cannot write to %s: %s", folder, why);
        }
    }
    if (checkpoint->why[0] != '\0') {
        checkpoint_remove(folder, checkpoint->generation);
    } else {
        checkpoint_tidy(folder);
    }
    node_enter(node);
    checkpoint->is_confirmed = 1;
    node_leave(node);
}

// ---- the kernel thread

static void *run(void *argument)
{
    struct node *node = argument;

    node->checkpoint.file_work(node);
    node_wake_service(node);
    return NULL;
}

static tm_status start(struct node *node, void (*work)(struct node *node))
{
    struct checkpoint *checkpoint = &node->checkpoint;
    tm_status status;

    files_close(node); // it has told that it ends
    checkpoint->file_work = work;
    status =
        kthread_start(&checkpoint->file_thread, "tm-checkpoint", run, node);
    checkpoint->has_file_thread = status == TM_OK;
    return status;
}

void files_write(struct node *node)
{
    if (start(node, write_file) != TM_OK) {
        write_file(node); // so a worker waits for the disk
    }
}

tm_status files_confirm(struct node *node)
{
    return start(node, confirm);
}

void files_close(struct node *node)
{
    if (node->checkpoint.has_file_thread) {
        pthread_join(node->checkpoint.file_thread, NULL);
        node->checkpoint.has_file_thread = 0;
    }
}
