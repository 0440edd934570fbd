// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdint.h>

#include "buffer.h"

/** So much of it can be given again. */
#define INPUT_KEPT_MAX (1u << 20)

/** Standard input on its way to the root; only for a terminal, or in a run that may go back:
 * there for all but files. */
struct input {
    int to_root;       ///< write end of the root's stdin; -1: nothing to do
    int is_at_end;     ///< nothing more will be read
    uint64_t retry_ns; ///< do not read before this time; 0: read
    struct buffer waiting;
    int is_kept;        ///< main() may have to be given it again
    int64_t from;       ///< of a file: where it began; -1: it is none
    struct buffer kept; ///< what has been read
    int is_too_much;    ///< more than that was: it cannot be given again
};

/** Open the root's standard input: the launcher's own, unless that is a
 * terminal; then a pipe that `input` feeds.
 * @param[out] for_root  the descriptor to start the root with; close it
 * @return 0, -1 with errno set */
int input_open(struct input *input, int *for_root);
void input_close(struct input *input);

/** Before input_open(): main() may have to be given it again. */
void input_keep(struct input *input);

/** Instead of input_open(): from the beginning, for the root of a run that goes back.
 * @return 0, -1 with errno set */
int input_open_again(struct input *input, int *for_root);

/** Forget what was kept. */
void input_release(struct input *input);

/** What to poll() for: 0 or POLLIN on descriptor 0, 0 or POLLOUT on to_root. An
 * error on to_root is always worth a call of input_move(). */
short input_wants_read(const struct input *input, uint64_t now_ns);
short input_wants_write(const struct input *input);

/** Read and write what is possible; close at the end. */
void input_move(struct input *input, int is_readable, uint64_t now_ns);

#endif
