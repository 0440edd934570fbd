// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that stay until a thread has used them, and the messages that wait
// meanwhile (protocols.md section 4, pinned pages and queues).
//
//   not pinned -> pinned   pin_page: it has come, and a thread waits for it
//                          pinning_await: it is held, see below
//   pinned     -> pinned   engine_resumed: the thread goes on, and others want
//                          the page: it stays RESUMED_NS more
//            -> not pinned engine_resumed: nobody else wants it
//                          engine_let_go: RESUMED_NS after that, or, whether or
//                          not the thread goes on, PINNED_MAX_NS after it came,
//                          HELD_MAX_NS after it was held
//
// Why RESUMED_NS: a thread goes on before it uses the page. What it does then is an
// instruction of the program, and nothing tells when that is done. If the page
// went with engine_resumed, a node that is always asked for the page again before
// its thread goes on, and under contention that is the rule, would never use it.
// The length is that of a return from a signal handler many times over, and short
// beside a wait for another node.
//
// Held: an instruction may need several pages at once, and wait for one after the other.
// Two threads that need the same ones could take them from each other for ever, each going
// on with the one that has come when the other has just gone. So if an instruction waits for
// a page that it has waited for before, what it has of lower numbers stays until that has
// come. Who waits for a page holds lower ones only, so nobody waits in a ring: the lowest page
// is somebody's who gets the others, one after the other. (Not at once, since most
// that wait for two pages in turn are done with the first, and others may want it.)
//
// Messages wait (page_defer) in the order they came
//   - about a pinned page: requests at its owner, invalidations at a copy
//   - about a busy page (protocol/sequential.c): requests at its owner; the first is the
//     one that it is busy for
//   - requests of others at a node that will be the owner: `queues`
// and are looked at again (page_run_deferred) when the page ceases to be one of
// these; those that another one keeps come back. (An owner's own request, say,
// that waited while the page was busy is to follow the page that has gone, and
// those of others behind it are to stay.)
//
// D1 A page that is neither pinned nor busy nor queueing has no deferred messages.
// D2 A page is pinned exactly if it is in the list, once.
// D3 Whoever waits for a page holds only pages of lower numbers.
#include "base/ensure.h"
#include "base/list.h"
#include "base/vector.h"
#include "pages/pages.h"

#include <stdlib.h>

#define PINNED_MAX_NS (2 * 1000 * 1000u)
#define RESUMED_NS (50 * 1000u)
#define HELD_MAX_NS (20 * 1000 * 1000u)

// Threads that go on look without the lock.
static void set_pinned(struct page *page, int pinned)
{
    __atomic_store_n(&page->pinned, (uint8_t)pinned, __ATOMIC_RELAXED);
}

static uint64_t now_ns(const struct engine *engine)
{
    return engine->port->now_ns(engine->port->owner);
}

// ---- pinned pages

void pinning_open(struct engine *engine)
{
    engine->pinned.due_ns = UINT64_MAX;
}

void pinning_close(struct engine *engine)
{
    free(engine->pinned.at);
}

static uint64_t due_of(const struct pinned *pinned)
{
    return pinned->until_ns > pinned->held_ns ? pinned->until_ns
                                              : pinned->held_ns;
}

static void find_due(struct pinned_list *list)
{
    list->due_ns = UINT64_MAX;
    for (size_t i = 0; i < list->n; i++) {
        if (due_of(&list->at[i]) < list->due_ns) {
            list->due_ns = due_of(&list->at[i]);
        }
    }
}

static void add_pinned(struct engine *engine, struct pinned pinned)
{
    struct pinned_list *list = &engine->pinned;

    set_pinned(page_of(engine, pinned.page), 1);
    vector_reserve(list->at, list->room, list->n + 1);
    list->at[list->n++] = pinned;
    if (due_of(&pinned) < list->due_ns) {
        list->due_ns = due_of(&pinned);
    }
}

void pin_page(struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    if (page->waiters != NULL && !page->pinned) {
        add_pinned(engine, (struct pinned){
                               .page = page_number,
                               .until_ns = now_ns(engine) + PINNED_MAX_NS,
                           });
    }
}

static void remove_at(struct pinned_list *list, size_t index)
{
    list->at[index] = list->at[--list->n];
}

// The newest are at the end, and go on first.
static size_t find_pinned(const struct pinned_list *list, page_no page)
{
    size_t i = list->n;

    do {
        ensure(i > 0); // D2
        i--;
    } while (list->at[i].page != page);
    return i;
}

int engine_is_to_hear(const struct engine *engine, page_no page,
                      const struct fault_history *history)
{
    return history->needed.held != 0 ||
           __atomic_load_n(&page_of(engine, page)->pinned, __ATOMIC_RELAXED);
}

void engine_note_missed(const struct engine *engine, page_no page, int is_write,
                        struct fault_history *history)
{
    uint8_t access =
        __atomic_load_n(&page_of(engine, page)->access, __ATOMIC_RELAXED);
    int has_gone = access < (is_write ? ACCESS_WRITE : ACCESS_READ);

    history->missed = has_gone ? page + 1 : 0;
}

// ---- held pages

static int is_kept(const struct engine *engine, page_no page_number)
{
    const struct protocol *protocol = protocol_of(engine, page_number);
    const struct page *page = page_of(engine, page_number);

    return page->state != PAGE_ABSENT && !page->busy && !page->fetching &&
           (protocol->pins_pages ||
            (protocol->pins != NULL && protocol->pins(engine, page_number)));
}

static void hold_page(struct engine *engine, page_no page_number)
{
    const uint64_t until_ns = now_ns(engine) + HELD_MAX_NS;
    struct pinned_list *list = &engine->pinned;

    if (page_of(engine, page_number)->pinned) {
        list->at[find_pinned(list, page_number)].held_ns = until_ns;
        find_due(list);
        return;
    }
    add_pinned(engine,
               (struct pinned){.page = page_number, .held_ns = until_ns});
    steps_made(engine, page_number, (struct step_cause){.event = STEP_HOLDS});
}

// @return 1 it has waited for the page before, at the same instruction
static int note_needed(struct fault_history *history, page_no page)
{
    if (history->needed.instruction != history->instruction) {
        history->needed.instruction = history->instruction;
        history->needed.n = 0;
    }
    for (unsigned i = 0; i < history->needed.n && i < NEEDED_MAX; i++) {
        if (history->needed.pages[i] == page) {
            return 1;
        }
    }
    history->needed.pages[history->needed.n++ % NEEDED_MAX] = page;
    return 0;
}

void pinning_await(struct engine *engine, page_no page,
                   struct fault_history *history)
{
    history->needed.held = 0;
    if (!note_needed(history, page)) {
        return;
    }
    for (unsigned i = 0; i < history->needed.n && i < NEEDED_MAX; i++) {
        if (history->needed.pages[i] < page &&
            is_kept(engine, history->needed.pages[i])) { // D3
            hold_page(engine, history->needed.pages[i]);
            history->needed.held |= 1u << i;
        }
    }
}

// ---- a thread goes on

static void unpin(struct engine *engine, size_t index)
{
    struct pinned_list *list = &engine->pinned;
    const page_no page = list->at[index].page;

    set_pinned(page_of(engine, page), 0);
    remove_at(list, index);
    steps_made(engine, page, (struct step_cause){.event = STEP_LETS_GO});
}

// It uses the page now. @return 1 others wait for it
static int use_pinned(struct engine *engine, page_no page_number)
{
    struct pinned *pinned;
    uint64_t until_ns = now_ns(engine) + RESUMED_NS;
    size_t index;

    if (!page_of(engine, page_number)->pinned) {
        return 0;
    }
    index = find_pinned(&engine->pinned, page_number);
    pinned = &engine->pinned.at[index];
    if (page_of(engine, page_number)->deferred == NULL &&
        pinned->held_ns == 0) {
        unpin(engine, index);
        return 0;
    }
    if (until_ns < pinned->until_ns) {
        pinned->until_ns = until_ns;
    }
    return 1;
}

// The same of a page that was held for it.
static int use_held(struct engine *engine, page_no page_number)
{
    struct pinned *pinned;
    size_t index;

    if (!page_of(engine, page_number)->pinned) {
        return 0; // its time was over
    }
    index = find_pinned(&engine->pinned, page_number);
    pinned = &engine->pinned.at[index];
    pinned->held_ns = 0;
    if (pinned->until_ns == 0) {
        pinned->until_ns = now_ns(engine) + RESUMED_NS;
        return use_pinned(engine, page_number);
    }
    return 1;
}

int engine_resumed(struct engine *engine, page_no page_number,
                   struct fault_history *history)
{
    int is_wanted = use_pinned(engine, page_number);

    for (unsigned i = 0; history != NULL && i < NEEDED_MAX; i++) {
        if (history->needed.held >> i & 1) {
            is_wanted |= use_held(engine, history->needed.pages[i]);
        }
    }
    if (history != NULL) {
        history->needed.held = 0;
    }
    find_due(&engine->pinned);
    return is_wanted;
}

// @return 0 none of the pages is due
static int let_one_go(struct engine *engine, uint64_t at_ns)
{
    struct pinned_list *list = &engine->pinned;
    page_no page;

    for (size_t i = 0; i < list->n; i++) {
        if (due_of(&list->at[i]) <= at_ns) {
            page = list->at[i].page;
            remove_at(list, i);
            set_pinned(page_of(engine, page), 0);
            steps_made(engine, page,
                       (struct step_cause){.event = STEP_LETS_GO});
            page_run_deferred(engine, page); // may pin it, or another, again
            return 1;
        }
    }
    return 0;
}

void engine_let_go(struct engine *engine)
{
    uint64_t at_ns;

    if (engine->pinned.n == 0) {
        return;
    }
    at_ns = now_ns(engine);
    if (at_ns < engine->pinned.due_ns) {
        return;
    }
    while (let_one_go(engine, at_ns)) {
    }
    find_due(&engine->pinned);
    engine_discard_now(engine);
}

uint64_t engine_due_ns(const struct engine *engine)
{
    return engine->pinned.due_ns;
}

void pinning_forget(struct engine *engine, const struct extent *extent)
{
    struct pinned_list *list = &engine->pinned;

    for (size_t i = list->n; i-- > 0;) {
        if (list->at[i].page >= extent->page &&
            list->at[i].page < extent->page + extent->n_pages) {
            remove_at(list, i);
        }
    }
    find_due(list);
}

// ---- messages that wait

struct deferred *deferred_add(struct deferred **list, size_t room)
{
    struct deferred *deferred = calloc(1, sizeof *deferred + room);

    ensure_memory(deferred != NULL);
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = deferred;
    return deferred;
}

void deferred_drop(struct deferred **list)
{
    list_take_each (deferred, *list) {
        free(deferred);
    }
}

void deferred_keep(struct deferred **list, node_id from,
                   const struct message *message)
{
    struct deferred *deferred = deferred_add(list, 0);

    deferred->from = from;
    deferred->message = *message;
    deferred->message.body = NULL;
    deferred->message.body_size = 0;
}

void page_defer(struct engine *engine, page_no page, node_id from,
                const struct message *message)
{
    deferred_keep(&page_of(engine, page)->deferred, from, message);
}

void page_run_deferred(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct deferred *first = page->deferred;

    steps_so_far(engine, page_number);
    if (first == NULL || page->pinned || page->busy || page_keeps_diffs(page)) {
        return;
    }
    page->deferred = NULL; // those that are to wait come back, in order
    list_take_each (deferred, first) {
        (void)engine->deliver(engine, deferred->from, &deferred->message);
        free(deferred);
    }
}
