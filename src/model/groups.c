// SPDX-License-Identifier: BSD-3-Clause
//
// Page groups by partition refinement. Pages are numbered densely in the order
// in which they are first seen; all begin in class 0. The threads come in turn:
// within thread i, the pages that were in class c and are now used with flags f
// move to a class of their own, found by a map of the pairs (c, f) of this
// thread. In the end two pages are in one class if and only if they have been
// told apart by no thread, that is, if their users and flags are the same.
//
// A class that a thread empties stays empty; numbers grow to at most 1 + the
// number of uses, and are made dense at the end, in order of first use.
//
// I1  Before thread i, two pages share a class exactly if threads 0..i-1 use
//     both or neither, with the same flags.
// I2  A page occurs once in a thread's list after next_list(): repetitions are
//     merged into the first.
#include "model/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

/** Whether a diff is sent tells pages apart, besides enum use_flags. */
#define SENDS_DIFF 4u

#define NONE UINT32_MAX

/** One use in the lists, after pages are numbered. */
struct entry {
    uint32_t page; ///< dense number
    uint16_t flags;
    uint16_t diff_bytes;
};

struct builder {
    const struct page_use *const *lists;
    const size_t *n_in_list;
    uint32_t n_threads;
    uint64_t n_total;
    struct map map;        ///< first of pages to their numbers, then of classes
    struct entry *entries; ///< [n_total], by thread
    uint64_t *first_entry; ///< [n_threads + 1]
    uint32_t *seen;        ///< [n_pages]: entry of the page in this thread
    uint32_t *class_of;    ///< [n_pages]
    uint32_t *split_by;    ///< [n_classes]: the thread that made the class
    uint32_t n_pages;
    uint32_t n_classes;
};

// ---- numbering the pages ----

static tm_status count_uses(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->n_threads; i++) {
        for (size_t k = 0; k < builder->n_in_list[i]; k++) {
            const struct page_use *use = &builder->lists[i][k];

            if (use->flags == 0 ||
                (use->flags & ~(USE_READ | USE_WRITE)) != 0 ||
                use->diff_bytes > TM_PAGE_SIZE ||
                (use->diff_bytes > 0 && !(use->flags & USE_WRITE))) {
                return TM_EINVAL;
            }
        }
        builder->n_total += builder->n_in_list[i];
    }
    return builder->n_total < NONE ? TM_OK : TM_ELIMIT;
}

static void merge(struct entry *entry, const struct page_use *use)
{
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): `before` is set
    entry->flags |= use->flags;
    if (use->diff_bytes > entry->diff_bytes) {
        entry->diff_bytes = use->diff_bytes;
    }
}

/** Append a thread's list to the entries, each page once (I2). */
static uint64_t next_list(struct builder *builder, uint32_t thread, uint64_t at)
{
    const uint64_t first = at;

    for (size_t k = 0; k < builder->n_in_list[thread]; k++) {
        const struct page_use *use = &builder->lists[thread][k];
        uint32_t page = map_find_index(&builder->map, use->page);

        if (page == MAP_NONE) {
            page = builder->n_pages++;
            builder->seen[page] = NONE;
            map_add_index(&builder->map, use->page, page);
        }
        const uint32_t before = builder->seen[page];
        if (before != NONE && before >= first) {
            merge(&builder->entries[before], use);
            continue;
        }
        builder->seen[page] = (uint32_t)at;
        builder->entries[at++] =
            (struct entry){page, use->flags, use->diff_bytes};
    }
    return at;
}

static void number_pages(struct builder *builder)
{
    const uint64_t n = builder->n_total;
    uint64_t at = 0;

    builder->entries = memory_new(n, sizeof *builder->entries);
    builder->first_entry =
        memory_new(builder->n_threads + 1ull, sizeof *builder->first_entry);
    builder->seen = memory_new(n, sizeof *builder->seen);
    for (uint32_t i = 0; i < builder->n_threads; i++) {
        builder->first_entry[i] = at;
        at = next_list(builder, i, at);
    }
    builder->first_entry[builder->n_threads] = at;
    map_release(&builder->map);
}

// ---- refining the classes ----

/** The class that pages of `old` move to that a thread uses in one way. */
static uint32_t split(struct builder *builder, uint32_t thread, uint32_t old,
                      const struct entry *entry)
{
    const uint64_t way =
        entry->flags | (entry->diff_bytes > 0 ? SENDS_DIFF : 0u);
    const uint64_t key = (uint64_t)old << 3 | way;
    uint32_t class = map_find_index(&builder->map, key);

    // What an earlier thread has split off is another class.
    if (class == MAP_NONE || builder->split_by[class] != thread) {
        class = builder->n_classes++;
        builder->split_by[class] = thread;
        map_take(&builder->map, key);
        map_add_index(&builder->map, key, class);
    }
    return class;
}

static void refine(struct builder *builder)
{
    const uint64_t n_entries = builder->first_entry[builder->n_threads];

    builder->class_of = memory_new(builder->n_pages, sizeof(uint32_t));
    builder->split_by = memory_new(n_entries + 1, sizeof(uint32_t));
    builder->n_classes = 1; // class 0, of pages that nobody has told apart
    for (uint32_t i = 0; i < builder->n_threads; i++) {
        for (uint64_t k = builder->first_entry[i];
             k < builder->first_entry[i + 1]; k++) {
            const struct entry *entry = &builder->entries[k];
            uint32_t *class = &builder->class_of[entry->page];

            *class = split(builder, i, *class, entry);
        }
    }
    map_release(&builder->map);
}

// ---- groups out of classes ----

/** What becomes the view's. */
struct result {
    uint32_t *group_of;    ///< [n_classes]: NONE until first used
    uint32_t *last_use;    ///< [n_classes]: of the group, in `uses`
    uint64_t *diff_sum;    ///< [n_uses]
    struct use *uses;      ///< [n_uses]
    uint32_t *group_pages; ///< [n_groups]
    uint32_t n_groups;
    uint32_t n_uses;
};

static void count_pages(const struct builder *builder, struct result *result)
{
    for (uint32_t page = 0; page < builder->n_pages; page++) {
        const uint32_t class = builder->class_of[page];

        if (result->group_of[class] == NONE) {
            result->group_of[class] = result->n_groups++;
        }
        result->group_pages[result->group_of[class]]++;
    }
}

/** Add a page to the thread's use of its group, which begins at `first`. */
static void add_entry(struct result *result, uint32_t first, uint32_t group,
                      const struct entry *entry)
{
    uint32_t *last = &result->last_use[group];

    if (*last == NONE || *last < first) {
        *last = result->n_uses++;
        result->uses[*last] = (struct use){group, entry->flags, 0};
        result->diff_sum[*last] = 0;
    }
    result->diff_sum[*last] += entry->diff_bytes;
}

static void gather_uses(const struct builder *builder, struct result *result,
                        struct thread_view *threads)
{
    for (uint32_t i = 0; i < builder->n_threads; i++) {
        const uint32_t first = result->n_uses;

        for (uint64_t k = builder->first_entry[i];
             k < builder->first_entry[i + 1]; k++) {
            const struct entry *entry = &builder->entries[k];

            add_entry(result, first,
                      result->group_of[builder->class_of[entry->page]], entry);
        }
        threads[i].first_use = first;
        threads[i].n_uses = result->n_uses - first;
    }
    for (uint32_t u = 0; u < result->n_uses; u++) {
        const uint32_t n = result->group_pages[result->uses[u].group];

        result->uses[u].diff_bytes =
            (uint16_t)((result->diff_sum[u] + n - 1) / n);
    }
}

static void make_groups(const struct builder *builder, struct result *result,
                        struct cluster_view *view)
{
    const uint64_t n_uses = builder->first_entry[builder->n_threads];
    const uint64_t n_classes = builder->n_classes;

    result->group_of = memory_new(n_classes, sizeof(uint32_t));
    result->last_use = memory_new(n_classes, sizeof(uint32_t));
    result->diff_sum = memory_new(n_uses, sizeof(uint64_t));
    result->uses = memory_new(n_uses, sizeof *result->uses);
    result->group_pages = memory_new(n_classes, sizeof(uint32_t));
    memset(result->group_of, 0xff, n_classes * sizeof(uint32_t));
    memset(result->last_use, 0xff, n_classes * sizeof(uint32_t));
    count_pages(builder, result);
    gather_uses(builder, result, view->threads);
    free(view->uses);
    free(view->group_pages);
    view->uses = result->uses;
    view->group_pages = result->group_pages;
    view->n_uses = result->n_uses;
    view->n_groups = result->n_groups;
}

tm_status groups_build(struct cluster_view *view,
                       const struct page_use *const *pages,
                       const size_t *n_pages)
{
    struct builder builder = {
        .lists = pages, .n_in_list = n_pages, .n_threads = view->n_threads};
    struct result result = {0};
    const tm_status status = count_uses(&builder);

    if (status != TM_OK) {
        return status;
    }
    number_pages(&builder);
    refine(&builder);
    make_groups(&builder, &result, view);
    free(builder.entries);
    free(builder.first_entry);
    free(builder.seen);
    free(builder.class_of);
    free(builder.split_by);
    free(result.group_of);
    free(result.last_use);
    free(result.diff_sum);
    return TM_OK;
}
