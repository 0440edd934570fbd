// SPDX-License-Identifier: BSD-3-Clause
#include "mem/heap_history.h"

#include <stdlib.h>
#include <string.h>

tm_status heap_history_init(struct heap_history *history)
{
    history->n_freed = 0;
    history->ring = calloc(HEAP_HISTORY, sizeof(*history->ring));
    return history->ring == NULL ? TM_ENOMEM : TM_OK;
}

void heap_history_release(struct heap_history *history)
{
    free(history->ring);
    history->ring = NULL;
}

void heap_copy_end(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    if (length >= size) {
        text += length - (size - 1);
        length = size - 1;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

void heap_history_add(struct heap_history *history,
                      const struct heap_block *block, const char *file,
                      uint32_t line)
{
    struct freed_block *freed = &history->ring[history->n_freed % HEAP_HISTORY];

    freed->block = *block;
    heap_copy_end(freed->file, sizeof(freed->file), file == NULL ? "" : file);
    freed->line = line;
    history->n_freed++;
}

const struct freed_block *heap_history_at(const struct heap_history *history,
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
