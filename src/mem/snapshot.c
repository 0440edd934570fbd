// SPDX-License-Identifier: BSD-3-Clause
//
// A snapshot of pages by copying on write [Li90]: what the program may write is protected, in
// runs, and the first write to a page has its bytes copied aside; who reads the snapshot takes
// the others as they are, run by run, and lets them be written again. So taking one costs a
// system call for each run of pages, however many they are.
//
// Bytes of a page change, or go, only through the space: by the program, which faults first
// (engine_fault()), or by space_bytes_to_change(), space_fill(), space_discard() and the pager
// that drops a copy. Each of them keeps what is in the snapshot before. Protocols know nothing of
// it: a page's access is as ever, only less of it is mapped, as while uses are tracked.
//
// With a write go the pages of its run that may be written too: 16 pages are copied in
// the time of two faults, and a source that has to cut mappings for each page (mprotect) has
// fewer of them.
//
// N1 in_snapshot of a page is 1 exactly if the snapshot has it, its bytes are those of the
//    moment when it was taken, and nobody has read or kept them.
// N2 Such a page is not mapped for writing.
// N3 At most n_room pages are kept in memory.
// N4 What has come in to be read stays until it has been (read_next): nobody waits for it
//    but the reader, who looks again later.
#include "mem/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/ensure.h"
#include "mem/pager.h"
#include "os/descriptor.h"

// So many pages of a block that is freed are brought back from the disk to be kept.
#define OUT_MAX 256u

static struct page *record_of(const struct space *space, page_no page)
{
    return &space->pages[page];
}

// Its bytes are not wanted any more.
static void let_go(struct space *space, page_no page)
{
    record_of(space, page)->in_snapshot = 0;
    record_of(space, space_frame(space, page))->read_next = 0;
}

static int is_here(const struct space *space, page_no page)
{
    return space->pager == NULL || pager_is_here(space->pager, page);
}

static char *place_aside(const struct snapshot *snapshot, size_t i)
{
    return (char *)snapshot->aside.bytes + i * TM_PAGE_SIZE;
}

// ---- debug builds: N1

#ifdef TM_DEBUG
static uint32_t sum_of(const struct space *space,
                       const struct snapshot_page *entry)
{
    return checksum(space_place(space, entry->page) + entry->part.offset,
                    entry->part.size, entry->page);
}

static void note_sums(const struct space *space, struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n; i++) {
        struct snapshot_page *entry = &snapshot->pages[i];

        entry->sum = is_here(space, entry->page) ? sum_of(space, entry) : 0;
    }
}

static void check_sum(const struct space *space,
                      const struct snapshot_page *entry)
{
    ensure(entry->sum == 0 || entry->sum == sum_of(space, entry));
}
#else
static void note_sums(const struct space *space, struct snapshot *snapshot)
{
    (void)space;
    (void)snapshot;
}

static void check_sum(const struct space *space,
                      const struct snapshot_page *entry)
{
    (void)space;
    (void)entry;
}
#endif

// ---- taking it

static int may_be_written(const struct space *space, page_no page)
{
    return record_of(space, page)->access == ACCESS_WRITE &&
           (space->pager == NULL || pager_shows(space->pager, page));
}

// Map pages again that the program may write, in runs: N2, or not any more.
static void map_again(struct space *space, const struct snapshot *snapshot,
                      size_t i, size_t end)
{
    while (i < end) {
        const page_no first = snapshot->pages[i].page;
        page_no run = 0;

        while (i < end && snapshot->pages[i].page == first + run &&
               may_be_written(space, first + run)) {
            run++;
            i++;
        }
        if (run > 0) {
            space_restore(space, first, run);
        } else {
            i++;
        }
    }
}

// What has come ahead is unmapped as a rule, but may have been mapped with its neighbours; as
// the pager sees it nobody has asked for it, so it stays unmapped.
static void unmap_ahead(struct space *space, const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n && space->pager != NULL; i++) {
        const page_no page = snapshot->pages[i].page;

        if (record_of(space, page)->access == ACCESS_WRITE &&
            is_here(space, page) && !pager_shows(space->pager, page)) {
            space_unmap(space, page, 1);
        }
    }
}

tm_status snapshot_begin(struct space *space, struct snapshot *snapshot,
                         struct snapshot_page *pages, size_t n, size_t n_room,
                         int fd)
{
    ensure(space->snapshot == NULL && (fd >= 0 || n_room >= n || n_room == 0));
    if (n_room > 0 &&
        spare_memory_take(&snapshot->aside, (n + 1) * TM_PAGE_SIZE) == NULL) {
        return TM_ENOMEM;
    }
    snapshot->pages = pages;
    snapshot->n = n;
    snapshot->n_kept = 0;
    snapshot->n_room = n_room;
    snapshot->n_filed = 0;
    snapshot->fd = fd;
    snapshot->why = NULL;
    for (size_t i = 0; i < n; i++) {
        record_of(space, pages[i].page)->in_snapshot = 1;
    }
    note_sums(space, snapshot);
    space->snapshot = snapshot;
    unmap_ahead(space, snapshot);
    map_again(space, snapshot, 0, n);
    return TM_OK;
}

void snapshot_end(struct space *space)
{
    struct snapshot *snapshot = space->snapshot;

    for (size_t i = 0; i < snapshot->n; i++) {
        let_go(space, snapshot->pages[i].page);
    }
    space->snapshot = NULL;
    map_again(space, snapshot, 0, snapshot->n);
    free(snapshot->pages);
    descriptor_close(snapshot->fd);
    *snapshot = (struct snapshot){.aside = snapshot->aside, .fd = -1};
}

// ---- keeping

// @return its place among the pages
static size_t find(const struct snapshot *snapshot, page_no page)
{
    size_t least = 0;
    size_t end = snapshot->n;

    while (end - least > 1) {
        const size_t middle = least + (end - least) / 2;

        if (snapshot->pages[middle].page <= page) {
            least = middle;
        } else {
            end = middle;
        }
    }
    ensure(least < snapshot->n && snapshot->pages[least].page == page);
    return least;
}

// Into the kernel's cache, as a rule, so it does not wait for the disk. Who reads the snapshot
// hears of an error.
static void keep_in_file(struct snapshot *snapshot, size_t i, const char *bytes)
{
    const size_t size = snapshot->pages[i].part.size;

    ensure(snapshot->fd >= 0); // else nobody changes a page
    if (pwrite(snapshot->fd, bytes, size, (off_t)(i * TM_PAGE_SIZE)) !=
        (ssize_t)size) {
        snapshot->why = "pages that changed meanwhile had no room on the disk "
                        "(--swap-dir names another folder)";
    }
    snapshot->n_filed++;
    snapshot->pages[i].is_kept = 2;
}

static void keep(struct space *space, struct snapshot *snapshot, size_t i)
{
    struct snapshot_page *entry = &snapshot->pages[i];
    const char *bytes = space_bytes(space, entry->page) + entry->part.offset;

    check_sum(space, entry);
    if (snapshot->n_kept < snapshot->n_room) { // N3
        memcpy(place_aside(snapshot, i), bytes, entry->part.size);
        entry->is_kept = 1;
        snapshot->n_kept++;
    } else {
        keep_in_file(snapshot, i, bytes);
    }
    let_go(space, entry->page);
}

void snapshot_keep(struct space *space, page_no page)
{
    keep(space, space->snapshot, find(space->snapshot, page));
}

// Each comes from the disk under the node lock, so that nobody hears of this node meanwhile.
void snapshot_note_discard(struct space *space, page_no page, page_no n)
{
    size_t n_out = 0;

    for (page_no at = page; at < page + n && space->pager != NULL; at++) {
        n_out += record_of(space, at)->in_snapshot && !is_here(space, at);
    }
    if (n_out <= OUT_MAX) {
        return;
    }
    for (page_no at = page; at < page + n; at++) {
        if (record_of(space, at)->in_snapshot) {
            let_go(space, at);
        }
    }
    space->snapshot->why =
        "a large block that was in the swap file has been freed meanwhile";
}

void snapshot_keep_frame(struct space *space, page_no frame)
{
    const struct grain_area *area = space_grain(space, frame);

    snapshot_keep_all(space, frame, 1);
    for (unsigned view = 1; area != NULL && view < area->n_views; view++) {
        snapshot_keep_all(space, frame + view * area->n_frames, 1);
    }
}

static int is_in_run(const struct snapshot *snapshot, size_t i, page_no page)
{
    return i < snapshot->n &&
           snapshot->pages[i].page / SNAPSHOT_RUN == page / SNAPSHOT_RUN;
}

void snapshot_keep_run(struct space *space, page_no page)
{
    struct snapshot *snapshot = space->snapshot;
    size_t first = find(snapshot, page);
    size_t end;

    keep(space, snapshot, first);
    while (first > 0 && is_in_run(snapshot, first - 1, page)) {
        first--;
    }
    end = snapshot_run_end(snapshot, first);
    for (size_t i = first; i < end; i++) {
        const page_no beside = snapshot->pages[i].page;

        if (record_of(space, beside)->in_snapshot &&
            may_be_written(space, beside)) {
            keep(space, snapshot, i);
        }
    }
    map_again(space, snapshot, first, end);
}

// ---- reading

size_t snapshot_run_end(const struct snapshot *snapshot, size_t first)
{
    size_t end = first + 1;

    while (is_in_run(snapshot, end, snapshot->pages[first].page)) {
        end++;
    }
    return end;
}

// Have pages come in that are out, each frame once.
static void bring(struct space *space, const struct snapshot *snapshot,
                  size_t first, size_t end)
{
    page_no out[SNAPSHOT_RUN];
    unsigned n = 0;

    for (size_t i = first; i < end; i++) {
        const page_no frame = space_frame(space, snapshot->pages[i].page);

        if (record_of(space, snapshot->pages[i].page)->in_snapshot &&
            pager_is_out(space->pager, frame) &&
            (n == 0 || out[n - 1] != frame)) {
            record_of(space, frame)->read_next = 1; // N4
            out[n++] = frame;
        }
    }
    if (n > 0) {
        pager_bring_all(space->pager, out, n, 0);
    }
}

static void read_one(struct space *space, const struct snapshot_page *entry,
                     char *to)
{
    check_sum(space, entry);
    memcpy(to, space_bytes(space, entry->page) + entry->part.offset,
           entry->part.size);
    let_go(space, entry->page);
}

int snapshot_read(struct space *space, size_t first, size_t end,
                  char (*to)[TM_PAGE_SIZE])
{
    struct snapshot *snapshot = space->snapshot;
    int is_all = 1;

    for (size_t i = first; i < end; i++) {
        const struct snapshot_page *entry = &snapshot->pages[i];

        if (record_of(space, entry->page)->in_snapshot) {
            if (is_here(space, entry->page)) {
                read_one(space, entry, to[i - first]);
            } else {
                is_all = 0;
            }
        }
    }
    if (!is_all) {
        bring(space, snapshot, first, end);
    }
    map_again(space, snapshot, first, end);
    return is_all;
}

const char *snapshot_read_kept(const struct snapshot *snapshot, size_t first,
                               size_t end, char (*to)[TM_PAGE_SIZE])
{
    for (size_t i = first; i < end; i++) {
        const struct snapshot_page *entry = &snapshot->pages[i];

        if (entry->is_kept == 1) {
            memcpy(to[i - first], place_aside(snapshot, i), entry->part.size);
        } else if (entry->is_kept == 2) {
            if (pread(snapshot->fd, to[i - first], entry->part.size,
                      (off_t)(i * TM_PAGE_SIZE)) != (ssize_t)entry->part.size) {
                return "pages that were kept on the disk cannot be read";
            }
        }
    }
    return NULL;
}
