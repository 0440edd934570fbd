// SPDX-License-Identifier: BSD-3-Clause
//
// This node's file of a checkpoint: records, which are its head, then pages, in stretches of 16. Of each stretch a
// digest is kept (cut_table.c). If an earlier generation, its *parent*, has it with the same digest,
// the file says where (pages_kept) and has no bytes of it; else it has the bytes (pages_saved).
//
// On a disk the parent is the older of the two that are whole, not the newest: it goes when the new
// one is whole. So if a byte of one of the two that are kept changes on the disk, the other can still
// be used. In memory, where room counts, and each file is on two hosts, it is the newest (buddies.c).
// A parent is whole, so all its files are there.
//
//   part_begin()      the generation's folder gets a name for each file of the parent that is
//                     worth keeping; if one cannot be had there is no parent
//   part_add_page()   a stretch is put together, and written or kept
//   part_end()        older files that nothing refers to lose that name; the others are told to
//                     the root, for the manifest, and then the file itself, which in memory is
//                     brought to another host first
//
// A1 Each older file that is referred to has a name in the generation's folder, before that has
//    a manifest.
// A2 Two generations that are kept on a disk have no file in common.
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "runtime/checkpoint.h"
#include "runtime/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** With --buddy the manifest is one message: so many older files it may name, of so many nodes. With more
 * there is no checkpoint. */
#define OLDER_IN_MEMORY 2048u
#define NODES_IN_MEMORY 1024u
#define MANIFEST_LINE 80u // "older", five numbers

_Static_assert((OLDER_IN_MEMORY + NODES_IN_MEMORY) * MANIFEST_LINE +
                       2 * CHECKPOINT_ARGUMENTS_MAX <=
                   MESSAGE_BODY_MAX,
               "a manifest is a body");

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

void records_drop(struct cut_records *records)
{
    free(records->bytes);
    *records = (struct cut_records){0};
}

void part_add_records(struct part_writer *writer,
                      const struct cut_records *records)
{
    size_t at = 0;

    while (at < records->n) {
        uint32_t size;

        memcpy(&size, records->bytes + at, sizeof size);
        (void)checkpoint_write(&writer->file, records->bytes + at + sizeof size,
                               size);
        at += sizeof size + size;
    }
}

// ---- what the root is told

static void tell_saved(struct node *node, const struct checkpoint_sum *sum,
                       const char *why)
{
    node_enter(node);
    told_saved(node, sum, why);
    node_leave(node);
}

void part_tell_failed(struct node *node, const char *why)
{
    tell_saved(node, &(struct checkpoint_sum){0}, why);
}

static void tell_older(struct node *node, const struct checkpoint_older *older)
{
    const struct message message = {
        .type = MESSAGE_cut_older,
        .u.cut_older = {.cut = node->checkpoint.cut,
                        .generation = older->generation,
                        .index = older->index,
                        .n_bytes = older->sum.n_bytes,
                        .hash = older->sum.hash},
    };

    node_enter(node);
    port_send(&node->port, 0, &message);
    node_leave(node);
}

// ---- tables and older files

// @param generation  0: one that is of none
static struct cut_table *find_table(struct checkpoint *checkpoint,
                                    uint64_t generation)
{
    for (unsigned i = 0; i < 3; i++) {
        if (checkpoint->tables[i].generation == generation) {
            return &checkpoint->tables[i];
        }
    }
    return NULL;
}

// Generations that have come to nothing, or have gone.
static void drop_tables(struct checkpoint *checkpoint)
{
    for (unsigned i = 0; i < 3; i++) {
        struct cut_table *table = &checkpoint->tables[i];

        if (table->generation != checkpoint->newest &&
            table->generation != checkpoint->parent) {
            cut_table_release(table);
        }
    }
}

static void drop_older(struct node *node, const struct checkpoint_older *older)
{
    char path[CHECKPOINT_PATH_MAX];

    checkpoint_older_path(path, node->options.checkpoint.folder,
                          node->checkpoint.generation, older->generation,
                          older->index);
    unlink(path);
}

// A1
static void keep_older(struct part_writer *writer)
{
    struct node *node = writer->node;
    struct cut_table *table = writer->table;
    const char *why = NULL;

    for (unsigned i = 1; i < table->n_sources && why == NULL; i++) {
        why = checkpoint_keep(node->options.checkpoint.folder,
                              table->generation, writer->parent->generation,
                              &table->sources[i].file);
    }
    if (why == NULL) {
        return;
    }
    log_debug("checkpoint %" PRIu64 ": all is written, files of %" PRIu64
              " cannot be kept: %s",
              table->generation, writer->parent->generation, why);
    for (unsigned i = 1; i < table->n_sources; i++) {
        drop_older(node, &table->sources[i].file);
    }
    cut_table_forget_parent(table, writer->parent);
}

static unsigned most_older(const struct node *node)
{
    const unsigned each = OLDER_IN_MEMORY / node->port.roster.n_live;

    return node->options.buddy && each < CHECKPOINT_OLDER_MAX
               ? each
               : CHECKPOINT_OLDER_MAX;
}

static void begin_table(struct part_writer *writer, unsigned index)
{
    struct node *node = writer->node;
    struct checkpoint *checkpoint = &node->checkpoint;
    const uint64_t parent =
        node->options.buddy ? checkpoint->newest : checkpoint->parent; // A2

    drop_tables(checkpoint);
    writer->table = find_table(checkpoint, 0);
    ensure(writer->table != NULL);
    writer->parent = parent > 0 ? find_table(checkpoint, parent) : NULL;
    if (writer->parent == NULL) {
        writer->parent = &writer->none;
    }
    cut_table_begin(writer->table, checkpoint->generation, index,
                    writer->parent, most_older(node));
    keep_older(writer);
}

uint64_t part_expect(struct checkpoint *checkpoint, uint64_t n_bytes)
{
    const struct cut_table *newest =
        checkpoint->newest > 0 ? find_table(checkpoint, checkpoint->newest)
                               : NULL;

    return newest == NULL ? n_bytes : cut_table_expect(newest, n_bytes);
}

// ---- the file

// The root has made it, but not in the memory of other hosts. A node that has joined with an agent of
// its own has a folder of its own, which nobody else tidies.
static const char *open_generation(const struct node *node)
{
    const struct checkpoint *checkpoint = &node->checkpoint;
    const char *folder = node->options.checkpoint.folder;

    if (!node->options.buddy) {
        return NULL;
    }
    checkpoint_remove_between(folder, 0, checkpoint->parent); // B2
    return checkpoint_open_generation(folder, checkpoint->generation);
}

const char *part_begin(struct part_writer *writer, struct node *node)
{
    const unsigned index = roster_place(&node->port.roster, node->self);
    char path[CHECKPOINT_PATH_MAX];
    const char *why;

    *writer = (struct part_writer){.node = node, .began_ns = clock_now_ns()};
    checkpoint_file_path(path, node->options.checkpoint.folder,
                         node->checkpoint.generation, index);
    why = open_generation(node);
    if (why == NULL) {
        why = checkpoint_write_begin(&writer->file, path,
                                     node->options.checkpoint.is_compressed);
    }
    if (why == NULL) {
        writer->record = malloc(MESSAGE_HEADER_MAX + STRETCH_SIZE);
        ensure_memory(writer->record != NULL);
        begin_table(writer, index);
    }
    return why;
}

// A header in front of the bytes that are there.
static struct checkpoint_place write_record(struct part_writer *writer,
                                            struct message *message)
{
    uint8_t header[MESSAGE_HEADER_MAX];
    const uint32_t n = message_encode_header(message, header);
    uint8_t *record = writer->record + MESSAGE_HEADER_MAX - n;

    memcpy(record, header, n);
    return checkpoint_write(&writer->file, record, n + message->body_size);
}

static void write_stretch(struct part_writer *writer)
{
    struct stretch *stretch = &writer->stretch;
    struct message message = {
        .type = MESSAGE_pages_saved,
        .u.pages_saved = {.page = stretch->page, .which = stretch->which},
        .body = writer->record + MESSAGE_HEADER_MAX,
        .body_size = writer->size,
    };

    stretch->place = write_record(writer, &message);
    if (writer->why == NULL) { // else it stays so, and no more is read
        writer->why = buddies_why_no_more(writer->node, writer->file.n_plain);
    }
    if (writer->node->checkpoint.digests != NULL) {
        cut_table_add(writer->table, stretch);
    }
}

static void refer_to(struct part_writer *writer, const struct stretch *found)
{
    const struct checkpoint_older *older =
        cut_table_keep(writer->table, writer->parent, found);
    struct message message = {
        .type = MESSAGE_pages_kept,
        .u.pages_kept = {.page = found->page,
                         .which = found->which,
                         .generation = older->generation,
                         .index = older->index,
                         .offset = found->place.offset,
                         .seed = found->place.seed},
    };

    (void)write_record(writer, &message);
    writer->n_kept++;
}

static const struct stretch *find_stretch(struct part_writer *writer)
{
    const struct digests *digests = writer->node->checkpoint.digests;
    struct stretch *stretch = &writer->stretch;

    if (digests == NULL) {
        return NULL;
    }
    digest_of(digests, stretch->page, writer->record + MESSAGE_HEADER_MAX,
              writer->size, stretch->digest);
    return cut_table_find(writer->parent, stretch);
}

static void end_stretch(struct part_writer *writer)
{
    const struct stretch *found =
        writer->size > 0 ? find_stretch(writer) : NULL;

    if (found != NULL) {
        refer_to(writer, found);
    } else if (writer->size > 0) {
        write_stretch(writer);
    }
    writer->size = 0;
    writer->stretch.which = 0;
}

// Variables are not zeros at the start of a program.
static int is_needed(const struct snapshot_page *entry, const char *bytes)
{
    return entry->is_variable || bytes[0] != 0 ||
           memcmp(bytes, bytes + 1, entry->part.size - 1) != 0;
}

void part_add_page(struct part_writer *writer,
                   const struct snapshot_page *entry, const char *bytes)
{
    const page_no first = entry->page / STRETCH_PAGES * STRETCH_PAGES;

    if (!is_needed(entry, bytes)) {
        return;
    }
    if (first != writer->stretch.page) {
        end_stretch(writer);
    }
    writer->stretch.page = first;
    writer->stretch.which |= (uint16_t)(1u << (entry->page - first));
    memcpy(writer->record + MESSAGE_HEADER_MAX + writer->size, bytes,
           entry->part.size);
    writer->size += entry->part.size;
}

static void end_older(struct part_writer *writer)
{
    for (unsigned i = 1; i < writer->table->n_sources; i++) {
        const struct cut_source *source = &writer->table->sources[i];

        if (source->n_used == 0) {
            drop_older(writer->node, &source->file);
        } else {
            tell_older(writer->node, &source->file);
        }
    }
}

// What is in memory has to be on another host first: B1 of buddies.c.
static void copy_files(struct node *node, const struct cut_table *table)
{
    struct checkpoint_older files[CHECKPOINT_OLDER_MAX + 1];
    unsigned n = 0;

    for (unsigned i = 1; i < table->n_sources; i++) {
        if (table->sources[i].n_used > 0) {
            files[n++] = table->sources[i].file;
        }
    }
    files[n++] = table->sources[0].file;
    copy_begin(node, files, n);
}

static void tell_end(struct part_writer *writer, const char *why)
{
    struct node *node = writer->node;

    if (why == NULL && node->options.buddy) {
        copy_files(node, writer->table);
    } else {
        tell_saved(node, &writer->file.sum, why);
    }
}

void part_end(struct part_writer *writer)
{
    const char *why;

    end_stretch(writer);
    end_older(writer);
    why = checkpoint_write_end(&writer->file);
    why = why == NULL ? writer->why : why;
    writer->table->sources[0].file.sum = writer->file.sum;
    free(writer->record);
    log_debug("checkpoint %" PRIu64 ": %" PRIu64 " bytes, in %" PRIu64
              " on the disk, and %" PRIu64 " of %zu stretches kept, %.1f ms",
              writer->table->generation, writer->file.n_plain,
              writer->file.sum.n_bytes, writer->n_kept, writer->table->n,
              (double)(clock_now_ns() - writer->began_ns) * 1e-6);
    tell_end(writer, why);
}
