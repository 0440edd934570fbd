// SPDX-License-Identifier: BSD-3-Clause
//
// Signs of life between the nodes of a run on several hosts. On one host the launcher
// sees each death, and a node that is stopped is somebody's who wants that (a
// debugger), so there are none.
//
// A node that has lost another one cannot go on, and says so; the launcher then ends
// all. One that is cut off from the launcher too is ended by the agent of its host.
#include "base/log.h"
#include "runtime/runtime.h"

void lifesigns_start(void)
{
    runtime.has_pulse = runtime.bootstrap.device[0] != '\0' &&
                        pulse_init(&runtime.pulse, &runtime.port,
                                   runtime.options.peer_timeout) == TM_OK;
}

void lifesigns_tick(void)
{
    node_id node;

    if (!runtime.has_pulse) {
        return;
    }
    switch (pulse_look(&runtime.pulse, &node)) {
    case PULSE_SUSPECT:
        log_warning("node %u has been silent for %u s", node,
                    runtime.options.peer_timeout * 3 / 5);
        break;
    case PULSE_BACK:
        log_warning("node %u is heard again", node);
        break;
    case PULSE_LOST:
        log_fatal(EXIT_NODE_LOST,
                  "node %u is lost: silent for %u s (--peer-timeout)", node,
                  runtime.options.peer_timeout);
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
