// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_SEEDS_TEST_H
#define BASE_SEEDS_TEST_H

#include <stdio.h>
#include <stdlib.h>

/* Which seeds a random test runs: its own, or those of TM_TEST_SEEDS=first,number. */

struct seeds {
    unsigned long long first;
    unsigned long long end; ///< behind the last
};

/** @param number  of the test's own, from 1 on */
static inline struct seeds seeds_of_test(unsigned long long number)
{
    const char *text = getenv("TM_TEST_SEEDS");
    unsigned long long first = 1;

    if (text != NULL && sscanf(text, "%llu,%llu", &first, &number) != 2) {
        fprintf(stderr, "TM_TEST_SEEDS=%s: not as first,number\n", text);
        exit(1);
    }
    return (struct seeds){first, first + number};
}

#endif
