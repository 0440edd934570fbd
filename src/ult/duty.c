// SPDX-License-Identifier: BSD-3-Clause
//
// A duty cycle makes a worker as slow as a slower processor would be, so that
// unequal nodes can be tried out on one machine.
//
// A processor with a share f of this one's speed takes c / f for what takes this
// one c. So while a thread runs the worker runs into debt: after c of processor
// time and w of wall time it owes c / f - w, and sleeps that off. Whatever else
// kept the thread from running, a busy machine above all, has counted as sleep.
//
//              duty_begin            duty_pay: owe, sleep
//   (between) ------------> running ----------------------. .
//       ^                    |   ^                        |
//       `------- duty_end ---'   `------------------------'
//
// A thread pays before anybody learns how far it has come: at the entry of calls
// that others may see, before it asks for a page, and when it ends (ult_pay()).
// What it uses after that, and what a worker does between threads, is too little
// to matter; it stays as debt until the next time.
//
// I1 Sleep is an interval of wall time without processor time. So if it was too
//    long, which it always is a little, the next one is shorter.
// I2 Less than DUTY_LEAST_NS is not slept, it would take longer than that.
// I3 At most DUTY_CREDIT_NS of waiting too long is remembered: who waited long
//    for something else than the processor does not run at full speed for long.
//
// What this cannot do: the service thread of a slowed node is as fast as ever,
// which no test of mappings depends on; and time in which the kernel lets a thread
// wait for a disk counts as sleep. With --emulate-by=cgroup it is the kernel that
// makes nodes slow (os/processor_group.h); docs/emulation.md has what that is like.
#include "ult/duty.h"

#include "base/clock.h"
#include "base/ensure.h"
#include "os/kthread.h"

const struct duty_clock duty_clock_system = {
    .wall_ns = clock_now_ns,
    .cpu_ns = clock_thread_cpu_ns,
    .sleep_until = kthread_sleep_until,
};

void duty_init(struct duty *duty, double share, int is_by_kernel,
               const struct duty_clock *clock)
{
    ensure(share > 0);
    *duty = (struct duty){.clock = clock,
                          .slowness = share < 1 ? 1 / share : 0,
                          .is_by_kernel = is_by_kernel};
}

void duty_begin(struct duty *duty)
{
    duty->wall_ns = duty->clock->wall_ns();
    duty->cpu_ns = duty->clock->cpu_ns();
}

void duty_end(struct duty *duty)
{
    uint64_t cpu_ns = duty->clock->cpu_ns();
    uint64_t wall_ns = duty->clock->wall_ns();

    duty->debt_ns += (int64_t)duty_scale(duty, cpu_ns - duty->cpu_ns) -
                     (int64_t)(wall_ns - duty->wall_ns);
    if (duty->debt_ns < -DUTY_CREDIT_NS) { // I3
        duty->debt_ns = -DUTY_CREDIT_NS;
    }
    duty->wall_ns = wall_ns;
    duty->cpu_ns = cpu_ns;
}

void duty_pay(struct duty *duty)
{
    duty_end(duty);
    if (duty->debt_ns >= DUTY_LEAST_NS) { // I2
        duty->clock->sleep_until(duty->wall_ns + (uint64_t)duty->debt_ns);
        duty_end(duty); // I1
    }
}
