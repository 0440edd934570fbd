// SPDX-License-Identifier: BSD-3-Clause
#ifndef PLANNER_REPORT_PAGE_H
#define PLANNER_REPORT_PAGE_H

#include <stdio.h>

#include "planner/compare_runs.h"
#include "planner/run_record.h"

/* Reports as pages: one file each, which refers to no other one, and has no script. */

/** Around the record that a page has in it. */
#define PAGE_RECORD_BEGIN "<script type=\"application/json\" id=\"record\">"
#define PAGE_RECORD_END "</script>"

/** Of one run. Who called looks for errors of the file. */
void page_write(FILE *file, const struct record *record);

/** Of two. */
void page_write_comparison(FILE *file, const struct comparison *comparison);

#endif
