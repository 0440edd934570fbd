// SPDX-License-Identifier: BSD-3-Clause
// To add a fault source: write it, add its row here, and its name to the row of the option.
#include "os/fault_source.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

const struct fault_source *const fault_sources[] = {
    &fault_userfaultfd, // preferred
    &fault_mprotect,
    NULL,
};

const struct fault_source *fault_source_choose(const char *name, char *reason,
                                               size_t size)
{
    snprintf(reason, size, "there is none of that name");
    for (unsigned i = 0; fault_sources[i] != NULL; i++) {
        const struct fault_source *source = fault_sources[i];

        if (strcmp(name, "auto") != 0 && strcmp(name, source->name) != 0) {
            continue;
        }
        if (source->is_available(reason, size)) {
            return source;
        }
        log_debug("fault source %s: %s", source->name, reason);
    }
    return NULL;
}
