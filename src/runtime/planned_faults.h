// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PLANNED_FAULTS_H
#define RUNTIME_PLANNED_FAULTS_H

#include "net/message.h"

/* Faults that tests of whole runs ask for: planned_faults.c. */
struct planned_faults {
    uint64_t die_in;  ///< messages until this node dies; 0: never
    uint64_t lose_in; ///< pages that come until one is lost; 0: none is
    uint64_t
        clerk_ms; ///< that a checkpoint's clerk takes to end when all is told
    uint64_t file_ms;   ///< that a file of a checkpoint is written later
    uint64_t load_ms;   ///< that it is read later
    uint64_t refuse_in; ///< parts of another host's files until none is taken
    uint64_t refuse_manifests_in; ///< the same of manifests; 0: never
    uint64_t every_ms; ///< from one checkpoint to the next; 0: as it is said
    uint64_t runs_in;  ///< runs of a snapshot that are read until none can be
    uint64_t spare; ///< bytes that there are for checkpoints in memory; 0: all
};

/** Nodes are connected. Debug builds look at the environment.
 * @param n_back  how often the run has gone back to a checkpoint */
void planned_faults_open(struct planned_faults *planned, node_id self,
                         unsigned n_back);

/** A message has come, or this node has sent it to itself. Under the node lock.
 * @return 1 if it is lost */
int planned_faults_take(struct planned_faults *planned,
                        const struct message *message);

/** A checkpoint's clerk has done its work, and told so. */
void planned_faults_hold_clerk(const struct planned_faults *planned);

/** A file of a checkpoint is about to be written, by a kernel thread of its own. */
void planned_faults_delay_file(const struct planned_faults *planned);

/** A node is about to read its part of a checkpoint, on the clerk's stack. */
void planned_faults_delay_load(const struct planned_faults *planned);

/** A part of another host's file has come. @return 1 if there is to be no room for it */
int planned_faults_refuse_copy(struct planned_faults *planned);

/** The same of a manifest. */
int planned_faults_refuse_manifest(struct planned_faults *planned);

/** A run of pages of a snapshot is about to be read. @return 1 if it is to be lost */
int planned_faults_lose_run(struct planned_faults *planned);

/** Checkpoints are to be made so often. @return how often they are */
uint64_t planned_faults_period_ns(const struct planned_faults *planned,
                                  uint64_t ns);

/** There is so much memory still for a generation. @return how much there is to be */
uint64_t planned_faults_spare(const struct planned_faults *planned,
                              uint64_t generation, uint64_t n_bytes);

#endif
