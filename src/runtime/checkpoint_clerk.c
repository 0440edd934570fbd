// SPDX-License-Identifier: BSD-3-Clause
//
// The clerk: a thread of the node's own that writes its part of a checkpoint, or reads it. It
// runs as threads of the program do, in a slot behind theirs, but the root's list does not
// have it and it never moves. So it may wait for the disk while the node goes on serving,
// and it has pages as the program has them: it reads those that the node owns, and writes
// those of a checkpoint, whatever protocol and pager have to do for that.
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
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "pages/causality.h"
#include "reconfig/migrate.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"
#include "runtime/parts.h"
#include "runtime/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

/** Messages for a file, encoded, one behind the other: its size u32, itself. */
struct kept {
    uint8_t *bytes;
    size_t n;
    size_t room;
};

static void keep_bytes(struct kept *kept, const void *bytes, size_t size)
{
    vector_reserve(kept->bytes, kept->room, kept->n + size);
    if (size > 0) {
        memcpy(kept->bytes + kept->n, bytes, size);
    }
    kept->n += size;
}

// The port's: everything goes to the file.
static void keep_message(void *owner, node_id to, const struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    const uint32_t n = message_encode_header(message, header);
    const uint32_t size = n + message->body_size;

    (void)to;
    keep_bytes(owner, &size, sizeof size);
    keep_bytes(owner, header, n);
    keep_bytes(owner, message->body, message->body_size);
}

static void write_kept(struct checkpoint_writer *writer,
                       const struct kept *kept)
{
    size_t at = 0;

    while (at < kept->n) {
        uint32_t size;

        memcpy(&size, kept->bytes + at, sizeof size);
        checkpoint_write(writer, kept->bytes + at + sizeof size, size, NULL, 0);
        at += sizeof size + size;
    }
}

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

/** What this node writes. */
struct writing {
    struct checkpoint_writer writer;
    struct kept kept;
    struct saved_page *pages; ///< [n_pages]
    size_t n_pages;
    size_t pages_room;
    struct page_count owned;
    struct page_count known;
};

static void list_pages(struct node *node, struct writing *writing)
{
    struct saved_page saved;
    page_no at = 0;

    while (engine_next_owned(node->engine, &at, &saved)) {
        vector_reserve(writing->pages, writing->pages_room,
                       writing->n_pages + 1);
        writing->pages[writing->n_pages++] = saved;
        engine_count_page(&writing->owned, saved.page);
    }
    writing->known = engine_known_pages(node->engine);
}

// W1
static void gather(struct node *node, struct writing *writing)
{
    const struct port port = {.owner = &writing->kept, .send = keep_message};

    node_enter(node);
    engine_save_blocks(node->engine, &port);
    sync_save(node->sync, &port);
    parts_save(node, &port);
    keep_threads(node, &port);
    list_pages(node, writing);
    node_leave(node);
}

static int is_zero(const char *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static void write_page(struct node *node, struct checkpoint_writer *writer,
                       const struct saved_page *saved)
{
    struct message message = {.type = MESSAGE_page_given,
                              .u.page_given = {.page = saved->page}};
    uint8_t header[MESSAGE_HEADER_MAX];
    char bytes[TM_PAGE_SIZE];

    memcpy(bytes,
           (char *)space_address(&node->space, saved->page) +
               saved->part.offset,
           saved->part.size);
    if (saved->is_variable || !is_zero(bytes, saved->part.size)) {
        checkpoint_write(writer, header,
                         message_encode_header(&message, header), bytes,
                         saved->part.size);
    }
}

// @return NULL, or why it is not whole
static const char *write_file(struct node *node, struct writing *writing)
{
    char path[CHECKPOINT_PATH_MAX];
    unsigned index = 0;
    const char *why;

    while (node->port.roster.live[index] != node->self) {
        index++;
    }
    checkpoint_file_path(path, node->options.checkpoint.folder,
                         node->checkpoint.generation, index);
    why = checkpoint_write_begin(&writing->writer, path);
    if (why != NULL) {
        return why;
    }
    write_kept(&writing->writer, &writing->kept);
    for (size_t i = 0; i < writing->n_pages; i++) {
        write_page(node, &writing->writer, &writing->pages[i]);
    }
    return checkpoint_write_end(&writing->writer);
}

static void tell_saved(struct node *node, const struct writing *writing,
                       const char *why)
{
    char text[CHECKPOINT_PATH_MAX + 160];
    const struct message message = {
        .type = MESSAGE_cut_saved,
        .u.cut_saved =
            {
                .cut = node->checkpoint.cut,
                .is_whole = why == NULL,
                .n_bytes = writing->writer.sum.n_bytes,
                .hash = writing->writer.sum.hash,
                .n_pages = writing->owned.n,
                .pages = writing->owned.sum,
                .known = writing->known.n,
                .known_sum = writing->known.sum,
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

static void write_part(struct node *node)
{
    struct writing *writing = calloc(1, sizeof *writing);
    const char *why = NULL;

    ensure_memory(writing != NULL);
    cut_marks_write(node, node->checkpoint.generation);
    gather(node, writing);
    if (node->self == 0) {
        why = open_generation(node);
    }
    if (why == NULL) {
        why = write_file(node, writing);
    }
    tell_saved(node, writing, why);
    free(writing->kept.bytes);
    free(writing->pages);
    free(writing);
}

void clerk_write(struct node *node)
{
    start_clerk(node, write_part);
}

// ---- it becomes a checkpoint

static void fill_manifest(struct node *node)
{
    const struct checkpoint *checkpoint = &node->checkpoint;
    struct checkpoint_manifest *manifest = checkpoint->manifest;

    manifest->generation = checkpoint->generation;
    manifest->time_s = (uint64_t)time(NULL); // for people
    manifest->iteration = checkpoint->iteration;
    manifest->n_ended = checkpoint->n_ended;
    manifest->n_threads = sync_n_alive(node->sync) - 1;
    manifest->n_pages = checkpoint->owned.n;
    manifest->n_nodes = node->port.roster.n_live;
    manifest->n_told = node->prepared.n_told;
    manifest->prepared = node->prepared.hash;
    manifest->n_calls = node->prepared.n_calls;
}

static void confirm(struct node *node)
{
    struct checkpoint *checkpoint = &node->checkpoint;
    const char *folder = node->options.checkpoint.folder;
    const char *why;

    if (checkpoint->why[0] == '\0') {
        fill_manifest(node);
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

void clerk_confirm(struct node *node)
{
    start_clerk(node, confirm);
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
