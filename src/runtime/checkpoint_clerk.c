// SPDX-License-Identifier: BSD-3-Clause
//
// The clerk: a thread of the node's own that takes its part of a checkpoint, or reads it
// (checkpoint_load.c). It runs as threads of the program do, in a slot behind theirs, but the
// root's list does not have it and it never moves. So it has pages as the program has them: it
// writes those of a checkpoint that it reads, whatever protocol and pager have to do for that.
//
// Of pages a snapshot is taken, and a kernel thread writes that to the disk while the program
// goes on (mem/snapshot.c, checkpoint_files.c, checkpoint_part.c). Where what changes meanwhile has
// no room, neither in memory nor on a disk, the clerk writes it itself, and threads are held
// until then.
//
// A file has messages (net/messages.def), as they would go to another node:
//
//   extent_is ...                        on the root: blocks
//   cells_given, lock_last, sem_part, once_part, barrier_part    what this node managed
//   saved_key, saved_threads ...         on the root
//   thread_move, thread_stack ...        threads, as if they moved
//   pages_saved, pages_kept ...          pages, at the end; those of zeros are left out. The
//                                        latter say which older file has them (checkpoint_part.c)
//
// W1 All but pages is gathered under the node lock, at once; of pages a snapshot is taken after
//    that, and nobody writes them until then: C1 of checkpoint.c.
#include "base/clock.h"
#include "base/compare.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "observe/swap_cost.h"
#include "os/descriptor.h"
#include "os/memory_watch.h"
#include "os/unnamed_file.h"
#include "pages/causality.h"
#include "reconfig/migrate.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"
#include "runtime/parts.h"
#include "runtime/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** mprotect() cuts a mapping in three wherever a run of 16 pages is written; a process may have
 * 65530, if nobody has changed that. */
#define MPROTECT_MAX (UINT64_C(1) << 18)

// ---- a thread of the node's own

// On the worker's stack: its own will not be used any more.
static void end(void *owner, struct ult *ult)
{
    struct node *node = owner;
    struct thread *thread = ult_user(ult);

    node_enter(node);
    node->threads[node_clerk_slot(node)] = NULL;
    parts_thread_left(node, thread);
    ult_forget(ult);
    node->checkpoint.has_clerk = 0;
    node_leave(node);
    free(thread);
}

static void run(void *argument)
{
    struct node *node = argument;

    node->checkpoint.clerk_work(node);
    planned_faults_hold_clerk(&node->planned_faults);
    ult_suspend(end, node);
    abort();
}

void clerk_start(struct node *node, void (*work)(struct node *node))
{
    struct thread *thread;
    tm_status status;

    ensure(!node->checkpoint.has_clerk);
    node->checkpoint.has_clerk = 1;
    node->checkpoint.clerk_work = work;
    thread = thread_new(node, node_clerk_slot(node), "checkpoint");
    status = ult_spawn(node->ult, node_clerk_slot(node), run, node, thread,
                       &thread->ult);
    if (status != TM_OK) {
        log_fatal(EXIT_MEMORY, "node %u cannot start its clerk: %s", node->self,
                  tm_strerror(status));
    }
}

// ---- what is gathered

static void keep_thread(const struct thread *thread, const struct port *port)
{
    struct moved_thread moved = {
        .number = thread->number,
        .compute_ns = ult_time_ns(thread->ult),
        .moves = thread->moves + 1, // by who reads it
        .n_barriers = thread->n_barriers,
        .name = thread->name,
    };

    ult_pack(thread->ult, &moved.packed);
    migration_write(port, 0, &moved);
}

static void keep_threads(struct node *node, const struct port *port)
{
    for (unsigned slot = 1; slot <= node->options.max_threads; slot++) {
        if (node->threads[slot] != NULL && node->threads[slot]->is_held) {
            keep_thread(node->threads[slot], port);
        }
    }
}

// ---- writing

/** What this node takes. */
struct taking {
    struct cut_records *records;
    struct snapshot_page *pages; ///< [n_pages]
    size_t n_pages;
    size_t pages_room;
    struct page_count owned;
    struct page_count known;
    int is_held; ///< threads are, until all is written
};

static void list_pages(struct node *node, struct taking *taking)
{
    struct snapshot_page saved;
    page_no at = 0;

    while (engine_next_owned(node->engine, &at, &saved)) {
        vector_reserve(taking->pages, taking->pages_room, taking->n_pages + 1);
        taking->pages[taking->n_pages++] = saved;
        engine_count_page(&taking->owned, saved.page);
    }
    taking->known = engine_known_pages(node->engine);
}

// W1
static void gather(struct node *node, struct taking *taking)
{
    const struct port port = {.owner = taking->records, .send = records_add};

    node_enter(node);
    engine_save_blocks(node->engine, &port);
    sync_save(node->sync, &port);
    parts_save(node, &port);
    keep_threads(node, &port);
    list_pages(node, taking);
    node_leave(node);
}

// Half of what this node may still have is for pages that change, at most.
static uint64_t room_for_copies(struct node *node)
{
    struct memory_watch watch;
    struct memory_state memory;
    struct pager_stats pager = {0};
    uint64_t room;

    if (memory_open(&watch, "") != TM_OK) {
        return 0;
    }
    memory_read(&watch, &memory);
    node_enter(node);
    room = memory.available.bytes / 2 / TM_PAGE_SIZE /
           capacity_n_beside(node, node->n_nodes);
    if (paging_is_on(&node->paging)) {
        pager_stats(node->paging.pager, &pager);
        room = pager.used >= pager.budget
                   ? 0
                   : smaller(room, (pager.budget - pager.used) / 2);
    }
    node_leave(node);
    return room;
}

// For what has no room in memory. @return a descriptor; -1: there is no such file
static int open_overflow(struct node *node)
{
    int fd = unnamed_file_open(swap_folder(node->options.swap_dir));

    if (fd >= 0 && unnamed_file_is_in_memory(fd)) {
        descriptor_drop(&fd);
    }
    return fd;
}

// May threads go on, though they may change all pages before these are written?
// @param[out] fd  of a file for what has no room in memory; -1: all has
static int may_go_on(struct node *node, const struct taking *taking,
                     uint64_t room, int *fd)
{
    *fd = -1;
    if (!node->fault_source->brings_in && taking->n_pages > MPROTECT_MAX) {
        return 0;
    }
    if (room < taking->n_pages) {
        *fd = open_overflow(node);
    }
    return room >= taking->n_pages || *fd >= 0;
}

// @return TM_OK, TM_ENOMEM
static tm_status begin_snapshot(struct node *node, const struct taking *taking,
                                uint64_t room, int fd)
{
    tm_status status;

    node_enter(node);
    status = snapshot_begin(&node->space, &node->checkpoint.snapshot,
                            taking->pages, taking->n_pages, room, fd);
    node_leave(node);
    return status;
}

// Where threads are held until all is written nothing changes, so nothing needs room.
static void take_snapshot(struct node *node, struct taking *taking)
{
    const uint64_t room = room_for_copies(node);
    int fd;

    taking->is_held = !may_go_on(node, taking, room, &fd) ||
                      begin_snapshot(node, taking, room, fd) != TM_OK;
    if (taking->is_held) {
        descriptor_drop(&fd);
        ensure(begin_snapshot(node, taking, 0, -1) == TM_OK);
    }
}

static void tell_taken(struct node *node, const struct taking *taking)
{
    const struct message message = {
        .type = MESSAGE_cut_taken,
        .u.cut_taken = {.cut = node->checkpoint.cut,
                        .n_pages = taking->owned.n,
                        .pages = taking->owned.sum,
                        .known = taking->known.n,
                        .known_sum = taking->known.sum},
    };

    node_enter(node);
    port_send(&node->port, 0, &message);
    node_leave(node);
}

// The root has the folder made before the others look for it.
static const char *open_generation(struct node *node)
{
    const struct message message = {
        .type = MESSAGE_cut_save,
        .u.cut_save = {.cut = node->checkpoint.cut,
                       .generation = node->checkpoint.generation,
                       .newest = node->checkpoint.newest,
                       .parent = node->checkpoint.parent},
    };
    const char *why = checkpoint_begin(node->options.checkpoint.folder,
                                       node->checkpoint.generation);

    node_enter(node);
    for (unsigned i = 0; i < node->port.roster.n_live; i++) {
        if (node->port.roster.live[i] != node->self) {
            port_send(&node->port, node->port.roster.live[i], &message);
        }
    }
    node_leave(node);
    return why;
}

static double milliseconds_since(uint64_t ns)
{
    return (double)(clock_now_ns() - ns) * 1e-6;
}

// @return NULL, or why nothing can be written
static const char *open_part(struct node *node, struct taking *taking)
{
    const char *why = node->self == 0 ? open_generation(node) : NULL;
    const uint64_t n_bytes = taking->n_pages * TM_PAGE_SIZE;

    if (why == NULL) {
        why = buddies_why_too_much(
            node, part_expect(&node->checkpoint, n_bytes), n_bytes);
    }
    if (why == NULL) {
        take_snapshot(node, taking);
    } else {
        free(taking->pages); // else the snapshot's
        files_drop(node);
    }
    return why;
}

static void tell_times(const struct node *node, const struct taking *taking,
                       uint64_t began_ns, uint64_t gathered_ns)
{
    log_debug("checkpoint %" PRIu64 ": %zu pages %s in %.1f ms, after %.1f ms "
              "to find what there is",
              node->checkpoint.generation, taking->n_pages,
              taking->is_held ? "written at once" : "protected",
              milliseconds_since(gathered_ns),
              milliseconds_since(began_ns) - milliseconds_since(gathered_ns));
}

// Threads are held until it has told that it has taken everything.
static void write_part(struct node *node)
{
    const uint64_t began_ns = clock_now_ns();
    struct taking taking = {.records = &node->checkpoint.records};
    struct part_writer writer;
    uint64_t gathered_ns;
    const char *why;

    cut_marks_write(node, node->checkpoint.generation);
    gather(node, &taking);
    gathered_ns = clock_now_ns();
    why = open_part(node, &taking);
    if (why == NULL && taking.is_held) {
        why = files_fill(node, &writer);
    }
    tell_times(node, &taking, began_ns, gathered_ns);
    tell_taken(node, &taking);
    if (why == NULL && !taking.is_held) {
        files_write(node);
    } else {
        files_end(node, &writer, why);
    }
}

void clerk_write(struct node *node)
{
    clerk_start(node, write_part);
}
