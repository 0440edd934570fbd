// SPDX-License-Identifier: BSD-3-Clause
// What is pluggable. To add a part of the runtime: write it, add its row here. Protocols are
// listed in protocol/all_protocols.c.
#include "runtime/registry.h"

// In this order: what has left tracking counts for paging; what is told at the end is
// told from the program to its pages.
const struct part *const all_parts[] = {
    &part_races,    &part_deadlock,   &part_stats,     &part_liveness,
    &part_members,  &part_tasks,      &part_balancing, &part_tracking,
    &part_paging,   &part_capacity,   &part_choices,   &part_findings,
    &part_showing,  &part_events,     &part_trace,     &part_story,
    &part_step_log, &part_checkpoint, &part_tuning,    &part_buddies,
    NULL,
};
