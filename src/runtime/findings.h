// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_FINDINGS_H
#define RUNTIME_FINDINGS_H

#include <stdio.h>

#include "net/message.h"
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

/** A line of the program whose accesses fault. */
struct finding_line {
    char where
        [256]; ///< "function (file.c:12)", or what is known; "": all others
    uint64_t reads;
    uint64_t writes;
    double wait_s; ///< of threads, for pages of other nodes
};

enum { FINDING_LINES = 16 }; // that are told

/** All that the root has found. */
struct findings {
    double seconds; ///< since tm_init()
    const struct options *options;
    struct finding_node *nodes; ///< [n_nodes]
    unsigned n_nodes;
    const struct chronicle *chronicle;
    struct place *places; ///< [n_places] of all nodes
    unsigned n_places;
    unsigned *n_writers; ///< [n_places]: nodes that have written there
    struct fault_lines *fault_lines; ///< of all nodes
    struct finding_line *lines;      ///< [n_lines]
    unsigned n_lines;
    const struct profile *profile; ///< of the mapping in force; NULL: none
    const char *no_profile;        ///< then: why not
    uint32_t n_samples; ///< that the profile's times are medians of, at most
    double clock_s;     ///< what an iteration of them takes by the clock
};

// ---- findings_lines.c

/** Ask a node for the instructions that fault; `findings->fault_lines` has them then. */
void findings_ask_lines(struct node *node, unsigned id,
                        struct findings *findings);
/** Find the lines of those that waited longest, once all nodes have been asked. Starts processes.
 * @param[out] findings  lines [FINDING_LINES] are the caller's; n_lines */
void findings_name_lines(struct findings *findings);
/** Another node asks, or answers. */
void findings_receive_lines(struct node *node, node_id from,
                            const struct message *message);

/** Write them as JSON (docs/report.md).
 * @return TM_OK, TM_ENOMEM, TM_EINVAL (the profile makes no sense), TM_ESYSTEM */
TM_CHECKED tm_status findings_write(FILE *file,
                                    const struct findings *findings);

#endif
