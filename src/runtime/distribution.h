// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_DISTRIBUTION_H
#define RUNTIME_DISTRIBUTION_H

#include "base/status.h"
#include "net/message.h"

/* The scheme, on the root: who runs where. */

/** Begin to decide who runs where, if the options and the cluster ask for it. */
void distribution_start(void);
/** The same for a node that was alone until now. Under the node lock. */
void distribution_start_late(void);
/** iteration has arrived. Under the node lock. */
tm_status distribution_receive(node_id from, const struct message *message);
/** With --explain, say how it went. */
void distribution_print(void);
/** On the root: is it about to change something, and not to be disturbed? */
int distribution_is_busy(void);
/** On the root: does somebody decide where threads run? */
int distribution_decides(void);
/** The roster is another: begin anew, with the nodes that there are. */
void distribution_roster_changed(void);

/** With --save-profile, end the run at once if the root could not write it: the run
 * that the profile is to be of may take hours. */
void profile_check(void);
/** With --save-profile, write the latest decision's. */
void profile_save(void);

#endif
