// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_CUT_MARKS_H
#define RUNTIME_CUT_MARKS_H

#include <stdint.h>
#include <sys/types.h>

struct node;

/* A run whose launcher goes back to a checkpoint by itself (--recover): cut_marks.c. */

enum { CUT_MARKS_TOKEN = 16 };

/** What the launcher has said of it. Guarded by nothing: it stays as it is, but `is_prepared`,
 * which is main()'s. */
struct cut_marks {
    char token[CUT_MARKS_TOKEN + 1]; ///< "": it does not
    uint64_t first;   ///< number of their first checkpoint; 0: any, it has not
                      ///< gone back
    uint64_t from;    ///< the generation to go on from; 0: none, or the newest
    ino_t outputs[2]; ///< the launcher's pipes behind stdout and stderr
    int is_prepared;  ///< that it is said
};

/** Read what the launcher has said; ends the process if it makes no sense, or if --recover is
 * given and there is no launcher. */
void cut_marks_read(struct node *node);

/** How often the run has gone back: each time the first of its checkpoints is in the next thousand. */
static inline unsigned cut_marks_n_back(const struct cut_marks *marks)
{
    return (unsigned)(marks->first / 1000);
}

/** Say where in this node's output a checkpoint is. By the clerk, while all threads are held;
 * blocks as writing to stdout does. No lock. */
void cut_marks_write(const struct node *node, uint64_t generation);

/** Say in this node's that it has started, or on the root that main() has prepared, the first
 * time: what comes from now on is of threads. On the stack of main(); blocks likewise. */
void cut_marks_prepared(struct node *node);

/** Tell the launcher that a checkpoint is whole, or why there is none. On the root.
 * @param n_answered  it is for the first so many that the launcher has asked for
 * @param why  "": it is */
void cut_marks_tell_saved(const struct node *node, uint64_t generation,
                          uint64_t iteration, uint32_t n_answered,
                          const char *why);

#endif
