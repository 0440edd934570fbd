// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_RECOVERY_H
#define CLI_RECOVERY_H

#include <stdint.h>

#include "hostfile.h"
#include "seen.h"
#include "stored.h"

struct job;
struct node;
struct link_frame;
struct launch_plan;

/* --recover: a run goes back to a checkpoint by itself. recovery.c says how. */

/** A checkpoint that is whole. */
struct saved {
    uint64_t generation; ///< 0: none
    uint64_t iteration;  ///< that its threads have ended
    uint64_t at_ns;      ///< by the clock, when that was heard, or is reckoned
};

/** How a run goes on that has lost a node. All zero: it does not. */
struct recovery {
    const char *folder; ///< of its checkpoints; NULL: it does not go on
    int is_in_memory; ///< that is this host's, and others have one too: stored.c
    char in_memory[128]; ///< its name then
    struct stored here;
    struct checkpoint_manifest *manifest; ///< of what it goes back to then
    unsigned n_most;                      ///< tries from one checkpoint
    unsigned n_tries;                     ///< until now
    unsigned n_back;                      ///< how often it has gone back
    uint64_t before;    ///< generations up to it are of an earlier run
    uint64_t begun_at;  ///< iterations that --restart began with
    uint64_t first;     ///< number of the first checkpoint of these nodes
    struct saved back;  ///< what it has gone back to last
    struct saved saved; ///< heard of last
    char outside[192]; ///< what the program has done since, if nobody has asked
                       ///< for checkpoints (runtime/outside.h); "": nothing
    uint64_t
        outside_due_ns; ///< that it goes back no more is said then; 0: it need not be
    uint64_t farthest; ///< the iteration that was under way at the loss
    uint64_t
        passed_ns; ///< since when a newer checkpoint is beyond that; 0: none is
    uint64_t began_ns;        ///< when these nodes were started
    struct hosts hosts;       ///< of these nodes; none: all are here
    unsigned n_spares;        ///< of the plan's that have taken a place
    struct hosts lost;        ///< that are asked no more, by their names
    struct launch_plan *plan; ///< of these nodes, once it has gone back
    struct seen out;
    struct seen err;
};

/** May the run go back some time? */
static inline int recovery_is_wanted(const struct recovery *recovery)
{
    return recovery->folder != NULL;
}

/** Do nodes say where checkpoints are in their output? */
static inline int recovery_has_marks(const struct recovery *recovery)
{
    return recovery->out.token[0] != '\0';
}

/** Wait until something can be read there, and hear signals meanwhile.
 * @return 0: one of them has ended the run */
typedef int recovery_wait_fn(struct job *job, int fd);

// ---- recovery_find.c

/** Find what there is to go back to; says which checkpoints are torn.
 * @param[out] back  generation 0: the beginning
 * @return 0: that cannot be known (told), or the run is ended meanwhile */
int recovery_find(struct job *job, recovery_wait_fn *wait, struct saved *back);

/** What a manifest says; of this run, heard of or not. Generation 0: the beginning. */
struct saved recovery_saved_of(const struct recovery *recovery,
                               uint64_t generation, uint64_t n_ended,
                               uint64_t time_s);

/** The highest number of a generation in a folder; 0: there is none. */
uint64_t recovery_newest_in(const char *folder);

/** Remove what processes of before have written meanwhile. */
void recovery_remove_outdated(const struct recovery *recovery);

// ---- recovery.c

/** A run begins. With --recover, nobody else may write to its folder from now on; with that or
 * --output=held nodes say from now on where checkpoints are in their output.
 * @return 0, or an exit code (told) */
int recovery_open(struct job *job);

/** All processes of the run have ended, or it could not begin again: if a node or a host is
 * lost, prepare that the run goes on from its newest checkpoint; says so.
 * @param wait  how the launcher waits @return 1 hosts are to be reached and nodes to be started; 0 the run is over */
int recovery_go_back(struct job *job, recovery_wait_fn *wait);

void recovery_release(struct job *job);

// ---- recovery_told.c

/** A checkpoint is whole. */
void recovery_note_saved(struct job *job, uint64_t generation,
                         uint64_t iteration);

/** A node of the run has done something that no checkpoint has; have the node know that this is known. */
tm_status recovery_note_outside(struct job *job, struct node *node,
                                const struct link_frame *frame);

/** @return what it has done, if the run goes back no more because of that, and lives as long as the job; else NULL */
const char *recovery_why_not_back(const struct job *job);

/** Say what is due; when that is, if the run is not over before. 0: nothing is. */
void recovery_poll(struct job *job, uint64_t now_ns);
uint64_t recovery_due_ns(const struct job *job);

/** The run has ended well, and all that it has written is shown: say what has not come again. */
void recovery_tell_end(struct job *job);

#endif
