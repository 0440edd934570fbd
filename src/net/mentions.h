// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_MENTIONS_H
#define NET_MENTIONS_H

#include "net/message.h"

/** What a message says of n pages that follow each other; what it does not say is 0. */
struct mention {
    page_no page;
    page_no n;
    uint32_t version;
    uint32_t epoch;
    uint32_t n_bytes; ///< of contents, or of a diff
    uint32_t fetch; ///< the request's number, of a message that is part of one
    node_id
        who; ///< requester, origin, owner; NODE_NONE: the message names nobody
    uint8_t flags; ///< enum mention_flag
    uint8_t what;  ///< of an item of `update_ack`, as the wire has it
};

enum mention_flag {
    MENTION_WITH_OWNERSHIP = 1, ///< it comes with the message
    MENTION_WITH_CONTENTS = 2,  ///< they come with it
    MENTION_SUBSCRIBES =
        4, ///< what is written is pushed to the copy from now on
    MENTION_TO_WRITE =
        16, ///< asked for to be written, or to be given up for good
    MENTION_TO_OWNER = 32, ///< a diff for the page's owner, not a push
    MENTION_HAS_COPY = 64, ///< who asks has a good copy
};

typedef void mention_fn(void *owner, const struct mention *mention);

/** Call `visit` for each page, or pages in a row, that the message is about: contents,
 * requests, diffs, owners, notices. A body that is torn is read as far as it goes.
 * Context: any; reads nothing but the message. */
void mentions_visit(const struct message *message, mention_fn *visit,
                    void *owner);

#endif
