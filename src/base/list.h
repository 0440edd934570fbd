// SPDX-License-Identifier: BSD-3-Clause
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

/*
 * Lists of records that have a `next`, in one list at a time. A list is a variable, a
 * pointer to its first record (NULL: it is empty). A queue has `first`, and `last`, which
 * is of use only while there is a first. Lists and queues are evaluated more than once.
 */

/** Put a record in front. */
#define list_push(list, record) ((record)->next = (list), (list) = (record))

/** Put a record at the end of a queue, which is named by a pointer. */
#define list_append(queue, record)                                             \
    do {                                                                       \
        (record)->next = NULL;                                                 \
        *((queue)->first == NULL ? &(queue)->first : &(queue)->last->next) =   \
            (record);                                                          \
        (queue)->last = (record);                                              \
    } while (0)

/** Take a record out that is in the list. */
#define list_remove(list, record)                                              \
    do {                                                                       \
        __typeof__(list) *list_link = &(list);                                 \
                                                                               \
        while (*list_link != (record)) {                                       \
            list_link = &(*list_link)->next;                                   \
        }                                                                      \
        *list_link = (record)->next;                                           \
    } while (0)

/** As `for`: each record, first to last, is out of the list when its turn comes, and may be
 * freed, or be put into any list; if into this one, it has another turn. */
#define list_take_each(record, list)                                           \
    for (__typeof__(list)(record);                                             \
         ((record) = (list)) != NULL && ((list) = (record)->next, 1);)

#endif
