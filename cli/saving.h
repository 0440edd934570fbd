// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_SAVING_H
#define CLI_SAVING_H

#include <stdint.h>

#include "base/status.h"
#include "link.h"

struct control_client;
struct job;

/* Checkpoints that somebody asks for: `teamster checkpoint`, SIGUSR2, --checkpoint-before. */

/** A client that waits for a checkpoint waits for something about this node. */
#define SAVING_NODE (TM_MAX_NODES + 1u)

/** Of a run. */
struct saving {
    uint64_t due_ns; ///< for --checkpoint-before; 0: it is not, or has been
    uint64_t
        newest; ///< iterations that had ended at the newest that is whole ...
    int has_newest;  ///< ... if there is one
    int is_asked;    ///< somebody waits for one ...
    int is_sent;     ///< ... and the root that there is now knows it
    uint32_t n_sent; ///< requests to that root
    uint32_t
        said; ///< what comes of this one is to be said on stderr; 0: of none
};

/** The run begins: look when one is due before its time limit. What is wrong is told. */
void saving_begin(struct job *job);

/** A client asks for one, and is answered when it is whole, or when there is none. */
void saving_ask(struct job *job, struct control_client *client);

/** A signal asks for one; what comes of it is said on stderr. */
void saving_ask_by_signal(struct job *job);

/** The root is another now: what was asked for, and has not come, it is asked for again. */
void saving_ask_again(struct job *job);

/** The root says that a checkpoint is whole, asked for or not, or why one that was asked for
 * is none. @return TM_OK, TM_EWIRE */
tm_status saving_take(struct job *job, const struct link_frame *frame);

/** Ask for one if it is time to. */
void saving_poll(struct job *job, uint64_t now_ns);

/** The run was ended before its program had ended, and does not go back by itself: say what to
 * type, if there is a checkpoint. */
void saving_tell_restart(struct job *job);

/** When that will be; 0: not at all. */
uint64_t saving_due_ns(const struct job *job);

#endif
