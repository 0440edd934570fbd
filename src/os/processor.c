// SPDX-License-Identifier: BSD-3-Clause
#include "os/processor.h"

#include <sched.h>
#include <unistd.h>

#include "base/hash.h"

// More processors than fit a cpu_set_t: as if all of them could be used.
static int read_mask(cpu_set_t *set)
{
    CPU_ZERO(set);
    return sched_getaffinity(0, sizeof *set, set) == 0 && CPU_COUNT(set) > 0;
}

unsigned processor_count(void)
{
    cpu_set_t set;
    long n;

    if (read_mask(&set)) {
        return (unsigned)CPU_COUNT(&set);
    }
    n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

uint64_t processor_pool(uint64_t machine)
{
    uint64_t pool = hash_bytes(HASH_START, &machine, sizeof machine);
    cpu_set_t set;

    return read_mask(&set) ? hash_bytes(pool, &set, sizeof set) : pool;
}

unsigned processor_self(void)
{
    int processor = sched_getcpu();

    return processor < 0 ? 0 : (unsigned)processor;
}

unsigned processor_nth(unsigned index)
{
    cpu_set_t set;

    if (!read_mask(&set)) {
        return index % processor_count();
    }
    index %= (unsigned)CPU_COUNT(&set);
    for (unsigned processor = 0;; processor++) {
        if (CPU_ISSET(processor, &set) && index-- == 0) {
            return processor;
        }
    }
}

void processor_visit(unsigned processor)
{
    cpu_set_t may_use;
    cpu_set_t only;

    if (processor >= CPU_SETSIZE || !read_mask(&may_use) ||
        !CPU_ISSET(processor, &may_use)) {
        return;
    }
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    if (sched_setaffinity(0, sizeof only, &only) == 0) {
        sched_setaffinity(0, sizeof may_use, &may_use);
    }
}
