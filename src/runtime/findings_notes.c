// SPDX-License-Identifier: BSD-3-Clause
//
// What the root notes for a report while the program runs, beside what the scheme's history
// hands on by itself.
#include <string.h>

#include "runtime/findings.h"
#include "runtime/node.h"

int findings_is_wanted(const struct node *node)
{
    return strcmp(node->options.report, "none") != 0;
}

void findings_leave(struct node *node)
{
    if (node->chronicle != NULL && node->chronicle->has_begun) {
        chronicle_note_threads(node->chronicle, scheme_history(node->scheme));
    }
}

void findings_note_move(struct node *node)
{
    if (node->chronicle != NULL) {
        chronicle_note_move(node->chronicle);
    }
}

void findings_note_tracking(struct node *node)
{
    if (node->chronicle != NULL) {
        chronicle_note_tracking(node->chronicle);
    }
}

// Single lines that say when: what is decided. Tables are for --explain.
void findings_note_words(struct node *node, const char *text)
{
    static const char when[] = "iteration ";
    const size_t n = strcspn(text, "\n");

    if (node->chronicle != NULL && strncmp(text, when, sizeof when - 1) == 0 &&
        (text[n] == '\0' || text[n + 1] == '\0')) {
        chronicle_say(node->chronicle, text, n);
    }
}
