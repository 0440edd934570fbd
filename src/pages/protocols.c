// SPDX-License-Identifier: BSD-3-Clause
//
// The table of protocols that an engine was given. Of the bases each is called once,
// however many protocols have it.
#include <string.h>

#include "base/ensure.h"
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

const struct protocol *protocol_by_name(const struct protocols *protocols,
                                        const char *name, size_t length)
{
    for (unsigned i = 0; i < protocols->n; i++) {
        const char *known = protocols->rows[i]->name;

        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return protocols->rows[i];
        }
    }
    return NULL;
}

const struct protocol *protocol_of(const struct engine *engine, page_no page)
{
    return protocol_by_id(engine->protocols, engine_protocol(engine, page));
}

int engine_is_coherent(const struct engine *engine, page_no page)
{
    return protocol_of(engine, page)->is_coherent;
}

const struct protocol_base *base_of_message(const struct engine *engine,
                                            enum message_type type)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        if (engine->bases[i]->messages >> type & 1) {
            return engine->bases[i];
        }
    }
    return NULL;
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

tm_status bases_open(struct engine *engine)
{
    const struct protocols *protocols = engine->protocols;
    tm_status status = TM_OK;

    for (unsigned i = 0; i < protocols->n && status == TM_OK; i++) {
        const struct protocol_base *base = protocols->rows[i]->base;

        if (!has_base(engine, base)) {
            ensure(engine->n_bases < BASES_MAX);
            engine->bases[engine->n_bases++] = base;
            status = base->open(engine);
        }
    }
    return status;
}

void bases_close(struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        engine->bases[i]->close(engine);
    }
}

void bases_release_early(struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        engine->bases[i]->release_early(engine);
    }
}

void bases_brought(struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        engine->bases[i]->brought(engine);
    }
}

void bases_forget(struct engine *engine, const struct extent *extent)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        engine->bases[i]->forget(engine, extent);
    }
}

void bases_roster_changed(struct engine *engine)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        engine->bases[i]->roster_changed(engine);
    }
}

void bases_order(struct engine *engine, node_id to)
{
    for (unsigned i = 0; i < engine->n_bases && to != engine->port->self; i++) {
        engine->bases[i]->order(engine, to);
    }
}

void bases_order_now(struct engine *engine, const struct engine *before)
{
    for (unsigned i = 0; i < engine->n_bases; i++) {
        engine->bases[i]->order_now(engine, before);
    }
}

int bases_are_quiet(const struct engine *engine)
{
    unsigned i = 0;

    while (i < engine->n_bases && engine->bases[i]->is_quiet(engine)) {
        i++;
    }
    return i == engine->n_bases;
}

int bases_are_valid(const struct engine *engine)
{
    unsigned i = 0;

    while (i < engine->n_bases && engine->bases[i]->is_valid(engine)) {
        i++;
    }
    return i == engine->n_bases;
}

void engine_acquired(struct engine *engine)
{
    for (unsigned i = 0; i < engine->protocols->n; i++) {
        engine->protocols->rows[i]->acquired(engine);
    }
}

void protocols_frozen(struct engine *engine)
{
    for (unsigned i = 0; i < engine->protocols->n; i++) {
        engine->protocols->rows[i]->frozen(engine);
    }
}

void protocols_roster_changed(struct engine *engine)
{
    for (unsigned i = 0; i < engine->protocols->n; i++) {
        engine->protocols->rows[i]->roster_changed(engine);
    }
}

int protocol_takes_all(const struct engine *engine, page_no page,
                       uint32_t version)
{
    (void)engine;
    (void)page;
    (void)version;
    return 1;
}

void protocol_keeps_all(struct engine *engine)
{
    (void)engine;
}

void protocol_tells_nobody(struct engine *engine, page_no page)
{
    (void)engine;
    (void)page;
}

void protocol_takes_no_advice(struct engine *engine, page_no page,
                              enum page_advice advice)
{
    (void)engine;
    (void)page;
    (void)advice;
}

enum page_state protocol_state_alone(const struct engine *engine, page_no page)
{
    (void)engine;
    (void)page;
    return PAGE_EXCLUSIVE;
}

// ---- a base of nothing

tm_status base_opens_nothing(struct engine *engine)
{
    (void)engine;
    return TM_OK;
}

void base_does_nothing(struct engine *engine)
{
    (void)engine;
}

void base_forgets_nothing(struct engine *engine, const struct extent *extent)
{
    (void)engine;
    (void)extent;
}

void base_tells_nothing(struct engine *engine, node_id to)
{
    (void)engine;
    (void)to;
}

void base_hears_nothing(struct engine *engine, const struct engine *before)
{
    (void)engine;
    (void)before;
}

int base_is_so(const struct engine *engine)
{
    (void)engine;
    return 1;
}
