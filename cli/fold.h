// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_FOLD_H
#define CLI_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct held_line;

/** Lines that wait for others that are alike. All zero is an empty one. */
struct fold {
    struct held_line *lines; ///< [n] in the order in which they go
    size_t n;
    size_t room;
    uint64_t due_ns; ///< when they go; 0: there are none
};

/**
 * Take a line, if it is an error or a warning of a node's runtime.
 *
 * @param speaker  what the node calls itself; outlives the line, and the same address
 *                 for all lines of the node
 * @param line     [size] with its newline
 * @return whether it was taken; if not, what waits goes before it
 */
int fold_take(struct fold *fold, const char *speaker, const char *line,
              size_t size, uint64_t now_ns);

/** If lines wait, have one of the launcher's own wait behind them.
 * @param text  without newline
 * @return whether it was taken; if not, what waits goes before it */
int fold_add(struct fold *fold, const char *text);

/** Let all go. */
void fold_flush(struct fold *fold, struct buffer *to);

void fold_release(struct fold *fold);

#endif
