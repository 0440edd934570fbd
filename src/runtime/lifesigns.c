// SPDX-License-Identifier: BSD-3-Clause
//
// Signs of life between the nodes of a run on several hosts. On one host the launcher
// sees each death, and a node that is stopped is somebody's who wants that (a
// debugger), so there are none.
//
// Nodes tell the launcher, which knows names and says each thing once. A node that has
// lost another one cannot go on and ends; the launcher then ends all. One that is cut
// off from the launcher too is ended by the agent of its host, if not by itself.
#include <unistd.h>

#include "base/log.h"
#include "runtime/runtime.h"

void lifesigns_start(void)
{
    runtime.has_pulse = runtime.bootstrap.device[0] != '\0' &&
                        pulse_init(&runtime.pulse, &runtime.port,
                                   runtime.options.peer_timeout) == TM_OK;
}

static void tell(node_id node, enum boot_peer what, unsigned seconds)
{
    bootstrap_tell_peer(&runtime.bootstrap, node, what, seconds);
}

static _Noreturn void end_without(node_id node)
{
    unsigned seconds = runtime.options.peer_timeout;

    if (runtime.bootstrap.fd < 0) {
        log_fatal(EXIT_NODE_LOST,
                  "node %u is lost: silent for %u s (--peer-timeout)", node,
                  seconds);
    }
    tell(node, BOOT_PEER_LOST, seconds);
    _exit(EXIT_NODE_LOST);
}

void lifesigns_tick(void)
{
    node_id node;

    if (!runtime.has_pulse) {
        return;
    }
    switch (pulse_look(&runtime.pulse, &node)) {
    case PULSE_SUSPECT:
        tell(node, BOOT_PEER_SUSPECT, runtime.options.peer_timeout * 3 / 5);
        break;
    case PULSE_BACK:
        tell(node, BOOT_PEER_BACK, 0);
        break;
    case PULSE_LOST:
        end_without(node);
    default:
        break;
    }
}

void lifesigns_hear(node_id from)
{
    if (runtime.has_pulse) {
        pulse_hear(&runtime.pulse, from);
    }
}
