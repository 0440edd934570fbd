// SPDX-License-Identifier: BSD-3-Clause
//
// A launcher of ours sees each death, and ends all other nodes. mpirun does the same,
// srun does not; so nodes that these have started watch each other's processes on one
// host, and the process that has started them. (Those of other hosts: liveness.c.)
//
// A node that has ended has died, or the program is over and FINISH is on its way
// here too: nodes get it at about the same time, and take their time to end. What has
// not come SETTLE_NS later does not come.
#include "base/clock.h"
#include "base/log.h"
#include "os/death_watch.h"
#include "runtime/liveness.h"
#include "runtime/node.h"

#include <unistd.h>

#define SETTLE_NS UINT64_C(1000000000)

/** The label of the process that has started this one; no node has it. */
#define PARENT TM_MAX_NODES

void process_watch_begin(struct node *node, const struct boot_roster *roster)
{
    struct death_watch *watch;
    int failed;

    if (bootstrap_has_launcher(&node->bootstrap) ||
        death_watch_open(&watch) != TM_OK) {
        return;
    }
    failed = death_watch_add(watch, getppid(), PARENT) != TM_OK;
    for (unsigned i = 0; i < node->n_nodes; i++) {
        if (i != node->self &&
            roster->host_of[i] == roster->host_of[node->self]) {
            failed |= death_watch_add(watch, (pid_t)roster->members[i].pid,
                                      i) != TM_OK;
        }
    }
    if (failed) {
        log_debug("not every death on this host will be seen at once: %m");
    }
    node->neighbours.watch = watch;
}

int process_watch_fd(struct node *node)
{
    const struct death_watch *watch = node->neighbours.watch;

    return watch != NULL ? death_watch_fd(watch) : -1;
}

void process_watch_poll(struct node *node)
{
    struct neighbours *neighbours = &node->neighbours;
    unsigned label;

    while (death_watch_next(neighbours->watch, &label)) {
        if (label == PARENT) {
            log_fatal(EXIT_NODE_LOST,
                      "who has started this process is gone: node %u ends",
                      node->self);
        }
        if (neighbours->died_ns == 0) {
            neighbours->died_ns = clock_now_ns();
            neighbours->dead = (node_id)label;
        }
    }
}

void process_watch_tick(struct node *node)
{
    const struct neighbours *neighbours = &node->neighbours;

    if (neighbours->died_ns != 0 && !node_is_finishing(node) &&
        clock_now_ns() - neighbours->died_ns > SETTLE_NS) {
        log_fatal(EXIT_NODE_LOST,
                  "node %u has died, after %llu barriers here: node %u ends",
                  neighbours->dead,
                  (unsigned long long)sync_n_barriers(node->sync), node->self);
    }
}
