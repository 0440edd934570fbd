// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_FINDINGS_H
#define RUNTIME_FINDINGS_H

#include <stdio.h>

#include "pages/engine.h"
#include "reconfig/chronicle.h"
#include "reconfig/scheme.h"

struct node;

/* What --report is made of: gathered on the root, and told to the launcher, which writes it. */

/** Is one wanted of this run? */
int findings_is_wanted(const struct node *node);

/** On the root, under the node lock: the scheme goes, and so do the nodes that it knows. */
void findings_leave(struct node *node);

/** A thread was told to move; an iteration is tracked; something was decided, in a line of
 * n bytes. Nothing unless a report is wanted. Under the node lock. */
void findings_note_move(struct node *node);
void findings_note_tracking(struct node *node);
void findings_note_words(struct node *node, const char *text, size_t n);

/** A node at the end of the run. */
struct finding_node {
    int is_there; ///< else it has left, and the rest is zeros
    char name[64];
    char host[64];
    double power;
    double declared_speed;
    double share;
    uint32_t n_processors;
    uint32_t n_workers;
    struct tm_node_stats stats;
};

/** All that the root has found. */
struct findings {
    double seconds; ///< since tm_init()
    const struct options *options;
    struct finding_node *nodes; ///< [n_nodes]
    unsigned n_nodes;
    const struct chronicle *chronicle;
    struct place *places; ///< [n_places] of all nodes
    unsigned n_places;
    const struct profile *profile; ///< of the mapping in force; NULL: none
    const char *no_profile;        ///< then: why not
    uint32_t n_samples; ///< that the profile's times are medians of, at most
    double clock_s;     ///< what an iteration of them takes by the clock
};

/** Write them as JSON (docs/report.md).
 * @return TM_OK, TM_ENOMEM, TM_EINVAL (the profile makes no sense), TM_ESYSTEM */
TM_CHECKED tm_status findings_write(FILE *file,
                                    const struct findings *findings);

#endif
