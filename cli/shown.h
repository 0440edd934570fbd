// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_SHOWN_H
#define CLI_SHOWN_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "link.h"

struct job;
struct node;

/* What nodes tell of themselves while somebody looks closely: asked for with SHOW, kept here,
 * and put into the line of who watches (watchers.h). */

/** Threads in a row. */
struct shown_range {
    uint64_t first;
    uint32_t n;
};

/** How long a node is busy in an iteration, or what the iteration takes; 0: not known. */
struct shown_forecast {
    uint64_t predicted_ns;
    uint64_t measured_ns;
};

/** Of one node. Zeros to begin with. */
struct shown_node {
    int is_asked;               ///< it has been told to tell
    struct shown_range *ranges; ///< [n_ranges]
    size_t n_ranges;
    struct shown_forecast forecast;
};

enum { SHOWN_EVENTS = 4, SHOWN_WORDS = 32, SHOWN_PARTS = 32 };

/** A place in the program that allocates blocks. */
struct shown_place {
    char name[32];
    char file[64];
    uint32_t line;
    uint64_t n_pages;
    /** [TM_MAX_NODES] reads, writes, fetches, diffs */
    uint64_t (*of_node)[SHOWN_EVENTS];
    /** [TM_MAX_NODES] events of all kinds, by part of the block */
    uint32_t (*heat_of_node)[SHOWN_PARTS];
};

/** What was decided. */
struct shown_words {
    uint64_t number; ///< from 1 on
    double seconds;  ///< when
    char text[256];
};

/** Of the run. Zeros to begin with. */
struct shown {
    struct shown_forecast forecast;
    struct shown_place *places; ///< [n_places]
    size_t n_places;
    struct shown_words words[SHOWN_WORDS]; ///< by number modulo SHOWN_WORDS
    uint64_t n_words;
};

/** Ask nodes to tell more, or not to any more; those that know it are left alone. */
void shown_ask(struct job *job, int is_wanted);

/** THREADS, PLACES, FORECAST or WORDS has come. @return TM_OK, TM_EWIRE */
tm_status shown_take(struct job *job, struct node *node,
                     const struct link_frame *frame);

/** A node's part of its object in a line, with a comma before it: "here" and, if they are
 * known, "predicted_s", "measured_s". @param most  ranges */
void shown_put_node(FILE *file, const struct node *node, size_t most);

/** The job's part: "predicted_s", "measured_s", "blocks", "decisions".
 * @param n_nodes  of the line; of many nodes fewer blocks are told */
void shown_put_job(FILE *file, const struct job *job, unsigned n_nodes);

void shown_release(struct job *job);

#endif
