// SPDX-License-Identifier: BSD-3-Clause
// One memfd, two views of it. The application's view lies at fixed addresses
// and is watched by the fault source; the runtime's view is ordinary memory, so
// that serving a page or applying an update never faults.
//
// Pages that share a frame (mem/grain.h) are mapped to it in the application's view; the
// runtime's has it once. The pager knows frames only: what it is told or asked of a page
// it takes for the page's frame.
//
// V2 Bytes of a page that shares its frame come into the frame as it is: one that is in the
//    swap file is brought in first, one that is being written there stays.
// V3 A frame that goes is unmapped in all its views.
// V4 The memory of shared frames goes back when their area ends, or by the pager, which
//    asks the host about all pages that show one: nobody else gives it back for one page.
#include "mem/space.h"

#include <string.h>
#include <sys/mman.h>

#include "base/compare.h"
#include "base/ensure.h"
#include "base/log.h"
#include "mem/pager.h"
#include "mem/snapshot.h"
#include "os/range.h"

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static size_t heap_size(const struct space *space)
{
    return (space->n_pages - space->heap_page) * TM_PAGE_SIZE;
}

static tm_status map_table(struct space *space)
{
    void *table =
        mmap(NULL, space->n_pages * sizeof(struct page), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (table == MAP_FAILED) {
        log_error("cannot map the page table of %zu pages: %m; a smaller "
                  "--space helps",
                  (size_t)space->n_pages);
        return TM_ENOMEM;
    }
    space->pages = table;
    return TM_OK;
}

static tm_status open_globals(struct space *space)
{
    size_t size = space->n_globals * TM_PAGE_SIZE;
    tm_status status;

    if (size == 0) {
        return TM_OK;
    }
    memcpy(space->memfd.runtime, space->globals_base, size);
    status = memfd_map(&space->memfd, 0, space->globals_base, size);
    if (status != TM_OK) {
        return status;
    }
    return space->source->add(space->watch, space->globals_base, size);
}

// Before anything else is mapped: the kernel lays what has no address of its own from
// the top downwards, and the runtime's view of a large space would come to lie there.
static tm_status reserve_heap(struct space *space)
{
    tm_status status = TM_OK;

    if (space->source != NULL) {
        status = range_reserve(SPACE_HEAP_BASE, heap_size(space));
        space->heap_is_mapped = status == TM_OK;
    }
    return status;
}

static tm_status open_heap(struct space *space)
{
    size_t offset = space->heap_page * TM_PAGE_SIZE;
    size_t size = heap_size(space);
    tm_status status = memfd_map(&space->memfd, offset, SPACE_HEAP_BASE, size);

    return status == TM_OK
               ? space->source->add(space->watch, SPACE_HEAP_BASE, size)
               : status;
}

static tm_status open_views(struct space *space)
{
    tm_status status;

    if (space->source == NULL) {
        return TM_OK;
    }
    status = space->source->open(&space->watch);
    if (status == TM_OK) {
        status = open_globals(space);
    }
    if (status == TM_OK) {
        status = open_heap(space);
    }
    return status;
}

int space_find(const struct space *space, const void *address, page_no *page)
{
    const char *at = address;

    if (at >= SPACE_HEAP_BASE && at < SPACE_HEAP_BASE + heap_size(space)) {
        *page =
            space->heap_page + (page_no)(at - SPACE_HEAP_BASE) / TM_PAGE_SIZE;
        return 1;
    }
    if (space->n_globals > 0 && at >= space->globals_base &&
        at < space->globals_base + space->n_globals * TM_PAGE_SIZE) {
        *page = (page_no)(at - space->globals_base) / TM_PAGE_SIZE;
        return 1;
    }
    return 0;
}

char *space_address(const struct space *space, page_no page)
{
    if (page < space->heap_page) {
        return space->globals_base + page * TM_PAGE_SIZE;
    }
    return SPACE_HEAP_BASE + (page - space->heap_page) * TM_PAGE_SIZE;
}

// Let the kernel allow this. Variables and heap are neighbours by number only.
static void allow(struct space *space, page_no page, page_no n,
                  enum page_access access)
{
    if (space->watch == NULL) {
        return;
    }
    if (page < space->heap_page && page + n > space->heap_page) {
        allow(space, page, space->heap_page - page, access);
        allow(space, space->heap_page, page + n - space->heap_page, access);
        return;
    }
    if (access == ACCESS_NONE) {
        space->source->deny(space->watch, space_address(space, page),
                            n * TM_PAGE_SIZE);
    } else if (access == ACCESS_READ) {
        space->source->allow_read(space->watch, space_address(space, page),
                                  n * TM_PAGE_SIZE);
    } else {
        space->source->allow_write(space->watch, space_address(space, page),
                                   n * TM_PAGE_SIZE);
    }
}

static enum page_access allowed(struct space *space, page_no page,
                                enum page_access access)
{
    const enum page_access most =
        space->pager == NULL ? access
                             : pager_allows(space->pager, page, access);

    return most == ACCESS_WRITE && space->pages[page].in_snapshot ? ACCESS_READ
                                                                  : most;
}

// The same, as far as pager and snapshot let it: pages that are out stay unmapped, and to
// those whose bytes are in the swap file too, or in the snapshot, nobody writes unnoticed.
static void apply(struct space *space, page_no page, page_no n,
                  enum page_access access)
{
    page_no end = page + n;

    if ((space->pager == NULL && space->snapshot == NULL) ||
        access == ACCESS_NONE) {
        allow(space, page, n, access);
        return;
    }
    while (page < end) {
        enum page_access most = allowed(space, page, access);
        page_no run = 1;

        while (page + run < end && allowed(space, page + run, access) == most) {
            run++;
        }
        if (most != ACCESS_NONE) {
            allow(space, page, run, most);
        }
        page += run;
    }
}

// Tracked pages whose access is below what is mapped.
static void lower(struct space *space, page_no page, page_no n,
                  enum page_access access)
{
    page_no end = page + n;

    while (page < end) {
        uint8_t mapped = space->pages[page].mapped;
        page_no run = 1;

        while (page + run < end && space->pages[page + run].mapped == mapped) {
            run++;
        }
        if (mapped > access) {
            space_map(space, page, run, access);
        }
        for (page_no i = page;
             mapped == ACCESS_WRITE && access < mapped && i < page + run; i++) {
            space->tracker->writes_ended(space->tracker, i);
        }
        page += run;
    }
}

void space_set_access(struct space *space, page_no page, page_no n,
                      enum page_access access)
{
    for (page_no i = page; i < page + n; i++) {
        // Threads that go on look without the lock.
        __atomic_store_n(&space->pages[i].access, (uint8_t)access,
                         __ATOMIC_RELAXED);
    }
    if (__builtin_expect(space->tracker != NULL, 0)) {
        lower(space, page, n, access);
    } else {
        apply(space, page, n, access);
    }
}

void space_map(struct space *space, page_no page, page_no n,
               enum page_access access)
{
    for (page_no i = page; i < page + n; i++) {
        int is_here = space->pager == NULL || pager_is_here(space->pager, i);

        space->pages[i].mapped = (uint8_t)(is_here ? access : ACCESS_NONE);
    }
    apply(space, page, n, access);
}

void space_restore(struct space *space, page_no page, page_no n)
{
    if (space->tracker == NULL) {
        apply(space, page, n, space->pages[page].access);
    }
}

static void unmap_pages(struct space *space, page_no page, page_no n)
{
    if (space->tracker != NULL) {
        lower(space, page, n, ACCESS_NONE);
    } else {
        allow(space, page, n, ACCESS_NONE);
    }
}

void space_unmap(struct space *space, page_no page, page_no n)
{
    const struct grain_area *area = space_grain(space, page);

    unmap_pages(space, page, n);
    for (unsigned view = 1; area != NULL && view < area->n_views; view++) {
        unmap_pages(space, page + view * area->n_frames, n); // V3
    }
}

// The kernel leaves alone what it sees mapped more than once.
void space_page_out(struct space *space, page_no page, page_no n)
{
    if (space_grain(space, page) != NULL) {
        return;
    }
    memfd_page_out(&space->memfd, page * TM_PAGE_SIZE,
                   space_address(space, page), n * TM_PAGE_SIZE);
}

void space_page_in(struct space *space, page_no page, page_no n)
{
    if (space_grain(space, page) != NULL) {
        return;
    }
    memfd_page_in(&space->memfd, page * TM_PAGE_SIZE, n * TM_PAGE_SIZE);
}

// So that space.h needs not know of snapshots.
void space_keep(struct space *space, page_no page)
{
    snapshot_keep(space, page);
}

char *space_bring_in(const struct space *space, page_no page, int is_to_change)
{
    pager_need(space->pager, page, is_to_change);
    return space_place(space, page);
}

uint64_t space_room(const struct space *space)
{
    return space->pager == NULL ? UINT64_MAX : pager_room(space->pager);
}

void space_track(struct space *space, struct space_tracker *tracker)
{
    ensure(space->tracker == NULL);
    space->tracker = tracker;
}

void space_hide(struct space *space, page_no page, page_no n)
{
    apply(space, page, n, ACCESS_NONE);
}

void space_track_end(struct space *space)
{
    ensure(space->tracker != NULL);
    space->tracker = NULL;
}

// Map those that are in memory of n pages, which have this access.
static void map_resident(struct space *space, page_no page, page_no n,
                         enum page_access access)
{
    enum { STEP = 1024 };
    unsigned char is_resident[STEP];

    for (page_no first = page; first < page + n; first += STEP) {
        page_no end = first + STEP < page + n ? first + STEP : page + n;
        page_no at = first;

        memfd_residency(&space->memfd, first * TM_PAGE_SIZE,
                        (end - first) * TM_PAGE_SIZE, is_resident);
        while (at < end) {
            page_no run = at;

            while (run < end && is_resident[run - first]) {
                run++;
            }
            if (run > at) {
                apply(space, at, run - at, access);
            }
            at = run + 1;
        }
    }
}

static void show_run(struct space *space, page_no page, page_no n,
                     enum page_access access)
{
    if (space->source->brings_in && space_grain(space, page) == NULL) {
        map_resident(space, page, n, access);
    } else {
        apply(space, page, n, access);
    }
}

// Records of pages that were never used are only read: writing them would take
// memory.
void space_show(struct space *space, page_no page, page_no n)
{
    page_no end = page + n;

    while (page < end) {
        uint8_t access = space->pages[page].access;
        page_no run = 0;

        while (page + run < end && space->pages[page + run].access == access) {
            if (space->pages[page + run].mapped != ACCESS_NONE) {
                space->pages[page + run].mapped = ACCESS_NONE;
            }
            run++;
        }
        if (access != ACCESS_NONE && space->watch != NULL) {
            // apply() leaves out what is out
            show_run(space, page, run, access);
        }
        page += run;
    }
}

void space_keep_in_core(struct space *space, page_no page, page_no n,
                        unsigned *n_runs)
{
    page_no end = page + n;

    while (*n_runs > 0 && page < end) {
        page_no start = page;

        while (page < end && space->pages[page].access != ACCESS_NONE) {
            page++;
        }
        if (page > start) {
            memfd_keep_in_core(space_address(space, start),
                               (page - start) * TM_PAGE_SIZE);
            --*n_runs;
        }
        page++;
    }
}

// The bytes of a page that shares its frame; others are there already, or in the swap file.
static void fill_part(struct space *space, const struct grain_area *area,
                      page_no page, const void *bytes)
{
    const struct page_part part = grain_part(area, page);

    if (space->pager != NULL) {
        pager_need(space->pager, page, 1); // V2
        pager_note_made(space->pager, page, 1);
    }
    memfd_write(&space->memfd,
                grain_frame(area, page) * TM_PAGE_SIZE + part.offset, bytes,
                part.size);
}

void space_fill(struct space *space, page_no page, page_no n, const void *bytes)
{
    const struct grain_area *area = space_grain(space, page);

    snapshot_keep_all(space, page, n);
    if (area != NULL) {
        fill_part(space, area, page, bytes);
        return;
    }
    if (space->pager != NULL) {
        pager_note_filled(space->pager, page, n);
    }
    memfd_write(&space->memfd, page * TM_PAGE_SIZE, bytes, n * TM_PAGE_SIZE);
}

static void populate_run(struct space *space, page_no page, page_no n)
{
    if (space->pager != NULL) {
        pager_note_made(space->pager, page, n);
    }
    memfd_populate(&space->memfd, page * TM_PAGE_SIZE, n * TM_PAGE_SIZE);
}

// Pages that share frames lie in no run with their frames.
static void populate(struct space *space, page_no page, page_no n)
{
    if (space_grain(space, page) == NULL) {
        populate_run(space, page, n);
        return;
    }
    for (page_no at = page; at < page + n; at++) {
        populate_run(space, space_frame(space, at), 1);
    }
}

void space_populate(struct space *space, page_no page, page_no n)
{
    page_no end = page + n;

    while (page < end) {
        page_no run = 0;

        while (page + run < end && (space->pager == NULL ||
                                    !pager_is_out(space->pager, page + run))) {
            run++;
        }
        if (run > 0) {
            populate(space, page, run);
        }
        page += run + 1; // one that is out exists
    }
}

static void discard_run(struct space *space, page_no page, page_no n)
{
    if (space->pager != NULL) {
        pager_note_gone(space->pager, page, n);
    }
    memfd_discard(&space->memfd, page * TM_PAGE_SIZE, n * TM_PAGE_SIZE);
}

// What is kept of pages that are out comes into memory for that, so a few at a time.
static void keep_and_discard(struct space *space, page_no page, page_no n)
{
    page_no step;

    snapshot_note_discard(space, page, n);
    for (page_no at = page; at < page + n; at += step) {
        step = smaller(SNAPSHOT_RUN, page + n - at);
        snapshot_keep_all(space, at, step);
        discard_run(space, at, step);
    }
}

void space_discard(struct space *space, page_no page, page_no n)
{
    if (space_grain(space, page) != NULL) {
        return; // V4
    }
    if (space->snapshot != NULL) {
        keep_and_discard(space, page, n);
    } else {
        discard_run(space, page, n);
    }
}

// Pages from the second view of an area on show this part of the memory.
static void show_part(struct space *space, page_no page, page_no n,
                      page_no shown)
{
    ensure_memory(memfd_map(&space->memfd, shown * TM_PAGE_SIZE,
                            space_address(space, page),
                            n * TM_PAGE_SIZE) == TM_OK);
}

static void watch_shown(struct space *space, const struct grain_area *area)
{
    const page_no n = area->n_frames * (area->n_views - 1);

    ensure_memory(space->source->watch_again(
                      space->watch,
                      space_address(space, area->page + area->n_frames),
                      n * TM_PAGE_SIZE) == TM_OK);
}

void space_share_frames(struct space *space, const struct grain_area *area)
{
    grain_add(&space->grain, area);
    if (space->source == NULL || !space->heap_is_mapped) {
        return;
    }
    for (unsigned view = 1; view < area->n_views; view++) {
        show_part(space, area->page + view * area->n_frames, area->n_frames,
                  area->page);
    }
    watch_shown(space, area);
}

void space_part_frames(struct space *space, page_no page)
{
    const struct grain_area *found = space_grain(space, page);
    struct grain_area area;

    snapshot_keep_all(space, page, found->n_frames * found->n_views);
    area = grain_remove(&space->grain, page);
    if (space->source == NULL || !space->heap_is_mapped) {
        return;
    }
    show_part(space, page + area.n_frames, area.n_frames * (area.n_views - 1),
              page + area.n_frames);
    watch_shown(space, &area);
}

tm_status space_open(struct space *space, const struct fault_source *source,
                     char *globals, size_t globals_size, size_t size)
{
    tm_status status;

    memset(space, 0, sizeof *space);
    space->memfd.fd = -1;
    space->source = source;
    space->globals_base = globals;
    space->n_globals = globals_size / TM_PAGE_SIZE;
    space->heap_page = round_up(space->n_globals, SPACE_BLOCK);
    space->n_pages =
        space->heap_page +
        round_up(round_up(size, TM_PAGE_SIZE) / TM_PAGE_SIZE, SPACE_BLOCK);
    twin_pool_init(&space->twins);
    status = reserve_heap(space);
    if (status == TM_OK) {
        status = map_table(space);
    }
    if (status == TM_OK) {
        status = memfd_open(&space->memfd, space->n_pages * TM_PAGE_SIZE);
    }
    if (status == TM_OK) {
        status = open_views(space);
    }
    if (status != TM_OK) {
        space_close(space);
    }
    return status;
}

void space_close(struct space *space)
{
    if (space->watch != NULL) {
        space->source->close(space->watch);
        space->watch = NULL;
    }
    if (space->heap_is_mapped) {
        munmap(SPACE_HEAP_BASE, heap_size(space));
        space->heap_is_mapped = 0;
    }
    if (space->memfd.fd >= 0) {
        memfd_close(&space->memfd);
        space->memfd.fd = -1;
    }
    if (space->pages != NULL) {
        munmap(space->pages, space->n_pages * sizeof(struct page));
        space->pages = NULL;
    }
    grain_release(&space->grain);
    twin_pool_release(&space->twins);
}
