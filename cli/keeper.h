// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_KEEPER_H
#define CLI_KEEPER_H

#include <sys/types.h>

/** A small process that ends the nodes if the launcher cannot: it was killed. */
struct keeper {
    pid_t pid;
    int to_keeper;     ///< its end of file is the launcher's death
    char control[108]; ///< the control socket, goes with the run; "": none
    char folder[64];   ///< for the nodes' segments, goes with the run; "": none
    long job;          ///< of groups that go with the run; 0: there are none
    int lock;          ///< of the folder, for as long as the launcher lives
};

/** @param job  whose control socket there is to be; 0: of none, an agent's
 * @param advice  behind the words that the launcher has been killed; of an agent it is not read
 *
 * Start it, and make the launcher the parent of everything that nodes leave
 * behind. A folder in memory is made if that is possible.
 * @return 0, -1 with errno set */
int keeper_start(struct keeper *keeper, long job, const char *advice);

/** Tell it of a node. */
void keeper_add(const struct keeper *keeper, pid_t node);

/** All nodes that it was told of have ended, and a run goes on with others: end what they
 * left behind, processes and segments.
 * @param spared  [n] children that are no nodes'; it is to be told of them anew */
void keeper_clear(const struct keeper *keeper, const pid_t *spared, unsigned n);

/** End all processes that nodes left behind, remove the folder, then end the
 * keeper. */
void keeper_finish(struct keeper *keeper);

#endif
