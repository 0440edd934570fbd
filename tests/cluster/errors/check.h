// SPDX-License-Identifier: BSD-3-Clause
#ifndef ERRORS_CHECK_H
#define ERRORS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/** End the program with a line that says what does not hold. */
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            printf("line %d: %s does not hold, errno %d\n", __LINE__,          \
                   #condition, errno);                                         \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

#endif
