// SPDX-License-Identifier: BSD-3-Clause
// In the place of pmix.c where the header of PMIx was missing.
#include "cluster/pmix.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#define WHY "this Teamster was built without PMIx"

int pmix_is_offered(char *name, size_t size)
{
    snprintf(name, size, "none");
    return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL &&
           getenv("TEAMSTER_JOINED") == NULL;
}

const char *pmix_version(char *why, size_t size)
{
    snprintf(why, size, WHY);
    return NULL;
}

tm_status pmix_open(struct pmix **pmix, unsigned *rank, unsigned *n_ranks)
{
    (void)pmix;
    (void)rank;
    (void)n_ranks;
    log_error("this process was started by mpirun or srun with PMIx, and " WHY
              ": install its header (on Debian: libpmix-dev) and build again, "
              "or use \"teamster run\"");
    return TM_ECONFIG;
}

void pmix_close(struct pmix *pmix)
{
    (void)pmix;
}

tm_status pmix_put(struct pmix *pmix, const char *key, const void *bytes,
                   size_t size)
{
    (void)pmix;
    (void)key;
    (void)bytes;
    (void)size;
    return TM_EPEER;
}

tm_status pmix_fence(struct pmix *pmix)
{
    (void)pmix;
    return TM_EPEER;
}

tm_status pmix_get(struct pmix *pmix, unsigned rank, const char *key,
                   void **bytes, size_t *size)
{
    (void)pmix;
    (void)rank;
    (void)key;
    (void)bytes;
    (void)size;
    return TM_EPEER;
}
