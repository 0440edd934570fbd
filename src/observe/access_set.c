// SPDX-License-Identifier: BSD-3-Clause
#include "observe/access_set.h"

#include <stdlib.h>

#include "base/ensure.h"
#include "base/vector.h"

struct access_set *access_set_new(uint64_t thread)
{
    struct access_set *set = calloc(1, sizeof *set);

    ensure_memory(set != NULL);
    set->thread = thread;
    return set;
}

void access_set_free(struct access_set *set)
{
    if (set != NULL) {
        map_release(&set->map);
        free(set->entries);
        free(set);
    }
}

struct access_entry *access_set_find(const struct access_set *set, page_no page)
{
    uint32_t index = map_find_index(&set->map, page);

    return index == MAP_NONE ? NULL : &set->entries[index];
}

struct access_entry *access_set_get(struct access_set *set, page_no page)
{
    struct access_entry *entry = access_set_find(set, page);

    if (entry != NULL) {
        return entry;
    }
    vector_reserve(set->entries, set->room, set->n + 1);
    map_add_index(&set->map, page, set->n);
    entry = &set->entries[set->n++];
    *entry = (struct access_entry){.page = page};
    return entry;
}

void access_entry_add_diff(struct access_entry *entry, size_t n_bytes)
{
    size_t sum = entry->diff_bytes + n_bytes;

    entry->diff_bytes = (uint16_t)(sum > TM_PAGE_SIZE ? TM_PAGE_SIZE : sum);
}

static uint16_t flags_of(const struct access_set *set,
                         const struct access_entry *entry)
{
    return (
        uint16_t)(entry->flags |
                  (set->has_phases ? entry->phases * WRITTEN_BEHIND(0) : 0));
}

int access_set_next_run(const struct access_set *set, uint32_t *at,
                        struct wire_access_run *run)
{
    const struct access_entry *entry;

    if (*at >= set->n) {
        return 0;
    }
    entry = &set->entries[*at];
    *run = (struct wire_access_run){
        .page = entry->page,
        .flags = flags_of(set, entry),
        .diff_bytes = entry->diff_bytes,
    };
    do {
        run->n_pages++;
        entry++;
        *at += 1;
    } while (*at < set->n && entry->page == run->page + run->n_pages &&
             flags_of(set, entry) == run->flags &&
             entry->diff_bytes == run->diff_bytes);
    return 1;
}

static int makes_sense(const struct wire_access_run *run, page_no n_pages)
{
    const unsigned flags = run->flags % WRITTEN_BEHIND(0);

    return run->n_pages > 0 && run->page < n_pages &&
           run->n_pages <= n_pages - run->page && flags != 0 &&
           (flags & ~(USE_READ | USE_WRITE)) == 0 &&
           (run->flags == flags || (flags & USE_WRITE) != 0) &&
           run->diff_bytes <= TM_PAGE_SIZE &&
           (run->diff_bytes == 0 || (run->flags & USE_WRITE) != 0);
}

tm_status access_run_get(struct wire_reader *reader, page_no n_pages,
                         struct wire_access_run *run)
{
    const struct wire_access_run read = wire_get_access_run(reader);

    if (reader->failed || !makes_sense(&read, n_pages)) {
        return TM_EWIRE;
    }
    *run = read;
    return TM_OK;
}
