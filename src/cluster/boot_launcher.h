// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_BOOT_LAUNCHER_H
#define CLUSTER_BOOT_LAUNCHER_H

#include "cluster/bootstrap.h"

/*
 * How nodes meet that `teamster run` has started. For bootstrap.c, whose functions
 * these do.
 */

/** @return TM_OK, TM_ECONFIG (logged) */
TM_CHECKED tm_status boot_launcher_open(struct bootstrap *bootstrap);

TM_CHECKED tm_status boot_launcher_exchange(struct bootstrap *bootstrap,
                                            const struct node_card *card,
                                            const struct boot_roster *roster);

TM_CHECKED tm_status boot_launcher_ready(struct bootstrap *bootstrap);

#endif
