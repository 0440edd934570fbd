// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_CUT_TABLE_H
#define RUNTIME_CUT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "mem/space.h"
#include "net/digest.h"
#include "os/checkpoint_manifest.h"

/*
 * What a node has written of its pages for a generation of a checkpoint, and where it is, so
 * that the next one need not write again what has not changed: cut_table.c.
 */

#define STRETCH_PAGES 16u
#define STRETCH_SIZE (STRETCH_PAGES * TM_PAGE_SIZE)

/** Pages that are written together. */
struct stretch {
    page_no page;    ///< its first, a multiple of STRETCH_PAGES
    uint16_t which;  ///< of its pages are written, a bit each
    uint16_t source; ///< the file that has them: a place among the table's
    uint8_t digest[DIGEST_SIZE];
    struct checkpoint_place place; ///< there
};

/** A file that has stretches of a table. */
struct cut_source {
    struct checkpoint_older file;
    uint64_t n_stretches; ///< that it has
    uint64_t n_used;      ///< of them by this table
    unsigned kept_as; ///< its place in the table that is made of this; 0: none
};

struct cut_table {
    uint64_t generation;                                 ///< 0: it is of none
    struct cut_source sources[CHECKPOINT_OLDER_MAX + 1]; ///< [0]: its own file
    unsigned n_sources;
    struct stretch *stretches; ///< [n] in the order that they came in
    size_t n;
    size_t room;
    size_t next; ///< where to look for the next
};

/** Begin one, empty.
 * @param parent  what has not changed since then may be kept; its files that still have enough
 *                are among the new table's sources. May be empty.
 * @param most    of these files, <= CHECKPOINT_OLDER_MAX */
void cut_table_begin(struct cut_table *table, uint64_t generation,
                     unsigned index, struct cut_table *parent, unsigned most);

/** None of the older files can be had. */
void cut_table_forget_parent(struct cut_table *table, struct cut_table *parent);

/** Is a stretch in an older file, as it is now? Asked in rising order of pages.
 * @param now  its page, which and digest
 * @return the stretch as the parent has it; NULL: it has to be written */
const struct stretch *cut_table_find(struct cut_table *parent,
                                     const struct stretch *now);

/** It is not written again. @param found  by cut_table_find()
 * @return the file that has it */
const struct checkpoint_older *cut_table_keep(struct cut_table *table,
                                              const struct cut_table *parent,
                                              const struct stretch *found);

/** It has been written to the table's own file. @param now  with its place there */
void cut_table_add(struct cut_table *table, const struct stretch *now);

/** How many of so many bytes have to be written, if as much has changed since this generation as
 * had before it. */
uint64_t cut_table_expect(const struct cut_table *table, uint64_t n_bytes);

/** It is of no generation. */
void cut_table_release(struct cut_table *table);

#endif
