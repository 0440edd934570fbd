// SPDX-License-Identifier: BSD-3-Clause
//
// The clerk: a thread of the node's own that takes its part of a checkpoint, or reads it. It
// runs as threads of the program do, in a slot behind theirs, but the root's list does not
// have it and it never moves. So it has pages as the program has them: it reads those that the
// node owns, and writes those of a checkpoint, whatever protocol and pager have to do for that.
//
// What it takes is copied, and a kernel thread writes the copies to the disk while the program
// goes on (checkpoint_files.c). Where there is no room for copies it writes itself, and threads
// are held until then.
//
// A file has messages (net/messages.def), as they would go to another node:
//
//   extent_is ...                        on the root: blocks
//   cells_given, lock_last, sem_part, once_part, barrier_part    what this node managed
//   saved_key, saved_threads ...         on the root
//   thread_move, thread_stack ...        threads, as if they moved
//   page_given ...                       pages, at the end; those of zeros are left out
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

static void start_clerk(struct node *node, void (*work)(struct node *node))
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

// @return 0: it need not be saved. @param[out] message  its body is `bytes`
static int copy_page(struct node *node, const struct saved_page *saved,
                     char bytes[TM_PAGE_SIZE], struct message *message)
{
    memcpy(bytes,
           (char *)space_address(&node->space, saved->page) +
               saved->part.offset,
           saved->part.size);
    *message = (struct message){.type = MESSAGE_page_given,
                                .u.page_given = {.page = saved->page},
                                .body = bytes,
                                .body_size = saved->part.size};
    return saved->is_variable || !is_zero(bytes, saved->part.size);
}

static void copy_pages(struct node *node, struct taking *taking)
{
    for (size_t i = 0; i < taking->n_pages; i++) {
        struct message message;
        char bytes[TM_PAGE_SIZE];

        if (copy_page(node, &taking->pages[i], bytes, &message)) {
            records_add(taking->records, 0, &message);
        }
    }
}

static void write_page(struct node *node, struct checkpoint_writer *writer,
                       const struct saved_page *saved)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    struct message message;
    char bytes[TM_PAGE_SIZE];

    if (copy_page(node, saved, bytes, &message)) {
        checkpoint_write(writer, header,
                         message_encode_header(&message, header), bytes,
                         message.body_size);
    }
}

// @param[out] sum  of the file
// @return NULL, or why it is not whole
static const char *write_at_once(struct node *node, struct taking *taking,
                                 struct checkpoint_sum *sum)
{
    struct checkpoint_writer writer;
    const char *why = file_begin(node, &writer);

    if (why != NULL) {
        return why;
    }
    records_write(taking->records, &writer);
    for (size_t i = 0; i < taking->n_pages; i++) {
        write_page(node, &writer, &taking->pages[i]);
    }
    why = checkpoint_write_end(&writer);
    *sum = writer.sum;
    return why;
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
                       .generation = node->checkpoint.generation},
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

// Threads are held until it has told that it has taken everything.
static void write_part(struct node *node)
{
    const uint64_t began_ns = clock_now_ns();
    struct taking taking = {.records = &node->checkpoint.records};
    struct checkpoint_sum sum = {0};
    const char *why = NULL;
    int is_copied;

    fflush(stdout); // who goes on from here does not write that again
    fflush(stderr);
    cut_marks_write(node, node->checkpoint.generation);
    gather(node, &taking);
    if (node->self == 0) {
        why = open_generation(node);
    }
    is_copied = why == NULL && has_room_for_copies(node, &taking);
    if (is_copied) {
        copy_pages(node, &taking);
    } else if (why == NULL) {
        why = write_at_once(node, &taking, &sum);
    }
    free(taking.pages);
    log_debug("checkpoint %" PRIu64 ": %zu pages %s in %.1f ms",
              node->checkpoint.generation, taking.n_pages,
              is_copied ? "copied" : "written at once",
              (double)(clock_now_ns() - began_ns) / 1e6);
    tell_taken(node, &taking);
    if (is_copied) {
        files_write(node);
    } else {
        records_drop(taking.records);
        file_tell_saved(node, &sum, why);
    }
}

void clerk_write(struct node *node)
{
    start_clerk(node, write_part);
}

// ---- reading

/** What this node reads. */
struct loading {
    uint64_t generation;
    unsigned n_files;
    unsigned place; ///< of this node among those there are
    unsigned n_nodes;
};

// The page's bytes are where the program has them, if they are this node's to read.
static const char *load_page(struct node *node, const struct loading *loading,
                             unsigned file, const struct message *message)
{
    const page_no page = message->u.page_given.page;
    struct page_part part;
    int is_block;

    if (restore_place(file, loading->n_files, loading->n_nodes,
                      page / SPACE_BLOCK) != loading->place) {
        return NULL;
    }
    node_enter(node);
    is_block = engine_extent(node->engine, page) != NULL;
    node_leave(node);
    if (!is_block) {
        return "it has a page that is in no block";
    }
    part = space_part(&node->space, page);
    if (message->body_size != part.size) {
        return "it has a page of another size";
    }
    memcpy((char *)space_address(&node->space, page) + part.offset,
           message->body, part.size);
    return NULL;
}

/** A file whose pages are loaded. */
struct file_load {
    struct node *node;
    const struct loading *loading;
    unsigned file;
    const char *why; ///< a page cannot be; NULL: all could
};

static int take_page(void *owner, const struct message *message)
{
    struct file_load *load = owner;

    if (message->type == MESSAGE_page_given) {
        load->why = load_page(load->node, load->loading, load->file, message);
    }
    return load->why == NULL;
}

static const char *load_file(struct node *node, const struct loading *loading,
                             unsigned file)
{
    struct file_load load = {node, loading, file, NULL};
    const char *why =
        restore_each(node, loading->generation, file, take_page, &load);

    return why != NULL ? why : load.why;
}

static struct loading describe_loading(struct node *node)
{
    struct loading loading = {.generation = node->checkpoint.generation,
                              .n_files = node->checkpoint.n_files,
                              .n_nodes = node->port.roster.n_live};

    while (node->port.roster.live[loading.place] != node->self) {
        loading.place++;
    }
    return loading;
}

static void tell_loaded(struct node *node, unsigned file, const char *why)
{
    char text[CHECKPOINT_PATH_MAX + 160];
    struct message message = {.type = MESSAGE_loaded,
                              .u.loaded = {.is_whole = why == NULL}};

    if (why != NULL) {
        message.body = text;
        message.body_size = (uint32_t)snprintf(
            text, sizeof text, "node-%u cannot be read by node %u: %s", file,
            node->self, why);
    }
    node_enter(node);
    engine_order(node->engine, 0, 0, ORDER_MOVES);
    port_send(&node->port, 0, &message);
    node_leave(node);
}

static void load_part(struct node *node)
{
    const struct loading loading = describe_loading(node);
    const char *why = NULL;
    unsigned file = 0;

    for (; file < loading.n_files && why == NULL; file++) {
        why = load_file(node, &loading, file);
    }
    wait_for_release(node);
    tell_loaded(node, file - 1, why);
}

void clerk_load(struct node *node, uint64_t generation, unsigned n_files)
{
    node->checkpoint.generation = generation;
    node->checkpoint.n_files = n_files;
    start_clerk(node, load_part);
}
