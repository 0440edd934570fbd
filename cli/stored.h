// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include <stdint.h>

#include "buffer.h"
#include "mux.h"

struct checkpoint_manifest;
struct job;

/* Checkpoints in the memory of hosts, when a run goes back: stored.c. */

/** A file that a host has. */
struct stored_file {
    struct wire_agent_file is;
    char *text; ///< of a manifest; NULL: it is none
    size_t size;
};

/** What is known of a host. */
struct stored {
    struct stored_file *files; ///< [n]
    unsigned n;
    unsigned n_room;
    int is_listed;      ///< those are all
    int is_asked;       ///< for a part, or to write one
    int error;          ///< it could not write it: errno
    int is_full;        ///< it has no room for a second copy of a file
    uint64_t n_wanted;  ///< bytes of what is brought, from its beginning on
    uint64_t n_given;   ///< bytes that it has been given
    struct buffer part; ///< it has sent
};

/** An agent has said something of it. @return 0: what makes no sense */
int stored_take(struct stored *stored, const struct mux_frame *frame);

/** Forget what a host has. */
void stored_forget(struct stored *stored);

/** Of what hosts have said, find the newest generation that is whole together. As stored_find(). */
void stored_choose(struct job *job, struct checkpoint_manifest *manifest);

/** Ask all hosts that are left what they have, and find the newest generation that is whole
 * together.
 * @param[out] manifest  of it; generation 0: there is none
 * @return 0, or an exit code: somebody has ended the run */
int stored_find(struct job *job, struct checkpoint_manifest *manifest);

/** It is the one to go back to, or 0, the beginning: the others go. */
void stored_keep(struct job *job, uint64_t generation);

/** Nodes are about to start: give each of their hosts what they read and it does not have, and what is on one host only
 * to another one.
 * @return 0, or an exit code (told) */
int stored_bring(struct job *job);

#endif
