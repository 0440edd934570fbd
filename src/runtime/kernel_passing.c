// SPDX-License-Identifier: BSD-3-Clause
//
// Pages that pass through memory, with --memory-by=kernel. Of W pages that threads use
// in each sweep, M fit. The kernel lets go what was used longest ago, which is what is
// needed next; so it pages in up to W pages a sweep. W - M would do if always the
// same M pages stayed, and each other one went as soon as it has been used. The
// runtime cannot choose what the kernel lets go, but it can see to it that there is
// nothing to choose: a page that has had to come in is given to the kernel again
// (MADV_PAGEOUT) soon after.
//
//   stays --the kernel takes it, a thread brings it in--> passes --> out --the same
//   thread brings it in, in a later turn--> passes
//
// So what stays is what the kernel has never had to take, and nobody needs to know
// the order of use. If that is too much, the kernel takes some of it, which passes from
// then on. If it is too little, memory is left over, and pages that come in stay. Left
// over is also what has been written and lies in memory all the same until the kernel
// needs room: memory_read() counts it as available.
//
// What is needed again soon must not go so: a page that another thread has brought in
// before, or the same one since it arrived at a barrier (one turn). It is left to the
// kernel. And no page goes at once, since a stencil comes back to the row before:
// each worker has a list of pages that have come in; when it is full the older half
// goes, in runs of neighbours.
//
// What comes next is read ahead: pages behind this one that came in for the same
// thread in its last turn. It is asked for in blocks, each when the thread comes to
// the block two before it.
//
// Only with userfaultfd, where it is seen that a page comes in (kernel_paging.c).
//
// Context: the node lock, which is held while the kernel begins to write: some 3 us a
// page, 128 pages at most.
#include "base/clock.h"
#include "base/ensure.h"
#include "runtime/kernel_paging.h"
#include "runtime/node.h"
#include "runtime/threads.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WINDOW 128u
#define LEAST_WINDOW 16u
// A window is this part of the memory that there is.
#define WINDOW_PART 128u
// Windows a worker that memory is needed for: its list, and what is being written.
#define WINDOWS 4u
// Pages of a block that is read ahead.
#define BLOCK 16u
// How often it is asked what memory there is.
#define POLL_NS (100 * 1000 * 1000u)

static int is_on(struct node *node)
{
    return node->kernel_passing.turns != NULL;
}

static unsigned window_for(const struct memory_watch *watch)
{
    struct memory_state state;
    uint64_t window;

    memory_read(watch, &state);
    window = state.total.bytes / TM_PAGE_SIZE / WINDOW_PART;
    if (window < LEAST_WINDOW) {
        return LEAST_WINDOW;
    }
    return window < MOST_WINDOW ? (unsigned)window : MOST_WINDOW;
}

void kernel_passing_open(struct node *node)
{
    struct kernel_passing *passing = &node->kernel_passing;

    if (memory_open(&passing->watch, "") != TM_OK) {
        return;
    }
    passing->window = window_for(&passing->watch);
    passing->turns = calloc(node->space.n_pages, sizeof *passing->turns);
    passing->lists = calloc(node->n_workers, sizeof *passing->lists);
    ensure_memory(passing->turns != NULL && passing->lists != NULL);
    for (unsigned i = 0; i < node->n_workers; i++) {
        passing->lists[i].pages =
            calloc((size_t)2 * passing->window, sizeof(page_no));
        ensure_memory(passing->lists[i].pages != NULL);
    }
}

void kernel_passing_close(struct node *node)
{
    struct kernel_passing *passing = &node->kernel_passing;

    if (is_on(node)) {
        for (unsigned i = 0; i < node->n_workers; i++) {
            free(passing->lists[i].pages);
        }
        free(passing->lists);
        free(passing->turns);
        passing->turns = NULL;
    }
}

// ---- what goes

// Globals and heap are not neighbours in the program's view.
static int is_one_run(struct node *node, page_no before, page_no page)
{
    return page == before ||
           (page == before + 1 && page != node->space.heap_page);
}

static void page_out(struct node *node, page_no *pages, unsigned n)
{
    unsigned first = 0;

    qsort(pages, n, sizeof *pages, page_no_compare);
    for (unsigned i = 1; i <= n; i++) {
        if (i == n || !is_one_run(node, pages[i - 1], pages[i])) {
            space_page_out(&node->space, pages[first],
                           pages[i - 1] + 1 - pages[first]);
            first = i;
        }
    }
    node->kernel_passing.n_told += n;
}

static void add(struct node *node, struct passing_list *list, page_no page)
{
    const unsigned window = node->kernel_passing.window;

    list->pages[list->n++] = page;
    if (list->n == 2 * window) {
        page_out(node, list->pages, window);
        list->n = window;
        memcpy(list->pages, list->pages + window, window * sizeof(page_no));
    }
}

// ---- which pages

// A thread and one of its turns; never 0. What differs may rarely look alike.
static uint32_t turn_of(const struct thread *thread)
{
    return (uint32_t)(thread->number + 1) << 16 | (thread->turn & 0xffff);
}

static uint32_t turn_before(uint32_t turn)
{
    return (turn & 0xffff0000) | ((turn - 1) & 0xffff);
}

// Has the page come for this thread only, once a turn?
static int passes(uint32_t before, uint32_t turn)
{
    return before == 0 || (before >> 16 == turn >> 16 && before != turn);
}

// Others may want what there is, too.
static void poll_free_memory(struct node *node, struct kernel_passing *passing)
{
    const uint64_t now_ns = clock_now_ns();
    struct memory_state state;
    uint64_t n_pages;

    if (now_ns - passing->polled_ns < POLL_NS) {
        return;
    }
    passing->polled_ns = now_ns;
    memory_read(&passing->watch, &state);
    n_pages = state.available.bytes / TM_PAGE_SIZE / 2;
    passing->n_may_stay =
        n_pages > (uint64_t)node->n_workers * passing->window * WINDOWS
            ? n_pages
            : 0;
}

static void read_ahead(struct node *node, const uint32_t *turns, page_no page)
{
    const uint32_t turn = turns[page];
    page_no at = page + 1;
    page_no end = (page / BLOCK + 3) * BLOCK;

    if (page > 0 && turns[page - 1] == turn) {
        if (page % BLOCK != 0) {
            return;
        }
        at = end - BLOCK; // the others have been asked for
    }
    end = end < node->space.n_pages ? end : node->space.n_pages;
    while (at < end) {
        page_no n = 0;

        while (at + n < end && turns[at + n] == turn_before(turn)) {
            n++;
        }
        if (n > 0) {
            space_page_in(&node->space, at, n);
        }
        at += n + 1;
    }
}

void kernel_passing_came(struct node *node, const struct thread *thread,
                         page_no page)
{
    struct kernel_passing *passing = &node->kernel_passing;
    uint32_t before;

    if (!is_on(node)) {
        return;
    }
    before = passing->turns[page];
    passing->turns[page] = turn_of(thread);
    if (!passes(before, passing->turns[page])) {
        return;
    }
    read_ahead(node, passing->turns, page);
    poll_free_memory(node, passing);
    if (passing->n_may_stay > 0) {
        passing->n_may_stay--;
        passing->turns[page] = 0;
    } else {
        add(node, &passing->lists[ult_worker(thread->ult)], page);
    }
}
