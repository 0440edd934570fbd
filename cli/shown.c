// SPDX-License-Identifier: BSD-3-Clause
//
// A line must fit into a socket's buffer, or who watches is dropped: so it has the
// blocks with most events, as many as LINE_CELLS allows.
#include "shown.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/json_out.h"
#include "job.h"

enum {
    PLACES_KEPT = 256, // of all nodes
    LINE_CELLS = 1024, // blocks times nodes in a line
    LINE_BLOCKS = 24,  // blocks in a line
    BLOCKS_LEAST = 4,  // however many nodes there are
};

void shown_ask(struct job *job, int is_wanted)
{
    for (unsigned i = 0; i < job->n_started; i++) {
        struct node *node = &job->nodes[i];

        if (node->shown.is_asked != is_wanted && progress_takes_part(node) &&
            job->phase == JOB_RUNNING) {
            node->shown.is_asked = is_wanted;
            link_send_number(&node->link, BOOT_SHOW, (uint32_t)is_wanted);
        }
    }
}

// ---- what nodes tell

static void take_threads(struct node *node, struct wire_reader *reader,
                         size_t size)
{
    struct shown_node *shown = &node->shown;
    const size_t room = size / WIRE_SIZE_boot_threads + 1;

    shown->ranges = realloc(shown->ranges, room * sizeof *shown->ranges);
    ensure_memory(shown->ranges != NULL);
    shown->n_ranges = 0;
    while (wire_has_more(reader) && shown->n_ranges < room) {
        const struct wire_boot_threads got = wire_get_boot_threads(reader);

        shown->ranges[shown->n_ranges++] =
            (struct shown_range){got.first, got.n};
    }
}

static struct shown_place *find_place(struct shown *shown,
                                      const struct wire_boot_place *got)
{
    for (size_t i = 0; i < shown->n_places; i++) {
        struct shown_place *place = &shown->places[i];

        if (place->line == got->line && strcmp(place->name, got->name) == 0 &&
            strcmp(place->file, got->file) == 0) {
            return place;
        }
    }
    return NULL;
}

// @return NULL if there are too many
static struct shown_place *add_place(struct shown *shown,
                                     const struct wire_boot_place *got)
{
    struct shown_place *place;

    if (shown->n_places == PLACES_KEPT) {
        return NULL;
    }
    shown->places =
        realloc(shown->places, (shown->n_places + 1) * sizeof *shown->places);
    ensure_memory(shown->places != NULL);
    place = &shown->places[shown->n_places++];
    *place = (struct shown_place){.line = got->line};
    snprintf(place->name, sizeof place->name, "%s", got->name);
    snprintf(place->file, sizeof place->file, "%s", got->file);
    place->of_node = calloc(TM_MAX_NODES, sizeof *place->of_node);
    place->heat_of_node = calloc(TM_MAX_NODES, sizeof *place->heat_of_node);
    ensure_memory(place->of_node != NULL && place->heat_of_node != NULL);
    return place;
}

static void take_heat(uint32_t *heat, wire_bytes bytes)
{
    struct wire_reader reader = wire_read(bytes.at, bytes.size);

    for (unsigned i = 0; i < SHOWN_PARTS && wire_has_more(&reader); i++) {
        heat[i] = wire_get_u32(&reader);
    }
}

static void take_places(struct shown *shown, const struct node *node,
                        struct wire_reader *reader)
{
    while (wire_has_more(reader)) {
        const struct wire_boot_place got = wire_get_boot_place(reader);
        const uint64_t events[SHOWN_EVENTS] = {got.reads, got.writes,
                                               got.fetches, got.diffs};
        struct shown_place *place = find_place(shown, &got);

        place = place == NULL ? add_place(shown, &got) : place;
        if (place != NULL) {
            memcpy(place->of_node[node->id], events, sizeof events);
            take_heat(place->heat_of_node[node->id], got.heat);
            place->n_pages =
                got.n_pages > place->n_pages ? got.n_pages : place->n_pages;
        }
    }
}

static void take_forecast(struct job *job, struct wire_reader *reader)
{
    while (wire_has_more(reader)) {
        const struct wire_boot_forecast got = wire_get_boot_forecast(reader);
        const struct shown_forecast forecast = {got.predicted_ns,
                                                got.measured_ns};

        if (got.node < job->n_started) {
            job->nodes[got.node].shown.forecast = forecast;
        } else {
            job->shown.forecast = forecast;
        }
    }
}

static void take_words(struct job *job, struct wire_reader *reader)
{
    struct shown *shown = &job->shown;
    struct shown_words *words = &shown->words[shown->n_words % SHOWN_WORDS];

    *words = (struct shown_words){.number = ++shown->n_words,
                                  .seconds = job_seconds(job)};
    snprintf(words->text, sizeof words->text, "%s",
             wire_get_boot_words(reader).text);
}

tm_status shown_take(struct job *job, struct node *node,
                     const struct link_frame *frame)
{
    struct wire_reader reader = wire_read(frame->body, frame->size);

    if (frame->kind == BOOT_THREADS) {
        take_threads(node, &reader, frame->size);
    } else if (frame->kind == BOOT_PLACES) {
        take_places(&job->shown, node, &reader);
    } else if (!node_is_root(node)) {
        return TM_EWIRE;
    } else if (frame->kind == BOOT_FORECAST) {
        take_forecast(job, &reader);
    } else {
        take_words(job, &reader);
    }
    return reader.failed ? TM_EWIRE : TM_OK;
}

// ---- the line

static void put_forecast(FILE *file, const struct shown_forecast *forecast)
{
    fputs(", ", file);
    json_put_double_field(file, "predicted_s",
                          (double)forecast->predicted_ns * 1e-9);
    fputs(", ", file);
    json_put_double_field(file, "measured_s",
                          (double)forecast->measured_ns * 1e-9);
}

void shown_put_node(FILE *file, const struct node *node, size_t most)
{
    const struct shown_node *shown = &node->shown;

    fputs(", \"here\": [", file);
    for (size_t i = 0; i < shown->n_ranges && i < most; i++) {
        fprintf(file, "%s[%" PRIu64 ", %" PRIu32 "]", i == 0 ? "" : ", ",
                shown->ranges[i].first, shown->ranges[i].n);
    }
    putc(']', file);
    put_forecast(file, &shown->forecast);
}

static uint64_t count_events(const struct shown_place *place)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < TM_MAX_NODES; i++) {
        for (unsigned k = 0; k < SHOWN_EVENTS; k++) {
            n += place->of_node[i][k];
        }
    }
    return n;
}

/** A place in the order of how much happens. */
struct ranked {
    const struct shown_place *place;
    uint64_t n_events;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;

    return (a->n_events < b->n_events) - (a->n_events > b->n_events);
}

// [node, reads, writes, fetches, diffs] of nodes where there were some.
static void put_cells(FILE *file, const struct job *job,
                      const struct shown_place *place)
{
    const char *separator = "";

    fputs(", \"nodes\": [", file);
    for (unsigned i = 0; i < job->n_started; i++) {
        const uint64_t *n = place->of_node[i];

        if (n[0] + n[1] + n[2] + n[3] > 0) {
            fprintf(file,
                    "%s[%u, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64
                    "]",
                    separator, i, n[0], n[1], n[2], n[3]);
            separator = ", ";
        }
    }
    putc(']', file);
}

// Of all nodes together.
static void put_heat(FILE *file, const struct job *job,
                     const struct shown_place *place)
{
    fputs(", \"heat\": [", file);
    for (unsigned part = 0; part < SHOWN_PARTS; part++) {
        uint64_t n = 0;

        for (unsigned i = 0; i < job->n_started; i++) {
            n += place->heat_of_node[i][part];
        }
        fprintf(file, "%s%" PRIu64, part == 0 ? "" : ", ", n);
    }
    putc(']', file);
}

static void put_block(FILE *file, const struct job *job,
                      const struct shown_place *place)
{
    putc('{', file);
    json_put_text_field(file, "name", place->name);
    fputs(", ", file);
    json_put_text_field(file, "file", place->file);
    fprintf(file, ", \"line\": %" PRIu32 ", \"pages\": %" PRIu64, place->line,
            place->n_pages);
    put_cells(file, job, place);
    put_heat(file, job, place);
    putc('}', file);
}

static size_t n_blocks_for(unsigned n_nodes)
{
    const size_t n = LINE_CELLS / (n_nodes > 0 ? n_nodes : 1);

    return n > LINE_BLOCKS ? LINE_BLOCKS : n < BLOCKS_LEAST ? BLOCKS_LEAST : n;
}

static void put_blocks(FILE *file, const struct job *job, unsigned n_nodes)
{
    const struct shown *shown = &job->shown;
    struct ranked order[PLACES_KEPT];
    const size_t n_most = n_blocks_for(n_nodes);

    for (size_t i = 0; i < shown->n_places; i++) {
        order[i] =
            (struct ranked){&shown->places[i], count_events(&shown->places[i])};
    }
    qsort(order, shown->n_places, sizeof order[0], compare_ranked);
    fputs(", \"blocks\": [", file);
    for (size_t i = 0; i < shown->n_places && i < n_most; i++) {
        fputs(i == 0 ? "" : ", ", file);
        put_block(file, job, order[i].place);
    }
    fprintf(file, "], \"n_blocks\": %zu", shown->n_places);
}

static void put_decisions(FILE *file, const struct shown *shown)
{
    const uint64_t n_kept =
        shown->n_words < SHOWN_WORDS ? shown->n_words : SHOWN_WORDS;

    fputs(", \"decisions\": [", file);
    for (uint64_t i = shown->n_words - n_kept; i < shown->n_words; i++) {
        const struct shown_words *words = &shown->words[i % SHOWN_WORDS];

        fprintf(file, "%s{\"number\": %" PRIu64 ", ",
                i == shown->n_words - n_kept ? "" : ", ", words->number);
        json_put_double_field(file, "seconds", words->seconds);
        fputs(", ", file);
        json_put_text_field(file, "text", words->text);
        putc('}', file);
    }
    putc(']', file);
}

void shown_put_job(FILE *file, const struct job *job, unsigned n_nodes)
{
    put_forecast(file, &job->shown.forecast);
    put_blocks(file, job, n_nodes);
    put_decisions(file, &job->shown);
}

void shown_release(struct job *job)
{
    for (size_t i = 0; i < job->shown.n_places; i++) {
        free(job->shown.places[i].of_node);
        free(job->shown.places[i].heat_of_node);
    }
    free(job->shown.places);
    for (unsigned i = 0; i < job->n_started; i++) {
        free(job->nodes[i].shown.ranges);
    }
}
