// SPDX-License-Identifier: BSD-3-Clause
#ifndef PAGES_PAGE_STEPS_H
#define PAGES_PAGE_STEPS_H

#include "mem/node_set.h"
#include "mem/page.h"
#include "net/message.h"

/*
 * The steps of pages, for who watches them in a debug build: what a page's record was, what
 * happened, what the record is then, what was sent of it. See page_steps.c.
 * tests/steps/ has the table of the steps that each protocol may make.
 */
struct engine;
struct extent;

/** What happens to a page: STEP_EVENT(name, meaning). */
#define STEP_EVENTS                                                            \
    STEP_EVENT(STARTS, "the record is made for a TM_SHARED variable")          \
    STEP_EVENT(FAULT, "a thread lacks access, and nobody else is needed")      \
    STEP_EVENT(ASKS, "the page is asked for")                                  \
    STEP_EVENT(FETCH, "a request for it has come")                             \
    STEP_EVENT(GRANTS, "the directory node gives it to its first owner")       \
    STEP_EVENT(GRANT, "that has come")                                         \
    STEP_EVENT(PAGE, "the page has come")                                      \
    STEP_EVENT(SETTLED, "the request for it has been answered")                \
    STEP_EVENT(MAPPED, "it came ahead, and is mapped")                         \
    STEP_EVENT(OWNER_IS, "its directory node hears of an owner")               \
    STEP_EVENT(PUSHED, "its owner pushes a diff to this copy")                 \
    STEP_EVENT(DIFF, "a diff has come for its owner")                          \
    STEP_EVENT(HAND_OVER, "its owner hands it over to who wrote it")           \
    STEP_EVENT(HANDED, "that has come")                                        \
    STEP_EVENT(DROPPED, "its owner hears that a copy was dropped")             \
    STEP_EVENT(LEFT, "its owner hears that a copy is not to be pushed to")     \
    STEP_EVENT(APPLIED, "its writer hears that the owner has the diff")        \
    STEP_EVENT(ACKNOWLEDGED, "a push, or a diff of this node, has arrived")    \
    STEP_EVENT(RELEASED, "a release has looked at it")                         \
    STEP_EVENT(NOTICED, "a write notice says who owns it")                     \
    STEP_EVENT(DROPS, "the copy is old, and given up")                         \
    STEP_EVENT(INVALIDATE, "the copy is to be given up")                       \
    STEP_EVENT(INVALIDATE_ACK, "another one has been")                         \
    STEP_EVENT(HOLDS, "a thread needs it and another page, which is to come")  \
    STEP_EVENT(LETS_GO, "it is not pinned any more")                           \
    STEP_EVENT(ATOMIC, "an atomic operation has come for it")                  \
    STEP_EVENT(EVICTED, "the pager has given the copy up")                     \
    STEP_EVENT(ADVISED, "its threads have left, or do not use it")             \
    STEP_EVENT(FORGETS, "a node is there no more")                             \
    STEP_EVENT(GIVES, "this node leaves, and gives it away")                   \
    STEP_EVENT(GIVEN, "a node that leaves has given it")                       \
    STEP_EVENT(CLOSED, "its block is being freed")                             \
    STEP_EVENT(HEARD, "a write notice of one of its writers has come")         \
    STEP_EVENT(COPY, "its bytes have come, with whose diffs are in them")      \
    STEP_EVENT(WANTED, "another node asks for diffs that are kept here")       \
    STEP_EVENT(DIFFS_COME, "such have come")                                   \
    STEP_EVENT(HOME, "a writer asks its owner to get all diffs")               \
    STEP_EVENT(AT_HOME, "its writer hears that the owner has them")            \
    STEP_EVENT(LETS_DIFFS_GO, "what is kept of it is to be dropped soon")      \
    STEP_EVENT(GOES_ALONG, "its mutex's token goes to another node")           \
    STEP_EVENT(BOUND, "bytes of it are bound to a lock that is here")          \
    STEP_EVENT(UNBOUND, "such are no more, as far as this node knows")         \
    STEP_EVENT(LOCK_COMES, "its bytes of a lock are the last ones here")       \
    STEP_EVENT(LOCK_GOES, "they are not any more, perhaps")                    \
    STEP_EVENT(STAMPED, "lines of a lock have been written since they were")   \
    STEP_EVENT(TWIN_GOES, "what is written next needs another one")            \
    STEP_EVENT(SENDS_BYTES, "lines of a lock go along with it")                \
    STEP_EVENT(TAKES_BYTES, "such have come")

enum step_event {
    STEP_NONE,
#define STEP_EVENT(name, meaning) STEP_##name,
    STEP_EVENTS
#undef STEP_EVENT
        STEP_EVENT_COUNT,
};

/** What is known of an event, as far as it has such. */
#define STEP_WRITE 1u      ///< to write: the fault, the request, who waits
#define STEP_AHEAD 2u      ///< not the page that is needed
#define STEP_OWN 4u        ///< the request of this node itself
#define STEP_HAS_COPY 8u   ///< and the requester has one
#define STEP_OWNERSHIP 16u ///< comes with the page
#define STEP_CONTENTS 32u  ///< come with it
#define STEP_SUBSCRIBES 64u
#define STEP_FRESH 128u   ///< the page's protocol may use what has come
#define STEP_PAGED 256u   ///< the node has a pager: pages may be on its disk
#define STEP_FROZEN 512u  ///< nodes may be about to come or go
#define STEP_WAITED 1024u ///< a thread waits for the page
#define STEP_ASKS_BACK                                                         \
    2048u ///< the node needed pages of the block that it gave away
#define STEP_SAID 4096u  ///< it has been said how its block is shared
#define STEP_MORE 8192u  ///< what has come is not all of it
#define STEP_GONE 16384u ///< what was asked for is not kept there any more

/** What has been sent of a page: STEP_MESSAGE(name). */
#define STEP_MESSAGES                                                          \
    STEP_MESSAGE(FETCH, 0)                                                     \
    STEP_MESSAGE(FORWARD, 1)                                                   \
    STEP_MESSAGE(COPY, 2)                                                      \
    STEP_MESSAGE(AWAY, 3)                                                      \
    STEP_MESSAGE(GRANT, 4)                                                     \
    STEP_MESSAGE(PUSH, 5)                                                      \
    STEP_MESSAGE(DIFF, 6)                                                      \
    STEP_MESSAGE(HANDED, 7)                                                    \
    STEP_MESSAGE(INVALIDATE, 8)                                                \
    STEP_MESSAGE(INVALIDATE_ACK, 9)                                            \
    STEP_MESSAGE(GIVEN, 10)                                                    \
    STEP_MESSAGE(ASK_DIFFS, 11)                                                \
    STEP_MESSAGE(DIFFS, 12)                                                    \
    STEP_MESSAGE(HOME, 13)                                                     \
    STEP_MESSAGE(AT_HOME, 14)                                                  \
    STEP_MESSAGE(BYTES, 15)

enum step_message {
#define STEP_MESSAGE(name, bit) STEP_SENT_##name = 1 << (bit),
    STEP_MESSAGES
#undef STEP_MESSAGE
};

/** A page's record, as far as steps are told of it. `kept` to `written` are what its
 * protocol keeps beside it (slot `describe`); so is the version of one whose bytes are bound to locks: the
 * stamps of its lines, added up. */
struct step_record {
    struct node_set copyset;
    uint32_t epoch;
    uint32_t version;
    uint32_t base;
    uint16_t hint;
    uint16_t pushing;
    uint16_t in_flight;
    uint16_t kept;     ///< diffs of this node's that stay here
    uint16_t asked;    ///< nodes that are yet to send diffs
    uint16_t awaited;  ///< nodes that want to know when the owner has theirs
    uint16_t here;     ///< ranges of locks that are here
    uint8_t lacks;     ///< diffs that this node has heard of
    uint8_t goes_home; ///< the owner has been asked to get all diffs
    uint8_t written;   ///< it has a twin, against which lines are stamped
    uint8_t state;
    uint8_t access;
    uint8_t is_owner;
    uint8_t moves;
    uint8_t fetching;
    uint8_t queues;
    uint8_t pinned;
    uint8_t busy;
    uint8_t subscribed;
    uint8_t listed;
    uint8_t untold;
};

/** What makes a page take steps, until another thing does. */
struct step_cause {
    page_no page;     ///< that it names
    uint8_t event;    ///< enum step_event
    uint8_t has_made; ///< a step of that page
    uint16_t facts;
    node_id from;     ///< who sent the message
    node_id who;      ///< requester of a fetch, origin of a diff, who is given
    uint32_t version; ///< that the message names
    uint32_t epoch;
};

struct page_step {
    page_no page;
    uint32_t serial; ///< of its extent
    node_id node;
    uint8_t protocol;
    uint8_t is_model; ///< of a model: it knows no access, and no lists
    struct step_cause cause;
    uint16_t sent;        ///< of enum step_message, a bit each
    uint16_t n_sent;      ///< messages
    struct node_set told; ///< to whom they went
    struct step_record before;
    struct step_record after;
};

/** Under the node lock. */
typedef void step_watch_fn(void *owner, const struct page_step *step);

#ifdef TM_DEBUG

/** Tell of each step from now on. Before the first message. Pages of a run that looks for
 * data races make others than those of the tables.
 * @return TM_OK, TM_ENOMEM */
TM_CHECKED tm_status engine_watch_steps(struct engine *engine,
                                        step_watch_fn *watch, void *owner);

/** Have all changes of the page's record been told, or is nobody watching? For tests. */
int engine_steps_are_told(const struct engine *engine, page_no page);

// ---- hooks of the engine; they do nothing while nobody watches

/** Nobody watches any more. */
void steps_close_watch(struct engine *engine);

/** What follows is because of this, until steps_end(). @return what it was until now */
struct step_cause steps_begin(struct engine *engine, struct step_cause cause);
/** The same of a message that has come. */
struct step_cause steps_begin_message(struct engine *engine, node_id from,
                                      const struct message *message);
/** The same of what has changed of a stale copy. */
struct step_cause steps_begin_refreshed(struct engine *engine, node_id from,
                                        const struct wire_refreshed_copy *copy);
/** What has changed of some copies that are stale is asked for, in one message.
 * @param body  [size] of `refresh` */
void steps_asked(struct engine *engine, const uint8_t *body, size_t size,
                 int is_write);
/** It is over. If it names a page that has made a step, also if nothing has changed; none
 * if the message was refused.
 * @param before  what steps_begin() has returned */
void steps_end(struct engine *engine, struct step_cause before,
               tm_status status);

/** Of a request for several pages, one that is ahead has been looked at. */
void steps_ahead(struct engine *engine, page_no page);

/** What has happened to the page since its last step is one, because of what was begun; if
 * anything has. */
void steps_so_far(struct engine *engine, page_no page);
/** The same of n pages. */
void steps_so_far_run(struct engine *engine, page_no page, page_no n);
/** It is one, because of this; also if nothing has changed. */
void steps_made(struct engine *engine, page_no page, struct step_cause cause);
/** The same for n pages, but for those that have not changed. */
void steps_made_run(struct engine *engine, page_no page, page_no n,
                    enum step_event event);

/** A message of the page goes to a node. */
void steps_sent(struct engine *engine, page_no page, enum step_message message,
                node_id to);

/** The extent's pages are another's from now on. */
void steps_forget(struct engine *engine, const struct extent *extent);

#else // nobody pays for it

#define engine_watch_steps(engine, watch, owner)                               \
    ((void)(engine), (void)(watch), (void)(owner), TM_OK)
#define engine_steps_are_told(engine, page) ((void)(engine), (void)(page), 1)
#define steps_close_watch(engine) ((void)(engine))
#define steps_begin(...) ((struct step_cause){0})
#define steps_begin_message(...) ((struct step_cause){0})
#define steps_begin_refreshed(...) ((struct step_cause){0})
#define steps_asked(engine, body, size, is_write) ((void)(engine))
#define steps_end(engine, before, status) ((void)(before))
#define steps_ahead(...) ((void)0)
#define steps_so_far(...) ((void)0)
#define steps_so_far_run(...) ((void)0)
#define steps_made(...) ((void)0)
#define steps_made_run(...) ((void)0)
#define steps_sent(...) ((void)0)
#define steps_forget(...) ((void)0)

#endif

#endif
