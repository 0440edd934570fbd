// SPDX-License-Identifier: BSD-3-Clause
#ifndef RUNTIME_REGISTRY_H
#define RUNTIME_REGISTRY_H

#include "os/fault_source.h"
#include "pages/protocol.h"
#include "runtime/parts.h"

/* What is pluggable. Whoever is below gets it passed in. */

/** For parts_use(). */
extern const struct part *const all_parts[];

/** For engine_new(). */
extern const struct protocols all_protocols;

/** The source that an option names, or the first that works. @return NULL if
 * there is none; logged */
const struct fault_source *fault_source_choose(const char *name);

#endif
