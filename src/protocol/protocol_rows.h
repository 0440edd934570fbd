// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_PROTOCOL_ROWS_H
#define PROTOCOL_PROTOCOL_ROWS_H

#include "pages/protocol.h"

/* Each protocol of base/protocols.def is in SYMBOL.c. */
#define PROTOCOL(symbol, id, name, no_diffs)                                   \
    extern const struct protocol protocol_##symbol;
#include "base/protocols.def"

/** For engine_new(). */
extern const struct protocols all_protocols;

#endif
