// SPDX-License-Identifier: BSD-3-Clause
#ifndef MEM_HEAP_PRIV_H
#define MEM_HEAP_PRIV_H

#include "mem/area.h"
#include "mem/heap_records.h"

#define HEAP_GUARD_PAGES 1u

struct heap {
    struct area_map areas; ///< content: the block's struct heap_record
    struct heap_history history;
    page_no first_page;
    uint64_t n_pages;
    uint64_t base;
    uint64_t live_bytes;
    uint64_t open_pages;
};

#endif
