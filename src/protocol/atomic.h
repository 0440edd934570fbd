// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_ATOMIC_H
#define PROTOCOL_ATOMIC_H

#include "pages/engine.h"

enum atomic_op { ATOMIC_ADD, ATOMIC_EXCHANGE, ATOMIC_COMPARE, ATOMIC_LOAD };

/** Perform an atomic operation at the owner of an eager-release page. The caller
 * has released. Result of the waiter: the word's value before.
 * @param offset  in the page, a multiple of 8 */
void engine_atomic(struct engine *engine, page_no page, unsigned offset,
                   enum atomic_op op, uint64_t operand, uint64_t expected,
                   struct waiter *waiter);

#endif
