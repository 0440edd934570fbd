// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_SPAWN_H
#define CLI_SPAWN_H

#include <signal.h>
#include <sys/types.h>

#include "hostfile.h"
#include "os/control_group.h"

/** What to start as one node. */
struct spawn_request {
    unsigned node;
    unsigned n_nodes;
    const struct host
        *host; ///< what a hostfile says of it; NULL: there is none
    const struct control_group *group; ///< to put it into; NULL: none
    const char *device; ///< the card that leads to nodes of other hosts; NULL:
                        ///< there are none, nor will be by what is said here
    unsigned n_here;    ///< nodes of this host, if there is a device
    int joins;   ///< the roster epoch that it will be in; 0: from the start
    char **argv; ///< program and arguments, NULL at the end
    int input;   ///< its standard input; -1: /dev/null
    int life;    ///< the agent's socket for signs of life; -1: none
    const char *folder;      ///< for its segments; "": none
    const sigset_t *signals; ///< its mask of blocked signals
};

/** What came of it. */
struct spawned {
    pid_t pid; ///< leader of a process group of the same number
    int out;   ///< read ends of its stdout and stderr, not blocking
    int err;
    int link; ///< the launcher's end of its control socket
};

/** Of *what. */
#define SPAWN_PROGRAM "start the program"
#define SPAWN_GROUP "have a control group make a node slow"

/** No core file of this process from now on, since it knows the job's key; nodes
 * keep the limit that this process had. */
void spawn_keep_cores_away(void);

/**
 * Start a node and wait until it runs the program.
 *
 * @return 0
 * @return > 0  errno of the system call named in *what: SPAWN_PROGRAM if execve()
 *              itself failed; nothing is left
 */
int spawn_node(const struct spawn_request *request, struct spawned *spawned,
               const char **what);

#endif
