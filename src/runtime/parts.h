// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_PARTS_H
#define RUNTIME_PARTS_H

#include "net/port.h"

struct node;
struct thread;

/*
 * What a node is made of beside its machines (engine, sync, migration): parts. Each
 * is told what happens by its row; who tells it does not know which parts there are.
 * To add one: write it, and add its row to all_parts (registry.c).
 */

/** A part. A slot that is NULL does nothing; parts.c alone looks. Unless it says something
 * else, a slot is called under the node lock, by whichever kernel thread has that, and
 * must not block. */
struct part {
    /** The program starts: machines are there, nobody is connected, no lock. Ends the
     * program if it cannot go on. */
    void (*open)(struct node *node);

    /** All nodes are connected and what they have to offer is known. There is no
     * thread but main(), which waits for this, and no lock. */
    void (*start)(struct node *node);

    /** Each millisecond while something is due somewhere, else now and then. The
     * service thread. @return 1 if it should be called again soon */
    int (*tick)(struct node *node);

    /** As which it owns messages in net/messages.def. */
    enum message_owner owns;

    /** One of its messages has come. @return TM_OK, TM_EWIRE if it contradicts what is known:
     * then nothing has changed */
    tm_status (*receive)(struct node *node, node_id from,
                         const struct message *message);

    /** A thread has come from another node; its record is complete. */
    void (*thread_arrived)(struct node *node, struct thread *thread);

    /** A thread has left or ended; its record lives until this returns. */
    void (*thread_left)(struct node *node, struct thread *thread);

    /** Nodes have come or gone.
     * @param is_first  this node has been alone until now, or is one that has come */
    void (*roster_changed)(struct node *node, int is_first);

    /** A checkpoint is made, and all stands still: send what is to be in it of this node's
     * part, as messages that the part owns, to node 0 of the port. A part of which nothing
     * is saved says so: parts_save_nothing. There is no default. */
    void (*save)(struct node *node, const struct port *to);

    /** On the root: this was saved, of any node, and threads are about to go on. NULL: if
     * nothing is saved. */
    void (*load)(struct node *node, const struct message *message);

    /** Fill in what the part counts; what others have filled in stays. */
    void (*stats)(struct node *node, struct tm_node_stats *stats);

    /** The program is over, and all nodes are there still: the last chance to ask them,
     * and to say something. Only where it has ended, which is the root if all is well;
     * outside the lock. */
    void (*finish)(struct node *node);

    /** The service thread has ended, workers have stopped, and no message comes or goes
     * any more. Without the lock. */
    void (*close)(struct node *node);
};

// ---- parts.c: tell all of them, in their order

/** These are the parts. Before all others. @param parts  NULL behind the last; kept */
void parts_use(struct node *node, const struct part *const *parts);
void parts_open(struct node *node);
void parts_start(struct node *node);
int parts_tick(struct node *node);
/** @return TM_EWIRE also if it is nobody's */
tm_status parts_receive(struct node *node, node_id from,
                        const struct message *message);
void parts_thread_arrived(struct node *node, struct thread *thread);
void parts_thread_left(struct node *node, struct thread *thread);
void parts_roster_changed(struct node *node, int is_first);
void parts_save(struct node *node, const struct port *to);
/** To the part that owns the message, if one does that loads such. */
void parts_load(struct node *node, const struct message *message);
void parts_stats(struct node *node, struct tm_node_stats *stats);
void parts_finish(struct node *node);
void parts_close(struct node *node);

/** A slot: nothing of the part is in a checkpoint, it begins anew. */
void parts_save_nothing(struct node *node, const struct port *to);

// ---- the rows of all parts, each at the end of its file; for registry.c only

extern const struct part part_races;      ///< race_reports.c
extern const struct part part_deadlock;   ///< deadlock.c
extern const struct part part_stats;      ///< stats.c
extern const struct part part_liveness;   ///< liveness.c
extern const struct part part_members;    ///< members.c
extern const struct part part_tasks;      ///< runners.c
extern const struct part part_balancing;  ///< balancing.c
extern const struct part part_tracking;   ///< tracking.c
extern const struct part part_paging;     ///< paging.c
extern const struct part part_capacity;   ///< cluster_capacity.c
extern const struct part part_step_log;   ///< step_log.c
extern const struct part part_choices;    ///< choices_report.c
extern const struct part part_findings;   ///< findings.c
extern const struct part part_showing;    ///< showing.c
extern const struct part part_events;     ///< event_gather.c
extern const struct part part_trace;      ///< event_trace.c
extern const struct part part_story;      ///< page_story.c
extern const struct part part_checkpoint; ///< checkpoint.c
extern const struct part part_tuning;     ///< tuning.c
extern const struct part part_buddies;    ///< buddies.c

#endif
