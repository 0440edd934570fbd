// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SHOWING_H
#define RUNTIME_SHOWING_H

#include "pages/engine.h"

struct node;

/* What a node tells the launcher while somebody looks at the job closely (--web, `teamster
 * attach`). Nothing of it is done, counted or sent before SHOW has come. */

struct showing {
    int is_on;
    uint64_t due_ns;
    uint64_t
        told[PLACES_MAX + 1]; ///< events of each place, as the launcher knows
};

/** Does somebody look? Under the node lock. */
int showing_is_on(const struct node *node);

/** SHOW has come. Under the node lock. */
void showing_set(struct node *node, int is_on);

/** Tell all of it, and how far this node is: these are the numbers at the end. Under the
 * node lock. */
void showing_tell_now(struct node *node);

/** On the root: something was decided. @param text  one line of n bytes */
void showing_note_words(struct node *node, const char *text, size_t n);

#endif
