// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a checkpoint, written by a kernel thread beside the program: a snapshot is taken of pages
// while threads are held (mem/snapshot.c), so these go on, and do not wait for the disk.
//
// A node has one such thread at most. It has nothing but its records, says to the root what has
// come of it as the last thing, and ends.
//
// The memory for copies is lent to the kernel until the next time, so that who writes to a page does not
// wait for memory as well.
//
// F1 A file is written from a snapshot, or while threads are held: what threads do meanwhile is
//    not in it.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/kthread.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DISK_NS UINT64_C(100000)

// ---- this node's file

// Pages that are out come in while threads go on; at the end of a program nobody else polls.
// @return NULL, or why they cannot be read
static const char *read_run(struct node *node, size_t first, size_t end,
                            char (*to)[TM_PAGE_SIZE])
{
    const struct snapshot *snapshot = &node->checkpoint.snapshot;
    const char *why;
    int is_read;

    do {
        node_enter(node);
        if (paging_is_on(&node->paging)) {
            pager_poll(node->paging.pager);
        }
        is_read = snapshot_read(&node->space, first, end, to);
        why = snapshot->why;
        node_leave(node);
        if (!is_read) {
            kthread_sleep_until(clock_now_ns() + DISK_NS);
        }
        why = why == NULL ? buddies_why_no_more(node, 0) : why;
    } while (!is_read && why == NULL);
    return why == NULL ? snapshot_read_kept(snapshot, first, end, to) : why;
}

static void add_pages(struct node *node, struct part_writer *writer)
{
    const struct snapshot *snapshot = &node->checkpoint.snapshot;
    char(*bytes)[TM_PAGE_SIZE] = malloc(SNAPSHOT_RUN * sizeof *bytes);
    size_t end;

    ensure_memory(bytes != NULL);
    for (size_t at = 0; at < snapshot->n && writer->why == NULL; at = end) {
        end = snapshot_run_end(snapshot, at);
        writer->why = planned_faults_lose_run(&node->planned_faults)
                          ? "pages of it are lost"
                          : read_run(node, at, end, bytes);
        for (size_t i = at; i < end && writer->why == NULL; i++) {
            part_add_page(writer, &snapshot->pages[i], bytes[i - at]);
        }
    }
    free(bytes);
}

static void end_snapshot(struct node *node)
{
    struct snapshot was;

    node_enter(node);
    was = node->checkpoint.snapshot;
    snapshot_end(&node->space);
    node_leave(node);
    log_debug("checkpoint %" PRIu64 ": %zu of %zu pages changed before they "
              "were written, %zu of them are kept on the disk",
              node->checkpoint.generation, was.n_kept + was.n_filed, was.n,
              was.n_filed);
}

void files_drop(struct node *node)
{
    struct snapshot *snapshot = &node->checkpoint.snapshot;

    records_drop(&node->checkpoint.records);
    if (node->space.snapshot != NULL) {
        end_snapshot(node);
    }
    if (paging_is_on(&node->paging)) {
        spare_memory_release(&snapshot->aside); // a budget counts it
    } else {
        spare_memory_lend(&snapshot->aside);
    }
}

const char *files_fill(struct node *node, struct part_writer *writer)
{
    const char *why = part_begin(writer, node);

    if (why == NULL) {
        part_add_records(writer, &node->checkpoint.records);
        checkpoint_write_head(&writer->file);
        add_pages(node, writer);
    }
    files_drop(node);
    return why;
}

void files_end(struct node *node, struct part_writer *writer, const char *why)
{
    if (why == NULL) {
        part_end(writer);
    } else {
        part_tell_failed(node, why);
    }
}

static void write_file(struct node *node)
{
    struct part_writer writer;
    const char *why;

    planned_faults_delay_file(&node->planned_faults);
    why = files_fill(node, &writer);
    files_end(node, &writer, why);
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
