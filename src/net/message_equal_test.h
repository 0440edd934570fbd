// SPDX-License-Identifier: BSD-3-Clause
#ifndef NET_MESSAGE_EQUAL_TEST_H
#define NET_MESSAGE_EQUAL_TEST_H

#include <string.h>

#include "net/message.h"

/* Whether two messages are the same, for tests. */

static inline int fields_are_equal(const struct message *a,
                                   const struct message *b)
{
    switch ((unsigned)a->type) {
#define FIELD(width, name) &&one->name == other->name
#define MESSAGE(number, owner, name, meaning, fields, body)                    \
    case number: {                                                             \
        const struct message_##name *one = &a->u.name;                         \
        const struct message_##name *other = &b->u.name;                       \
        return 1 fields;                                                       \
    }
#include "net/messages.def"
    default:
        return 0;
    }
}

/** Are type, fields and body of two messages the same? */
static inline int message_is_equal(const struct message *a,
                                   const struct message *b)
{
    return a->type == b->type && fields_are_equal(a, b) &&
           a->body_size == b->body_size &&
           (a->body_size == 0 || memcmp(a->body, b->body, a->body_size) == 0);
}

#endif
