// SPDX-License-Identifier: BSD-3-Clause
// One memfd, two views of it. The application's view lies at fixed addresses
// and is watched by the fault source; the runtime's view is ordinary memory, so
// that serving a page or applying an update never faults.
#include "mem/space.h"

#include <string.h>
#include <sys/mman.h>

#include "base/ensure.h"
#include "base/log.h"

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
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
    status = memfd_map(&space->memfd, 0, space->globals_base, size, 1);
    if (status != TM_OK) {
        return status;
    }
    return space->source->add(space->watch, space->globals_base, size);
}

static tm_status open_heap(struct space *space)
{
    size_t offset = space->heap_page * TM_PAGE_SIZE;
    size_t size = (space->n_pages - space->heap_page) * TM_PAGE_SIZE;
    tm_status status =
        memfd_map(&space->memfd, offset, SPACE_HEAP_BASE, size, 0);

    if (status != TM_OK) {
        return status;
    }
    space->heap_is_mapped = 1;
    return space->source->add(space->watch, SPACE_HEAP_BASE, size);
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
    size_t heap_size = (space->n_pages - space->heap_page) * TM_PAGE_SIZE;

    if (at >= SPACE_HEAP_BASE && at < SPACE_HEAP_BASE + heap_size) {
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

void space_set_access(struct space *space, page_no page, page_no n,
                      enum page_access access)
{
    for (page_no i = page; i < page + n; i++) {
        // Threads that go on look without the lock.
        __atomic_store_n(&space->pages[i].access, (uint8_t)access,
                         __ATOMIC_RELAXED);
    }
    if (space->watch == NULL) {
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

void space_fill(struct space *space, page_no page, const void *bytes)
{
    memfd_write(&space->memfd, page * TM_PAGE_SIZE, bytes, TM_PAGE_SIZE);
}

void space_populate(struct space *space, page_no page, page_no n)
{
    memfd_populate(&space->memfd, page * TM_PAGE_SIZE, n * TM_PAGE_SIZE);
}

void space_discard(struct space *space, page_no page, page_no n)
{
    memfd_discard(&space->memfd, page * TM_PAGE_SIZE, n * TM_PAGE_SIZE);
}

tm_status space_open(struct space *space, const struct fault_source *source,
                     char *globals, size_t globals_size, size_t heap_size)
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
        round_up(round_up(heap_size, TM_PAGE_SIZE) / TM_PAGE_SIZE, SPACE_BLOCK);
    twin_pool_init(&space->twins);
    status = map_table(space);
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
        munmap(SPACE_HEAP_BASE,
               (space->n_pages - space->heap_page) * TM_PAGE_SIZE);
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
    twin_pool_release(&space->twins);
}
