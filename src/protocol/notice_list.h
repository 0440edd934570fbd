// SPDX-License-Identifier: BSD-3-Clause
#ifndef PROTOCOL_NOTICE_LIST_H
#define PROTOCOL_NOTICE_LIST_H

#include "base/map.h"
#include "pages/pages.h"

/*
 * A list of write notices, the latest one of each page, or, where writers keep their diffs, of
 * each page and writer, in the order in which they came,
 * and how far along it each other node has been told: that is exact, since messages between
 * two nodes keep their order. Under the node lock.
 */

#define NOTICES_MOST 1024u ///< entries of a message

struct notice {
    page_no page;
    uint64_t version; ///< of its bytes, or the stamp of a diff that is kept
    uint32_t serial;  ///< of its extent
    node_id from;     ///< who has said so: it is not told again
    uint16_t owner;   ///< as of the wire's notice_entry
    uint16_t
        writer; ///< 1 more than who keeps the diff; 0: `version` is all nodes'
    uint32_t epoch;
    uint8_t
        is_scoped; ///< a mutex takes it along only if it was written under that
    uint8_t is_past; ///< N3
};

/** Of a list, how much has been told to a node. */
struct told {
    uint32_t scoped; ///< of those that are
    uint32_t others;
};

struct notice_list {
    struct notice *at;
    uint32_t n;
    uint32_t room;
    uint32_t n_past;
    struct map by_page;
    struct told *told; ///< [n_told], by node
    unsigned n_told;
};

/** @param writer  as of struct notice
 * @return NULL: there is none of the page */
const struct notice *notice_list_find(const struct notice_list *list,
                                      page_no page, unsigned writer);

/** @return 1 if it says more than was known */
int notice_list_add(struct notice_list *list, const struct notice *notice);

/** Tell a node what it has not been told.
 * @param mutex       that all of the list go with; NO_MUTEX: they go with none
 * @param but_scoped  tell only those that are not
 * @param most        of a message; 0: NOTICES_MOST */
void notice_list_send(const struct port *port, struct notice_list *list,
                      node_id to, uint64_t mutex, int but_scoped,
                      unsigned most);

/** Its block is no more. */
void notice_list_forget(struct notice_list *list, const struct extent *extent);

void notice_list_release(struct notice_list *list);

/** Does a version come after another one? */
static inline int version_is_newer(uint32_t version, uint32_t than)
{
    return (int32_t)(version - than) > 0;
}

#endif
