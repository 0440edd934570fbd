// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that stay until a thread has used them, and the messages that wait
// meanwhile (protocols.md section 4, pinned pages and queues).
//
//   not pinned -> pinned   pin_page: it has come, and a thread waits for it
//   pinned     -> pinned   engine_resumed: the thread goes on, and others want
//                          the page: it stays RESUMED_NS more
//            -> not pinned engine_resumed: nobody else wants it
//                          engine_let_go: RESUMED_NS after that, or, whether or
//                          not the thread goes on, PINNED_MAX_NS after it came
//
// Why RESUMED_NS: a thread goes on before it uses the page. What it does then is an
// instruction of the program, and nothing tells when that is done. If the page
// went with engine_resumed, a node that is always asked for the page again before
// its thread goes on, and under contention that is the rule, would never use it.
// The length is that of a return from a signal handler many times over, and short
// beside a wait for another node.
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
#include "base/ensure.h"
#include "base/list.h"
#include "base/vector.h"
#include "pages/pages.h"

#include <stdlib.h>

#define PINNED_MAX_NS (2 * 1000 * 1000u)
#define RESUMED_NS (50 * 1000u)

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

void pin_page(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct pinned_list *list = &engine->pinned;
    uint64_t until_ns;

    if (page->waiters == NULL || page->pinned) {
        return;
    }
    set_pinned(page, 1);
    vector_reserve(list->at, list->room, list->n + 1);
    until_ns = now_ns(engine) + PINNED_MAX_NS;
    list->at[list->n++] = (struct pinned){page_number, until_ns};
    if (until_ns < list->due_ns) {
        list->due_ns = until_ns;
    }
}

static void find_due(struct pinned_list *list)
{
    list->due_ns = UINT64_MAX;
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].until_ns < list->due_ns) {
            list->due_ns = list->at[i].until_ns;
        }
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

int engine_pins(const struct engine *engine, page_no page)
{
    return __atomic_load_n(&page_of(engine, page)->pinned, __ATOMIC_RELAXED);
}

void engine_note_missed(const struct engine *engine, page_no page, int is_write,
                        struct fault_history *history)
{
    uint8_t access =
        __atomic_load_n(&page_of(engine, page)->access, __ATOMIC_RELAXED);
    int has_gone = access < (is_write ? ACCESS_WRITE : ACCESS_READ);

    history->missed = has_gone ? page + 1 : 0;
}

int engine_resumed(struct engine *engine, page_no page_number)
{
    struct page *page = page_of(engine, page_number);
    struct pinned_list *list = &engine->pinned;
    uint64_t until_ns;
    size_t index;

    if (!page->pinned) {
        return 0;
    }
    index = find_pinned(list, page_number);
    if (page->deferred == NULL) {
        set_pinned(page, 0);
        steps_made(engine, page_number,
                   (struct step_cause){.event = STEP_LETS_GO});
        remove_at(list, index);
        find_due(list);
        return 0;
    }
    until_ns = now_ns(engine) + RESUMED_NS;
    if (until_ns < list->at[index].until_ns) {
        list->at[index].until_ns = until_ns;
    }
    if (until_ns < list->due_ns) {
        list->due_ns = until_ns;
    }
    return 1;
}

// @return 0 none of the pages is due
static int let_one_go(struct engine *engine, uint64_t at_ns)
{
    struct pinned_list *list = &engine->pinned;
    page_no page;

    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].until_ns <= at_ns) {
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
