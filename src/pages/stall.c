// SPDX-License-Identifier: BSD-3-Clause
//
// A watchdog. What goes wrong in a protocol shows as a thread that waits for a page for
// ever, and says nothing of why: the test ends by a time-out, in another part of the
// program. So debug builds count what a wait costs in messages that the engine of its
// own node handles meanwhile. That is no time: a machine under load, a node that is
// stopped, a debugger hold it up as they hold up everything else, and a mutex that
// somebody else has is no wait for a page. A node whose messages go on and on while the
// answer to one question does not come is wrong, and it stops with the story of that page:
// its record here, what is under way, and the last messages about it.
//
//   begins     stall_begin, from engine_fault: `since` of the waiter
//   goes on    the thread was woken, found the page gone again, and waits once more:
//              its history keeps `since`, so that starving is a stall as well
//   looked at  stall_receive, at each LOOK_EVERY messages
//   ends       the page has no waiters any more; its entry goes at the next look
//
// S1  Each page that has waiters is in `awaited`.
//
// If no message comes at all, nothing is counted here: then all threads of all nodes
// wait in the end, and whoever finds that (runtime/deadlock.c, the simulated world)
// has the story told by engine_tell_page().
//
// Notes lie in a ring for each of STALL_PLACES, by page number. Pages that share a place
// overwrite each other's; a page that nothing comes for loses what came for it long ago.
#include "pages/stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "base/log.h"
#include "base/vector.h"
#include "net/mentions.h"
#include "pages/pages.h"

#define LOOK_EVERY 64u
#define STALL_PLACES 1024u
#define STALL_NOTES 16u

typedef unsigned long long number;

void stall_close(struct stall *stall)
{
    free(stall->awaited);
    free(stall->notes);
}

void engine_set_patience(struct engine *engine, uint64_t n_messages)
{
    engine->stall.patience = n_messages;
}

void stall_watch_begin(struct engine *engine, page_no page,
                       struct waiter *waiter, struct fault_history *history)
{
    struct stall *stall = &engine->stall;

    waiter->since = stall->n_messages;
    if (history != NULL && waiter->is_late) {
        waiter->since = history->since;
    } else if (history != NULL) {
        history->since = waiter->since;
    }
    if (page_of(engine, page)->waiters != NULL) {
        return; // S1
    }
    vector_reserve(stall->awaited, stall->room, stall->n_awaited + 1);
    stall->awaited[stall->n_awaited++] = page;
}

// ---- the story

static struct stall_note *ring_of(const struct stall *stall, page_no page)
{
    return stall->notes + page % STALL_PLACES * STALL_NOTES;
}

static int are_alike(const struct stall_note *a, const struct stall_note *b)
{
    return a->type == b->type && a->is_sent == b->is_sent &&
           a->page == b->page && a->node == b->node && a->who == b->who &&
           a->fetch == b->fetch && a->version == b->version &&
           a->epoch == b->epoch && a->flags == b->flags;
}

static void add_note(struct stall *stall, const struct stall_note *note)
{
    struct stall_note *ring; // the newest first

    if (stall->notes == NULL) {
        stall->notes =
            calloc((size_t)STALL_PLACES * STALL_NOTES, sizeof *stall->notes);
        ensure_memory(stall->notes != NULL);
    }
    ring = ring_of(stall, note->page);
    if (are_alike(note, &ring[0])) {
        ring[0].number = note->number;
        ring[0].n_more++;
        return;
    }
    memmove(ring + 1, ring, (STALL_NOTES - 1) * sizeof *ring);
    ring[0] = *note;
}

struct hearing {
    struct stall *stall;
    struct stall_note note; ///< what the message says of none of its pages
};

static void hear(void *owner, const struct mention *mention)
{
    struct hearing *hearing = owner;
    struct stall_note note = hearing->note;

    note.version = mention->version;
    note.epoch = mention->epoch;
    note.fetch = mention->fetch;
    note.flags = mention->flags;
    if (mention->who != NODE_NONE) {
        note.who = mention->who;
    }
    for (page_no i = 0; i < mention->n && i < FETCH_GROUP_MAX; i++) {
        note.page = mention->page + i;
        add_note(hearing->stall, &note);
    }
}

static void note_message(struct stall *stall, struct stall_note note,
                         const struct message *message)
{
    struct hearing hearing = {stall, note};

    hearing.note.type = (uint8_t)message->type;
    hearing.note.number = stall->n_messages;
    mentions_visit(message, hear, &hearing);
}

void stall_watch_sent(struct engine *engine, node_id to,
                      const struct message *message)
{
    note_message(&engine->stall,
                 (struct stall_note){
                     .node = to, .who = engine->port->self, .is_sent = 1},
                 message);
}

static void tell_note(const struct engine *engine,
                      const struct stall_note *note)
{
    char more[80] = "";
    char times[40] = "";

    switch (note->type) {
    case MESSAGE_fetch:
        snprintf(more, sizeof more, ", number %u for node %u", note->fetch,
                 note->who);
        break;
    case MESSAGE_fetch_done:
    case MESSAGE_grant:
        snprintf(more, sizeof more, ", of fetch %u", note->fetch);
        break;
    case MESSAGE_page:
    case MESSAGE_page_given:
        snprintf(more, sizeof more, ", version %u, epoch %u%s%s", note->version,
                 note->epoch,
                 note->flags & MENTION_WITH_OWNERSHIP ? ", with ownership" : "",
                 note->type == MESSAGE_page &&
                         !(note->flags & MENTION_WITH_CONTENTS)
                     ? ", no contents"
                     : "");
        break;
    case MESSAGE_update:
        snprintf(more, sizeof more, ", %s, version %u, epoch %u, origin %u",
                 note->flags & MENTION_TO_OWNER ? "to the owner" : "push",
                 note->version, note->epoch, note->who);
        break;
    case MESSAGE_owner_is:
        snprintf(more, sizeof more, ", epoch %u", note->epoch);
        break;
    default:
        break;
    }
    if (note->n_more > 0) {
        snprintf(times, sizeof times, "; %u times before that", note->n_more);
    }
    log_error("  %llu messages ago: %s %s node %u%s%s",
              (number)(engine->stall.n_messages - note->number),
              message_name(note->type), note->is_sent ? "to" : "from",
              note->node, more, times);
}

static void tell_messages(const struct engine *engine, page_no page)
{
    const struct stall_note *notes;

    if (engine->stall.notes == NULL) {
        return;
    }
    notes = ring_of(&engine->stall, page);
    for (unsigned i = STALL_NOTES; i-- > 0;) {
        if (notes[i].type != 0 && notes[i].page == page) {
            tell_note(engine, &notes[i]);
        }
    }
}

static void tell_record(const struct engine *engine, page_no page_number)
{
    static const char *const states[] = {"absent", "clean", "dirty",
                                         "exclusive", "bound"};
    const struct page *page = page_of(engine, page_number);
    unsigned n_deferred = 0;

    for (const struct deferred *at = page->deferred; at != NULL;
         at = at->next) {
        n_deferred++;
    }
    log_error("page %llu at node %u: %s, access %u%s, epoch %u, version %u%s%s"
              "%s, %u updates on their way, %u messages wait%s%s%s",
              (number)page_number, engine->port->self, states[page->state],
              page->access, page->is_owner ? ", owned" : "", page->epoch,
              page->version, page->pinned ? ", pinned" : "",
              page->busy ? ", waits for copies to go" : "",
              page->queues ? ", will be owned" : "", page->pushing, n_deferred,
              page->in_flight ? ", a diff is on its way to the owner" : "",
              page->updates_pending ? ", updates wait for it" : "",
              page->swap_slot != 0 ? ", in the swap file" : "");
    if (page->hint == 0) {
        log_error("  its owner is not known here, its directory node is %u",
                  directory_of(engine, page_number));
    } else {
        log_error("  its owner is probably node %u, its directory node %u",
                  page->hint - 1u, directory_of(engine, page_number));
    }
    if (page->fetching) {
        log_error("  fetch %u is under way, to %s", page->fetch,
                  page->want_write ? "write" : "read");
    }
    for (const struct waiter *at = page->waiters; at != NULL; at = at->next) {
        log_error("  thread %llu has waited for %llu messages",
                  (number)at->thread,
                  (number)(engine->stall.n_messages - at->since));
    }
}

void engine_tell_page(const struct engine *engine, page_no page)
{
    tell_record(engine, page);
    tell_messages(engine, page);
    log_error("  node %u: %u pages are fetched, %zu updates are out, %s wait "
              "for the disk%s%s%s",
              engine->port->self, engine->n_fetching, engine->n_unfinished,
              engine->parked != NULL ? "requests" : "no requests",
              bases_are_quiet(engine) ? "" : ", a release is under way",
              engine->is_frozen ? ", frozen" : "",
              engine->giving.is_active ? ", leaving" : "");
}

void engine_tell_waits(const struct engine *engine)
{
    for (size_t i = 0; i < engine->stall.n_awaited; i++) {
        if (page_of(engine, engine->stall.awaited[i])->waiters != NULL) {
            engine_tell_page(engine, engine->stall.awaited[i]);
        }
    }
}

// ---- looking

static void stop_if_stalled(const struct engine *engine, page_no page)
{
    const struct stall *stall = &engine->stall;

    for (const struct waiter *at = page_of(engine, page)->waiters; at != NULL;
         at = at->next) {
        if (stall->n_messages - at->since > stall->patience) {
            engine_tell_page(engine, page);
            log_fatal(EXIT_INTERNAL,
                      "internal error: thread %llu waits for page %llu, and "
                      "%llu messages have come meanwhile; please report these "
                      "lines",
                      (number)at->thread, (number)page,
                      (number)(stall->n_messages - at->since));
        }
    }
}

static void look_at_waits(struct engine *engine)
{
    struct stall *stall = &engine->stall;
    size_t n = 0;

    for (size_t i = 0; i < stall->n_awaited; i++) {
        page_no page = stall->awaited[i];

        if (page_of(engine, page)->waiters != NULL) {
            stop_if_stalled(engine, page);
            stall->awaited[n++] = page;
        }
    }
    stall->n_awaited = n;
}

void stall_watch_receive(struct engine *engine, node_id from,
                         const struct message *message)
{
    struct stall *stall = &engine->stall;

    stall->n_messages++;
    note_message(stall, (struct stall_note){.node = from, .who = from},
                 message);
    if (stall->patience > 0 && stall->n_messages % LOOK_EVERY == 0) {
        look_at_waits(engine);
    }
}
