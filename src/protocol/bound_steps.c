// SPDX-License-Identifier: BSD-3-Clause
//
// What is told of pages whose bytes are bound to locks, in a debug build to who watches
// (pages/page_steps.h). Each change of what is here, of stamps and of twins is a step of its page; numbers
// that a row compares go with it as `version` and `epoch` of its cause.
#include "protocol/bound.h"

#include <string.h>

/* The lines of a page that are in ranges: what fn() says of them, added up. */
static uint64_t add_up(const struct engine *engine, page_no page,
                       uint64_t (*fn)(const struct engine *engine,
                                      const struct range *range,
                                      const struct piece *line))
{
    const struct bindings *all = engine->bindings;
    const uint64_t start = page * TM_PAGE_SIZE;
    uint64_t sum = 0;

    for (size_t i = bound_from(all, start);
         i < all->n && all->ranges[i]->start < start + TM_PAGE_SIZE; i++) {
        struct piece piece = {0};

        while (next_piece(all->ranges[i], &piece)) {
            struct piece line = {.page = piece.page, .end = piece.from};

            while (piece.page == page && next_line(&piece, &line)) {
                sum += fn(engine, all->ranges[i], &line);
            }
        }
    }
    return sum;
}

static uint64_t stamp_of(const struct engine *engine, const struct range *range,
                         const struct piece *line)
{
    (void)engine;
    return range->stamps[line_of(range, piece_at(line))];
}

void bound_describe(const struct engine *engine, page_no page_number,
                    struct step_record *to)
{
    struct page *page = page_of(engine, page_number);

    to->here = bound_use_of(page)->n_here;
    to->written = page->twin != NULL;
    to->version = (uint32_t)add_up(engine, page_number, stamp_of);
}

#ifdef TM_DEBUG

void bound_tell(struct engine *engine, const struct range *range,
                enum step_event event)
{
    const page_no first = range->start / TM_PAGE_SIZE;
    const page_no end = (range_end(range) - 1) / TM_PAGE_SIZE + 1;

    steps_made_run(engine, first, end - first, event);
}

// ---- bytes

void bound_tell_sent(struct engine *engine, const struct bound *lock,
                     page_no page, uint64_t stamp, node_id to)
{
    steps_sent(engine, page, STEP_SENT_BYTES, to);
    steps_made(engine, page,
               (struct step_cause){.event = STEP_SENDS_BYTES,
                                   .who = to,
                                   .version = (uint32_t)stamp,
                                   .epoch = (uint32_t)bound_known(lock, to)});
}

void bound_tell_taken(struct engine *engine, page_no page, uint64_t stamp,
                      uint64_t before)
{
    steps_made(engine, page,
               (struct step_cause){.event = STEP_TAKES_BYTES,
                                   .version = (uint32_t)stamp,
                                   .epoch = (uint32_t)before});
}

// ---- twins

static uint64_t is_unstamped(const struct engine *engine,
                             const struct range *range,
                             const struct piece *line)
{
    const char *bytes = space_bytes(engine->space, line->page);

    (void)range;
    return memcmp(bytes + line->from,
                  page_of(engine, line->page)->twin + line->from,
                  line->end - line->from) != 0;
}

unsigned bound_n_unstamped(const struct engine *engine, page_no page)
{
    return engine->steps == NULL ? 0
                                 : (unsigned)add_up(engine, page, is_unstamped);
}

void bound_tell_twin(struct engine *engine, page_no page, unsigned n_lines)
{
    steps_made(
        engine, page,
        (struct step_cause){.event = STEP_TWIN_GOES, .version = n_lines});
}

#endif
