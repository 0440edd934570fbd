// SPDX-License-Identifier: BSD-3-Clause
#include "base/status.h"

static const char *const texts[] = {
    [-TM_OK] = "success",
    [-TM_EINVAL] = "an argument is out of its range",
    [-TM_ENOMEM] = "memory or address space is used up",
    [-TM_EBUSY] = "the object is in use",
    [-TM_EPERM] = "the caller does not hold the mutex or lock",
    [-TM_EDEADLK] = "the caller holds the mutex or lock already",
    [-TM_ENOBLOCK] = "the address is not the start of a shared block",
    [-TM_EFREED] = "the shared block was freed before",
    [-TM_EOVERRUN] = "something wrote past the end of the shared block",
    [-TM_ESTATE] = "called before tm_init() or after tm_end()",
    [-TM_ELIMIT] = "a limit of the system or of Teamster is reached",
    [-TM_ESYSTEM] = "the operating system refused",
    [-TM_EWIRE] = "a message is malformed",
    [-TM_EMISMATCH] = "nodes differ in version, program or layout",
    [-TM_ECONFIG] = "an option or environment variable is wrong",
    [-TM_EPEER] = "a node was lost",
    [-TM_ENOTHREAD] = "no such thread, or it was joined before",
    [-TM_ECOUNT] = "the barrier has another count",
    [-TM_EUNKNOWN] = "no such name",
    [-TM_ETIMEDOUT] = "the time is over",
};

const char *tm_strerror(tm_status status)
{
    int n_texts = (int)(sizeof texts / sizeof texts[0]);

    if (status > 0 || status <= -n_texts) {
        return "unknown status";
    }
    return texts[-status];
}
