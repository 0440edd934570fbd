// SPDX-License-Identifier: BSD-3-Clause
#include "base/thread_counts.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/options.h"

int thread_counts_read(const char *text, struct thread_counts *counts)
{
    const char *at = text;

    counts->n = 0;
    while (*at != '\0' || counts->n > 0) {
        char *end;
        unsigned long count = strtoul(at, &end, 10);

        if (!isdigit((unsigned char)*at) || count > OPTIONS_MAX_THREADS ||
            (*end != ',' && *end != '\0') || counts->n == TM_MAX_NODES) {
            return 0;
        }
        counts->of_node[counts->n++] = (uint32_t)count;
        if (*end == '\0') {
            break;
        }
        at = end + 1;
    }
    return 1;
}
