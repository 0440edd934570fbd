// SPDX-License-Identifier: BSD-3-Clause
//
// The pager (mem/pager.h) at work on a node: threads that wait for it, the service
// thread's part, and what it is told of the program.
//
// Order. A thread goes on where the pages it needs are; so threads that wait for the
// disk wait in place, and a worker runs its threads in the same order between all
// barriers (rounds.c). Which pages they use, in which order, is found
// out by tracking one iteration (tracking.c) once memory has turned out to be
// short: the node asks the root, which may be tracking anyway.
#include "runtime/paging.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "observe/swap_cost.h"
#include "runtime/event_trace.h"
#include "runtime/kernel_paging.h"
#include "runtime/meter.h"
#include "runtime/node.h"
#include "runtime/threads.h"
#include "runtime/tracking.h"

#include <stdlib.h>

// Pages that a node needs at least: clusters on their way, and some for each
// worker.
#define LEAST_PAGES 16u
#define LEAST_PAGES_A_WORKER 8u

// As many times a page has come in between two barriers, on the average, if memory is far
// too small for what threads use there again and again. One sweep brings each in once or
// twice, whatever the budget.
#define FAR_TOO_OFTEN 16u

// Is this node short of memory? Then nearly all faults on pages that are there come
// from that.
static int is_short(struct node *node)
{
    return paging_is_on(&node->paging) && pager_is_short(node->paging.pager);
}

static void open_swap(struct node *node)
{
    const struct swap_settings settings = {
        .folder = swap_folder(node->options.swap_dir),
        .limit = node->options.swap_max,
        .rate = node->options.swap_rate,
    };

    if (swap_file_open(&node->paging.swap, &settings) != TM_OK) {
        log_fatal(EXIT_CONFIG,
                  "no swap file in %s: --swap-dir=DIR names another folder, "
                  "--memory-by=kernel does without",
                  settings.folder);
    }
}

static void open_pager(struct node *node, uint64_t bytes)
{
    const struct pager_host host = engine_pager_host(node->engine);
    const uint64_t least = node->space.n_globals + LEAST_PAGES +
                           (uint64_t)LEAST_PAGES_A_WORKER * node->n_workers;
    const uint64_t pages = bytes / TM_PAGE_SIZE;

    if (pages < least) {
        log_fatal(EXIT_CONFIG,
                  "the node may use %llu KiB for shared data and needs %llu "
                  "KiB at least: TM_SHARED variables, and some pages for each "
                  "of %u workers; give it more --memory",
                  (unsigned long long)bytes >> 10,
                  (unsigned long long)(least * TM_PAGE_SIZE) >> 10,
                  node->n_workers);
    }
    open_swap(node);
    node->paging.pager =
        pager_new(&node->space, node->paging.swap, pages, &host);
    if (node->paging.pager == NULL ||
        rounds_init(&node->paging.rounds, node->n_workers) != TM_OK) {
        log_fatal(EXIT_MEMORY, "no memory for the pager");
    }
    node->paging.least_pages = least;
    node->paging.first_pages = pages;
}

// If memory is declared for this node's shared data: keep within it.
static void open_paging(struct node *node)
{
    kernel_paging_open(node);
    if (node->options.memory_by == MEMORY_BY_RUNTIME &&
        node->options.memory > 0) {
        open_pager(node, node->options.memory);
    }
}

static void explain(struct node *node)
{
    struct pager_stats counted;
    struct swap_stats disk;

    pager_stats(node->paging.pager, &counted);
    swap_file_stats(node->paging.swap, &disk);
    log_debug(
        "memory: %llu of %llu pages, most %llu; in %llu "
        "(ahead %llu, waited for by the runtime %llu), out %llu, "
        "out unwritten %llu, copies dropped %llu; "
        "threads waited %llu times, let in without room %llu; "
        "%llu transfers in, %llu out, disk busy %.3f s",
        (unsigned long long)counted.resident,
        (unsigned long long)counted.budget,
        (unsigned long long)counted.resident_max,
        (unsigned long long)counted.ins, (unsigned long long)counted.ins_ahead,
        (unsigned long long)counted.sync_ins, (unsigned long long)counted.outs,
        (unsigned long long)counted.outs_saved,
        (unsigned long long)counted.dropped, (unsigned long long)counted.waits,
        (unsigned long long)counted.over, (unsigned long long)disk.n_in,
        (unsigned long long)disk.n_out, (double)disk.ns_busy * 1e-9);
}

// If none is declared and a control group limits the node: keep within that.
static void start(struct node *node)
{
    uint64_t bytes;

    if (paging_is_on(&node->paging) ||
        node->options.memory_by != MEMORY_BY_RUNTIME) {
        return;
    }
    bytes = budget_of_group(node);
    if (bytes > 0) {
        open_pager(node, bytes);
    }
}

// TM_SHARED variables are in memory from now on: main() may use them.
static void bring_globals(struct node *node)
{
    kernel_paging_explain(node);
    if (!paging_is_on(&node->paging)) {
        return;
    }
    explain(node);
    for (page_no page = 0; page < node->space.n_globals; page++) {
        (void)space_bytes(&node->space, page); // they outlive the runtime
    }
}

void paging_close(struct node *node)
{
    struct paging *paging = &node->paging;

    kernel_paging_close(node);
    thread_paging_close(node);
    if (!paging_is_on(&node->paging)) {
        return;
    }
    swap_file_close(paging->swap);
    pager_free(paging->pager);
    paging->pager = NULL;
    rounds_release(&paging->rounds);
}

int paging_fd(struct node *node)
{
    return paging_is_on(&node->paging) ? swap_file_fd(node->paging.swap) : -1;
}

void paging_serve_disk(struct node *node)
{
    pager_serve_disk(node->paging.pager);
}

int paging_poll(struct node *node)
{
    if (!paging_is_on(&node->paging)) {
        return 0;
    }
    budget_follow(node);
    pager_poll(node->paging.pager);
    return pager_is_awaited(node->paging.pager);
}

// Whoever pages: the pager, or the kernel if that is seen.
static struct memory_use totals(struct node *node)
{
    struct pager_stats counted;

    if (!paging_is_on(&node->paging)) {
        return (struct memory_use){
            .wait_ns = node->kernel_paging.wait_ns,
            .n_pages = node->kernel_paging.n_page_ins,
            .n_gone = node->kernel_passing.n_told,
        };
    }
    pager_stats(node->paging.pager, &counted);
    return (struct memory_use){
        .wait_ns =
            atomic_load_explicit(&node->paging.wait_ns, memory_order_relaxed),
        .out_ns = node->paging.out_ns,
        .n_pages = counted.ins + counted.dropped,
        .n_gone = counted.outs + counted.outs_saved + counted.dropped,
    };
}

void paging_total_use(struct node *node, struct memory_use *use)
{
    *use = totals(node);
}

void paging_take_use(struct node *node, struct memory_use *use)
{
    struct memory_use *told = &node->paging.told;
    const struct memory_use now = totals(node);

    *use = (struct memory_use){
        .wait_ns = (now.wait_ns - told->wait_ns) / node->n_workers,
        .out_ns = (now.out_ns - told->out_ns) / node->n_workers,
        .n_pages = now.n_pages - told->n_pages,
        .n_gone = now.n_gone - told->n_gone,
    };
    use->budget = budget_if_changed(node);
    *told = now;
}

// M_lack, as far as is known what threads use.
static uint64_t lack_pages(struct node *node, uint64_t budget)
{
    const uint64_t needed =
        replace_needs(pager_replace(node->paging.pager)).n_pages;

    return needed > budget ? needed - budget : 0;
}

uint64_t paging_count_ins(struct node *node)
{
    struct pager_stats counted;

    if (!paging_is_on(&node->paging)) {
        return node->kernel_paging
            .n_page_ins; // 0, if the kernel has no part in it
    }
    pager_stats(node->paging.pager, &counted);
    return counted.ins;
}

static void add_stats(struct node *node, struct tm_node_stats *stats)
{
    struct pager_stats counted;

    kernel_paging_stats(node, stats);
    if (!paging_is_on(&node->paging)) {
        return; // zeros
    }
    pager_stats(node->paging.pager, &counted);
    stats->memory = counted.budget * TM_PAGE_SIZE;
    stats->resident = counted.resident * TM_PAGE_SIZE;
    stats->page_ins = counted.ins;
    stats->page_outs = counted.outs;
    stats->copies_forgotten = counted.dropped;
    stats->swap_ns =
        atomic_load_explicit(&node->paging.wait_ns, memory_order_relaxed);
    stats->swap_out_ns = node->paging.out_ns;
    stats->lack = lack_pages(node, counted.budget) * TM_PAGE_SIZE;
}

// ---- the order of threads

static void end_round(struct node *node, unsigned worker)
{
    const struct round *round = &node->paging.rounds.of_worker[worker];

    replace_order(pager_replace(node->paging.pager), worker, round->threads,
                  round->n); // mostly as it was, which costs nothing
    rounds_next(&node->paging.rounds, worker);
    if (worker == 0) {
        struct pager_stats counted;

        pager_end_sweep(node->paging.pager);
        pager_stats(node->paging.pager, &counted);
        node->paging.ins_before = counted.ins;
        node->paging.has_swept = 1;
    }
}

// Say once if what threads use between two barriers does not fit by far.
static void tell_if_far_too_small(struct node *node)
{
    struct paging *paging = &node->paging;
    const uint64_t n_times = pager_returns(paging->pager, paging->ins_before);
    struct pager_stats counted;

    if (paging->is_told || !paging->has_swept || n_times < FAR_TOO_OFTEN) {
        return;
    }
    paging->is_told = 1;
    pager_stats(paging->pager, &counted);
    log_warning(
        "the node may use %llu KiB for shared data, far too little: "
        "between two barriers each page of it has come back from its "
        "swap file %llu times; give it more --memory (with a protocol that "
        "makes diffs a page that is written takes twice its size)",
        (unsigned long long)(counted.budget * TM_PAGE_SIZE >> 10),
        (unsigned long long)n_times);
}

static void ask_root(struct node *node)
{
    const struct message message = {
        .type = MESSAGE_paging_ask,
        .u.paging_ask = {.n_threads = ult_count(node->ult)},
    };

    node->paging.is_asked = 1;
    port_send(&node->port, 0, &message);
}

// @return 1: when it goes on it should let others of its worker go first
static int note_arrival(struct node *node, struct thread *thread)
{
    struct rounds *rounds = &node->paging.rounds;
    unsigned worker;

    if (!is_short(node)) {
        return 0;
    }
    worker = ult_worker(thread->ult);
    if (rounds_is_over(rounds, worker, &thread->place_in_round)) {
        end_round(node, worker);
    }
    rounds_arrive(rounds, worker, (uint32_t)thread->number,
                  &thread->place_in_round);
    pager_end_turn(node->paging.pager, worker);
    if (!node->paging.is_learned && !node->paging.is_asked &&
        rounds->of_worker[worker].number > 2) {
        ask_root(node);
    }
    return 1;
}

int paging_note_arrival(struct node *node, struct thread *thread)
{
    int gives_way = note_arrival(node, thread);

    kernel_paging_note_arrival(node, thread);
    return gives_way;
}

// ---- the order of pages

void paging_learn(struct node *node, const struct access_set *set)
{
    page_no *pages;

    if (!paging_is_on(&node->paging) || set->n == 0) {
        return;
    }
    pages = malloc(set->n * sizeof *pages);
    ensure_memory(pages != NULL);
    for (uint32_t i = 0; i < set->n; i++) {
        pages[i] = set->entries[i].page;
    }
    pager_learn(node->paging.pager, (uint32_t)set->thread, pages, set->n);
    node->paging.is_learned = 1;
    free(pages);
}

// Without its pages in order it would page as if nothing was known of the program.
// Where the announcement does not have them all an iteration is tracked again.
static void thread_arrived(struct node *node, struct thread *thread)
{
    page_no *list;
    size_t n;

    if (!paging_is_on(&node->paging)) {
        return;
    }
    list = malloc(PAGES_SOON_MAX * sizeof *list);
    ensure_memory(list != NULL);
    n = migration_pages_announced(node->pages, thread->number, list);
    for (size_t i = 0; i < n; i++) {
        if (list[i] >= node->space.n_pages) {
            n = 0; // nothing that can be believed
        }
    }
    if (n > 0 && n < PAGES_SOON_MAX) {
        pager_learn(node->paging.pager, (uint32_t)thread->number, list, n);
    } else {
        node->paging.is_learned = 0;
        node->paging.is_asked = 0;
    }
    free(list);
}

static void thread_left(struct node *node, struct thread *thread)
{
    if (paging_is_on(&node->paging)) {
        rounds_leave(&node->paging.rounds, (uint32_t)thread->number,
                     &thread->place_in_round);
        replace_forget(pager_replace(node->paging.pager),
                       (uint32_t)thread->number);
        pager_release_claims(node->paging.pager, &thread->claims);
    }
    thread_paging_left(node, thread);
}

static void forget_sets(struct node *node, struct access_sets *sets)
{
    (void)node;
    access_sets_free(sets); // each node has learned from its own
}

static tm_status receive(struct node *node, node_id from,
                         const struct message *message)
{
    if (message->type != MESSAGE_paging_ask) {
        thread_paging_receive(node, from, message);
        return TM_OK;
    }
    if (node->self != 0) {
        return TM_EWIRE;
    }
    log_debug("memory is short for %u threads: an iteration is tracked",
              message->u.paging_ask.n_threads);
    (void)tracking_ask(node, TRACKING_FOR_PAGER, forget_sets);
    return TM_OK;
}

// ---- threads that wait

// Of a thread: only its worker adds, others read.
static void count(_Atomic uint64_t *sum, uint64_t n)
{
    atomic_store_explicit(sum,
                          atomic_load_explicit(sum, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

// A thread has waited for a page to come, or until others had gone: T_spi, T_spo.
static void note_wait(struct node *node, struct thread *thread, int is_coming,
                      uint64_t ns)
{
    if (is_coming) {
        count(&thread->page_ins, 1);
    } else {
        count(&thread->swap_out_ns, ns);
        node->paging.out_ns += ns;
    }
}

// @return how long the caller has waited, ns
static uint64_t admit(struct node *node, struct thread *thread,
                      uintptr_t instruction, page_no page, int is_write)
{
    struct pager_toucher toucher = {
        .thread = (uint32_t)thread->number,
        .instruction = instruction,
        .claims = &thread->claims,
    };
    uint64_t waited_ns = 0;

    toucher.worker = ult_worker(thread->ult);
    for (;;) {
        struct wait wait;
        uint64_t began_ns;
        uint64_t ns;
        int is_coming;

        wait_init(&wait);
        if (pager_fault(node->paging.pager, page, is_write, &toucher,
                        &wait.waiter) == PAGER_GO_ON) {
            count(&thread->page_ins, toucher.n_ahead);
            return waited_ns;
        }
        is_coming = pager_is_coming(node->paging.pager, page, 1);
        node_leave(node);
        began_ns = clock_now_ns();
        wait_for(&wait, 0);
        ns = clock_now_ns() - began_ns;
        trace_paging(node, thread, is_coming, page, began_ns);
        waited_ns += ns;
        node_enter(node);
        note_wait(node, thread, is_coming, ns);
        if (is_coming) {
            tell_if_far_too_small(node);
        }
        toucher.is_let_in = wait.waiter.result != 0;
    }
}

void paging_admit(struct node *node, struct thread *thread,
                  uintptr_t instruction, page_no page, int is_write,
                  struct fault_paging *fault)
{
    if (paging_is_on(&node->paging)) {
        fault->waited_ns = admit(node, thread, instruction, page, is_write);
    }
    fault->taken_ns = kernel_paging_began(node, page, is_write);
}

void paging_note_result(struct node *node, struct thread *thread, page_no page,
                        enum fault_result result, struct fault_paging *fault)
{
    if (result == FAULT_ALLOWED) {
        fault->waited_ns +=
            kernel_paging_ended(node, thread, page, fault->taken_ns);
        fault->is_cause = is_short(node);
    } else if (result == FAULT_WAIT && paging_is_on(&node->paging)) {
        pager_note_away(node->paging.pager, &thread->claims);
    }
}

void paging_note_back(struct node *node, struct thread *thread)
{
    if (paging_is_on(&node->paging)) {
        pager_note_back(node->paging.pager, &thread->claims);
    }
}

void paging_note_cost(struct node *node, struct thread *thread, uint64_t ns)
{
    atomic_fetch_add_explicit(&node->paging.wait_ns, ns, memory_order_relaxed);
    count(&thread->swap_ns, ns);
}

const struct part part_paging = {
    .open = open_paging,
    .start = start,
    .tick = paging_poll,
    .owns = OWNER_paging,
    .receive = receive,
    .thread_arrived = thread_arrived,
    .thread_left = thread_left,
    .save = parts_save_nothing,
    .stats = add_stats,
    .close = bring_globals,
};
