// SPDX-License-Identifier: BSD-3-Clause
//
// What adaptive has chosen, block by block: counted where it is chosen (readers.c), told at
// the end of a run. Blocks that are freed are told too; those beyond some are told together.
#include "protocol/choices.h"
#include "base/ensure.h"
#include "protocol/protocol_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES_MAX 64u

struct choices {
    struct choice rows[CHOICES_MAX + 1]; ///< the last one: all others
    unsigned n;
    unsigned last; ///< that was looked for
};

static struct choices *all_of(struct engine *engine)
{
    struct updates *updates = engine->updates;

    if (updates->choices == NULL) {
        updates->choices = calloc(1, sizeof *updates->choices);
        ensure_memory(updates->choices != NULL);
    }
    return updates->choices;
}

static void begin(struct choice *choice, const struct extent *extent)
{
    *choice = (struct choice){.serial = extent->serial,
                              .n_pages = extent->n_pages,
                              .line = extent->line};
    memcpy(choice->name, extent->name, sizeof choice->name);
    memcpy(choice->file, extent->file, sizeof choice->file);
}

struct choice *choices_of(struct engine *engine, page_no page)
{
    struct choices *choices = all_of(engine);
    const struct extent *extent = extent_find(engine, page);
    unsigned i = choices->last;

    if (i < choices->n && choices->rows[i].serial == extent->serial) {
        return &choices->rows[i];
    }
    for (i = 0; i < choices->n && choices->rows[i].serial != extent->serial;
         i++) {
    }
    if (i == choices->n && i < CHOICES_MAX) {
        begin(&choices->rows[i], extent);
        choices->n++;
    }
    choices->last = i;
    return &choices->rows[i];
}

void choices_free(struct updates *updates)
{
    free(updates->choices);
    updates->choices = NULL;
}

// ---- telling

static int tell_block(const struct choice *choice, char *text, size_t size)
{
    if (choice->n_pages == 0) {
        return snprintf(text, size, "other blocks");
    }
    if (choice->line == 0) {
        return snprintf(text, size, "%s, %llu pages",
                        choice->serial == 0 ? "TM_SHARED variables"
                                            : "small blocks",
                        (unsigned long long)choice->n_pages);
    }
    return snprintf(text, size, "block %s%s%s:%u, %llu pages", choice->name,
                    choice->name[0] != '\0' ? " of " : "", choice->file,
                    choice->line, (unsigned long long)choice->n_pages);
}

static void tell(const struct choice *choice, char *text, size_t size)
{
    int used = tell_block(choice, text, size);
    const uint64_t n_again = choice->n_again > 0 ? choice->n_again : 1;

    used += snprintf(
        text + used, size - (size_t)used,
        ": %llu copies given; %llu asked for again, %.1f versions later, "
        "of which %llu are pushed to since then (%llu of them in vain)",
        (unsigned long long)choice->n_first,
        (unsigned long long)choice->n_again,
        (double)choice->n_missed / (double)n_again,
        (unsigned long long)choice->n_subscribed,
        (unsigned long long)choice->n_ended);
    if (choice->n_migrated > 0) {
        snprintf(text + used, size - (size_t)used,
                 "; %llu times a page went on to who asked for it, to be "
                 "written there (%llu pages did so no more)",
                 (unsigned long long)choice->n_migrated,
                 (unsigned long long)choice->n_stayed);
    }
}

void engine_explain_choices(const struct engine *engine,
                            void (*say)(void *owner, const char *text),
                            void *owner)
{
    const struct choices *choices = engine->updates->choices;

    for (unsigned i = 0; choices != NULL && i <= CHOICES_MAX; i++) {
        char text[512];

        if (choices->rows[i].n_first + choices->rows[i].n_migrated > 0) {
            tell(&choices->rows[i], text, sizeof text);
            say(owner, text);
        }
    }
}
