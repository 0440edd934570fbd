// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_CHECKPOINT_H
#define RUNTIME_CHECKPOINT_H

#include <pthread.h>

#include "mem/snapshot.h"
#include "net/port.h"
#include "os/checkpoint_file.h"
#include "os/checkpoint_manifest.h"
#include "pages/engine.h"
#include "runtime/cut_table.h"

struct node;
struct options;
struct thread;
struct ult;
struct wait;

/** No thread is held. */
#define NONE_HELD UINT64_MAX

/** How far a checkpoint is, on the root: checkpoint.c. */
enum cut_step {
    CUT_IDLE,    ///< none is due
    CUT_GATHER,  ///< threads are held where their iteration ends
    CUT_TAKE,    ///< each node takes what it has
    CUT_WRITE,   ///< threads go on; each node writes that
    CUT_CONFIRM, ///< all is written: it is made a checkpoint
};

/** What a node has for a checkpoint: messages, encoded, one behind the other, each with its
 * size in front, u32. */
struct cut_records {
    uint8_t *bytes;
    size_t n;
    size_t room;
};

/** What nodes have said in a round. */
struct cut_round {
    unsigned n_answers;
    int is_still;
    uint32_t n_held;
    uint64_t least;
    uint64_t most;
    uint64_t passed;
    uint64_t sent;
    uint64_t received;
    uint64_t
        n_ended; ///< iterations, as the node knows that has taken part in most
    char why[128]; ///< no checkpoint can be made; "": it can
};

/** Checkpoints of this run. Guarded by the node lock, but for what the clerk is given. */
struct checkpoint {
    // every node
    uint32_t cut;     ///< number of the one that is asked for
    uint64_t above;   ///< threads that have ended so many iterations are held
    uint32_t n_held;  ///< here
    uint32_t n_aside; ///< of them, those that wait for the end of another
    uint64_t
        process; ///< of this node: no other has this number, before or after it
    int is_told; ///< the root knows that some are
    int has_clerk; ///< it is at work
    void (*clerk_work)(struct node *node);
    uint64_t generation;        ///< for the clerk
    unsigned n_files;           ///< likewise
    uint64_t newest;            ///< the newest that is whole; 0: there is none
    uint64_t parent;            ///< the one before that; 0: there is none
    struct cut_records records; ///< the clerk's, then the kernel thread's
    struct snapshot snapshot;   ///< the pages that this node has for it
    struct cut_table tables[3]; ///< of newest, parent, and the one under way
    struct digests *digests;    ///< NULL: everything is written each time
    void (*file_work)(struct node *node);
    pthread_t file_thread;
    int has_file_thread; ///< it has been started, and not been waited for

    // the root's
    enum cut_step step;
    uint64_t due_ns;
    unsigned n_failed;  ///< tries in a row, that nobody has asked for
    uint32_t n_asked;   ///< how often the launcher has asked for one ...
    uint32_t n_told;    ///< ... and how many of these have been answered
    uint32_t n_meant;   ///< that the one that is being written answers
    uint64_t wanted_ns; ///< since when
    uint64_t asked_ns;
    uint64_t held_ns; ///< since when some are held; 0: none, as far as is known
    uint32_t round;
    int is_asking;
    struct cut_round answers;
    struct cut_round last; ///< of the round before
    int was_quiet;
    unsigned n_taken;
    unsigned n_written;
    int is_confirmed;        ///< it is a checkpoint, or `why` says why not
    struct page_count owned; ///< pages written ...
    struct page_count known; ///< ... and those that there are
    uint64_t
        iteration; ///< of the latest one, in barriers that its threads have passed
    uint64_t n_ended; ///< of that: iterations, for people
    uint64_t next_generation;
    uint64_t whole[2]; ///< newest first; 0: this run has not made it
    char why[CHECKPOINT_PATH_MAX + 160]; ///< it failed; "": it has not
    char told[CHECKPOINT_PATH_MAX + 160];
    struct checkpoint_manifest *manifest; ///< of the one that is being made

    // a run that goes on from one
    struct checkpoint_manifest *restored; ///< NULL: it does not
    int is_restoring; ///< from the start until all is as it was in it
    unsigned n_loaded;
    struct waiter *loader; ///< waits for all nodes to have read
};

// ---- checkpoint_hold.c

/** A thread is where its iteration ends: does it stay there? On its stack. */
void checkpoint_hold(struct node *node);
/** Wait, as wait_for(), for the end of a thread; meanwhile be held for checkpoints. On the
 * caller's stack. @return 0: this is another run, in which nobody knows of the wait */
int hold_while_waiting(struct node *node, struct wait *wait);
/** Threads that wait for the end of others, which has come, go on. Under the node lock. */
void hold_let_joined_go(struct node *node);
/** Held threads that have not ended so many iterations go on. Under the node lock. */
void hold_above(struct node *node, uint64_t above);
/** The root is to know that some are held, once for each time that it asks. Likewise. */
void hold_tell(struct node *node);
/** Say to the root which are held, and what is under way. Likewise. */
void hold_answer(struct node *node, uint32_t round);

// ---- checkpoint.c

/** Have folders of options, if they are relative, begin where the process is now. */
void checkpoint_fix_folders(struct options *options);

/** Is this run to write checkpoints? */
int checkpoint_is_wanted(const struct node *node);

/** Are threads held, or not there again yet, so that nodes must not come or go? Under the node
 * lock. */
int checkpoint_is_busy(const struct node *node);

/** On the root: the launcher wants one, now; it is told what comes of it. Under the node lock. */
void checkpoint_ask(struct node *node);

// ---- checkpoint_clerk.c, a thread of the node's own that has pages as the program has them

/** Have it do something. Under the node lock. */
void clerk_start(struct node *node, void (*work)(struct node *node));
/** Take what this node has, and write it. Under the node lock. */
void clerk_write(struct node *node);

// ---- checkpoint_load.c, on the clerk

/** Read this node's part of a checkpoint. Under the node lock. */
void clerk_load(struct node *node, uint64_t generation, unsigned n_files);

// ---- checkpoint_part.c, this node's file

/** The `send` of a port whose owner are struct cut_records: everything goes there. */
void records_add(void *owner, node_id to, const struct message *message);
void records_drop(struct cut_records *records);

/** A node's file while it is written, by one thread. */
struct part_writer {
    struct node *node;
    struct checkpoint_writer file;
    struct cut_table
        *parent; ///< what has not changed since is not written again
    struct cut_table *table;
    struct cut_table none;  ///< where there is no parent
    struct stretch stretch; ///< that is being put together
    uint8_t *record;        ///< its bytes, behind room for a header ...
    uint32_t size;          ///< ... so many
    uint64_t began_ns;
    uint64_t n_kept; ///< stretches that were not written again
    const char *why; ///< what it was to have cannot be had; NULL: it can
};

/** How many of so many bytes this node is likely to write to the next one. */
uint64_t part_expect(struct checkpoint *checkpoint, uint64_t n_bytes);

/** Begin it. Waits for the disk, as all of these do.
 * @return NULL, or why it cannot be written: then there is nothing to end */
const char *part_begin(struct part_writer *writer, struct node *node);
void part_add_records(struct part_writer *writer,
                      const struct cut_records *records);
/** A page, if it has to be there: all but those of zeros. In rising order, behind all records.
 * @param bytes  its own */
void part_add_page(struct part_writer *writer,
                   const struct snapshot_page *entry, const char *bytes);
/** It is whole, or is not; either is told to the root. Not under the node lock. */
void part_end(struct part_writer *writer);
/** It could not be begun: tell the root. */
void part_tell_failed(struct node *node, const char *why);

// ---- checkpoint_told.c

/** Tell the root that this node's file is written, or why it is not. Under the node lock.
 * @param why  NULL: it is */
void told_saved(struct node *node, const struct checkpoint_sum *sum,
                const char *why);

// ---- checkpoint_files.c, a kernel thread that writes while the program goes on

/** Write records and the snapshot to this node's file, and say so; they are gone then. Not under
 * the node lock: may wait for the disk if there is no other way. */
void files_write(struct node *node);
/** What files_write() does, in two parts: threads may be held during the first. Records and
 * snapshot are gone then, whatever came of it.
 * @return NULL, or why nothing can be written */
const char *files_fill(struct node *node, struct part_writer *writer);
/** The disk has it, or it came to nothing. @param why  what files_fill() said, or why nothing
 * was filled */
void files_end(struct node *node, struct part_writer *writer, const char *why);
/** On the root: all have written; make it a checkpoint, or remove it if `why` says why it is
 * none. Under the node lock. @return TM_OK, what kthread_start() says */
tm_status files_confirm(struct node *node);
/** What was taken is not written, or has been. */
void files_drop(struct node *node);
/** Wait for the kernel thread. */
void files_close(struct node *node);

// ---- checkpoint_restore.c

/** On the root, before nodes meet: choose a checkpoint, if --restart is given, for a
 * program of this layout. Ends the process if there is none. */
void restore_choose(struct node *node);
/** main() has prepared, and is about to wait: bring everything back. On its stack. */
void restore_all(struct node *node);
/** A node has read its part. */
void restore_loaded(struct node *node, const struct message *message);

/** What is read of a file of the checkpoint that this run goes on from. */
struct restore_part {
    uint64_t generation;
    unsigned file;
    uint64_t
        until; ///< bytes: what begins there or behind is not looked at, and
               ///< need not be there
    struct checkpoint_share share; ///< others are gone past
    uint64_t n_read;               ///< bytes; filled in
};

/**
 * Go through messages in a file, in order.
 *
 * @param take   @return 0: no more
 * @return NULL, or why it cannot be read, or is not what was written
 */
const char *restore_each(const struct node *node, struct restore_part *part,
                         int (*take)(void *owner,
                                     const struct message *message),
                         void *owner);

#endif
