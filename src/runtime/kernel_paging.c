// SPDX-License-Identifier: BSD-3-Clause
//
// --memory-by=kernel: nothing is budgeted, and the kernel swaps (docs/paging.md,
// "When the kernel pages"). Three things remain to be done for a node that is short
// of memory.
//
// Counting. A page that the kernel has taken is no longer mapped. With userfaultfd the
// next access is a fault of ours, although the page's access would allow it: so the
// runtime sees every one. Whether the disk had to be waited for is
// another matter: the kernel reads several at a time, and some have not gone yet.
// (mincore() calls all of these resident, so it is not asked.) Two threads that meet
// such a page at one time are counted twice. With mprotect the kernel swaps in by
// itself, and counts major faults of kernel threads, which are those that have waited.
//
// What stays. The kernel lets go what was used longest ago, and a worker that runs
// its threads in the same order again and again uses just that next. With userfaultfd
// the kernel is told what to let go instead: kernel_passing.c.
//
// Resident first, with mprotect. A worker that turns round after each barrier begins
// with what is still there. So while pages come in workers do that (ult_reverse()).
// It is off while memory suffices: it makes no difference to the result, but threads
// of other workers that share pages with those here would find them used at another
// time.
//
// With kernel-plain pages are counted only, to compare with.
//
// Context: the node lock.
#include "runtime/kernel_paging.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "runtime/node.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <stdlib.h>
#include <sys/resource.h>

// Page-ins between two barriers that show a lack of memory, and barriers without
// them that show it to be over.
#define FEW_PAGE_INS 16u
#define CALM_ROUNDS 8u

static int is_on(struct node *node)
{
    return node->options.memory_by != MEMORY_BY_RUNTIME;
}

static int helps(struct node *node)
{
    return node->options.memory_by == MEMORY_BY_KERNEL;
}

static int sees_faults(struct node *node)
{
    return node->fault_source->brings_in;
}

void kernel_paging_open(struct node *node)
{
    node->paging.is_kernels = is_on(node);
    if (is_on(node)) {
        node->kernel_paging.major_faults =
            calloc(node->n_workers, sizeof(uint64_t));
        ensure_memory(node->kernel_paging.major_faults != NULL);
    }
    if (helps(node) && sees_faults(node)) {
        kernel_passing_open(node);
    }
}

void kernel_paging_explain(struct node *node)
{
    if (is_on(node)) {
        log_debug("memory: by the kernel, %llu pages in, which took %.3f s, "
                  "%llu out when told",
                  (unsigned long long)node->kernel_paging.n_page_ins,
                  (double)node->kernel_paging.wait_ns * 1e-9,
                  (unsigned long long)node->kernel_passing.n_told);
    }
}

void kernel_paging_close(struct node *node)
{
    kernel_passing_close(node);
    free(node->kernel_paging.major_faults);
    node->kernel_paging.major_faults = NULL;
}

uint64_t kernel_paging_began(struct node *node, page_no page, int is_write)
{
    const enum page_access least = is_write ? ACCESS_WRITE : ACCESS_READ;
    const struct page *record = &node->space.pages[page];

    if (!is_on(node) || !sees_faults(node) || tracking_is_on(&node->tracking) ||
        record->access < least || record->in_snapshot) {
        return 0;
    }
    return clock_now_ns();
}

uint64_t kernel_paging_ended(struct node *node, struct thread *thread,
                             page_no page, uint64_t began_ns)
{
    uint64_t ns;

    if (began_ns == 0) {
        return 0;
    }
    kernel_passing_came(node, thread, page);
    ns = clock_now_ns() - began_ns;
    node->kernel_paging.n_page_ins++;
    node->kernel_paging.wait_ns += ns;
    atomic_fetch_add_explicit(&thread->page_ins, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&thread->swap_ns, ns, memory_order_relaxed);
    return ns;
}

// The caller's kernel thread is the worker.
static void count_major_faults(struct node *node, const struct thread *thread)
{
    uint64_t *before =
        &node->kernel_paging.major_faults[ult_worker(thread->ult)];
    struct rusage usage;

    if (!sees_faults(node) && getrusage(RUSAGE_THREAD, &usage) == 0) {
        node->kernel_paging.n_page_ins +=
            *before == 0 ? 0 : (uint64_t)usage.ru_majflt + 1 - *before;
        *before = (uint64_t)usage.ru_majflt + 1;
    }
}

// All threads here have arrived once more, or as many times as there are.
static void end_round(struct node *node, struct kernel_paging *paging)
{
    paging->n_arrived = 0;
    if (paging->n_page_ins - paging->n_before >= FEW_PAGE_INS) {
        paging->rounds_left = CALM_ROUNDS;
    } else if (paging->rounds_left > 0) {
        paging->rounds_left--;
    }
    paging->n_before = paging->n_page_ins;
    if (helps(node) && !sees_faults(node)) {
        ult_reverse(node->ult, paging->rounds_left > 0);
    }
}

void kernel_paging_note_arrival(struct node *node, struct thread *thread)
{
    struct kernel_paging *paging = &node->kernel_paging;

    if (!is_on(node)) {
        return;
    }
    count_major_faults(node, thread);
    thread->turn++;
    if (++paging->n_arrived >= ult_count(node->ult)) {
        end_round(node, paging);
    }
}

void kernel_paging_stats(struct node *node, struct tm_node_stats *stats)
{
    if (is_on(node)) {
        stats->page_ins = node->kernel_paging.n_page_ins;
        stats->swap_ns = node->kernel_paging.wait_ns;
    }
}
