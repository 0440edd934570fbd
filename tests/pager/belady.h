// SPDX-License-Identifier: BSD-3-Clause
#ifndef TESTS_PAGER_BELADY_H
#define TESTS_PAGER_BELADY_H

#include "trace.h"

/*
 * Page-ins of a trace in a memory of `budget` pages, under rules that need no
 * pager: the least possible ([Belady66]: the page goes whose next use is
 * farthest), least recently used, and random. All begin with an empty memory at
 * the trace's first event, and count from event `first` on; a page that is used
 * for the first time of all counts too.
 */
size_t belady_page_ins(const struct trace *trace, uint32_t budget,
                       size_t first);
size_t lru_page_ins(const struct trace *trace, uint32_t budget, size_t first);
size_t random_page_ins(const struct trace *trace, uint32_t budget, size_t first,
                       uint64_t seed);

/** The same as belady_page_ins() by looking at every page each time: for the
 * test of that. */
size_t belady_page_ins_slowly(const struct trace *trace, uint32_t budget,
                              size_t first);

#endif
