// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a checkpoint, written by a kernel thread beside the program: what goes into them
// has been copied while threads were held, so these go on, and do not wait for the disk.
//
// A node has one such thread at most. It has nothing but its records, says to the root what has
// come of it as the last thing, and ends.
//
// The memory for copies is lent to the kernel until the next time, so that threads do not wait then for
// as many faults as there are pages: those take four fifths of the time of copying.
//
// F1 A file is written from copies, or while threads are held: what threads do meanwhile is
//    not in it.
#include "os/kthread.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <stdio.h>
#include <stdlib.h>

// ---- this node's file

static void add_copies(struct part_writer *writer,
                       const struct cut_copies *copies)
{
    const uint8_t *at = copies->bytes.bytes;

    for (size_t i = 0; i < copies->n; at += copies->pages[i++].size) {
        part_add_page(writer, copies->pages[i].page, at, copies->pages[i].size);
    }
}

static void write_file(struct node *node)
{
    struct part_writer writer;
    const char *why;

    planned_faults_delay_file(&node->planned_faults);
    why = part_begin(&writer, node);
    if (why != NULL) {
        files_drop(node);
        part_tell_failed(node, why);
        return;
    }
    part_add_records(&writer, &node->checkpoint.records);
    add_copies(&writer, &node->checkpoint.copies);
    files_drop(node);
    part_end(&writer);
}

void files_drop(struct node *node)
{
    struct cut_copies *copies = &node->checkpoint.copies;

    records_drop(&node->checkpoint.records);
    free(copies->pages);
    copies->pages = NULL;
    copies->n = 0;
    if (paging_is_on(&node->paging)) {
        spare_memory_release(&copies->bytes); // a budget counts it
    } else {
        spare_memory_lend(&copies->bytes);
    }
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
