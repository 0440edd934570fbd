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

void findings_note_words(struct node *node, const char *text, size_t n)
{
    if (node->chronicle != NULL) {
        chronicle_say(node->chronicle, text, n);
    }
}
