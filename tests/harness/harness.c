// SPDX-License-Identifier: BSD-3-Clause
#include "harness/harness.h"

#include <stdlib.h>

#include "base/clock.h"

const uint8_t harness_job_key[SEAL_KEY_SIZE] = "a key of tests, not random....";

uint64_t harness_deadline_ns(uint64_t ms)
{
    const char *slowdown = getenv("TM_TEST_SLOWDOWN");
    uint64_t factor = slowdown != NULL ? strtoull(slowdown, NULL, 10) : 1;

    return clock_now_ns() + ms * (factor > 0 ? factor : 1) * 1000000u;
}
