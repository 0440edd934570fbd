// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_STORED_FILES_H
#define CLI_STORED_FILES_H

#include "stored.h"

/* Which host has which file of a checkpoint in memory, and which is to have it: stored_files.c. Host 0 is the launcher's,
 * the others have agents. A file is a record agent_file, whose `at` is all its bytes. */

struct stored *stored_of(struct job *job, unsigned host);

/** There is a file. @param text  [size] of a manifest */
void stored_note(struct stored *stored, const struct wire_agent_file *file,
                 const char *text, size_t size);

/** Has it a file, whole? */
int stored_has(struct job *job, unsigned host,
               const struct wire_agent_file *file);

/** @return a host that has it; -1: none has */
int stored_find_host(struct job *job, const struct wire_agent_file *file);

/** How many files a generation needs: its nodes' files, then older ones. */
unsigned stored_count(const struct checkpoint_manifest *manifest);

/** @param i  < stored_count() */
struct wire_agent_file stored_file_of(
    const struct checkpoint_manifest *manifest, unsigned i);

/** No host wants anything: stored.n_wanted. */
void stored_want_none(struct job *job);

/** Each host wants what its nodes read of a file, if it does not have it: all, or the head.
 * @param i  < stored_count() */
void stored_want_read(struct job *job,
                      const struct checkpoint_manifest *manifest, unsigned i);

/** A file is on one host only, of those that have nodes.
 * @return the next one, which is to have it as well; -1: it is on two, or there is no other */
int stored_find_second(struct job *job, const struct wire_agent_file *file);

#endif
