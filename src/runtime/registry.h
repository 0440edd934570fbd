// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_REGISTRY_H
#define RUNTIME_REGISTRY_H

#include "protocol/protocol_rows.h"
#include "runtime/parts.h"

/* What is pluggable. Whoever is below gets it passed in. */

/** For parts_use(). */
extern const struct part *const all_parts[];

#endif
