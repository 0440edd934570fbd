// SPDX-License-Identifier: BSD-3-Clause
//
// What a program says of a block's sharing, and what is done with its pages. Nothing that is
// said makes a result wrong, but for one thing: what is read-only is not written any more
// once another node has a copy.
//
//   read-only          goes to who writes it until somebody reads it; all copies are in the
//                      copyset, and nothing is ever pushed to them
//   migratory          goes to whoever asks, with its ownership, and stays until the thread
//                      that it has come for has used it: there are no copies
//   producer-consumer  stays where it is written; whoever reads it is pushed to
//   write-shared       has a home from its second user on; copies are not pushed to
//   reduction          stays where it was first used: all diffs and atomic operations go
//                      there, and nothing is pushed
//
// G1 A page of a read-only block is written by nobody while another node may have a copy.
// G2 A page of a migratory block has no copy, unless nobody is asked for races.
#include "protocol/sharing.h"

#include "protocol/readers.h"

// Of what nothing is said an exclusive page moves once. Later it goes to who writes it, with
// the acknowledgement of a diff: of the first one, if its owner does not use it, else when its
// owner only reads it. So pages that all write are not spread over all nodes, and a release and
// a request have few nodes to send to.
static const struct sharing_rule rules[] = {
    [TM_SHARING_DEFAULT] = {1, 1, SUBSCRIBES_READERS, 0, 0},
    [TM_READ_ONLY] = {0, MOVES_ALWAYS, SUBSCRIBES_ALL, 0, 1},
    [TM_MIGRATORY] = {MOVES_ALWAYS, MOVES_ALWAYS, SUBSCRIBES_NOBODY, 1, 0},
    [TM_PRODUCER_CONSUMER] = {0, 3, SUBSCRIBES_ALL, 0, 0},
    [TM_WRITE_SHARED] = {1, 1, SUBSCRIBES_NOBODY, 0, 0},
    [TM_REDUCTION] = {0, 0, SUBSCRIBES_NOBODY, 0, 0},
};

_Static_assert(sizeof rules / sizeof rules[0] == TM_REDUCTION + 1,
               "a rule for each");

const struct sharing_rule *sharing_rule_of(const struct engine *engine,
                                           page_no page)
{
    const struct extent *extent = extent_find(engine, page);

    return &rules[extent == NULL || extent->protocol != TM_ADAPTIVE
                      ? TM_SHARING_DEFAULT
                      : extent->sharing];
}

// What is read-only may be about to be written where it is.
int sharing_is_for_need(const struct engine *engine, page_no page)
{
    const struct sharing_rule *rule = sharing_rule_of(engine, page);

    return rule->stays || (rule->is_read_only &&
                           page_of(engine, page)->state == PAGE_EXCLUSIVE);
}

int sharing_forbids_write(const struct engine *engine, page_no page_number)
{
    const struct page *page = page_of(engine, page_number);

    return sharing_rule_of(engine, page_number)->is_read_only &&
           page->state == PAGE_CLEAN &&
           (!page->is_owner || !copyset_is_empty(page) ||
            readers_have_copies(engine, page_number)); // G1
}
