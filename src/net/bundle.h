// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_BUNDLE_H
#define NET_BUNDLE_H

#include "net/message.h"

/*
 * A bundle is messages to one node that go in one frame: those of which the sender has said
 * that another one follows them at once (`goes_along` of struct message), and that one.
 * Under the node lock.
 */

/** The most bytes of a bundle; what is longer goes by itself. */
#define BUNDLE_MAX 8192u

struct bundle {
    node_id to;
    uint32_t n;    ///< messages that are held
    uint32_t used; ///< of bytes
    uint8_t bytes[BUNDLE_MAX];
};

/** @return whether the message can be held with those that are, if there are any */
int bundle_takes(const struct bundle *bundle, node_id to,
                 const struct message *message);

/** Hold a message that bundle_takes(). Copies everything. */
void bundle_add(struct bundle *bundle, node_id to,
                const struct message *message);

/** Nothing is held any more.
 * @param[out] message  what was, at least one message, as one; lives until the next
 *                      bundle_add() */
void bundle_take(struct bundle *bundle, struct message *message);

/** The next message of a bundle that has come.
 * @param reader        of its body; wire_has_more()
 * @param[out] message  points into the body
 * @return TM_OK, TM_EWIRE: it is none, or itself a bundle */
TM_CHECKED tm_status bundle_next(struct wire_reader *reader,
                                 struct message *message);

#endif
