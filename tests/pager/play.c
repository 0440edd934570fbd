// SPDX-License-Identifier: BSD-3-Clause
#include "play.h"

#include <assert.h>
#include <stdlib.h>

#include "mem/replace_valid_test.h"

#define AT_ONCE 256u

struct player {
    const struct trace *trace;
    const struct play *how;
    struct replace *replace;
    char *is_resident;
    char *has_tripwire;
    uint32_t n_resident;
    size_t n_page_ins;
    size_t n_checked;
    size_t now;
    size_t first;
    uint32_t wanted; ///< the page that is used now
};

/* ---- learning ---- */

static void learn_thread(struct replace *replace, const struct trace *trace,
                         size_t first, size_t end, uint32_t thread)
{
    char *is_known = calloc(trace->n_pages + 1, 1);
    page_no *pages = malloc((trace->n_pages + 1) * sizeof *pages);
    size_t n = 0;

    assert(is_known != NULL && pages != NULL);
    for (size_t i = first; i < end; i++) {
        const struct trace_event *event = &trace->events[i];

        if (event->thread == thread && event->page != TRACE_TURN &&
            !is_known[event->page]) {
            is_known[event->page] = 1;
            pages[n++] = event->page;
        }
    }
    replace_learn(replace, thread, pages, n);
    free(is_known);
    free(pages);
}

static void learn_order(struct replace *replace, const struct trace *trace,
                        size_t first, size_t end, uint32_t worker)
{
    char *is_known = calloc(trace->n_threads + 1, 1);
    uint32_t *threads = malloc((trace->n_threads + 1) * sizeof *threads);
    size_t n = 0;

    assert(is_known != NULL && threads != NULL);
    for (size_t i = first; i < end; i++) {
        const struct trace_event *event = &trace->events[i];

        if (event->worker == worker && event->page == TRACE_TURN &&
            !is_known[event->thread]) {
            is_known[event->thread] = 1;
            threads[n++] = event->thread;
        }
    }
    replace_order(replace, worker, threads, n);
    free(is_known);
    free(threads);
}

void play_learn(struct replace *replace, const struct trace *trace,
                size_t first, size_t end)
{
    for (uint32_t thread = 0; thread < trace->n_threads; thread++) {
        learn_thread(replace, trace, first, end, thread);
    }
    for (uint32_t worker = 0; worker < trace->n_workers; worker++) {
        learn_order(replace, trace, first, end, worker);
    }
}

/** What was tracked counts from the end of the iteration on. */
static void learn_at_mark(struct player *player)
{
    const struct trace *trace = player->trace;
    const struct play *how = player->how;

    for (unsigned k = how->learn; k + 1 < trace->n_marks && !how->is_blind;
         k++) {
        if (trace->marks[k + 1] == player->now &&
            (k == how->learn ||
             (how->again != 0 && (k - how->learn) % how->again == 0))) {
            play_learn(player->replace, trace, trace->marks[k],
                       trace->marks[k + 1]);
        }
    }
}

/* ---- paging ---- */

static int may_go(void *context, page_no page)
{
    const struct player *player = context;

    assert(page < player->trace->n_pages && player->is_resident[page]);
    return page != player->wanted;
}

static void make_room(struct player *player)
{
    page_no victims[AT_ONCE];
    unsigned max = player->how->at_once == 0 ? 1 : player->how->at_once;
    unsigned n;

    if (player->n_resident < player->how->budget) {
        return;
    }
    n = replace_victims(player->replace, victims, max, may_go, player);
    assert(n > 0 && n <= max);
    for (unsigned i = 0; i < n; i++) {
        assert(player->is_resident[victims[i]]); // nor is any there twice
        player->is_resident[victims[i]] = 0;
        player->n_resident--;
        replace_remove(player->replace, victims[i]);
    }
}

static void page_in(struct player *player, uint32_t page, int is_ahead)
{
    make_room(player);
    replace_add(player->replace, page);
    player->is_resident[page] = 1;
    player->has_tripwire[page] = (char)is_ahead;
    player->n_resident++;
    player->n_page_ins += player->now >= player->first;
    player->n_checked++;
    if (player->how->check_every != 0 &&
        player->n_checked % player->how->check_every == 0) {
        assert(replace_is_valid(player->replace));
    }
}

static void read_ahead(struct player *player, uint32_t worker)
{
    page_no pages[AT_ONCE];
    unsigned n;

    assert(player->how->ahead <= AT_ONCE);
    n = replace_ahead(player->replace, worker, player->how->horizon, pages,
                      player->how->ahead);
    for (unsigned i = 0; i < n; i++) {
        assert(!player->is_resident[pages[i]]);
        page_in(player, (uint32_t)pages[i], 1);
    }
}

static void use(struct player *player, const struct trace_event *event)
{
    int is_fault = !player->is_resident[event->page];

    if (!is_fault && !player->has_tripwire[event->page]) {
        return;
    }
    player->wanted = event->page;
    player->has_tripwire[event->page] = 0;
    replace_touch(player->replace, event->worker, event->page);
    if (is_fault) {
        page_in(player, event->page, 0);
    }
    if (player->how->ahead > 0) {
        read_ahead(player, event->worker);
    }
}

size_t play(const struct trace *trace, const struct play *how, size_t first)
{
    struct replace_options options = {.lookback = how->lookback, .seed = 1};
    struct player player = {
        .trace = trace,
        .how = how,
        .replace = replace_new(trace->n_pages, &options),
        .is_resident = calloc(trace->n_pages + 1, 1),
        .has_tripwire = calloc(trace->n_pages + 1, 1),
        .first = first,
    };

    assert(player.is_resident != NULL && player.has_tripwire != NULL);
    for (; player.now < trace->n; player.now++) {
        const struct trace_event *event = &trace->events[player.now];

        learn_at_mark(&player);
        if (event->page == TRACE_TURN) {
            replace_turn(player.replace, event->worker, event->thread);
        } else {
            use(&player, event);
        }
    }
    replace_free(player.replace);
    free(player.is_resident);
    free(player.has_tripwire);
    return player.n_page_ins;
}
