// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/** @return nanoseconds of a monotonic clock. Context: any; async-signal-safe. */
uint64_t clock_now_ns(void);

/** @return processor time of the calling kernel thread, nanoseconds. */
uint64_t clock_thread_cpu_ns(void);

#endif
