// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLUSTER_PMIX_H
#define CLUSTER_PMIX_H

#include <stddef.h>

#include "base/status.h"

/*
 * PMIx, by which mpirun and srun let the processes that they start find each other:
 * each gives named bytes, and after a fence each gets those of all others. Built out
 * of pmix.c, or of pmix_absent.c where its header is missing.
 */

struct pmix; ///< a connection to the server of whoever started this process

/** "name.rank" of this process, if it was started by somebody who speaks PMIx, and
 * nobody before it in this process or a parent has joined by that name.
 * @param[out] name  [size]
 * @return 1, 0 if it was not */
int pmix_is_offered(char *name, size_t size);

/** The library's own words on its version; NULL: it cannot be loaded.
 * @param[out] why  [size]  then: why */
const char *pmix_version(char *why, size_t size);

/**
 * Connect.
 *
 * @param[out] pmix     to be closed with pmix_close()
 * @param[out] rank     of this process, < n_ranks
 * @param[out] n_ranks  processes of the job
 * @return TM_OK, TM_ECONFIG (logged)
 *
 * Context: as all of it, one kernel thread at a time. May block for as long as the
 * server takes to answer. A kernel thread runs until pmix_close().
 */
TM_CHECKED tm_status pmix_open(struct pmix **pmix, unsigned *rank,
                               unsigned *n_ranks);
void pmix_close(struct pmix *pmix);

/** Give bytes a name; others can get them after the next fence.
 * @return TM_OK, TM_EPEER (logged) */
TM_CHECKED tm_status pmix_put(struct pmix *pmix, const char *key,
                              const void *bytes, size_t size);

/** Wait until all processes of the job have called this.
 * @return TM_OK
 * @return TM_EPEER  one has not in a minute, or the server is gone (logged) */
TM_CHECKED tm_status pmix_fence(struct pmix *pmix);

/** Get what a process has given before the last fence.
 * @param[out] bytes  [size], to be free()d; set on success
 * @return TM_OK
 * @return TM_EPEER  it has given nothing by that name (not logged) */
TM_CHECKED tm_status pmix_get(struct pmix *pmix, unsigned rank, const char *key,
                              void **bytes, size_t *size);

#endif
