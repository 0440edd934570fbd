// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_RACE_REPORTS_H
#define RUNTIME_RACE_REPORTS_H

#include "base/status.h"

struct node;

/* What --race-check finds, in words: race_reports.c. */

/** So many are told in words, and so many places are known again; races are counted. */
enum { RACES_TOLD = 20, RACES_KEPT = 1000 };

/** Guarded by the node lock; of the root. */
struct races {
    uint64_t n;
    struct {
        uint64_t address;
        unsigned length;
    } kept[RACES_KEPT];
};

/** @return the exit code of a program that ends with `status`; root */
int race_reports_exit_code(struct node *node, int status);

#endif
