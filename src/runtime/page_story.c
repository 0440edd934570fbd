// SPDX-License-Identifier: BSD-3-Clause
//
// --story=PAGE: what becomes of one page, fault by fault and message by message. Each node
// keeps what it has to do with the page (observe/story.h); at the end the root asks all, and
// tells it in the order of time.
//
// A page is named by an address, or by a variable or a block, and a byte of it: by a TM_SHARED
// variable if there is one that has that byte. Of blocks the first of that name counts: which it
// is each node sees when something happens to its page.
#include "runtime/page_story.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vector.h"
#include "net/mentions.h"
#include "observe/story.h"
#include "os/image.h"
#include "os/new_file.h"
#include "runtime/event_gather.h"
#include "runtime/node.h"
#include "runtime/parts.h"
#include "runtime/threads.h"

/** Of all nodes together. */
#define STORY_BYTES (64ull << 20)

#define COPIES_MAX 255u

static int is_wanted(const struct node *node)
{
    return node->options.story.place[0] != '\0';
}

// ---- what happens

// Is it the page? Of a block that was not known until now too.
static int is_it(struct node *node, page_no page)
{
    struct story_watch *story = &node->story;
    const struct extent *extent;

    if (story->has_page) {
        return page == story->page;
    }
    extent = engine_extent(node->engine, page);
    if (extent == NULL || strcmp(extent->name, story->name) != 0 ||
        story->offset >= extent->size ||
        page != extent->page + story->offset / TM_PAGE_SIZE) {
        return 0;
    }
    story->page = page;
    story->has_page = 1;
    return 1;
}

// With what the node has of the page now.
static void put(struct node *node, struct story_step *step)
{
    const struct page_view view =
        engine_view_page(node->engine, node->story.page);
    struct event event;

    step->state = view.state;
    step->access = view.access;
    step->is_owner = view.is_owner;
    step->is_stale = view.is_stale;
    step->had = view.version;
    step->n_copies =
        (uint8_t)(view.n_copies < COPIES_MAX ? view.n_copies : COPIES_MAX);
    event = story_pack(step);
    event_ring_put(node->story.events, &event);
}

void story_fault(struct node *node, const struct thread *thread,
                 const struct trap *trap, page_no page, uint64_t began_ns)
{
    struct story_step step = {
        .at_ns = began_ns,
        .thread = thread->number,
        .pc = thread->wrapped != NULL ? thread->place - 1 : trap->pc,
        .name = trap->is_write ? "write fault" : "read fault",
        .from = NODE_NONE,
        .who = NODE_NONE,
        .flags = trap->is_write ? MENTION_TO_WRITE : 0,
    };

    if (is_it(node, page)) {
        put(node, &step);
    }
}

struct hearing {
    struct node *node;
    const char *name;
    uint64_t began_ns;
    node_id from;
};

static void hear(void *owner, const struct mention *mention)
{
    const struct hearing *hearing = owner;
    struct story_step step = {
        .at_ns = hearing->began_ns,
        .thread = EVENT_OF_NODE,
        .name = hearing->name,
        .version = mention->version,
        .n_bytes = mention->n_bytes,
        .from = hearing->from,
        .who = mention->who,
        .flags = mention->flags,
        .what = mention->what,
    };

    for (page_no i = 0; i < mention->n; i++) {
        if (is_it(hearing->node, mention->page + i)) {
            put(hearing->node, &step);
            return;
        }
    }
}

void story_message(struct node *node, node_id from,
                   const struct message *message, uint64_t began_ns)
{
    struct hearing hearing = {node, message_name(message->type), began_ns,
                              from};

    mentions_visit(message, hear, &hearing);
}

// ---- which page

static void refuse_place(const struct node *node, const char *why)
{
    if (node->self == 0) {
        log_fatal(EXIT_CONFIG, "--story=%s: %s", node->options.story.place,
                  why);
    }
}

static void find_address(struct node *node, uint64_t address)
{
    struct story_watch *story = &node->story;

    if (!space_find(&node->space, (void *)(uintptr_t)address, &story->page)) {
        refuse_place(node,
                     "that address is not in shared memory; --report and error "
                     "messages say where blocks are, or give the name of a "
                     "TM_SHARED variable or of a block (attr.name)");
    }
    story->has_page = 1;
}

// NAME or NAME+BYTE.
static void find_name(struct node *node, const char *place)
{
    struct story_watch *story = &node->story;
    const char *plus = strchr(place, '+');
    const size_t n = plus == NULL ? strlen(place) : (size_t)(plus - place);
    uintptr_t address;
    size_t size;

    snprintf(story->name, sizeof story->name, "%.*s", (int)n, place);
    story->offset = plus == NULL ? 0 : strtoull(plus + 1, NULL, 0);
    if (image_variable_named(story->name, &address, &size) == TM_OK &&
        story->offset < size &&
        space_find(&node->space, (void *)(address + story->offset),
                   &story->page)) {
        story->has_page = 1;
    }
}

static void open_story(struct node *node)
{
    const char *place = node->options.story.place;

    if (!is_wanted(node)) {
        return;
    }
    if (place[0] == '0' && place[1] == 'x') {
        find_address(node, strtoull(place, NULL, 16));
    } else {
        find_name(node, place);
    }
    node->story.events = event_ring_new(STORY_BYTES / node->n_nodes);
    ensure_memory(node->story.events != NULL);
}

static void close_story(struct node *node)
{
    struct event_ring *events = node->story.events;

    node->story.events = NULL;
    event_ring_free(events);
}

// ---- it is told

struct telling {
    struct story story;
    size_t room;
    struct map names;  ///< of events
    struct map places; ///< of instructions, in words: each takes a process
};

static const char *place_in_words(struct telling *telling, uint64_t pc)
{
    char *words = map_find(&telling->places, pc);

    if (words == NULL) {
        words = malloc(sizeof telling->story.lines->where);
        ensure_memory(words != NULL);
        image_describe(pc, words, sizeof telling->story.lines->where);
        map_add(&telling->places, pc, words);
    }
    return words;
}

static void add(struct telling *telling, unsigned id,
                const struct node_events *of)
{
    struct story *story = &telling->story;

    vector_reserve(story->lines, telling->room, story->n + of->n);
    for (size_t i = 0; i < of->n; i++) {
        struct story_line *line = &story->lines[story->n++];

        *line = (struct story_line){.step = story_unpack(&of->events[i]),
                                    .node = (node_id)id};
        line->step.at_ns -= (uint64_t)of->ahead_ns;
        if (line->step.thread != EVENT_OF_NODE) {
            snprintf(line->where, sizeof line->where, "%s",
                     place_in_words(telling, line->step.pc));
        }
    }
    story->n_lost += of->n_lost;
}

static int compare_lines(const void *left, const void *right)
{
    const struct story_line *a = left;
    const struct story_line *b = right;

    return (a->step.at_ns > b->step.at_ns) - (a->step.at_ns < b->step.at_ns);
}

static void put_in_order(struct story *story)
{
    if (story->n > 0) {
        qsort(story->lines, story->n, sizeof *story->lines, compare_lines);
    }
    for (size_t i = 0; i < story->n; i++) {
        story->lines[i].ms =
            (double)(story->lines[i].step.at_ns - story->lines[0].step.at_ns) /
            1e6;
    }
}

static void name_page(struct node *node, struct story *story)
{
    const struct story_watch *watch = &node->story;
    const char *place = node->options.story.place;

    if (watch->has_page) {
        snprintf(story->title, sizeof story->title, "page %p (%s)",
                 space_address(&node->space, watch->page), place);
    } else if (story->n > 0) { // other nodes have found it
        snprintf(story->title, sizeof story->title, "the page of %s", place);
    } else {
        snprintf(story->title, sizeof story->title,
                 "%s: no TM_SHARED variable, and no block that was used, is "
                 "called so",
                 place);
    }
}

static void gather(struct node *node, struct telling *telling)
{
    for (unsigned id = 0; id < node->n_nodes; id++) {
        struct node_events of = {.which = EVENTS_OF_STORY,
                                 .names = &telling->names};
        const tm_status status = events_gather(node, id, &of);

        if (status != TM_OK) {
            log_error("what node %u has done is not in the story: %s", id,
                      status == TM_EINVAL ? "it has left"
                                          : tm_strerror(status));
        }
        add(telling, id, &of);
        free(of.events);
    }
    put_in_order(&telling->story);
}

static int is_picture(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && strcmp(path + n - 4, ".svg") == 0;
}

static void write_story(const struct node *node, const struct story *story)
{
    const char *path = node->options.story.file;
    struct new_file new_file;
    const char *why;

    if (path[0] == '\0') {
        story_write_text(stderr, story);
        return;
    }
    why = new_file_begin(&new_file, path);
    if (why == NULL) {
        (is_picture(path) ? story_write_svg : story_write_text)(new_file.file,
                                                                story);
        why = new_file_end(&new_file);
    }
    if (why != NULL) {
        log_error("the story %s is not written: %s", path, why);
    }
}

// Nodes are asked, which a thread only can do.
static void finish(struct node *node)
{
    const struct thread *thread = thread_self();
    struct telling telling = {.story.n_nodes = node->n_nodes};

    if (!story_is_on(&node->story) || node->self != 0 || thread == NULL ||
        thread->number != 0) {
        return;
    }
    gather(node, &telling);
    name_page(node, &telling.story);
    write_story(node, &telling.story);
    free(telling.story.lines);
    events_release_names(&telling.places);
    events_release_names(&telling.names);
}

// ---- the part

void story_check(struct node *node)
{
    const char *path = node->options.story.file;
    const char *why =
        path[0] != '\0' && node->self == 0 ? new_file_check(path) : NULL;

    if (why != NULL) {
        log_fatal(EXIT_OUTPUT, "the story %s could not be written: %s", path,
                  why);
    }
}

const struct part part_story = {
    .open = open_story,
    .save = parts_save_nothing,
    .finish = finish,
    .close = close_story,
};
