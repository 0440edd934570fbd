// SPDX-License-Identifier: BSD-3-Clause
//
// While somebody looks at the job closely, each node tells the launcher once a second which
// threads it has (THREADS) and what has happened to its pages (PLACES), and the root what an
// iteration was predicted to take (FORECAST) and, as it comes, what is decided (WORDS). The
// launcher puts that together (cli/shown.c). How many look does not matter here: the launcher
// asks once.
//
// A frame that finds no room is lost; the next one tells the same, or more. What has changed
// only is told of pages, so a place whose last frame was lost is late until it changes.
#include "runtime/showing.h"

#include <string.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "runtime/findings.h"
#include "runtime/node.h"

#define EACH_NS UINT64_C(1000000000)

/** A place in a frame, at most. */
enum {
    PLACE_ROW = WIRE_SIZE_boot_place + sizeof((struct place *)0)->name +
                sizeof((struct place *)0)->file +
                sizeof((struct place *)0)->heat
};

/** A frame's body as it grows. */
struct body {
    uint8_t bytes[BOOT_FINDINGS_MAX];
    struct wire_writer writer;
};

static void body_begin(struct body *body)
{
    body->writer =
        (struct wire_writer){body->bytes, body->bytes + sizeof body->bytes, 0};
}

static size_t room_of(const struct body *body)
{
    return (size_t)(body->writer.end - body->writer.at);
}

static void body_tell(const struct node *node, struct body *body,
                      enum boot_kind kind)
{
    bootstrap_tell(&node->bootstrap, kind, body->bytes,
                   (size_t)(body->writer.at - body->bytes));
    body_begin(body);
}

int showing_is_on(const struct node *node)
{
    return node->showing.is_on;
}

void showing_set(struct node *node, int is_on)
{
    node->showing = (struct showing){.is_on = is_on};
    if (is_on) {
        ensure_memory(engine_count_places(node->engine) == TM_OK);
    } else if (!findings_is_wanted(node)) {
        engine_count_places_no_more(node->engine);
    }
    if (node->scheme != NULL) {
        scheme_set_explains(node->scheme, node->options.explain || is_on ||
                                              findings_is_wanted(node));
    }
}

void showing_note_words(struct node *node, const char *text, size_t n)
{
    struct body body;
    char line[256];

    if (node->showing.is_on) {
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        body_begin(&body);
        wire_put_boot_words(&body.writer, &(struct wire_boot_words){line});
        body_tell(node, &body, BOOT_WORDS);
    }
}

// ---- each second

// Threads in a row are told as one range; those that do not fit are left out.
static void tell_threads(const struct node *node)
{
    struct wire_boot_threads range = {0};
    struct body body;

    body_begin(&body);
    for (unsigned i = 0; i <= node->options.max_threads; i++) {
        const struct thread *thread = node->threads[i];

        if (thread == NULL ||
            (range.n > 0 && thread->number == range.first + range.n)) {
            range.n += thread != NULL;
            continue;
        }
        if (range.n > 0 && room_of(&body) >= 2 * WIRE_SIZE_boot_threads) {
            wire_put_boot_threads(&body.writer, &range);
        }
        range = (struct wire_boot_threads){thread->number, 1};
    }
    if (range.n > 0) {
        wire_put_boot_threads(&body.writer, &range);
    }
    body_tell(node, &body, BOOT_THREADS);
}

static uint64_t count_events(const struct place *place)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < PLACE_EVENTS; i++) {
        n += place->n[i];
    }
    return n;
}

static void put_place(struct wire_writer *writer, const struct place *place)
{
    uint8_t heat[sizeof place->heat];
    struct wire_writer parts = {heat, heat + sizeof heat, 0};

    for (unsigned i = 0; i < PLACE_PARTS; i++) {
        wire_put_u32(&parts, place->heat[i]);
    }
    wire_put_boot_place(writer, &(struct wire_boot_place){
                                    .n_pages = place->n_pages,
                                    .reads = place->n[PLACE_READ_FAULT],
                                    .writes = place->n[PLACE_WRITE_FAULT],
                                    .fetches = place->n[PLACE_FETCH],
                                    .diffs = place->n[PLACE_DIFF],
                                    .line = place->line,
                                    .name = place->name,
                                    .file = place->file,
                                    .heat = {heat, sizeof heat},
                                });
}

static void tell_places(struct node *node)
{
    unsigned n;
    const struct place *places = engine_places(node->engine, &n);
    struct body body;

    body_begin(&body);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t n_events = count_events(&places[i]);

        if (n_events == node->showing.told[i]) {
            continue;
        }
        node->showing.told[i] = n_events;
        put_place(&body.writer, &places[i]);
        if (room_of(&body) < PLACE_ROW) {
            body_tell(node, &body, BOOT_PLACES);
        }
    }
    body_tell(node, &body, BOOT_PLACES);
}

static uint64_t in_ns(double seconds)
{
    return seconds > 0 ? (uint64_t)(seconds * 1e9) : 0;
}

static void put_forecast(struct wire_writer *writer, node_id node,
                         const struct scheme_forecast *forecast)
{
    wire_put_boot_forecast(writer,
                           &(struct wire_boot_forecast){
                               .node = node,
                               .predicted_ns = in_ns(forecast->predicted_s),
                               .measured_ns = in_ns(forecast->measured_s),
                           });
}

static void tell_forecast(const struct node *node)
{
    const struct roster *roster = &node->port.roster;
    struct scheme_forecast whole;
    struct scheme_forecast nodes[TM_MAX_NODES];
    struct body body;

    if (node->scheme == NULL) {
        return;
    }
    scheme_forecast(node->scheme, &whole, nodes);
    body_begin(&body);
    put_forecast(&body.writer, UINT16_MAX, &whole);
    for (unsigned i = 0;
         i < roster->n_live && room_of(&body) >= WIRE_SIZE_boot_forecast; i++) {
        put_forecast(&body.writer, roster->live[i], &nodes[i]);
    }
    body_tell(node, &body, BOOT_FORECAST);
}

static void tell_all(struct node *node)
{
    node->showing.due_ns = clock_now_ns() + EACH_NS;
    tell_threads(node);
    tell_places(node);
    tell_forecast(node);
}

void showing_tell_now(struct node *node)
{
    if (node->showing.is_on) {
        progress_tell(node, 1);
        tell_all(node);
    }
}

static int tick(struct node *node)
{
    if (node->showing.is_on && clock_now_ns() >= node->showing.due_ns &&
        !node_is_frozen(node)) {
        tell_all(node);
    }
    return 0;
}

const struct part part_showing = {
    .tick = tick,
    .save = parts_save_nothing,
};
