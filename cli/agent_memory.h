// SPDX-License-Identifier: BSD-3-Clause
#ifndef CLI_AGENT_MEMORY_H
#define CLI_AGENT_MEMORY_H

#include "mux.h"

/** The launcher wants something of checkpoints in the memory of an agent's host.
 * @param folder  of the run, in memory
 * @return 0: what it says makes no sense */
int agent_memory_obey(struct mux *mux, const char *folder,
                      const struct mux_frame *frame);

#endif
