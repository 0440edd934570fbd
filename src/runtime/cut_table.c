// SPDX-License-Identifier: BSD-3-Clause
//
// Which stretch of a node's pages is in which file. A table is made while a generation is
// written, next to that of an older one, its *parent*: both go through stretches in rising order.
// A stretch of which the same pages are saved, with the same digest, is kept: the new table
// refers to the file that has it, and never to a table or a file that itself refers. So there is
// no chain, and what a generation needs is in at most 1 + CHECKPOINT_OLDER_MAX files of a node.
//
// An older file is let go, and what is still in use of it is written again, if
//
//   less than half of it is in use      so files take twice what is saved, at most
//   there would be too many             those that the fewest stretches are kept of
//
// A node knows only what it has written itself, in this run, so nobody else refers to its files;
// a page that another node wrote last is written again.
//
// T1 What is kept has not changed.
#include "runtime/cut_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

static int is_worth_keeping(const struct cut_source *source)
{
    return source->n_used > 0 && 2 * source->n_used >= source->n_stretches;
}

static struct cut_source *least_used(struct cut_table *parent)
{
    struct cut_source *least = NULL;

    for (unsigned i = 0; i < parent->n_sources; i++) {
        struct cut_source *source = &parent->sources[i];

        if (source->kept_as > 0 &&
            (least == NULL || source->n_used < least->n_used)) {
            least = source;
        }
    }
    return least;
}

// Those that are taken over have a `kept_as`, any one.
static void mark_worthy(struct cut_table *parent, unsigned most)
{
    unsigned n = 0;

    for (unsigned i = 0; i < parent->n_sources; i++) {
        struct cut_source *source = &parent->sources[i];

        source->kept_as = (unsigned)is_worth_keeping(source);
        n += source->kept_as;
    }
    for (; n > most; n--) {
        least_used(parent)->kept_as = 0;
    }
}

static void take_source(struct cut_table *table, struct cut_source *source)
{
    source->kept_as = table->n_sources;
    table->sources[table->n_sources++] = (struct cut_source){
        .file = source->file, .n_stretches = source->n_stretches};
}

void cut_table_begin(struct cut_table *table, uint64_t generation,
                     unsigned index, struct cut_table *parent, unsigned most)
{
    *table = (struct cut_table){
        .generation = generation,
        .sources = {{.file = {.generation = generation, .index = index}}},
        .n_sources = 1,
    };
    parent->next = 0;
    mark_worthy(parent, most);
    for (unsigned i = 0; i < parent->n_sources; i++) {
        if (parent->sources[i].kept_as > 0) {
            take_source(table, &parent->sources[i]);
        }
    }
}

void cut_table_forget_parent(struct cut_table *table, struct cut_table *parent)
{
    table->n_sources = 1;
    for (unsigned i = 0; i < parent->n_sources; i++) {
        parent->sources[i].kept_as = 0;
    }
}

const struct stretch *cut_table_find(struct cut_table *parent,
                                     const struct stretch *now)
{
    const struct stretch *then;

    while (parent->next < parent->n &&
           parent->stretches[parent->next].page < now->page) {
        parent->next++;
    }
    then = parent->next < parent->n ? &parent->stretches[parent->next] : NULL;
    return then != NULL && then->page == now->page &&
                   then->which == now->which &&
                   memcmp(then->digest, now->digest, DIGEST_SIZE) == 0 && // T1
                   parent->sources[then->source].kept_as > 0
               ? then
               : NULL;
}

static void add_stretch(struct cut_table *table, const struct stretch *stretch,
                        unsigned source)
{
    vector_reserve(table->stretches, table->room, table->n + 1);
    table->stretches[table->n] = *stretch;
    table->stretches[table->n++].source = (uint16_t)source;
    table->sources[source].n_used++;
}

const struct checkpoint_older *cut_table_keep(struct cut_table *table,
                                              const struct cut_table *parent,
                                              const struct stretch *found)
{
    const unsigned source = parent->sources[found->source].kept_as;

    add_stretch(table, found, source);
    return &table->sources[source].file;
}

void cut_table_add(struct cut_table *table, const struct stretch *now)
{
    add_stretch(table, now, 0);
    table->sources[0].n_stretches++;
}

uint64_t cut_table_expect(const struct cut_table *table, uint64_t n_bytes)
{
    return table->n == 0 ? n_bytes
                         : n_bytes * table->sources[0].n_stretches / table->n;
}

void cut_table_release(struct cut_table *table)
{
    free(table->stretches);
    *table = (struct cut_table){0};
}
