// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_BOOT_PRIV_H
#define CLUSTER_BOOT_PRIV_H

#include "cluster/bootstrap.h"

/* What bootstrap.c and the files of the ways to meet share. */

// ---- boot_frame.c: frames on the control socket, as bootstrap.h has them. Both calls end
// when the launcher answers or is gone.

struct boot_frame {
    enum boot_kind kind;
    uint8_t *body; ///< free() it
    size_t size;
};

/** Send bytes, as a whole. @return TM_OK, TM_EPEER (logged) */
TM_CHECKED tm_status boot_send(int fd, const uint8_t *bytes, size_t size);

/** Take one frame, and nothing behind it.
 * @return TM_OK, TM_EPEER, TM_EWIRE, TM_ENOMEM (logged) */
TM_CHECKED tm_status boot_receive(int fd, struct boot_frame *frame);

// ---- bootstrap.c

/** Keep what is needed of a card. @return TM_OK, TM_ENOMEM (logged) */
TM_CHECKED tm_status boot_keep(struct boot_member *member,
                               const struct node_card *card);

// ---- boot_launcher.c: how nodes meet that `teamster run` has started

/** @return TM_OK, TM_ECONFIG (logged) */
TM_CHECKED tm_status boot_launcher_open(struct bootstrap *bootstrap);

TM_CHECKED tm_status boot_launcher_exchange(struct bootstrap *bootstrap,
                                            const struct node_card *card,
                                            const struct boot_roster *roster);

TM_CHECKED tm_status boot_launcher_ready(struct bootstrap *bootstrap);

// ---- boot_pmix.c: how nodes meet that mpirun or srun has started: there is no launcher of
// ours, and all go through PMIx

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
