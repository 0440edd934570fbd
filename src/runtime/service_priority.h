// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_SERVICE_PRIORITY_H
#define RUNTIME_SERVICE_PRIORITY_H

#include <stdint.h>

/* For how long the service thread may have real-time priority. service_priority.c says why
 * there is a limit. */

struct service_priority {
    uint64_t most_ns;   ///< processor time in a period
    uint64_t began_ns;  ///< the period did; 0: none yet
    uint64_t before_ns; ///< what the thread had used by then
    int is_spent;
};

/** @param n_here        nodes that share the processors, at least 1
 *  @param n_workers     of each
 *  @param n_processors  that they share, at least 1 */
void service_priority_init(struct service_priority *priority, unsigned n_here,
                           unsigned n_workers, unsigned n_processors);

/** To be called some times a period while the thread runs.
 * @param used_ns  processor time that the thread has used, ever
 * @return 1 it may have real-time priority, 0 not before the next period */
int service_priority_note(struct service_priority *priority, uint64_t now_ns,
                          uint64_t used_ns);

#endif
