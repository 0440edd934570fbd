// SPDX-License-Identifier: BSD-3-Clause
//
// --output=held: of a run that may go back to a checkpoint only that is shown which it cannot
// write again. So nothing has to be compared, and who reads the output sees each line once,
// also if it has the time in it.
//
// Where the cuts are in the output the nodes say (seen.c). What lies between two of them is a
// part, in the order in which it came.
//
//   a generation is whole     parts from before its cut are to be shown     held_saved
//   the run goes back to it   what is behind its cut is dropped             held_go_back
//   the run is over           all parts are to be shown                     held_end
//
// What main() writes before it waits for its threads, and nodes before they start, is a part
// of its own, the first one.
//
// H1  A piece is to be shown if a generation of a later cut is whole, or the run is over, and
//     not earlier; those of older parts come first, and each comes once.
// H2  What the run goes back behind is dropped, and nothing else is.
// H3  No more than memory_max bytes are in memory, but what is being shown: the part that has
//     most there puts it into its file, which has no name. If that cannot be, all stays in
//     memory.
#include "held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"
#include "os/descriptor.h"
#include "os/unnamed_file.h"
#include "seen.h"

#define READ_SIZE (64u << 10)

/** What stands before the bytes of a piece. */
struct head {
    uint32_t size;
    uint32_t writer;
};

void held_open(struct held *held, struct stream *writers, const char *folder)
{
    *held = (struct held){
        .writers = writers, .folder = folder, .memory_max = HELD_IN_MEMORY};
}

// ---- parts, in the order of their cuts

static uint64_t since_of(uint64_t cut)
{
    return cut == SEEN_PREPARING ? 0 : cut + 1;
}

static uint64_t cut_of(uint64_t since)
{
    return since == 0 ? SEEN_PREPARING : since - 1;
}

static struct held_part *part_of(struct held *held, uint64_t since)
{
    size_t at = 0;

    while (at < held->n_parts && held->parts[at].since < since) {
        at++;
    }
    if (at < held->n_parts && held->parts[at].since == since) {
        return &held->parts[at];
    }
    vector_reserve(held->parts, held->room, held->n_parts + 1);
    memmove(&held->parts[at + 1], &held->parts[at],
            (held->n_parts - at) * sizeof held->parts[0]);
    held->parts[at] = (struct held_part){.since = since, .fd = -1};
    held->n_parts++;
    return &held->parts[at];
}

static void drop_part(struct held *held, size_t at)
{
    struct held_part *part = &held->parts[at];

    held->in_memory -= part->last.used;
    buffer_release(&part->first);
    buffer_release(&part->last);
    descriptor_drop(&part->fd);
    held->n_parts--;
    memmove(part, part + 1, (held->n_parts - at) * sizeof *part);
}

static int is_empty(const struct held_part *part)
{
    return part->first.used == 0 && part->shown_to == part->end &&
           part->last.used == 0;
}

// ---- files

static struct held_part *largest_part(const struct held *held)
{
    struct held_part *largest = &held->parts[0];

    for (size_t i = 1; i < held->n_parts; i++) {
        if (held->parts[i].last.used > largest->last.used) {
            largest = &held->parts[i];
        }
    }
    return largest;
}

/** @return 0, or errno */
static int write_all(int fd, const char *bytes, size_t size, uint64_t at)
{
    while (size > 0) {
        const ssize_t n = pwrite(fd, bytes, size, (off_t)at);

        if (n < 0 && errno != EINTR) {
            return errno;
        }
        if (n > 0) {
            bytes += n;
            size -= (size_t)n;
            at += (uint64_t)n;
        }
    }
    return 0;
}

/** @return 0, or errno */
static int put_into_file(struct held *held, struct held_part *part)
{
    int error;

    if (part->fd < 0) {
        part->fd = unnamed_file_open(held->folder);
    }
    if (part->fd < 0) {
        return errno;
    }
    error = write_all(part->fd, buffer_front(&part->last), part->last.used,
                      part->end);
    if (error == 0) {
        part->end += part->last.used;
        held->in_memory -= part->last.used;
        buffer_release(&part->last);
    }
    return error;
}

/** @return 0: there is no more in the file, or what there is cannot be read and is lost */
static int read_file(struct held *held, struct held_part *part)
{
    char bytes[READ_SIZE];
    const uint64_t left = part->end - part->shown_to;
    ssize_t n;

    do {
        n = pread(part->fd, bytes, left < sizeof bytes ? left : sizeof bytes,
                  (off_t)part->shown_to);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        held->error = n < 0 ? errno : EIO;
        part->shown_to = part->end;
        return 0;
    }
    buffer_append(&part->first, bytes, (size_t)n);
    part->shown_to += (uint64_t)n;
    return 1;
}

/** Have more bytes of a part ready to be shown. @return 0: there are no more */
static int read_more(struct held *held, struct held_part *part)
{
    const size_t size = part->last.used;

    if (part->shown_to < part->end) {
        return read_file(held, part);
    }
    if (size > 0) {
        buffer_append(&part->first, buffer_front(&part->last), size);
        buffer_release(&part->last);
        held->in_memory -= size;
    }
    return size > 0;
}

// ---- what is held

void held_add(struct held *held, const struct held_piece *piece)
{
    struct held_part *part = part_of(held, since_of(piece->cut));
    const struct head head = {piece->size, piece->writer};

    buffer_append(&part->last, &head, sizeof head);
    buffer_append(&part->last, piece->bytes, piece->size);
    held->in_memory += sizeof head + piece->size;
    if (held->in_memory > held->memory_max && held->error == 0) { // H3
        held->error = put_into_file(held, largest_part(held));
    }
}

void held_saved(struct held *held, uint64_t generation)
{
    held->whole = generation;
}

void held_go_back(struct held *held, uint64_t generation)
{
    size_t at = held->n_parts;

    while (at > 0) {
        at--;
        if (generation == 0 || held->parts[at].since > generation) { // H2
            drop_part(held, at);
        }
    }
    held->whole = generation;
}

void held_end(struct held *held)
{
    held->is_over = 1;
}

// H1. The oldest part is the first one.
static struct held_part *next_due(const struct held *held)
{
    for (size_t i = 0; i < held->n_parts; i++) {
        struct held_part *part = &held->parts[i];

        if (!held->is_over && (held->whole == 0 || part->since > held->whole)) {
            return NULL;
        }
        if (!is_empty(part)) {
            return part;
        }
    }
    return NULL;
}

int held_is_due(const struct held *held)
{
    return next_due(held) != NULL;
}

/** Parts that are to be shown, and have been; not the last one, whose bytes may be in use. */
static void drop_shown(struct held *held)
{
    while (held->n_parts > 0 && is_empty(&held->parts[0]) &&
           (held->is_over || held->parts[0].since <= held->whole)) {
        drop_part(held, 0);
    }
}

/** Have so many bytes of a part ready. @return 0: they are lost, with what there is of them */
static int make_ready(struct held *held, struct held_part *part, size_t size)
{
    while (part->first.used < size) {
        if (!read_more(held, part)) {
            buffer_drop(&part->first, part->first.used);
            return 0;
        }
    }
    return 1;
}

int held_take(struct held *held, struct held_piece *piece)
{
    struct held_part *part;
    struct head head;

    drop_shown(held);
    while ((part = next_due(held)) != NULL) {
        if (make_ready(held, part, sizeof head)) {
            memcpy(&head, buffer_front(&part->first), sizeof head);
            if (make_ready(held, part, sizeof head + head.size)) {
                break;
            }
        }
    }
    if (part == NULL) {
        return 0;
    }
    *piece =
        (struct held_piece){.cut = cut_of(part->since),
                            .writer = head.writer,
                            .size = head.size,
                            .bytes = buffer_front(&part->first) + sizeof head};
    buffer_drop(&part->first, sizeof head + head.size);
    return 1;
}

void held_release(struct held *held)
{
    while (held->n_parts > 0) {
        drop_part(held, held->n_parts - 1);
    }
    free(held->parts);
    *held = (struct held){0};
}
