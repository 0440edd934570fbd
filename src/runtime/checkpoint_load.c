// SPDX-License-Identifier: BSD-3-Clause
//
// The clerk reads this node's part of a checkpoint: it goes through the files that have pages for
// this node to read, and writes these where the program has them. Other files need not be on its host. Where there
// are more nodes than files some share one: each reads some of its records, and goes past the others. Pages that have not
// changed for some time are in older files: a file says which, where in it, and the checksum
// in front of that place.
//
// L1 What is read from an older file is the record that was written there.
// L2 Each record of a file is read by one node.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "pages/causality.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** What this node reads. */
struct loading {
    uint64_t generation;
    unsigned n_files;
    unsigned place; ///< of this node among those there are
    unsigned n_nodes;
    uint64_t n_pages; ///< that have been read ...
    uint64_t n_bytes; ///< ... of files of this generation
};

/** A file of an earlier generation that is read. */
struct older_file {
    uint64_t generation;
    uint64_t index;
    struct checkpoint_reader reader;
};

/** A file whose pages are loaded. */
struct file_load {
    struct node *node;
    uint64_t generation;
    const char *why;  ///< a page cannot be; NULL: all could
    uint64_t n_pages; ///< that have been read
    struct older_file older[CHECKPOINT_OLDER_MAX];
    unsigned n_older;
};

// ---- pages

// The page's bytes are where the program has them.
static const char *load_page(struct node *node, page_no page,
                             const struct message *message, uint32_t *at)
{
    const struct page_part part = space_part(&node->space, page);
    int is_block;

    node_enter(node);
    is_block = engine_extent(node->engine, page) != NULL;
    node_leave(node);
    if (!is_block) {
        return "it has a page that is in no block";
    }
    if (message->body_size - *at < part.size) {
        return "it has a page of another size";
    }
    memcpy((char *)space_address(&node->space, page) + part.offset,
           (const char *)message->body + *at, part.size);
    *at += part.size;
    return NULL;
}

static const char *load_stretch(struct file_load *load,
                                const struct message *message)
{
    const struct message_pages_saved *saved = &message->u.pages_saved;
    const char *why = NULL;
    uint32_t at = 0;

    for (unsigned i = 0; i < STRETCH_PAGES && why == NULL; i++) {
        if ((saved->which >> i & 1) != 0) {
            why = load_page(load->node, saved->page + i, message, &at);
            load->n_pages++;
        }
    }
    return why != NULL                ? why
           : at != message->body_size ? "it has pages of another size"
                                      : NULL;
}

// ---- older files

static void older_path(const struct file_load *load,
                       const struct message_pages_kept *kept, char *path)
{
    checkpoint_older_path(path, load->node->options.restart, load->generation,
                          kept->generation, kept->index);
}

static int is_open_as(const struct older_file *older,
                      const struct message_pages_kept *kept)
{
    return older->reader.file != NULL &&
           older->generation == kept->generation && older->index == kept->index;
}

// Opened once. @param[out] why  NULL, or why not
static struct checkpoint_reader *open_older(
    struct file_load *load, const struct message_pages_kept *kept,
    const char **why)
{
    char path[CHECKPOINT_PATH_MAX];
    unsigned i = 0;

    *why = NULL;
    while (i < load->n_older && !is_open_as(&load->older[i], kept)) {
        i++;
    }
    if (i == CHECKPOINT_OLDER_MAX) {
        *why = "it refers to too many files";
    } else if (i == load->n_older) {
        older_path(load, kept, path);
        load->older[i].generation = kept->generation;
        load->older[i].index = kept->index;
        *why = checkpoint_read_begin(&load->older[i].reader, path);
        load->n_older += *why == NULL;
    }
    return &load->older[i].reader;
}

static void close_older(struct file_load *load)
{
    for (unsigned i = 0; i < load->n_older; i++) {
        checkpoint_read_end(&load->older[i].reader);
    }
}

// L1
static const char *load_kept(struct file_load *load,
                             const struct message_pages_kept *kept)
{
    const struct checkpoint_place place = {kept->offset, kept->seed};
    const char *why;
    struct checkpoint_reader *reader = open_older(load, kept, &why);
    enum checkpoint_read found;
    struct message message;
    uint32_t size;

    if (why != NULL) {
        return why;
    }
    found = checkpoint_read_at(reader, &place, &size);
    if (found == CHECKPOINT_PACKED) {
        return checkpoint_why(found);
    }
    if (found != CHECKPOINT_RECORD ||
        message_decode(reader->bytes, size, &message) != TM_OK ||
        message.type != MESSAGE_pages_saved ||
        message.u.pages_saved.page != kept->page ||
        message.u.pages_saved.which != kept->which) {
        return "a file that it refers to is torn, or bytes of it have changed";
    }
    return load_stretch(load, &message);
}

// ---- a file

static int take_pages(void *owner, const struct message *message)
{
    struct file_load *load = owner;

    if (message->type == MESSAGE_pages_saved) {
        load->why = load_stretch(load, message);
    } else if (message->type == MESSAGE_pages_kept) {
        load->why = load_kept(load, &message->u.pages_kept);
    }
    return load->why == NULL;
}

// L2
static const char *load_file(struct node *node, struct loading *loading,
                             unsigned file,
                             const struct checkpoint_share *share)
{
    struct file_load load = {.node = node, .generation = loading->generation};
    struct restore_part part = {.generation = loading->generation,
                                .file = file,
                                .until = UINT64_MAX,
                                .share = *share};
    const char *why = restore_each(node, &part, take_pages, &load);

    close_older(&load);
    loading->n_pages += load.n_pages;
    loading->n_bytes += part.n_read;
    return why != NULL ? why : load.why;
}

// ---- this node's part

static struct loading describe_loading(struct node *node)
{
    const struct roster *roster = &node->port.roster;

    return (struct loading){.generation = node->checkpoint.generation,
                            .n_files = node->checkpoint.n_files,
                            .place = roster_place(roster, node->self),
                            .n_nodes = roster->n_live};
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

// @return NULL, or why a file cannot be read @param[out] file  the last one that was
static const char *load_files(struct node *node, struct loading *loading,
                              unsigned *n_read, unsigned *file)
{
    const char *why = NULL;

    for (unsigned i = 0; i < loading->n_files && why == NULL; i++) {
        const struct checkpoint_share share = checkpoint_share_of(
            i, loading->n_files, loading->n_nodes, loading->place);

        if (share.place < share.n) {
            why = load_file(node, loading, i, &share);
            ++*n_read;
            *file = i;
        }
    }
    return why;
}

static void load_part(struct node *node)
{
    const uint64_t began_ns = clock_now_ns();
    struct loading loading;
    const char *why;
    unsigned n_read = 0;
    unsigned file = 0;

    planned_faults_delay_load(&node->planned_faults);
    loading = describe_loading(node);
    why = load_files(node, &loading, &n_read, &file);
    log_debug("checkpoint %" PRIu64 ": %" PRIu64 " pages, %" PRIu64
              " bytes, read in %u of %u files, %.1f ms",
              loading.generation, loading.n_pages, loading.n_bytes, n_read,
              loading.n_files, (double)(clock_now_ns() - began_ns) * 1e-6);
    node_enter(node);
    buddies_note_read(node, loading.n_pages * TM_PAGE_SIZE);
    node_leave(node);
    wait_for_release(node);
    tell_loaded(node, file, why);
}

void clerk_load(struct node *node, uint64_t generation, unsigned n_files)
{
    node->checkpoint.generation = generation;
    node->checkpoint.n_files = n_files;
    clerk_start(node, load_part);
}
