// SPDX-License-Identifier: BSD-3-Clause
//
// The service thread has real-time priority, so that others need not wait for a
// node whose processors compute. Nothing of ordinary priority runs where it does: not
// the worker that has the node lock and that it waits for itself, not the node that
// would take what it wants to send. Where nodes share processors their service
// threads can so wait for workers that they keep from running, until the
// kernel's throttle stops all real-time threads of a processor, 950 ms later by
// default: a run stands still for a second, or for several.
//
// So it has a share of each period. If that is spent it goes on at ordinary priority,
// where the kernel gives each its turn, until the next period.
//
//     real-time --its share is used--> spent --the period ends--> real-time
//
// H1  All service threads of a host together have at most half of its processors' time,
//     where workers need those; where there are processors for all, each has at most
//     four fifths of one's. The throttle takes it at 95 of 100.
// H2  A thread that uses less than its share always has real-time priority.
#include "runtime/service_priority.h"

#define PERIOD_NS (100 * 1000 * 1000u)
#define HALF_NS (PERIOD_NS / 2)
#define MOST_NS (PERIOD_NS / 10 * 8)

void service_priority_init(struct service_priority *priority, unsigned n_here,
                           unsigned n_workers, unsigned n_processors)
{
    *priority = (struct service_priority){.most_ns = MOST_NS};
    if (n_here * n_workers > n_processors) {
        priority->most_ns = n_here <= n_processors
                                ? HALF_NS
                                : (uint64_t)HALF_NS * n_processors / n_here;
    }
}

int service_priority_note(struct service_priority *priority, uint64_t now_ns,
                          uint64_t used_ns)
{
    if (priority->began_ns == 0 || now_ns >= priority->began_ns + PERIOD_NS) {
        priority->began_ns = now_ns;
        priority->before_ns = used_ns;
        priority->is_spent = 0;
    } else if (used_ns - priority->before_ns >= priority->most_ns) {
        priority->is_spent = 1;
    }
    return !priority->is_spent;
}
