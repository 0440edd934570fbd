// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_HELD_H
#define CLI_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct stream;

/* --output=held: what a program writes is shown only once a checkpoint is behind it. held.c
 * says how. */

/** So much is held in memory; the rest is in files. */
#define HELD_IN_MEMORY (8u << 20)

/** Output from one cut to the next. */
struct held_part {
    uint64_t since;      ///< 0: from before threads ran, else its cut + 1
    struct buffer first; ///< taken from the file, or from `last`, to be shown
    int fd;              ///< what came before `last`; -1: there is no file
    uint64_t shown_to;   ///< bytes of the file that are in `first`, or were
    uint64_t end;        ///< of the file
    struct buffer last;  ///< what came last
};

/** All output that is held, of all nodes. All zero: none is, ever. */
struct held {
    struct stream
        *writers;       ///< by their number, what it is shown by; NULL: none
    const char *folder; ///< where files are made
    size_t memory_max;  ///< bytes of all parts' `last`
    size_t in_memory;
    struct held_part *parts; ///< [n_parts]
    size_t n_parts;
    size_t room;
    uint64_t whole; ///< the newest generation that is whole; 0: none
    int is_over;    ///< nothing is held any more
    int error;      ///< errno of a file; what came since is in memory
    int is_told;    ///< that there is an error
};

/** A piece of output, at most a line. */
struct held_piece {
    uint64_t cut;
    uint32_t writer;
    uint32_t size;
    const char *bytes; ///< [size]
};

/** Begin. @param writers  outlive it @param folder  likewise */
void held_open(struct held *held, struct stream *writers, const char *folder);

static inline int held_is_wanted(const struct held *held)
{
    return held->writers != NULL;
}

/** Something was written. @param cut  of its stream: seen.h. The rest of `piece` is copied. */
void held_add(struct held *held, const struct held_piece *piece);

/** A generation is whole. */
void held_saved(struct held *held, uint64_t generation);

/** The run goes on from a generation, or from the beginning (0). */
void held_go_back(struct held *held, uint64_t generation);

/** The run is over: all is to be shown. */
void held_end(struct held *held);

/** Is there something to be shown? */
int held_is_due(const struct held *held);

/** The next piece that is to be shown.
 * @param[out] piece  its bytes are valid until the next call of any function here
 * @return 0: there is none now */
int held_take(struct held *held, struct held_piece *piece);

void held_release(struct held *held);

#endif
