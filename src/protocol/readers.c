// SPDX-License-Identifier: BSD-3-Clause
//
// Readers of a page, as its owner knows them. A page has a record here once a node was
// given a copy that is not pushed to. Whether a copy is pushed to is chosen anew each time
// that its node asks for one. A push is a message and its answer for each version; so is a
// request for all versions that a node has missed, and it waits for that. So one is pushed
// to that misses hardly more than one version of others between its requests; in four
// times as many requests each time that such a choice has turned out wrong, and in blocks
// where it mostly does, or where nodes mostly miss more. It was wrong if what is pushed is
// not read (pushes.c), or more is pushed than can be read (adaptive.c).
// Who asks for the first time is not pushed to: what it will read is not known.
//
// Copies that seem to be of no use are called back (recall.c): of a page that one node writes
// on, while nobody asks for it; after twice as many versions each time that this was wrong.
//
// V1 A node is noted as having a copy from when one is sent to it that is not pushed to,
//    until it asks for another, which it does only without one, or says that it has none
//    since it was called (V3).
#include "protocol/readers.h"

#include "base/map.h"
#include "base/vector.h"
#include "protocol/choices.h"
#include "protocol/migration.h"

#define ENDED_MAX 4u      ///< choices that turned out wrong; more count as that
#define SUBSCRIBED_MIN 4u ///< choices of a block that say something of the next
#define AGAIN_MIN 8u      ///< requests that do
#define ONLY_MIN 2u       ///< versions in a row by a node that nobody follows
#define ALONE_MIN 4u      ///< the same, and others read
#define UNASKED_MIN 8u ///< the same, until copies are called back, and at most
#define UNASKED_MAX 128u

struct reader {
    node_id node;
    uint8_t has_copy;  ///< V1
    uint8_t is_called; ///< it is to give that up
    uint8_t n_ended;
    uint16_t
        n_calls; ///< that it has not answered yet, also for copies before this one: V3
    uint32_t n_asked;  ///< requests since it was chosen last
    uint32_t n_missed; ///< versions of others between them
    uint32_t version;  ///< when it asked last, and one more for each of its own
};

struct page_readers {
    struct page_readers *next;
    page_no page;
    uint32_t n_copies;
    uint32_t n_in_row; ///< versions that `writer` has made
    node_id writer;
    node_id asker; ///< of the last copy, and no version has been made since
    uint32_t n_unasked; ///< versions since a copy was asked for
    uint32_t patience;  ///< so many, and copies are called back
    struct reader *readers;
    uint32_t n;
    uint32_t room;
};

struct readers {
    struct map by_page;
    struct page_readers *first;
};

static struct page_readers *find_record(const struct engine *engine,
                                        page_no page)
{
    const struct readers *readers = engine->updates->readers;

    return readers == NULL ? NULL : map_find(&readers->by_page, page);
}

static struct page_readers *record_of(struct engine *engine, page_no page)
{
    struct page_readers *record = find_record(engine, page);
    struct readers *readers = engine->updates->readers;

    if (record != NULL) {
        return record;
    }
    if (readers == NULL) {
        readers = calloc(1, sizeof *readers);
        ensure_memory(readers != NULL);
        engine->updates->readers = readers;
    }
    record = calloc(1, sizeof *record);
    ensure_memory(record != NULL);
    record->page = page;
    record->writer = NODE_NONE;
    record->asker = NODE_NONE;
    record->patience = UNASKED_MIN;
    list_push(readers->first, record);
    map_add(&readers->by_page, page, record);
    return record;
}

static struct reader *find_reader(const struct engine *engine, page_no page,
                                  node_id node)
{
    const struct page_readers *record = find_record(engine, page);

    for (uint32_t i = 0; record != NULL && i < record->n; i++) {
        if (record->readers[i].node == node) {
            return &record->readers[i];
        }
    }
    return NULL;
}

static struct reader *reader_of(struct engine *engine, page_no page,
                                node_id node)
{
    struct reader *reader = find_reader(engine, page, node);
    struct page_readers *record;

    if (reader != NULL) {
        return reader;
    }
    record = record_of(engine, page);
    vector_reserve(record->readers, record->room, record->n + 1);
    reader = &record->readers[record->n++];
    *reader = (struct reader){.node = node,
                              .version = page_of(engine, page)->version};
    return reader;
}

static void set_has_copy(struct engine *engine, page_no page,
                         struct reader *reader, int has_copy)
{
    find_record(engine, page)->n_copies +=
        (uint32_t)has_copy - reader->has_copy;
    reader->has_copy = (uint8_t)has_copy;
    reader->n_calls -= (uint16_t)(reader->is_called &&
                                  recall_withdraw(engine, page, reader->node));
    reader->is_called = 0; // V3
}

int readers_have_copies(const struct engine *engine, page_no page)
{
    const struct page_readers *record = find_record(engine, page);

    return record != NULL && record->n_copies > 0;
}

int readers_have_only(const struct engine *engine, page_no page, node_id node)
{
    const struct page_readers *record = find_record(engine, page);
    const struct reader *reader = find_reader(engine, page, node);

    return record != NULL && record->n_copies == 1 && reader != NULL &&
           reader->has_copy && !reader->is_called && // A3
           record->writer == node &&
           (record->n_in_row >= ONLY_MIN || migration_is_on(engine, page)) &&
           reader->version == page_of(engine, page)->version;
}

int readers_have_others(const struct engine *engine, page_no page, node_id node)
{
    const struct page_readers *record = find_record(engine, page);
    const struct reader *reader = find_reader(engine, page, node);

    return record != NULL &&
           record->n_copies > (reader != NULL ? reader->has_copy : 0u);
}

void readers_call_back(struct engine *engine, page_no page, node_id but,
                       enum recall_kind kind)
{
    struct page_readers *record = find_record(engine, page);

    if (extent_find(engine, page)->is_closed) {
        return; // B1 of blocks.c
    }
    for (uint32_t i = 0; record != NULL && i < record->n; i++) {
        struct reader *reader = &record->readers[i];

        if (reader->has_copy && !reader->is_called && reader->node != but) {
            reader->is_called = 1;
            reader->n_calls++;
            recall_add(engine, page, reader->node, kind);
        }
    }
}

void readers_called_back(struct engine *engine, page_no page, node_id node)
{
    struct reader *reader = find_reader(engine, page, node);

    if (reader == NULL || reader->n_calls == 0) {
        return;
    }
    reader->n_calls--;
    if (reader->is_called && reader->n_calls == 0) { // V3
        set_has_copy(engine, page, reader, 0);
    }
}

void readers_end(struct engine *engine, page_no page, node_id node)
{
    struct reader *reader = find_reader(engine, page, node);

    if (reader != NULL) {
        set_has_copy(engine, page, reader, 0);
    }
}

// How many requests it takes to choose: more where such choices were wrong.
static unsigned patience(const struct reader *reader,
                         const struct choice *choice)
{
    const int is_bad = (choice->n_subscribed >= SUBSCRIBED_MIN &&
                        2 * choice->n_ended > choice->n_subscribed) ||
                       (choice->n_again >= AGAIN_MIN &&
                        choice->n_missed > 2 * choice->n_again);

    return 1u << 2 * (reader->n_ended + (unsigned)is_bad);
}

// It asks again: is what it misses few enough to be pushed?
static int reads_on(struct engine *engine, page_no page, struct reader *reader)
{
    const uint32_t version = page_of(engine, page)->version;
    struct choice *choice = choices_of(engine, page);
    int is_close;

    choice->n_again++;
    choice->n_missed += version - reader->version;
    reader->n_asked++;
    reader->n_missed += version - reader->version;
    reader->version = version;
    if (reader->n_asked < patience(reader, choice)) {
        return 0;
    }
    is_close = 2 * reader->n_missed <= 3 * reader->n_asked;
    reader->n_asked = 0;
    reader->n_missed = 0;
    choice->n_subscribed += (uint64_t)is_close;
    return is_close;
}

// Nobody has written since another node asked: that one only reads.
static void note_asker(struct engine *engine, page_no page, node_id node)
{
    struct page_readers *record = find_record(engine, page);

    if (record->asker != NODE_NONE && record->asker != node) {
        migration_breaks(engine, page);
    }
    record->asker = node;
    record->n_unasked = 0;
}

int readers_subscribe(struct engine *engine, page_no page, node_id node)
{
    struct reader *reader = find_reader(engine, page, node);
    const int subscribes = reader != NULL && reads_on(engine, page, reader) &&
                           !migration_is_on(engine, page);

    if (reader == NULL) {
        choices_of(engine, page)->n_first++;
        reader = reader_of(engine, page, node);
    }
    set_has_copy(engine, page, reader, !subscribes); // V1
    note_asker(engine, page, node);
    return subscribes;
}

void readers_note_copy(struct engine *engine, page_no page, node_id node)
{
    set_has_copy(engine, page, reader_of(engine, page, node), 1); // V1
}

static void note_end(struct engine *engine, page_no page, struct reader *reader)
{
    choices_of(engine, page)->n_ended++;
    reader->version = page_of(engine, page)->version;
    reader->n_asked = 0;
    reader->n_missed = 0;
    if (reader->n_ended < ENDED_MAX) {
        reader->n_ended++;
    }
}

void readers_end_subscription(struct engine *engine, page_no page, node_id node)
{
    struct reader *reader = find_reader(engine, page, node);

    if (reader == NULL) {
        (void)reader_of(engine, page, node);
        return;
    }
    note_end(engine, page, reader);
}

// What is pushed to it may be on its way, and a notice have been there before: it does not
// count as a copy that lacks nothing.
void readers_leave(struct engine *engine, page_no page, node_id node)
{
    struct reader *reader = reader_of(engine, page, node);

    set_has_copy(engine, page, reader, 1); // V1
    note_end(engine, page, reader);
    reader->version--;
}

// Has it asked for the page first, and is not the one who wrote last? (Its owner need not ask, and
// who writes again says nothing new.)
static void note_migration(struct engine *engine, page_no page,
                           const struct page_readers *record, node_id node)
{
    if (record->asker == node && record->writer != node) {
        migration_goes_on(engine, page, record->n);
    } else if (record->asker != NODE_NONE
                   ? record->asker != node
                   : node != record->writer && node != engine->port->self) {
        migration_breaks(engine, page);
    }
}

static void call_back_unused(struct engine *engine, page_no page,
                             struct page_readers *record)
{
    if (record->n_in_row >= record->patience &&
        record->n_unasked >= record->patience) {
        readers_call_back(engine, page, record->writer, RECALL_ALL);
        record->n_unasked = 0;
        record->patience =
            record->patience < UNASKED_MAX ? 2 * record->patience : UNASKED_MAX;
    }
}

static void note_writer(struct engine *engine, page_no page,
                        struct page_readers *record, node_id node)
{
    note_migration(engine, page, record, node);
    record->n_in_row = record->writer == node ? record->n_in_row + 1 : 1;
    record->writer = node;
    record->asker = NODE_NONE;
    record->n_unasked++;
    if (record->n_copies > 0) {
        call_back_unused(engine, page, record);
    }
}

void readers_note_version(struct engine *engine, page_no page, node_id node)
{
    struct page_readers *record = find_record(engine, page);
    struct reader *reader = find_reader(engine, page, node);

    if (reader != NULL && reader->has_copy) {
        reader->version++;
    }
    if (record != NULL) {
        note_writer(engine, page, record, node);
    }
}

int readers_write_alone(const struct engine *engine, page_no page, node_id node)
{
    const struct page_readers *record = find_record(engine, page);

    return record != NULL && record->writer == node &&
           record->n_in_row >= ALONE_MIN;
}

int readers_are_valid(const struct engine *engine)
{
    const struct readers *readers = engine->updates->readers;
    const struct page_readers *record = readers != NULL ? readers->first : NULL;

    for (; record != NULL; record = record->next) {
        uint32_t n_copies = 0;

        for (uint32_t i = 0; i < record->n; i++) {
            n_copies += record->readers[i].has_copy;
        }
        if (n_copies != record->n_copies ||
            (n_copies > 0 && !page_of(engine, record->page)->is_owner)) {
            return 0; // A3
        }
    }
    return 1;
}

// ---- forgetting

static void free_record(struct page_readers *record)
{
    free(record->readers);
    free(record);
}

void readers_forget(struct engine *engine, const struct extent *extent)
{
    struct readers *readers = engine->updates->readers;
    struct page_readers **link = readers == NULL ? NULL : &readers->first;

    while (link != NULL && *link != NULL) {
        struct page_readers *record = *link;

        if (record->page >= extent->page &&
            record->page < extent->page + extent->n_pages) {
            *link = record->next;
            (void)map_take(&readers->by_page, record->page);
            free_record(record);
        } else {
            link = &record->next;
        }
    }
}

void readers_free(struct updates *updates)
{
    struct readers *readers = updates->readers;

    if (readers == NULL) {
        return;
    }
    list_take_each (record, readers->first) {
        free_record(record);
    }
    map_release(&readers->by_page);
    free(readers);
    updates->readers = NULL;
}
