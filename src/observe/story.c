// SPDX-License-Identifier: BSD-3-Clause
//
// Steps in words. What is in an event: the fields that a step has not are those of a fault's
// instruction (ns: pc), and the node's page (subject).
#include "observe/story.h"

#include <string.h>

#include "net/mentions.h"

struct event story_pack(const struct story_step *step)
{
    return (struct event){
        .at_ns = step->at_ns,
        .thread = step->thread,
        .ns = step->thread != EVENT_OF_NODE
                  ? step->pc
                  : (uint64_t)step->n_bytes << 32 | step->version,
        .subject = (uint64_t)step->had << 32 | (uint64_t)step->n_copies << 16 |
                   (uint64_t)step->state << 8 | (uint64_t)step->access << 4 |
                   (uint64_t)(step->is_stale != 0) << 1 |
                   (uint64_t)(step->is_owner != 0),
        .flow = (uint64_t)step->what << 24 | (uint64_t)step->flags << 16 |
                step->who,
        .name = step->name,
        .peer = step->from,
        .sort = EVENT_STORY,
    };
}

struct story_step story_unpack(const struct event *event)
{
    struct story_step step = {
        .at_ns = event->at_ns,
        .thread = event->thread,
        .name = event->name,
        .from = event->peer,
        .who = (node_id)event->flow,
        .flags = (uint8_t)(event->flow >> 16),
        .what = (uint8_t)(event->flow >> 24),
        .had = (uint32_t)(event->subject >> 32),
        .n_copies = (uint8_t)(event->subject >> 16),
        .state = (uint8_t)(event->subject >> 8),
        .access = event->subject >> 4 & 15,
        .is_stale = event->subject >> 1 & 1,
        .is_owner = event->subject & 1,
    };

    if (event->thread != EVENT_OF_NODE) {
        step.pc = event->ns;
    } else {
        step.version = (uint32_t)event->ns;
        step.n_bytes = (uint32_t)(event->ns >> 32);
    }
    return step;
}

// ---- in words

static const char *ask_words(const struct story_step *step)
{
    return step->flags & MENTION_TO_WRITE ? "to write" : "to read";
}

static void say_page(const struct story_step *step, char *text, size_t size)
{
    snprintf(text, size, "%s%s",
             step->flags & MENTION_WITH_CONTENTS ? "the page's bytes"
                                                 : "no bytes, they are there",
             step->flags & MENTION_WITH_OWNERSHIP ? ", and ownership" : "");
}

static void say_diff(const struct story_step *step, const char *what,
                     char *text, size_t size)
{
    snprintf(text, size, "%s, %u bytes%s", what, step->n_bytes,
             step->flags & MENTION_WITH_OWNERSHIP ? ", and ownership" : "");
}

static void say_ack(const struct story_step *step, char *text, size_t size)
{
    static const char *const whats[] = {
        "the copy there was dropped", "ownership goes to who wrote it",
        "the diff is in place", "the copy there is not to be pushed to"};

    snprintf(text, size, "%s",
             whats[step->what < sizeof whats / sizeof *whats ? step->what : 2]);
}

/** What messages say that say the same always. */
static const struct {
    enum message_type type;
    const char *words;
} always[] = {
    {MESSAGE_fetch_done, "no more comes of what was asked for"},
    {MESSAGE_grant, "nobody has touched it: it is this node's"},
    {MESSAGE_invalidate, "the copy is to be given up"},
    {MESSAGE_invalidate_ack, "a copy has been given up"},
    {MESSAGE_page_given, "a node that leaves gives the page away"},
    {MESSAGE_page_taken, "who was given it has it"},
    {MESSAGE_recalled, "a copy has been given up"},
    {MESSAGE_copy, "the page's bytes, and whose diffs are in them"},
    {MESSAGE_diffs_ask, "diffs that this node has kept are asked for"},
};

static void say_message(const struct story_step *step, enum message_type type,
                        char *text, size_t size)
{
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        if (always[i].type == type) {
            snprintf(text, size, "%s", always[i].words);
            return;
        }
    }
    switch (type) {
    case MESSAGE_fetch:
        snprintf(text, size, "node %u asks for it, %s", step->who,
                 ask_words(step));
        break;
    case MESSAGE_page:
    case MESSAGE_pages:
        say_page(step, text, size);
        break;
    case MESSAGE_owner_is:
        snprintf(text, size, "node %u is the owner", step->who);
        break;
    case MESSAGE_update:
        say_diff(step,
                 step->flags & MENTION_TO_OWNER
                     ? "a diff, for the owner"
                     : "a diff of the owner's, pushed",
                 text, size);
        break;
    case MESSAGE_update_ack:
        say_ack(step, text, size);
        break;
    case MESSAGE_atomic:
        snprintf(text, size, "node %u has an atomic operation run", step->who);
        break;
    case MESSAGE_notices:
        snprintf(text, size, "a write notice: it has been written");
        break;
    case MESSAGE_refresh:
        snprintf(text, size, "what has changed is asked for, %s",
                 ask_words(step));
        break;
    case MESSAGE_refreshed:
        say_diff(step, "what has changed", text, size);
        break;
    case MESSAGE_mutex_pages:
        say_diff(step, "all of it, with its mutex", text, size);
        break;
    case MESSAGE_diffs:
        say_diff(step, "diffs", text, size);
        break;
    case MESSAGE_home:
        snprintf(text, size, "%s",
                 step->flags & MENTION_TO_OWNER
                     ? "its owner is to get all diffs"
                     : "its owner has all diffs: they need not be kept");
        break;
    case MESSAGE_recall:
        snprintf(text, size, "%s",
                 step->flags & MENTION_TO_WRITE
                     ? "the copy is to be given up"
                     : "the copy will be old: to be given up then");
        break;
    default:
        snprintf(text, size, "%s", step->name);
    }
}

void story_say_step(const struct story_line *line, char *text, size_t size)
{
    const struct story_step *step = &line->step;
    unsigned type = 0;

    if (step->thread != EVENT_OF_NODE) {
        snprintf(text, size, "thread %llu %s it%s%s",
                 (unsigned long long)step->thread,
                 step->flags & MENTION_TO_WRITE ? "writes" : "reads",
                 line->where[0] == '\0' ? "" : ", in ", line->where);
        return;
    }
    while (type < MESSAGES_END && strcmp(message_name(type), step->name) != 0) {
        type++;
    }
    say_message(step, (enum message_type)type, text, size);
}

void story_say_state(const struct story_step *step, char *text, size_t size)
{
    static const char *const accesses[] = {"no access", "may read",
                                           "may write"};
    char copies[32] = "";

    if (step->state == PAGE_ABSENT) {
        snprintf(text, size, "%s",
                 step->is_owner   ? "owner, nothing there"
                 : step->is_stale ? "an old copy"
                                  : "nothing");
        return;
    }
    if (step->n_copies > 0) {
        snprintf(copies, sizeof copies, ", %u cop%s elsewhere", step->n_copies,
                 step->n_copies == 1 ? "y" : "ies");
    }
    snprintf(text, size, "%s, %s%s%s%s",
             step->is_owner              ? "owner"
             : step->state == PAGE_BOUND ? "bound to a lock"
                                         : "copy",
             accesses[step->access < 3 ? step->access : 0],
             step->state == PAGE_DIRTY ? ", written" : "",
             step->state == PAGE_EXCLUSIVE ? ", exclusive" : "", copies);
}
