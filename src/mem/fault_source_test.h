// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_FAULT_SOURCE_TEST_H
#define MEM_FAULT_SOURCE_TEST_H

/*
 * A fault source that notes what the program's view of each page allows, and maps
 * nothing: for tests that run without a program.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem/space.h"

struct fault_watch {
    size_t n_pages;
    uint8_t allows[]; ///< [n_pages]  enum page_access
};

static inline void view_allow(struct fault_watch *view, const char *start,
                              size_t size, enum page_access access)
{
    memset(view->allows + (start - SPACE_HEAP_BASE) / TM_PAGE_SIZE, access,
           size / TM_PAGE_SIZE);
}

static inline void view_allow_read(struct fault_watch *view, char *start,
                                   size_t size)
{
    view_allow(view, start, size, ACCESS_READ);
}

static inline void view_allow_write(struct fault_watch *view, char *start,
                                    size_t size)
{
    view_allow(view, start, size, ACCESS_WRITE);
}

static inline void view_deny(struct fault_watch *view, char *start, size_t size)
{
    view_allow(view, start, size, ACCESS_NONE);
}

static inline void view_close(struct fault_watch *view)
{
    free(view);
}

static const struct fault_source view_source = {
    .name = "noted",
    .allow_read = view_allow_read,
    .allow_write = view_allow_write,
    .deny = view_deny,
    .close = view_close,
};

/** Note the view of a space that has been opened without one, and has no
 * TM_SHARED variables. space_close() ends it. */
static inline void view_note(struct space *space)
{
    space->watch = calloc(1, sizeof *space->watch + space->n_pages);
    if (space->watch == NULL) {
        abort();
    }
    space->watch->n_pages = space->n_pages;
    space->source = &view_source;
}

/** What the program can do with a page without a fault. */
static inline enum page_access view_of(const struct space *space, page_no page)
{
    return (enum page_access)space->watch->allows[page];
}

#endif
