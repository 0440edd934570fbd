// SPDX-License-Identifier: BSD-3-Clause
//
// --memory-by=kernel: nothing is budgeted, and the kernel swaps (DESIGN.md section
// 6). Two things remain to be done for a node that is short of memory.
//
// Counting. A page that the kernel has swapped out is no longer mapped. With
// userfaultfd the next access is a fault of ours, although the page's access would
// allow it, and to map the page again swaps it in: so the runtime sees every one, by
// page and thread. Others look the same (another thread was first; a view was shown
// anew), so the kernel is asked before whether the page is in memory. With mprotect
// the kernel swaps in by itself, and counts major faults of kernel threads: what a
// worker has had between two arrivals at barriers is its thread's.
//
// Resident first. The kernel lets go what was used longest ago. A worker that runs
// its threads in the same order again and again uses just that next; one that turns
// round after each barrier begins with what is still there. So while pages come in
// workers do that (ult_reverse()). It is off while memory suffices: it makes no
// difference to the result, but threads of other workers that share pages with
// those here would find them used at another time.
//
// Context: the node lock.
#include "base/clock.h"
#include "base/ensure.h"
#include "runtime/runtime.h"

#include <stdlib.h>
#include <sys/resource.h>

// Page-ins between two barriers that show a lack of memory, and barriers without
// them that show it to be over.
#define FEW_PAGE_INS 16u
#define CALM_ROUNDS 8u

static int is_on(void)
{
    return runtime.options.memory_by == MEMORY_BY_KERNEL;
}

static int sees_faults(void)
{
    return runtime.fault_source->brings_in;
}

void kernel_paging_open(void)
{
    if (is_on()) {
        runtime.kernel_paging.major_faults =
            calloc(runtime.n_workers, sizeof(uint64_t));
        ensure(runtime.kernel_paging.major_faults != NULL);
    }
}

void kernel_paging_close(void)
{
    free(runtime.kernel_paging.major_faults);
    runtime.kernel_paging.major_faults = NULL;
}

uint64_t kernel_paging_began(page_no page)
{
    unsigned char is_resident = 1;

    if (!is_on() || !sees_faults() ||
        runtime.space.pages[page].access == ACCESS_NONE) {
        return 0;
    }
    memfd_residency(&runtime.space.memfd, page * TM_PAGE_SIZE, TM_PAGE_SIZE,
                    &is_resident);
    return is_resident ? 0 : clock_now_ns();
}

static void count(struct thread *thread, uint64_t n)
{
    thread->n_page_ins += n;
    runtime.kernel_paging.n_page_ins += n;
}

uint64_t kernel_paging_ended(struct thread *thread, uint64_t began_ns)
{
    uint64_t ns;

    if (began_ns == 0) {
        return 0;
    }
    ns = clock_now_ns() - began_ns;
    count(thread, 1);
    runtime.kernel_paging.wait_ns += ns;
    return ns;
}

// The caller's kernel thread is the worker.
static void count_major_faults(struct thread *thread)
{
    uint64_t *before =
        &runtime.kernel_paging.major_faults[ult_worker(thread->ult)];
    struct rusage usage;

    if (!sees_faults() && getrusage(RUSAGE_THREAD, &usage) == 0) {
        count(thread,
              *before == 0 ? 0 : (uint64_t)usage.ru_majflt + 1 - *before);
        *before = (uint64_t)usage.ru_majflt + 1;
    }
}

// All threads here have arrived once more, or as many times as there are.
static void end_round(struct kernel_paging *paging)
{
    paging->n_arrived = 0;
    if (paging->n_page_ins - paging->n_before >= FEW_PAGE_INS) {
        paging->rounds_left = CALM_ROUNDS;
    } else if (paging->rounds_left > 0) {
        paging->rounds_left--;
    }
    paging->n_before = paging->n_page_ins;
    ult_reverse(runtime.ult, paging->rounds_left > 0);
}

void kernel_paging_note_arrival(struct thread *thread)
{
    struct kernel_paging *paging = &runtime.kernel_paging;

    if (!is_on()) {
        return;
    }
    count_major_faults(thread);
    if (++paging->n_arrived >= ult_count(runtime.ult)) {
        end_round(paging);
    }
}

void kernel_paging_stats(struct tm_node_stats *stats)
{
    if (is_on()) {
        stats->page_ins = runtime.kernel_paging.n_page_ins;
        stats->swap_ns = runtime.kernel_paging.wait_ns;
    }
}
