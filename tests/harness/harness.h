// SPDX-License-Identifier: BSD-3-Clause
#ifndef HARNESS_HARNESS_H
#define HARNESS_HARNESS_H

/* For tests of transports: what both harnesses need. */
#include "net/seal.h"

/** The key of a run. */
extern const uint8_t harness_job_key[SEAL_KEY_SIZE];

/** @return the time, of clock_now_ns(), in so many milliseconds, multiplied by
 * TM_TEST_SLOWDOWN */
uint64_t harness_deadline_ns(uint64_t ms);

#endif
