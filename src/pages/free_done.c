// SPDX-License-Identifier: BSD-3-Clause
//
// What comes of tm_free(): the answer to who waits, and a line if it was wrong.
#include "base/log.h"
#include "pages/pages.h"

#include <inttypes.h>

void blocks_send_free_done(struct engine *engine, node_id to, uint32_t token,
                           tm_status status)
{
    const struct message message = {
        .type = MESSAGE_free_done,
        .u.free_done = {.token = token, .status = (uint32_t)status},
    };

    port_send(engine->port, to, &message);
}

void blocks_log_bad_free(tm_status status, uint64_t address,
                         const struct heap_origin *place,
                         const struct heap_block *block, const char *freed_at)
{
    if (status == TM_EFREED) {
        log_error("tm_free(0x%" PRIx64 ") at %s:%u: freed before at %s, "
                  "allocated at %s:%u",
                  address, place->file, place->line, freed_at, block->file,
                  block->line);
    } else {
        log_error("tm_free(0x%" PRIx64 ") at %s:%u: %s", address, place->file,
                  place->line, tm_strerror(status));
    }
}
