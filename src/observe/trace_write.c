// SPDX-License-Identifier: BSD-3-Clause
//
// Perfetto's format is protocol buffers: fields, each a tag (number and kind) and a value.
// A trace is a sequence of packets. Each node is a sequence of its own, whose names are
// interned: the first packet has them, the others their numbers.
//
//   packet  timestamp, or a description of a track, or an event
//   event   kind (begin, end, instant), track, and at its begin: name, sort, arguments, flows
//
// W1  Slices of one track nest: one that would end after the one around it ends with that.
//     (Who puts events reads the clock once for each end, so nothing is cut by much.)
#include "observe/trace_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/** Numbers of fields, from Perfetto's .proto files. */
enum field {
    TRACE_PACKET = 1,

    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,

    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,

    ANNOTATION_NAME = 1,
    ANNOTATION_UINT = 3,

    INTERNED_CATEGORIES = 1,
    INTERNED_EVENTS = 2,
    INTERNED_ANNOTATIONS = 3,
    INTERNED_NUMBER = 1,
    INTERNED_NAME = 2,
};

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };
enum { ARGUMENT_PAGE = 1, ARGUMENT_ITERATION, ARGUMENT_PEER };

static const char *const arguments[] = {
    [ARGUMENT_PAGE] = "page",
    [ARGUMENT_ITERATION] = "iteration",
    [ARGUMENT_PEER] = "node",
};

/** How events of a sort are shown. */
static const struct {
    const char *category;
    unsigned subject; ///< what it is: a place in `arguments`; 0: nothing
    unsigned is_instant;
} sorts[N_EVENT_SORTS] = {
    [EVENT_FAULT] = {"fault", ARGUMENT_PAGE, 0},
    [EVENT_PAGING] = {"paging", ARGUMENT_PAGE, 0},
    [EVENT_CALL] = {"call", 0, 0},
    [EVENT_ITERATION] = {"iteration", ARGUMENT_ITERATION, 0},
    [EVENT_MOVE] = {"move", 0, 1},
    [EVENT_MESSAGE] = {"message", ARGUMENT_PAGE, 0},
    [EVENT_STORY] = {"story", 0, 1}, // in no trace
};

// ---- fields

#define TEXT_MAX 100u

/** A message of the format that is being made. */
struct bytes {
    uint8_t at[512]; ///< more than any packet but the first takes
    size_t n;
};

static void put_varint(struct bytes *bytes, uint64_t value)
{
    while (value >= 0x80) {
        bytes->at[bytes->n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes->at[bytes->n++] = (uint8_t)value;
}

static void put_number(struct bytes *bytes, enum field field, uint64_t value)
{
    put_varint(bytes, (uint64_t)field << 3);
    put_varint(bytes, value);
}

static void put_fixed(struct bytes *bytes, enum field field, uint64_t value)
{
    put_varint(bytes, (uint64_t)field << 3 | 1);
    for (unsigned i = 0; i < 8; i++) {
        bytes->at[bytes->n++] = (uint8_t)(value >> 8 * i);
    }
}

static void put_block(struct bytes *bytes, enum field field, const void *block,
                      size_t size)
{
    put_varint(bytes, (uint64_t)field << 3 | 2);
    put_varint(bytes, size);
    memcpy(bytes->at + bytes->n, block, size);
    bytes->n += size;
}

static void put_message(struct bytes *bytes, enum field field,
                        const struct bytes *message)
{
    put_block(bytes, field, message->at, message->n);
}

/** Of a text at most the first TEXT_MAX bytes. */
static void put_text(struct bytes *bytes, enum field field, const char *text)
{
    const size_t n = strlen(text);

    put_block(bytes, field, text, n < TEXT_MAX ? n : TEXT_MAX);
}

// ---- packets

/** What is written of one node. */
struct output {
    FILE *file;
    const struct trace_node *node;
    struct map names; ///< by address; from 1
};

static void put_packet(const struct output *output, struct bytes *packet,
                       unsigned flags)
{
    struct bytes head = {.n = 0};

    put_number(packet, PACKET_SEQUENCE, output->node->id + 1);
    put_number(packet, PACKET_FLAGS, flags);
    put_varint(&head, TRACE_PACKET << 3 | 2);
    put_varint(&head, packet->n);
    fwrite(head.at, 1, head.n, output->file);
    fwrite(packet->at, 1, packet->n, output->file);
}

/** A name that later packets give by its number. */
static void put_interned(const struct output *output, enum field kind,
                         uint64_t number, const char *name, unsigned flags)
{
    struct bytes entry = {.n = 0};
    struct bytes interned = {.n = 0};
    struct bytes packet = {.n = 0};

    put_number(&entry, INTERNED_NUMBER, number);
    put_text(&entry, INTERNED_NAME, name);
    put_message(&interned, kind, &entry);
    put_message(&packet, PACKET_INTERNED, &interned);
    put_packet(output, &packet, flags);
}

static void put_names(struct output *output)
{
    for (unsigned i = 0; i < N_EVENT_SORTS; i++) {
        put_interned(output, INTERNED_CATEGORIES, i + 1, sorts[i].category,
                     i == 0 ? FLAG_CLEARED | FLAG_NEEDED : FLAG_NEEDED);
    }
    for (unsigned i = 1; i < sizeof arguments / sizeof arguments[0]; i++) {
        put_interned(output, INTERNED_ANNOTATIONS, i, arguments[i],
                     FLAG_NEEDED);
    }
    for (size_t i = 0; i < output->node->n; i++) {
        const char *name = output->node->events[i].name;
        const uint64_t key = (uintptr_t)name;

        if (map_find_index(&output->names, key) == MAP_NONE) {
            const uint32_t number = (uint32_t)output->names.n + 1;

            map_add_index(&output->names, key, number);
            put_interned(output, INTERNED_EVENTS, number, name, FLAG_NEEDED);
        }
    }
}

static uint64_t process_uuid(const struct output *output)
{
    return ((uint64_t)output->node->id + 1) << 32;
}

static void put_process(const struct output *output)
{
    struct bytes process = {.n = 0};
    struct bytes track = {.n = 0};
    struct bytes packet = {.n = 0};

    put_number(&process, PROCESS_PID, output->node->id + 1);
    put_text(&process, PROCESS_NAME, output->node->name);
    put_number(&track, TRACK_UUID, process_uuid(output));
    put_message(&track, TRACK_PROCESS, &process);
    put_message(&packet, PACKET_TRACK, &track);
    put_packet(output, &packet, FLAG_NEEDED);
}

/** @return its number for events */
static uint64_t put_track(const struct output *output, uint64_t thread,
                          unsigned number)
{
    const uint64_t uuid = process_uuid(output) + 1 + number;
    char name[64] = "messages";
    struct bytes track = {.n = 0};
    struct bytes packet = {.n = 0};

    if (thread != EVENT_OF_NODE) {
        snprintf(name, sizeof name, "thread %llu", (unsigned long long)thread);
    }
    put_number(&track, TRACK_UUID, uuid);
    put_text(&track, TRACK_NAME, name);
    put_number(&track, TRACK_PARENT, process_uuid(output));
    put_message(&packet, PACKET_TRACK, &track);
    put_packet(output, &packet, FLAG_NEEDED);
    return uuid;
}

// ---- events

static void put_argument(struct bytes *event, unsigned name, uint64_t value)
{
    struct bytes argument = {.n = 0};

    put_number(&argument, ANNOTATION_NAME, name);
    put_number(&argument, ANNOTATION_UINT, value);
    put_message(event, EVENT_ANNOTATION, &argument);
}

static void put_details(const struct output *output, struct bytes *bytes,
                        const struct event *event)
{
    const unsigned subject = sorts[event->sort].subject;

    put_number(bytes, EVENT_CATEGORY, event->sort + 1u);
    put_number(bytes, EVENT_NAME,
               map_find_index(&output->names, (uintptr_t)event->name));
    if (subject != 0) {
        put_argument(bytes, subject, event->subject);
    }
    if (event->peer != UINT16_MAX) {
        put_argument(bytes, ARGUMENT_PEER, event->peer);
    }
    if (event->flows != FLOW_NONE) {
        put_fixed(bytes,
                  event->flows == FLOW_ENDS ? EVENT_LAST_FLOW : EVENT_FLOW,
                  event->flow);
    }
}

/** @param event  NULL: of an end */
static void put_event(const struct output *output, uint64_t at_ns,
                      uint64_t track, unsigned type, const struct event *event)
{
    struct bytes bytes = {.n = 0};
    struct bytes packet = {.n = 0};

    put_number(&bytes, EVENT_TYPE, type);
    put_number(&bytes, EVENT_TRACK, track);
    if (event != NULL) {
        put_details(output, &bytes, event);
    }
    put_number(&packet, PACKET_TIMESTAMP,
               at_ns - (uint64_t)output->node->ahead_ns);
    put_message(&packet, PACKET_EVENT, &bytes);
    put_packet(output, &packet, FLAG_NEEDED);
}

/** Slices of a track that have begun, by when they end. */
struct open_slices {
    uint64_t ends_ns[16]; ///< deeper ones are left out
    unsigned n;
};

static void end_until(const struct output *output, uint64_t track,
                      struct open_slices *open, uint64_t at_ns)
{
    while (open->n > 0 && open->ends_ns[open->n - 1] <= at_ns) {
        put_event(output, open->ends_ns[--open->n], track, TYPE_END, NULL);
    }
}

static void begin_slice(const struct output *output, uint64_t track,
                        struct open_slices *open, const struct event *event)
{
    uint64_t end_ns = event->at_ns + event->ns;

    if (open->n == sizeof open->ends_ns / sizeof open->ends_ns[0]) {
        return;
    }
    if (open->n > 0 && end_ns > open->ends_ns[open->n - 1]) {
        end_ns = open->ends_ns[open->n - 1]; // W1
    }
    put_event(output, event->at_ns, track, TYPE_BEGIN, event);
    open->ends_ns[open->n++] = end_ns;
}

/** @return how many of the events, which are sorted, were of the first one's thread */
static size_t put_events_of_track(const struct output *output, uint64_t track,
                                  const struct event *events, size_t n)
{
    struct open_slices open = {.n = 0};
    size_t i = 0;

    for (; i < n && events[i].thread == events[0].thread; i++) {
        end_until(output, track, &open, events[i].at_ns);
        if (sorts[events[i].sort].is_instant) {
            put_event(output, events[i].at_ns, track, TYPE_INSTANT, &events[i]);
        } else {
            begin_slice(output, track, &open, &events[i]);
        }
    }
    end_until(output, track, &open, UINT64_MAX);
    return i;
}

/** By track, then by time; what is around another comes before it. */
static int compare(const void *left, const void *right)
{
    const struct event *a = left;
    const struct event *b = right;

    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns ? -1 : 1;
    }
    return (a->ns < b->ns) - (a->ns > b->ns);
}

void trace_write_node(FILE *file, const struct trace_node *node)
{
    struct output output = {.file = file, .node = node};
    unsigned n_tracks = 0;

    if (node->n > 0) {
        qsort(node->events, node->n, sizeof *node->events, compare);
    }
    put_names(&output);
    put_process(&output);
    for (size_t i = 0; i < node->n;) {
        const uint64_t track =
            put_track(&output, node->events[i].thread, n_tracks++);

        i += put_events_of_track(&output, track, &node->events[i], node->n - i);
    }
    map_release(&output.names);
}
