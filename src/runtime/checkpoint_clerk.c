// SPDX-License-Identifier: BSD-3-Clause
//
// The clerk: a thread of the node's own that takes its part of a checkpoint, or reads it
// (checkpoint_load.c). It runs as threads of the program do, in a slot behind theirs, but the
// root's list does not have it and it never moves. So it has pages as the program has them: it
// reads those that the node owns, and writes those of a checkpoint, whatever protocol and pager
// have to do for that.
//
// What it takes is copied, and a kernel thread writes the copies to the disk while the program
// goes on (checkpoint_files.c, checkpoint_part.c). Where there is no room for copies it writes
// itself, and threads are held until then.
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
// W1 All but pages is gathered under the node lock, at once; pages are read after that, and
//    nobody writes them: C1 of checkpoint.c.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "os/memory_watch.h"
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
    struct saved_page *pages; ///< [n_pages]
    size_t n_pages;
    size_t pages_room;
    struct page_count owned;
    struct page_count known;
};

static void list_pages(struct node *node, struct taking *taking)
{
    struct saved_page saved;
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

static int is_zero(const char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static const char *bytes_of(const struct node *node,
                            const struct saved_page *saved)
{
    return (char *)space_address(&node->space, saved->page) +
           saved->part.offset;
}

static int is_needed(const struct saved_page *saved, const char *bytes)
{
    return saved->is_variable || !is_zero(bytes, saved->part.size);
}

static void copy_pages(struct node *node, const struct taking *taking)
{
    struct cut_copies *copies = &node->checkpoint.copies;
    uint8_t *to;

    copies->pages = malloc((taking->n_pages + 1) * sizeof *copies->pages);
    to =
        spare_memory_take(&copies->bytes, (taking->n_pages + 1) * TM_PAGE_SIZE);
    ensure_memory(copies->pages != NULL && to != NULL);
    for (size_t i = 0; i < taking->n_pages; i++) {
        const struct saved_page *saved = &taking->pages[i];

        memcpy(to, bytes_of(node, saved), saved->part.size);
        if (is_needed(saved, (char *)to)) {
            copies->pages[copies->n++] =
                (struct cut_copy){saved->page, saved->part.size};
            to += saved->part.size;
        }
    }
}

// The pager may take a page away between two looks at it.
static void write_page(struct part_writer *writer,
                       const struct saved_page *saved)
{
    char bytes[TM_PAGE_SIZE];

    memcpy(bytes, bytes_of(writer->node, saved), saved->part.size);
    if (is_needed(saved, bytes)) {
        part_add_page(writer, saved->page, bytes, saved->part.size);
    }
}

// All but its end. @return NULL, or why it cannot be begun
static const char *write_at_once(struct node *node, const struct taking *taking,
                                 struct part_writer *writer)
{
    const char *why = part_begin(writer, node);

    if (why != NULL) {
        return why;
    }
    part_add_records(writer, taking->records);
    for (size_t i = 0; i < taking->n_pages; i++) {
        write_page(writer, &taking->pages[i]);
    }
    return NULL;
}

// Half of what this node may have is for copies, at most.
static int has_room_for_copies(struct node *node, const struct taking *taking)
{
    const uint64_t bytes =
        taking->n_pages * (TM_PAGE_SIZE + MESSAGE_HEADER_MAX);
    struct memory_watch watch;
    struct memory_state memory;
    struct pager_stats pager = {0};
    int has;

    if (memory_open(&watch, "") != TM_OK) {
        return 0;
    }
    memory_read(&watch, &memory);
    node_enter(node);
    has = bytes <=
          memory.available.bytes / 2 / capacity_n_beside(node, node->n_nodes);
    if (paging_is_on(&node->paging)) {
        pager_stats(node->paging.pager, &pager);
        has = has && pager.used < pager.budget &&
              bytes <= (pager.budget - pager.used) * TM_PAGE_SIZE / 2;
    }
    node_leave(node);
    return has;
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

// Threads are held until it has told that it has taken everything.
static void write_part(struct node *node)
{
    const uint64_t began_ns = clock_now_ns();
    struct taking taking = {.records = &node->checkpoint.records};
    struct part_writer writer;
    const char *why = NULL;
    uint64_t gathered_ns;
    int is_copied;

    cut_marks_write(node, node->checkpoint.generation);
    gather(node, &taking);
    gathered_ns = clock_now_ns();
    if (node->self == 0) {
        why = open_generation(node);
    }
    if (why == NULL) {
        why = buddies_why_too_much(node, taking.n_pages * TM_PAGE_SIZE);
    }
    is_copied = why == NULL && has_room_for_copies(node, &taking);
    if (is_copied) {
        copy_pages(node, &taking);
    } else if (why == NULL) {
        why = write_at_once(node, &taking, &writer);
    }
    free(taking.pages);
    log_debug("checkpoint %" PRIu64 ": %zu pages %s in %.1f ms, after %.1f ms "
              "to find what there is",
              node->checkpoint.generation, taking.n_pages,
              is_copied ? "copied" : "written at once",
              milliseconds_since(gathered_ns),
              milliseconds_since(began_ns) - milliseconds_since(gathered_ns));
    tell_taken(node, &taking);
    if (is_copied) {
        files_write(node);
        return;
    }
    files_drop(node);
    if (why == NULL) {
        part_end(&writer);
    } else {
        part_tell_failed(node, why);
    }
}

void clerk_write(struct node *node)
{
    clerk_start(node, write_part);
}
