// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_TRACE_WRITE_H
#define OBSERVE_TRACE_WRITE_H

#include <stdio.h>

#include "observe/event_ring.h"

/* A trace in Perfetto's format (protos/perfetto/trace of that project), which
 * ui.perfetto.dev and trace_processor read: a process for each node, in it a track for
 * each thread that was there and one for the messages that it has handled. */

struct trace_node {
    unsigned id;
    const char *name;     ///< of its process
    int64_t ahead_ns;     ///< its clock is so much ahead of that of the trace
    struct event *events; ///< [n] in any order; they are sorted here
    size_t n;
};

/** Write the packets of one node; those of others go behind them into the same file. Whether
 * all could be written the file knows (ferror()). Short of memory the process ends. */
void trace_write_node(FILE *file, const struct trace_node *node);

#endif
