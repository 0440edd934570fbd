// SPDX-License-Identifier: BSD-3-Clause
#ifndef BEGIN_NOTICES_H
#define BEGIN_NOTICES_H

#include "pages/engine.h"

/** How a node's notices begin. Of some seeds what is told at once needs several messages, and
 * stamps soon need more than 32 bits, or their uppermost one. */
void begin_notices(struct engine *engine, uint64_t seed);

#endif
