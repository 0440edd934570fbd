// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_BOOT_PMIX_H
#define CLUSTER_BOOT_PMIX_H

#include "cluster/bootstrap.h"

/*
 * How nodes meet that mpirun or srun has started: there is no launcher of ours, and
 * all go through PMIx. For bootstrap.c, whose functions these do.
 */

/** Find out which node of how many this is, where the others are, and take over
 * node 0's settings.
 * @return TM_OK, TM_ECONFIG, TM_EPEER, TM_EMISMATCH (all told) */
TM_CHECKED tm_status boot_pmix_open(struct bootstrap *bootstrap);

/** Nobody has offered PMIx. Warn if this is one of several processes that were
 * started together nevertheless: each would be a run of its own. */
void boot_pmix_miss(void);

TM_CHECKED tm_status boot_pmix_exchange(struct bootstrap *bootstrap,
                                        const struct node_card *card,
                                        const struct boot_roster *roster);

/** Afterwards nothing of PMIx runs in this process. */
TM_CHECKED tm_status boot_pmix_ready(struct bootstrap *bootstrap);

#endif
