// SPDX-License-Identifier: BSD-3-Clause
//
// Places of allocation: rows that are given out as blocks of new places come; what comes when
// there are PLACES_MAX is in the last row, together.
#include "pages/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct places {
    struct place rows[PLACES_MAX + 1]; ///< the last one: all others
    uint64_t pages_now[PLACES_MAX + 1];
    unsigned n;
};

static int is_at(const struct place *place, const struct extent *extent)
{
    return place->line == extent->line &&
           strcmp(place->name, extent->name) == 0 &&
           strcmp(place->file, extent->file) == 0;
}

// @return the row of a place, a new one if it has none
static unsigned row_of(struct places *places, const struct extent *extent)
{
    unsigned i = 0;

    while (i < places->n && !is_at(&places->rows[i], extent)) {
        i++;
    }
    if (i == places->n && i < PLACES_MAX) {
        struct place *place = &places->rows[places->n++];

        place->line = extent->line;
        memcpy(place->name, extent->name, sizeof place->name);
        memcpy(place->file, extent->file, sizeof place->file);
        if (extent->cell_kind > 0 && place->name[0] == '\0') {
            snprintf(place->name, sizeof place->name, "small blocks");
        }
    }
    return i;
}

void places_add(struct engine *engine, struct extent *extent)
{
    struct places *places = engine->places;
    struct place *place;

    if (places == NULL) {
        return;
    }
    extent->place = (uint8_t)row_of(places, extent);
    place = &places->rows[extent->place];
    places->pages_now[extent->place] += extent->n_pages;
    if (places->pages_now[extent->place] > place->n_pages) {
        place->n_pages = places->pages_now[extent->place];
    }
}

void places_remove(struct engine *engine, const struct extent *extent)
{
    if (engine->places != NULL) {
        engine->places->pages_now[extent->place] -= extent->n_pages;
    }
}

void places_note(struct engine *engine, const struct extent *extent,
                 page_no page, enum place_event event)
{
    if (extent != NULL) {
        struct place *place = &engine->places->rows[extent->place];

        place->n[event]++;
        place->heat[(page - extent->page) * PLACE_PARTS / extent->n_pages]++;
    }
}

tm_status engine_count_places(struct engine *engine)
{
    if (engine->places != NULL) {
        return TM_OK;
    }
    engine->places = calloc(1, sizeof *engine->places);
    if (engine->places == NULL) {
        return TM_ENOMEM;
    }
    for (size_t i = 0; i < engine->n_extents; i++) {
        places_add(engine, &engine->extents[i]);
    }
    return TM_OK;
}

void engine_count_places_no_more(struct engine *engine)
{
    free(engine->places);
    engine->places = NULL;
}

const struct place *engine_places(const struct engine *engine, unsigned *n)
{
    *n = 0;
    if (engine->places == NULL) {
        return NULL;
    }
    *n = engine->places->n + (engine->places->n == PLACES_MAX);
    return engine->places->rows;
}
