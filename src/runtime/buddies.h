// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_BUDDIES_H
#define RUNTIME_BUDDIES_H

#include <stdint.h>

#include "net/message.h"
#include "net/roster.h"
#include "os/checkpoint_manifest.h"
#include "os/process_state.h"
#include "os/read_file.h"

struct node;

/* Checkpoints in the memory of hosts, --buddy: buddies.c. */

/** A node's files on their way to the next host: checkpoint_copy.c. */
struct copy_out {
    node_id to;
    struct checkpoint_older
        files[CHECKPOINT_OLDER_MAX + 1]; ///< [n] the last one is this one's own
    unsigned n;
    unsigned n_begun; ///< of them; the last of these is under way
    int is_asked;     ///< has the next host got it?
    int fd;           ///< -1: no parts of it are sent
    uint64_t n_sent;
    unsigned n_flying; ///< parts that are not answered yet
    char why[128];     ///< it could not be taken; "": it can, until now
};

/** Guarded by the node lock. */
struct buddies {
    struct copy_out out;

    // the root's
    unsigned n_awaited; ///< leaders that have not answered yet
    int is_giving_up;   ///< they are to remove it

    struct read_files inherited; ///< others have opened them
    struct process_state begun;  ///< what this process had set then

    // the clerk's, then that of who writes the file
    uint64_t room; ///< bytes that there is memory to write anew

    // if nobody has asked for it
    uint64_t n_whole; ///< bytes that this node had, when it was saved or read;
                      ///< times nodes of its host then. 0: it was not
    uint64_t polled_ns; ///< when it has read how much memory is left
    int is_short;       ///< too little
};

/** With --buddy: have this node's checkpoints be in the folder of the run. Ends the process if there is
 * none. Before all others. */
void buddies_use_memory(struct node *node);

/** What the process has set for itself is taken down, when libraries have set theirs. Nothing is done where
 * nobody asks for it later (--buddy=auto). */
void buddies_note_beginning(struct node *node);

/** Nobody has asked for checkpoints (--buddy=auto): is there something of the program's that would not come back? To
 * be asked when its threads are held.
 * @return what it is; NULL: nothing. Stays */
const char *buddies_why_not_back(const struct node *node);

/** Is this why there is no checkpoint: memory? */
int buddies_is_too_much(const char *why);

/** Nobody has asked for checkpoints (--buddy=auto), and there can be none: have the root make none. */
void buddies_leave_out(struct node *node);

/** Why a checkpoint for which this node would write so many bytes would take too much memory; NULL:
 * it would not. Not under the node lock. @param n_whole  bytes, if all were written */
const char *buddies_why_too_much(struct node *node, uint64_t n_bytes,
                                 uint64_t n_whole);

/** The same, for one that is being written. On the thread that writes. */
const char *buddies_why_no_more(const struct node *node, uint64_t n_written);

/** What is saved is of so many bytes of this node: it has read them. Under the node lock. */
void buddies_note_read(struct node *node, uint64_t n_bytes);

/** Say where checkpoints are. On the root. */
void buddies_tell_where(const struct node *node);

/** On the root: all files are in two places, or `why` of the checkpoint says why not. Have all
 * hosts know. Under the node lock. */
void buddies_confirm(struct node *node);

// ---- checkpoint_copy.c

/** This node's file is whole: bring it and the older ones that it refers to to the next host, if
 * there is one, and tell the root. Not under the node lock.
 * @param files  [n] <= CHECKPOINT_OLDER_MAX + 1; the last one is this generation's */
void copy_begin(struct node *node, const struct checkpoint_older *files,
                unsigned n);

/** Another node asks whether an older file of its own is here; it says whether one of this node's is
 * there. */
tm_status copy_take_keep(struct node *node, node_id from,
                         const struct message_copy_keep *keep);
tm_status copy_take_kept(struct node *node, node_id from,
                         const struct message_copy_kept *kept);
/** A part of another node's file has come; one of this node's has been taken there. */
tm_status copy_take_part(struct node *node, node_id from,
                         const struct message *message);
tm_status copy_take_answer(struct node *node, node_id from,
                           const struct message *message);
void copy_close(struct node *node);

#endif
