// SPDX-License-Identifier: BSD-3-Clause
//
// Who waits for an answer of another node goes on. (Who waits for a page: page.c.)
#include "base/log.h"
#include "pages/pages.h"

uint32_t engine_await(struct engine *engine, struct waiter *waiter,
                      enum message_type answer)
{
    waiter->result = answer; // until it comes
    return tokens_give(&engine->tokens, waiter);
}

struct waiter *engine_answered(struct engine *engine, enum message_type answer,
                               uint32_t token)
{
    struct waiter *waiter = tokens_find(&engine->tokens, token);

    return waiter != NULL && waiter->result == answer ? waiter : NULL;
}

void engine_refuse_part(struct engine *engine, page_no page, const char *what)
{
    if (engine->stats.bad_messages++ < LOG_REFUSED_MAX) {
        log_error("%s for page %llu is refused", what,
                  (unsigned long long)page);
    }
}
