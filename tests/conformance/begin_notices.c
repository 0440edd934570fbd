// SPDX-License-Identifier: BSD-3-Clause
#include "begin_notices.h"

#include "protocol/updates.h"

enum { SOON = 40 }; // stamps

void begin_notices(struct engine *engine, uint64_t seed)
{
    static const uint64_t ends[] = {0, INT32_MAX, UINT32_MAX, 0};
    const uint64_t end = ends[seed % 4];

    if (engine->updates != NULL) {
        engine->updates->notices_most = (unsigned)(seed % 3);
        engine->updates->stamp = end == 0 ? 0 : end - SOON;
    }
}
