// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_KEPT_ANSWER_H
#define PROTOCOL_KEPT_ANSWER_H

#include "protocol/kept.h"

/* Diffs that others ask for. Under the node lock. */

/** `diffs_ask` has come. @return TM_OK */
tm_status kept_answer(struct engine *engine, node_id from,
                      const struct message *message);

#endif
