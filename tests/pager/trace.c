// SPDX-License-Identifier: BSD-3-Clause
#include "trace.h"

#include <assert.h>
#include <stdlib.h>

void trace_add(struct trace *trace, uint32_t worker, uint32_t thread,
               uint32_t page)
{
    if (trace->n == trace->room) {
        trace->room = trace->room * 2 + 1024;
        trace->events =
            realloc(trace->events, trace->room * sizeof *trace->events);
        assert(trace->events != NULL);
    }
    if (page != TRACE_TURN && page >= trace->n_pages) {
        trace->n_pages = page + 1;
    }
    if (thread >= trace->n_threads) {
        trace->n_threads = thread + 1;
    }
    if (worker >= trace->n_workers) {
        trace->n_workers = worker + 1;
    }
    trace->events[trace->n++] = (struct trace_event){page, thread, worker};
}

void trace_mark(struct trace *trace)
{
    assert(trace->n_marks < sizeof trace->marks / sizeof *trace->marks);
    trace->marks[trace->n_marks++] = trace->n;
}

void trace_release(struct trace *trace)
{
    free(trace->events);
    *trace = (struct trace){0};
}

uint32_t trace_union(const struct trace *trace, size_t first, size_t end)
{
    char *is_used = calloc(trace->n_pages + 1, 1);
    uint32_t n = 0;

    assert(is_used != NULL);
    for (size_t i = first; i < end; i++) {
        uint32_t page = trace->events[i].page;

        if (page != TRACE_TURN) {
            n += !is_used[page];
            is_used[page] = 1;
        }
    }
    free(is_used);
    return n;
}
