// SPDX-License-Identifier: BSD-3-Clause
//
// Atomic operations on words of eager-release pages. They travel to the page's
// owner like a fetch and are performed there, on the page and its twin; the new
// word is pushed to all copies before the caller goes on. At an owner that shares the page
// with nobody that is all there is to do.
#include "protocol/protocol_calls.h"

#include "mem/diff.h"
#include "pages/causality.h"
#include "protocol/scopes.h"
#include "protocol/updates.h"

#include <string.h>

static uint64_t mask_of(unsigned size)
{
    return UINT64_MAX >> (64 - 8 * size);
}

uint64_t atomic_result(const struct atomic *atomic, uint64_t before)
{
    const uint64_t operand = atomic->operand;
    const uint64_t mask = mask_of(atomic->size);

    switch (atomic->op) {
    case ATOMIC_ADD:
        return (before + operand) & mask;
    case ATOMIC_AND:
        return before & operand;
    case ATOMIC_OR:
        return (before | operand) & mask;
    case ATOMIC_XOR:
        return (before ^ operand) & mask;
    case ATOMIC_EXCHANGE:
        return operand & mask;
    case ATOMIC_COMPARE:
        return before == (atomic->expected & mask) ? operand & mask : before;
    default:
        return before;
    }
}

static uint64_t result_of(const struct message_atomic *message, uint64_t before)
{
    return atomic_result(&(struct atomic){(enum atomic_op)message->op,
                                          message->size, message->operand,
                                          message->expected},
                         before);
}

static void send_result(struct engine *engine, node_id to, uint32_t token,
                        uint64_t before)
{
    struct message message = {
        .type = MESSAGE_atomic_done,
        .u.atomic_done = {.token = token, .before = before},
    };

    engine_order(engine, ORDER_ATOMICS, to, ORDER_TAKES);
    port_send(engine->port, to, &message);
}

static void all_have_it(struct engine *engine, struct flight *flight)
{
    send_result(engine, flight->reply_to, flight->token, flight->before);
}

static const struct flight_kind atomic_flight = {
    .has_follower = flight_goes_alone,
    .departed = flight_leaves_it,
    .arrived = all_have_it,
    .ended = flight_ends_so,
};

static uint64_t word_at(const struct engine *engine,
                        const struct message_atomic *atomic)
{
    uint64_t word = 0; // its bytes come first

    memcpy(&word, space_bytes(engine->space, atomic->page) + atomic->offset,
           atomic->size);
    return word;
}

// @param[out] diff  [DIFF_MAX] of the page
// @return its size
static size_t change_word(struct engine *engine,
                          const struct message_atomic *atomic, uint64_t word,
                          uint8_t *diff)
{
    const struct page *page = page_of(engine, atomic->page);
    const unsigned offset = atomic->offset;
    char *bytes = space_bytes_to_change(engine->space, atomic->page);
    size_t size;

    memcpy(bytes + offset, &word, atomic->size);
    if (page->twin != NULL) {
        memcpy(page->twin + offset, &word, atomic->size);
    }
    size = diff_of_range(bytes + offset, offset, atomic->size, diff);
    update_wrote(engine, atomic->page, diff, size);
    space_changed(engine->space, atomic->page, diff, size);
    return size;
}

static void perform(struct engine *engine, const struct message_atomic *atomic)
{
    struct flight *flight;
    uint8_t diff[DIFF_MAX];
    struct update_item item = {.page = atomic->page, .diff = diff};
    const uint64_t before = word_at(engine, atomic);
    const uint64_t after = result_of(atomic, before);

    if (after == before) {
        send_result(engine, atomic->requester, atomic->token, before);
        return;
    }
    item.size = (uint16_t)change_word(engine, atomic, after, diff);
    flight = flight_new(engine, &atomic_flight);
    flight->origin = engine->port->self;
    flight->reply_to = atomic->requester;
    flight->token = atomic->token;
    flight->before = before;
    if (flight_push(engine, flight, NODE_NONE, &item)) {
        flight_add_page(flight, atomic->page, 1, 0);
    }
    flight_depart(engine, flight);
}

// Where copies may be old, what was written before the word that is read here has to be told
// to this node, and it is by messages only. A node that has never had others has written all
// there is, on pages that nobody has a copy of: who comes later fetches them as they are.
static int may_have_to_hear(const struct engine *engine)
{
    return engine->port->roster.n_ids > 1 &&
           (engine->causality != NULL || engine->n_unpushed > 0);
}

// Does this node own the page, and nobody else has it? Then nobody is to hear of the new
// word. Nor must this node hear of anything.
static int is_alone(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return page->is_owner && page->state == PAGE_EXCLUSIVE &&
           !may_have_to_hear(engine) && !paging_is_away(engine, page_number);
}

static uint64_t perform_alone(struct engine *engine,
                              const struct message_atomic *atomic)
{
    const struct step_cause none =
        steps_begin(engine, (struct step_cause){.event = STEP_ATOMIC,
                                                .page = atomic->page});
    const uint64_t before = word_at(engine, atomic);
    const uint64_t after = result_of(atomic, before);
    uint8_t diff[DIFF_MAX];

    if (after != before) {
        (void)change_word(engine, atomic, after, diff);
    }
    steps_end(engine, none, TM_OK);
    return before;
}

int engine_atomic_follows(const struct engine *engine, page_no page)
{
    return !page_of(engine, page)->listed && engine->updates->n_flushes == 0;
}

void engine_atomic(struct engine *engine, page_no page, unsigned offset,
                   const struct atomic *atomic, struct waiter *waiter)
{
    struct message message = {.type = MESSAGE_atomic};

    message.u.atomic = (struct message_atomic){
        .page = page,
        .offset = (uint16_t)offset,
        .size = (uint8_t)atomic->size,
        .op = (uint8_t)atomic->op,
        .operand = atomic->operand,
        .expected = atomic->expected,
        .requester = engine->port->self,
    };
    scopes_note(engine, page); // U2
    if (is_alone(engine, page)) {
        waiter_wake(waiter, TM_OK, perform_alone(engine, &message.u.atomic));
        return;
    }
    message.u.atomic.token = engine_await(engine, waiter, MESSAGE_atomic_done);
    engine_order(engine, ORDER_ATOMICS, fetch_route(engine, page), ORDER_GIVES);
    port_send(engine->port, fetch_route(engine, page), &message);
}

static int is_size(unsigned size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static int makes_sense(const struct engine *engine,
                       const struct message_atomic *atomic)
{
    const page_no page = atomic->page;

    return page < engine->space->n_pages && atomic->op < ATOMIC_OPS &&
           is_size(atomic->size) && atomic->offset % atomic->size == 0 &&
           (extent_find(engine, page) == NULL ||
            protocol_of(engine, page)->updates != NULL) &&
           atomic->offset < TM_PAGE_SIZE && atomic->hops < hops_max(engine) &&
           !fetch_has_lost_owner(engine, page) &&
           roster_has(&engine->port->roster, atomic->requester);
}

static int is_put_off(struct engine *engine, node_id from,
                      const struct message *message)
{
    const page_no page = message->u.atomic.page;
    const struct update_rules *rules = update_rules_of(engine, page);

    return rules->puts_off != NULL &&
           rules->puts_off(engine, page, from, message);
}

static void receive_request(struct engine *engine, node_id from,
                            const struct message *message)
{
    struct message on = *message;
    page_no page = message->u.atomic.page;

    if (extent_find(engine, page) == NULL) { // the program has freed it
        send_result(engine, message->u.atomic.requester,
                    message->u.atomic.token, 0);
        return;
    }
    if (page_of(engine, page)->is_owner) {
        if (!paging_parks(engine, from, message) &&
            !is_put_off(engine, from, message)) {
            perform(engine, &message->u.atomic);
        }
        return;
    }
    if (fetch_is_untouched(engine, page)) {
        fetch_grant(engine, page, 1, message->u.atomic.requester, 0);
    }
    on.u.atomic.hops++; // as those of a fetch
    engine_order(engine, ORDER_ATOMICS, fetch_route(engine, page),
                 ORDER_PASSES);
    port_send(engine->port, fetch_route(engine, page), &on);
}

tm_status atomic_receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    struct waiter *waiter;

    if (message->type == MESSAGE_atomic) {
        if (!makes_sense(engine, &message->u.atomic)) {
            return TM_EWIRE;
        }
        receive_request(engine, from, message);
        return TM_OK;
    }
    waiter = engine_answered(engine, MESSAGE_atomic_done,
                             message->u.atomic_done.token);
    if (waiter == NULL) {
        return TM_EWIRE; // nobody has asked
    }
    tokens_take(&engine->tokens, message->u.atomic_done.token);
    waiter_wake(waiter, TM_OK, message->u.atomic_done.before);
    return TM_OK;
}
