// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_BELONGINGS_H
#define RUNTIME_BELONGINGS_H

#include "base/status.h"

/** A value of a thread's own. */
struct belonging {
    tm_key key; ///< 0: none yet
    void *value;
};

/** What the root of a thread's arena points to, in that arena: see belongings.c. */
struct belongings {
    void (*end)(void); ///< to be called by the thread before it ends
    void *front;       ///< what the front end keeps: unchanged.h
    uint32_t n;
    struct belonging of[]; ///< [n], by the key's place, from 1 on
};

#endif
