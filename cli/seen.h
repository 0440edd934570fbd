// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_SEEN_H
#define CLI_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/*
 * Lines that a run has shown, so that none is shown twice when it goes back to a checkpoint:
 * seen.c says how.
 */

#define SEEN_TOKEN 16u ///< digits that are secret to the run
#define SEEN_MARK 39u  ///< bytes of a mark in the output

/** The part of the output that nodes write until they have started, and of the root's
 * that main() writes before it waits for its threads. */
#define SEEN_PREPARING UINT64_MAX

/** Lines from one cut to the next. */
struct seen_part {
    uint64_t cut;     ///< the generation that it is of; 0: from the beginning
    struct map lines; ///< from a line's hash to how often it has come
};

/** What has been shown of one kind of output: of all nodes' stdout, or stderr. All zero is
 * one that has seen nothing; without a token there are no marks in the output. */
struct seen {
    char token[SEEN_TOKEN + 1];
    const char *never; ///< lines that begin so are always shown; NULL: none
    struct map preparing;
    struct map preparing_again; ///< of these, what has not come again yet
    struct seen_part *parts;    ///< [n_parts]
    size_t n_parts;
    size_t room;
    struct map expected;  ///< shown before it went back, and not come again yet
    uint64_t base;        ///< the generation it has gone back to; 0: none
    uint64_t whole[2];    ///< the newest that is whole, and the one before
    uint64_t n_kept;      ///< lines of parts
    uint64_t n_preparing; ///< and of `preparing`
    int is_overfull;      ///< there were too many: not all are known ...
    uint64_t overfull_at; ///< ... of parts up to this cut
};

/** Has a stream's next line to be shown? From now on it has been.
 * @param cut  of its stream: what the latest mark has said
 * @return 0 it was shown before the run went back */
int seen_is_new(struct seen *seen, uint64_t cut, const char *line, size_t size);

/** Does a line begin as those that are always shown? */
int seen_is_said(const struct seen *seen, const char *line, size_t size);

/** A generation is whole: what came before the one before it is forgotten. */
void seen_saved(struct seen *seen, uint64_t generation);

/** The run goes on from a generation, or from the beginning (0). */
void seen_go_back(struct seen *seen, uint64_t generation);

/** What has not come again by now does not come any more.
 * @return how many lines that is */
uint64_t seen_settle(struct seen *seen);

/** Are bytes the beginning of a mark, or all of it? @param size  at most SEEN_MARK */
int seen_is_mark(const struct seen *seen, const char *bytes, size_t size);

/** What a whole mark says: the generation whose cut it is, 0: the node has started, or main()
 * has prepared. */
uint64_t seen_mark(const char *bytes);

void seen_release(struct seen *seen);

#endif
