// SPDX-License-Identifier: BSD-3-Clause
#ifndef STEPS_ROWS_H
#define STEPS_ROWS_H

#include <stdio.h>

#include "pages/page_steps.h"

/*
 * The steps that each protocol allows a page, as a table: see rows.c.
 */

/** One kind of step. */
struct step_row {
    const char *name;
    uint8_t event;     ///< enum step_event
    uint8_t is_seldom; ///< standard seeds need not take it
    uint32_t changes;  ///< fields that may change; all others stay
    uint16_t sends;    ///< exactly these messages: enum step_message
    int (*when)(const struct page_step *step);
    int (*then)(const struct page_step *step);
};

struct step_table {
    tm_protocol protocol;
    const char *name;
    const struct step_row *rows;
    unsigned n;
};

#define STEP_ROWS_MAX 96u ///< of a table

/** @return NULL: there is no table for it, and all is allowed */
const struct step_table *step_table_of(unsigned protocol);

/** @return the row that allows the step; NULL: none does */
const struct step_row *step_row_of(const struct step_table *table,
                                   const struct page_step *step);

/** What the step was, and of each row for its event what does not fit. */
void step_explain(FILE *to, const struct step_table *table,
                  const struct page_step *step);

/** What was taken how often, and what not, of a table.
 * @param counts  [table->n]
 * @return rows that should have been taken and were not */
unsigned step_report(FILE *to, const struct step_table *table,
                     const uint64_t *counts);

#endif
