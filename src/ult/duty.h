// SPDX-License-Identifier: BSD-3-Clause
#ifndef ULT_DUTY_H
#define ULT_DUTY_H

#include <stdint.h>

/*
 * A worker that is slower than its processor: duty.c. Used by one kernel thread.
 */

/** What a duty cycle measures with and sleeps by; tests have their own. */
struct duty_clock {
    uint64_t (*wall_ns)(void);
    uint64_t (*cpu_ns)(void); ///< of the calling kernel thread
    /** Return when wall_ns() is that or later. */
    void (*sleep_until)(uint64_t wall_ns);
};

extern const struct duty_clock duty_clock_system;

struct duty {
    const struct duty_clock *clock;
    double slowness;  ///< wall time per processor time, > 1; 0: not slowed
    int is_by_kernel; ///< it is the kernel that makes the worker slow
    int64_t debt_ns;  ///< to be slept; below 0: slept or waited too long
    uint64_t wall_ns; ///< when what is not accounted for began
    uint64_t cpu_ns;
};

enum {
    DUTY_LEAST_NS = 100 * 1000,       ///< what is slept at one time
    DUTY_CREDIT_NS = 10 * 1000 * 1000 ///< what is remembered at most
};

/** @param share         of the processor, above 0; 1 or more: not slowed
 *  @param is_by_kernel  it has no more than that anyway: times are scaled, and
 *                       nothing is slept */
void duty_init(struct duty *duty, double share, int is_by_kernel,
               const struct duty_clock *clock);

/** Does the worker have to sleep? */
static inline int duty_is_on(const struct duty *duty)
{
    return __builtin_expect(duty->slowness > 0 && !duty->is_by_kernel, 0);
}

/** A thread begins or goes on. Only if duty_is_on(), as all that follow. */
void duty_begin(struct duty *duty);

/** It gives the worker back: add to the debt. */
void duty_end(struct duty *duty);

/** While a thread runs: add to the debt, and sleep until it is paid. */
void duty_pay(struct duty *duty);

/** What the slower processor would have taken. @return used_ns if not slowed */
static inline uint64_t duty_scale(const struct duty *duty, uint64_t used_ns)
{
    return __builtin_expect(duty->slowness > 0, 0)
               ? (uint64_t)((double)used_ns * duty->slowness)
               : used_ns;
}

#endif
