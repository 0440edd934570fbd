// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_REPORT_PAGE_PRIV_H
#define PLANNER_REPORT_PAGE_PRIV_H

#include <stdio.h>

#include "planner/run_record.h"

/* What the files of a page share. */

/** So many nodes are shown, the first of the run's; a page has its limits. */
#define PAGE_NODES 64u

// ---- page_out.c: texts and numbers

/** A text of the user's: nothing in it is taken for markup. */
void page_text(FILE *file, const char *text);

/** Seconds with a unit, three digits: "23.3 ms". @param[out] text  [24] */
const char *page_time(double seconds, char *text);

/** A part as percent: "61 %"; "0.4 %". @param[out] text  [16] */
const char *page_percent(double part, char *text);

/** A number with blanks between thousands. @param[out] text  [32] */
const char *page_count(double number, char *text);

/** The document's begin, up to its heading. */
void page_begin(FILE *file, const char *title);
void page_end(FILE *file);

// ---- page_charts.c: inline SVG

/** Where each node's time went, as a bar. */
void page_node_bars(FILE *file, const struct record *record);

/** Iterations over time, with what was done. */
void page_iterations(FILE *file, const struct record *record);

/** Thread by node. @param is_after  at the end; else at first */
void page_mapping(FILE *file, const struct record *record, int is_after);

#endif
