// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_RACES_H
#define RUNTIME_RACES_H

#include "base/status.h"

struct race_found;

/* What --race-check finds, in words: races.c. */

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

/** The race_found_fn. */
void races_found(void *owner, const struct race_found *found);

/** The run ends: have all nodes say what they have found, and say how much it is. On
 * the root, by main(), while all nodes are there; another thread says nothing. */
void races_finish(void);

/** @return the exit code of a program that ends with `status`; root */
int races_exit_code(int status);

#endif
