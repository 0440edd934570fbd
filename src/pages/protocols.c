// SPDX-License-Identifier: BSD-3-Clause
//
// The table of protocols that an engine was given. Of the bases each is called once,
// however many protocols have it.
#include "base/ensure.h"
#include "mem/slabs.h"
#include "pages/pages.h"

const struct protocol *protocol_by_id(const struct protocols *protocols,
                                      tm_protocol id)
{
    for (unsigned i = 0; i < protocols->n; i++) {
        if (protocols->rows[i]->id == id) {
            return protocols->rows[i];
        }
    }
    return NULL;
}

const struct protocol *protocol_of(const struct engine *engine, page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return extent == NULL ? engine->default_row : extent->row;
}

int engine_is_coherent(const struct engine *engine, page_no page)
{
    return protocol_of(engine, page)->is_coherent;
}

int protocols_have_cells(const struct protocols *protocols, tm_protocol id,
                         uint32_t kind)
{
    const struct protocol *protocol = protocol_by_id(protocols, id);

    return slabs_has_kind(kind) &&
           (!(kind & CELL_GRAIN) || (protocol != NULL && protocol->has_grain));
}

tm_protocol engine_grain_protocol(const struct engine *engine,
                                  tm_protocol wanted)
{
    const struct protocols *protocols = engine->protocols;

    for (unsigned i = 0; i < protocols->n; i++) {
        const struct protocol *row = protocols->rows[i];

        if (row->has_grain &&
            (wanted == TM_PROTOCOL_DEFAULT || wanted == row->id)) {
            return row->id;
        }
    }
    return TM_PROTOCOL_DEFAULT;
}

int engine_needs_lock(const struct engine *engine, page_no page)
{
    return protocol_of(engine, page)->admit != NULL;
}

void engine_explain(const struct engine *engine, page_no page, unsigned offset,
                    uint64_t thread, char *text, size_t size)
{
    const struct protocol *protocol = protocol_of(engine, page);

    text[0] = '\0';
    if (protocol->explain != NULL) {
        protocol->explain(engine, page, offset, thread, text, size);
    }
}

static int has_base(const struct engine *engine,
                    const struct protocol_base *base)
{
    unsigned i = 0;

    while (i < engine->n_bases && engine->bases[i] != base) {
        i++;
    }
    return i < engine->n_bases;
}

static void note_messages(struct engine *engine,
                          const struct protocol_base *base)
{
    for (unsigned type = 0; type < 64; type++) {
        if (base->messages >> type & 1) {
            engine->base_of[type] = base;
        }
    }
}

static void note_acquired(struct engine *engine,
                          const struct protocol *protocol)
{
    if (protocol->acquired != NULL) {
        ensure(engine->n_acquired < BASES_MAX);
        engine->acquired[engine->n_acquired++] = protocol->acquired;
    }
}

tm_status bases_open(struct engine *engine)
{
    const struct protocols *protocols = engine->protocols;
    tm_status status = TM_OK;

    for (unsigned i = 0; i < protocols->n && status == TM_OK; i++) {
        const struct protocol_base *base = protocols->rows[i]->base;

        note_acquired(engine, protocols->rows[i]);

        if (!has_base(engine, base)) {
            ensure(engine->n_bases < BASES_MAX);
            engine->bases[engine->n_bases++] = base;
            note_messages(engine, base);
            status = base->open == NULL ? TM_OK : base->open(engine);
        }
    }
    return status;
}

// Call a slot of all bases that have it.
#define TELL_BASES(slot, parameters, ...)                                      \
    void bases_##slot parameters                                               \
    {                                                                          \
        for (unsigned i = 0; i < engine->n_bases; i++) {                       \
            if (engine->bases[i]->slot != NULL) {                              \
                engine->bases[i]->slot(__VA_ARGS__);                           \
            }                                                                  \
        }                                                                      \
    }

TELL_BASES(close, (struct engine * engine), engine)
TELL_BASES(release_early, (struct engine * engine), engine)
TELL_BASES(brought, (struct engine * engine), engine)
TELL_BASES(closed, (struct engine * engine, const struct extent *extent),
           engine, extent)
TELL_BASES(forget, (struct engine * engine, const struct extent *extent),
           engine, extent)
TELL_BASES(frozen, (struct engine * engine), engine)
TELL_BASES(roster_changed, (struct engine * engine), engine)

TELL_BASES(order, (struct engine * engine, node_id to, uint64_t mutex), engine,
           to, mutex)
TELL_BASES(order_now,
           (struct engine * engine, struct engine *before, uint64_t mutex),
           engine, before, mutex)
TELL_BASES(held, (struct engine * engine, uint64_t mutex, int is_held), engine,
           mutex, is_held)

void bases_release(struct engine *engine, struct waiter *waiter)
{
    unsigned i = 0;

    while (i < engine->n_bases && engine->bases[i]->release == NULL) {
        i++;
    }
    if (i < engine->n_bases) {
        engine->bases[i]->release(engine, waiter);
    } else {
        waiter_wake(waiter, TM_OK, 0);
    }
}

int bases_are_quiet(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        const struct protocol_base *base = engine->bases[i];

        if (base->is_quiet != NULL && !base->is_quiet(engine)) {
            return 0;
        }
    }
    return 1;
}

int bases_are_valid(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        const struct protocol_base *base = engine->bases[i];

        if (base->is_valid != NULL && !base->is_valid(engine)) {
            return 0;
        }
    }
    return 1;
}

void engine_acquired(struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_acquired; i++) {
        engine->acquired[i](engine);
    }
}

enum page_state protocol_state_alone(const struct engine *engine, page_no page)
{
    (void)engine;
    (void)page;
    return PAGE_EXCLUSIVE;
}
