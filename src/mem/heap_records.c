// SPDX-License-Identifier: BSD-3-Clause
/*
 * What is noted of blocks: of one that is there its size and where it was allocated;
 * of those that were freed lately that and where they were freed, to explain a second
 * tm_free().
 */
#include "mem/heap_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Copy a text that may be too long: its end part. @param size  of `to` */
static void copy_end(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size) {
        text += length - (size - 1);
        length = size - 1;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

/** File and name in one piece of memory, cut to what a heap_block holds. */
static char *new_label(const char *file, const char *name)
{
    struct heap_block cut = {0};
    size_t file_size;
    size_t name_size;
    char *label;

    copy_end(cut.file, sizeof(cut.file), file == NULL ? "" : file);
    if (name != NULL) {
        strncpy(cut.name, name, sizeof(cut.name) - 1);
    }
    file_size = strlen(cut.file) + 1;
    name_size = strlen(cut.name) + 1;
    label = malloc(file_size + name_size);
    if (label != NULL) {
        memcpy(label, cut.file, file_size);
        memcpy(label + file_size, cut.name, name_size);
    }
    return label;
}

tm_status heap_record_set(struct heap_record *record, uint64_t size,
                          const struct heap_origin *origin)
{
    char *label = new_label(origin->file, origin->name);

    if (label == NULL) {
        return TM_ENOMEM;
    }
    *record = (struct heap_record){
        .size = size, .label = label, .line = origin->line};
    return TM_OK;
}

void heap_record_clear(struct heap_record *record)
{
    free(record->label);
    *record = (struct heap_record){0};
}

void heap_record_describe(const struct heap_record *record,
                          struct heap_block *block)
{
    size_t file_size = strlen(record->label) + 1;

    memset(block, 0, sizeof(*block));
    block->size = record->size;
    block->line = record->line;
    memcpy(block->file, record->label, file_size);
    memcpy(block->name, record->label + file_size,
           strlen(record->label + file_size));
}

/* ---- History ------------------------------------------------------------ */

tm_status heap_history_init(struct heap_history *history)
{
    history->ring = calloc(HEAP_HISTORY, sizeof *history->ring);
    history->n_freed = 0;
    return history->ring == NULL ? TM_ENOMEM : TM_OK;
}

void heap_history_release(struct heap_history *history)
{
    free(history->ring);
    history->ring = NULL;
}

void heap_history_note(struct heap_history *history,
                       const struct heap_block *block, const char *file,
                       uint32_t line)
{
    struct freed_block *freed = &history->ring[history->n_freed % HEAP_HISTORY];

    freed->block = *block;
    copy_end(freed->file, sizeof(freed->file), file == NULL ? "" : file);
    freed->line = line;
    history->n_freed++;
}

/** @return the block that started there, freed last of all such; NULL if it is
 *          not known */
static const struct freed_block *find_freed(const struct heap_history *history,
                                            uint64_t address)
{
    uint64_t n_known =
        history->n_freed < HEAP_HISTORY ? history->n_freed : HEAP_HISTORY;

    for (uint64_t i = 1; i <= n_known; i++) { // the last one first
        const struct freed_block *freed =
            &history->ring[(history->n_freed - i) % HEAP_HISTORY];

        if (freed->block.address == address) {
            return freed;
        }
    }
    return NULL;
}

tm_status heap_history_explain(const struct heap_history *history,
                               uint64_t address, struct heap_block *block,
                               char *freed_at)
{
    const struct freed_block *freed = find_freed(history, address);

    if (freed == NULL) {
        return TM_ENOBLOCK;
    }
    *block = freed->block;
    snprintf(freed_at, HEAP_PLACE_SIZE, "%s:%u", freed->file, freed->line);
    return TM_EFREED;
}
