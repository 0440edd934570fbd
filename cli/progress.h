// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

#include "base/options.h"
#include "cluster/bootstrap.h"

struct job;
struct node;

/* How far a run is, in a line on stderr: progress.c. */

/** What was known when the line was made last. */
struct progress {
    enum progress_when when; ///< PROGRESS_OFF: no line, or no more
    int is_terminal;         ///< else each line stays
    unsigned columns;        ///< of the terminal
    uint64_t due_ns;
    uint64_t at_ns;
    uint64_t n_iterations;
    uint64_t n_moved; ///< threads, since the start
    uint64_t page_ins[TM_MAX_NODES];
    uint64_t iteration_ns; ///< when an iteration ended last, as far as is known
};

/** Is it a member of the run now? */
int progress_takes_part(const struct node *node);

/** It has gone back to a checkpoint: nodes count from the beginning. */
void progress_begin_again(struct job *job);

/** The run begins. Without --progress=on a line is made only if stderr is a terminal. */
void progress_open(struct job *job);

/** Make the line anew if it is time. */
void progress_poll(struct job *job, uint64_t now_ns);

/** When to call that next, 0 if not at all. */
uint64_t progress_due_ns(const struct job *job);

/** The run is over: take the line away. */
void progress_close(struct job *job);

#endif
