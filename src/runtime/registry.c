// SPDX-License-Identifier: BSD-3-Clause
// What is pluggable. To add a fault source or a part of the runtime: write it, add its row
// here. The rows of protocols are in base/protocols.def.
#include <string.h>

#include "base/log.h"
#include "protocol/protocol_rows.h"
#include "runtime/registry.h"

static const struct fault_source *const fault_sources[] = {
    &fault_userfaultfd, // preferred
    &fault_mprotect,
};

static const unsigned n_fault_sources =
    sizeof fault_sources / sizeof fault_sources[0];

static const struct protocol *const protocols[] = {
#define PROTOCOL(symbol, id, name, no_diffs) &protocol_##symbol,
#include "base/protocols.def"
};

// In this order: what has left tracking counts for paging; what is told at the end is
// told from the program to its pages.
const struct part *const all_parts[] = {
    &part_races,    &part_deadlock,  &part_stats,    &part_liveness,
    &part_members,  &part_balancing, &part_tracking, &part_paging,
    &part_capacity, &part_choices,   NULL,
};

const struct protocols all_protocols = {protocols,
                                        sizeof protocols / sizeof protocols[0]};

const struct fault_source *fault_source_choose(const char *name)
{
    char reason[160] = "there is none of that name";

    for (unsigned i = 0; i < n_fault_sources; i++) {
        if (strcmp(name, "auto") != 0 &&
            strcmp(name, fault_sources[i]->name) != 0) {
            continue;
        }
        if (fault_sources[i]->is_available(reason, sizeof reason)) {
            return fault_sources[i];
        }
        log_debug("fault source %s: %s", fault_sources[i]->name, reason);
    }
    log_error("fault source %s cannot be used: %s", name, reason);
    return NULL;
}
