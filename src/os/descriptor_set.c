// SPDX-License-Identifier: BSD-3-Clause
#include "os/descriptor_set.h"

#include <unistd.h>

static int is_noted(int fd)
{
    return fd >= 0 && (unsigned)fd < DESCRIPTOR_SET_END;
}

void descriptor_set_add(struct descriptor_set *set, int fd)
{
    if (is_noted(fd)) {
        atomic_fetch_or_explicit(&set->bits[fd / 64], UINT64_C(1) << fd % 64,
                                 memory_order_relaxed);
    }
}

void descriptor_set_remove(struct descriptor_set *set, int fd)
{
    if (is_noted(fd)) {
        atomic_fetch_and_explicit(&set->bits[fd / 64],
                                  ~(UINT64_C(1) << fd % 64),
                                  memory_order_relaxed);
    }
}

void descriptor_set_close(struct descriptor_set *set)
{
    for (unsigned i = 0; i < DESCRIPTOR_SET_END / 64; i++) {
        uint64_t bits =
            atomic_exchange_explicit(&set->bits[i], 0, memory_order_relaxed);

        for (; bits != 0; bits &= bits - 1) {
            close((int)(i * 64) + __builtin_ctzll(bits));
        }
    }
}
