// SPDX-License-Identifier: BSD-3-Clause
//
// Several nodes often find the same cause at the same time, and each says so. Their lines
// wait for a moment, and those that are alike become one, with the names of all:
//
//   teamster: n1: no room in /dev/shm
//   teamster: n2: no room in /dev/shm      ->   teamster: n1 n2: no room in /dev/shm
//
// F1  The lines of a node keep their order: a line joins one only that stands behind the
//     last of its node's. So what a node says twice is there twice.
// F2  Nothing overtakes what waits (output.c), and nothing waits longer than FOLD_NS.
//
// What the launcher says meanwhile, that a node has ended the run for one, waits with them.
// Lines for --verbose are left alone: they tell what happens when.
#include "fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/vector.h"

#define FOLD_NS UINT64_C(200000000)
#define LINES_MAX 64u
#define PREFIX "teamster: "
#define DEBUG "debug: "

struct held_line {
    char *text; ///< [size] behind the speaker, with the newline
    size_t size;
    const char **speakers; ///< [n_speakers] in the order of their numbers
    size_t n_speakers;     ///< 0: it is the launcher's
    size_t room;
    int is_named; ///< it says by itself who speaks
};

static int skip(const char **at, size_t *left, const char *word)
{
    const size_t length = strlen(word);

    if (*left < length || memcmp(*at, word, length) != 0) {
        return 0;
    }
    *at += length;
    *left -= length;
    return 1;
}

// A node says the first things before it knows its name.
static int skip_speaker(const char **at, size_t *left, const char *speaker)
{
    const char *rest = *at;
    size_t n_rest = *left;

    if (!skip(&rest, &n_rest, speaker) || !skip(&rest, &n_rest, ": ")) {
        return 0;
    }
    *at = rest;
    *left = n_rest;
    return 1;
}

static int has_speaker(const struct held_line *line, const char *speaker)
{
    for (size_t i = 0; i < line->n_speakers; i++) {
        if (line->speakers[i] == speaker) {
            return 1;
        }
    }
    return 0;
}

// The first one behind the last of the speaker's, F1. @return NULL: there is none
static struct held_line *find_alike(struct fold *fold, const char *speaker,
                                    const char *text, size_t size)
{
    struct held_line *found = NULL;

    for (size_t i = fold->n; i-- > 0;) {
        struct held_line *line = &fold->lines[i];

        if (has_speaker(line, speaker)) {
            return found;
        }
        if (line->n_speakers > 0 && line->size == size &&
            memcmp(line->text, text, size) == 0) {
            found = line;
        }
    }
    return found;
}

static struct held_line *hold(struct fold *fold, const char *text, size_t size)
{
    char *copy = malloc(size);
    struct held_line *line;

    ensure_memory(copy != NULL);
    memcpy(copy, text, size);
    vector_reserve(fold->lines, fold->room, fold->n + 1);
    line = &fold->lines[fold->n++];
    *line = (struct held_line){.text = copy, .size = size};
    return line;
}

static void add_speaker(struct held_line *line, const char *speaker)
{
    size_t i = line->n_speakers;

    vector_reserve(line->speakers, line->room, line->n_speakers + 1);
    for (; i > 0 && strverscmp(line->speakers[i - 1], speaker) > 0; i--) {
        line->speakers[i] = line->speakers[i - 1];
    }
    line->speakers[i] = speaker;
    line->n_speakers++;
}

int fold_take(struct fold *fold, const char *speaker, const char *line,
              size_t size, uint64_t now_ns)
{
    const char *text = line;
    struct held_line *alike;
    int is_named;

    if (!skip(&text, &size, PREFIX)) {
        return 0;
    }
    is_named = skip_speaker(&text, &size, speaker);
    if (size >= strlen(DEBUG) && memcmp(text, DEBUG, strlen(DEBUG)) == 0) {
        return 0;
    }
    alike = find_alike(fold, speaker, text, size);
    if (alike == NULL && fold->n == LINES_MAX) {
        return 0;
    }
    if (alike == NULL) {
        fold->due_ns = fold->n == 0 ? now_ns + FOLD_NS : fold->due_ns;
        alike = hold(fold, text, size);
    }
    add_speaker(alike, speaker);
    alike->is_named |= is_named;
    return 1;
}

int fold_add(struct fold *fold, const char *text)
{
    const size_t size = strlen(text) + 1;
    struct held_line *line;

    if (fold->n == 0 || fold->n == LINES_MAX) {
        return 0;
    }
    line = hold(fold, text, size);
    line->text[size - 1] = '\n';
    return 1;
}

static void write_speakers(const struct held_line *line, struct buffer *to)
{
    if (line->n_speakers > 0) {
        buffer_append(to, PREFIX, strlen(PREFIX));
    }
    if (line->is_named || line->n_speakers > 1) {
        for (size_t i = 0; i < line->n_speakers; i++) {
            buffer_append(to, " ", i > 0);
            buffer_append(to, line->speakers[i], strlen(line->speakers[i]));
        }
        buffer_append(to, ": ", 2);
    }
}

void fold_flush(struct fold *fold, struct buffer *to)
{
    for (size_t i = 0; i < fold->n; i++) {
        struct held_line *line = &fold->lines[i];

        write_speakers(line, to);
        buffer_append(to, line->text, line->size);
        free(line->text);
        free(line->speakers);
    }
    fold->n = 0;
    fold->due_ns = 0;
}

void fold_release(struct fold *fold)
{
    struct buffer nowhere = {0};

    fold_flush(fold, &nowhere);
    buffer_release(&nowhere);
    free(fold->lines);
    *fold = (struct fold){0};
}
