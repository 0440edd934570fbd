// SPDX-License-Identifier: BSD-3-Clause
#ifndef OBSERVE_STORY_H
#define OBSERVE_STORY_H

#include <stdio.h>

#include "mem/page.h"
#include "net/message.h"
#include "observe/event_ring.h"

/* The story of a page, for --story: what each node that was concerned with it did, and what
 * it had of it then. Told as text, or drawn as a sequence diagram. */

/** What happens to the page at a node: a thread's fault, or a message that has come. */
struct story_step {
    uint64_t at_ns;  ///< clock_now_ns() of that node
    uint64_t thread; ///< whose fault; EVENT_OF_NODE: it is a message
    uint64_t
        pc; ///< of the fault's instruction, or of what in the program called that
    const char *name; ///< of the message, or of the fault; a constant
    uint32_t version; ///< that the message names
    uint32_t n_bytes; ///< contents or diff in the message
    uint32_t had;     ///< version of the bytes that are here then
    node_id from;     ///< who sent the message
    node_id who;      ///< whom it names; NODE_NONE: nobody
    uint8_t flags;    ///< of the mention (net/mentions.h)
    uint8_t what;     ///< the same
    uint8_t state;    ///< enum page_state, of the node's page then
    uint8_t access;   ///< enum page_access
    uint8_t is_owner;
    uint8_t is_stale;
    uint8_t
        n_copies; ///< of others, as far as an owner knows; 255: as many or more
};

/** A step as an event of the ring, and back. */
struct event story_pack(const struct story_step *step);
struct story_step story_unpack(const struct event *event);

/** A step and where it was. */
struct story_line {
    struct story_step step;
    node_id node;
    double ms;       ///< since the first
    char where[160]; ///< of a fault: "in f (file.c:12)"
};

struct story {
    char title[256]; ///< what page it is
    unsigned n_nodes;
    struct story_line *lines; ///< [n] in the order of their times
    size_t n;
    uint64_t n_lost; ///< that came before those, and were not kept
};

/** What happens, in words: "asks for it, to write". @param[out] text  [size] */
void story_say_step(const struct story_line *line, char *text, size_t size);

/** What the node has of it then: "owner, may write, 2 copies". @param[out] text  [size] */
void story_say_state(const struct story_step *step, char *text, size_t size);

/** As lines of text. Whether all could be written the file knows (ferror()). */
void story_write_text(FILE *file, const struct story *story);

/** As a sequence diagram, SVG: a column for each node that has a step, and time downwards. */
void story_write_svg(FILE *file, const struct story *story);

/** The most steps that a picture has; the text has all. */
#define STORY_DRAWN 400u

#endif
