// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_PAGER_TRACE_H
#define TESTS_PAGER_TRACE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the threads of one node do with its pages, as a sequence: turns begin,
 * pages are used. Made by shapes.c, or recorded from a run.
 */
struct trace_event {
    uint32_t page;   ///< that is used; TRACE_TURN: the thread's turn begins
    uint32_t thread; ///< of a use too: whose turn it is
    uint32_t worker;
};

#define TRACE_TURN UINT32_MAX

struct trace {
    struct trace_event *events; ///< [n]
    size_t n;
    size_t room;
    uint32_t n_pages;   ///< pages are below
    uint32_t n_threads; ///< threads are below
    uint32_t n_workers; ///< workers are below
    size_t marks[64];   ///< [n_marks]: where iterations begin
    unsigned n_marks;
};

void trace_add(struct trace *trace, uint32_t worker, uint32_t thread,
               uint32_t page);

/** An iteration begins at the next event. */
void trace_mark(struct trace *trace);
void trace_release(struct trace *trace);

/** @return different pages used from event `first` on, before `end` */
uint32_t trace_union(const struct trace *trace, size_t first, size_t end);

#endif
