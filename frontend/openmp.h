// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_OPENMP_H
#define FRONTEND_OPENMP_H

#include "front.h"

/* What OpenMP's regions (openmp.c) and its library calls (openmp_calls.c) share. All in the
 * program's context. */

/** As omp_sched_t has them. */
enum schedule { STATIC = 1, DYNAMIC = 2, GUIDED = 3, AUTO = 4 };

/** What a thread knows of itself and its team; shared. */
struct member {
    unsigned number;
    unsigned n; ///< of the team
    unsigned
        n_region; ///< threads of the team's region that it is in; 0: in none
    int level;    ///< regions that it is in
    long n_shares;
    struct share *share;
    long ticket; ///< of its chunk of an ordered loop
    struct front_locals_loan copied;
};

/** Of the calling thread. */
struct member *openmp_self(void);

/** Threads of a region that names no number; setting that. */
unsigned openmp_wanted(void);
void openmp_want(unsigned n);

/** schedule(runtime). @param chunk  0: none is named */
void openmp_set_schedule(enum schedule kind, unsigned long chunk);
enum schedule openmp_schedule(unsigned long *chunk);

#endif
