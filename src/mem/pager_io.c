// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers of the pager: several pages each, on their way to and from the swap file.
// A page keeps its slot number in the transfer while it goes out (pages[i] goes to
// slot + i) and in its record while it comes in. A page that is freed on its way out
// leaves the transfer, which gives its slot back in the end; one on its way in is
// waited for, since the disk writes to its memory.
#include "base/ensure.h"
#include "base/log.h"
#include "mem/pager_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct transfer *pager_transfer_of(const struct pager *pager, page_no page)
{
    for (struct transfer *at = pager->in_flight; at != NULL; at = at->next) {
        for (unsigned i = 0; i < at->swap.n_pages; i++) {
            if (at->pages[i] == page) {
                return at;
            }
        }
    }
    return NULL;
}

static struct transfer *new_transfer(struct pager *pager, enum swap_op op,
                                     uint64_t slot)
{
    struct transfer *transfer = pager->unused;

    if (transfer != NULL) {
        pager->unused = transfer->next;
    } else {
        transfer = malloc(sizeof *transfer);
        ensure_memory(transfer != NULL);
    }
    memset(&transfer->swap, 0, sizeof transfer->swap);
    transfer->swap.op = op;
    transfer->swap.slot = slot;
    transfer->pager = pager;
    transfer->waiters = NULL;
    return transfer;
}

static void add(struct transfer *transfer, page_no page)
{
    unsigned i = transfer->swap.n_pages++;

    transfer->pages[i] = page;
    transfer->swap.pages[i] = space_place(transfer->pager->space, page);
}

static void start(struct transfer *transfer,
                  void (*done)(struct swap_transfer *, tm_status))
{
    struct pager *pager = transfer->pager;

    transfer->swap.done = done;
    list_push(pager->in_flight, transfer);
    pager->n_writes += transfer->swap.op == SWAP_OUT;
    swap_file_start(pager->swap, &transfer->swap);
}

static void retire(struct transfer *transfer)
{
    struct pager *pager = transfer->pager;

    list_remove(pager->in_flight, transfer);
    list_push(pager->unused, transfer);
    pager->n_writes -= transfer->swap.op == SWAP_OUT;
    pager->has_ended = 1;
}

// ---- in

static void has_come(struct pager *pager, page_no page)
{
    struct page *record = pager_page(pager, page);

    record->io = IO_NONE;
    pager->stats.out--;
    pager->stats.ins++;
}

// The runtime's view need not show it, and the kernel would count it twice.
static void unmap_runtime_view(const struct transfer *transfer)
{
    const unsigned n = transfer->swap.n_pages;
    size_t run;

    for (size_t i = 0; i < n; i += run) {
        run = pager_run(transfer->pages + i, n - i);
        (void)madvise(transfer->swap.pages[i], run * TM_PAGE_SIZE,
                      MADV_DONTNEED);
    }
}

static void read_done(struct swap_transfer *swap, tm_status status)
{
    struct transfer *transfer = (struct transfer *)swap;
    struct pager *pager = transfer->pager;

    if (status != TM_OK) {
        log_fatal(EXIT_MEMORY,
                  "a page that was swapped out cannot be read back: the swap "
                  "file has failed, see above; another --swap-dir may help");
    }
    unmap_runtime_view(transfer);
    for (unsigned i = 0; i < swap->n_pages; i++) {
        has_come(pager, transfer->pages[i]);
    }
    retire(transfer);
    waiter_wake_all(transfer->waiters);
}

static void begin_in(struct pager *pager, page_no page, int is_ahead)
{
    struct page *record = pager_page(pager, page);

    pager_enters(pager, page, is_ahead);
    record->io = IO_IN;
    record->ahead = is_ahead != 0;
    pager->n_ahead += record->ahead;
    pager->stats.ins_ahead += record->ahead;
}

// By insertion: they are few, and mostly in order.
static void sort_by_slot(const struct pager *pager, page_no *pages, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        page_no page = pages[i];
        unsigned at = i;

        while (at > 0 && pager_page(pager, pages[at - 1])->swap_slot >
                             pager_page(pager, page)->swap_slot) {
            pages[at] = pages[at - 1];
            at--;
        }
        pages[at] = page;
    }
}

void pager_read(struct pager *pager, page_no *pages, unsigned n, page_no asked)
{
    unsigned i = 0;

    sort_by_slot(pager, pages, n);

    while (i < n) {
        const uint64_t slot = pager_page(pager, pages[i])->swap_slot - 1;
        struct transfer *transfer = new_transfer(pager, SWAP_IN, slot);

        while (i < n && transfer->swap.n_pages < SWAP_TRANSFER_MAX &&
               pager_page(pager, pages[i])->swap_slot - 1 ==
                   slot + transfer->swap.n_pages) {
            add(transfer, pages[i]);
            begin_in(pager, pages[i], pages[i] != asked && asked != ALL_PAGES);
            i++;
        }
        start(transfer, read_done);
    }
}

// ---- out

// @return 1 its memory is not needed any more
static int has_gone(struct pager *pager, page_no page, uint64_t slot)
{
    struct page *record = pager_page(pager, page);

    record->io = IO_NONE;
    pager->n_going--;
    pager->stats.outs++;
    if (record->stays) {
        record->stays = 0;
        swap_file_release(pager->swap, slot, 1);
        return 0;
    }
    record->swap_slot = (uint32_t)slot + 1;
    pager->stats.out++;
    pager_leaves(pager, page);
    return 1;
}

void pager_discard(struct pager *pager, const page_no *pages, unsigned n)
{
    size_t run;

    for (size_t i = 0; i < n; i += run) {
        run = pager_run(pages + i, n - i);
        memfd_discard(&pager->space->memfd, pages[i] * TM_PAGE_SIZE,
                      run * TM_PAGE_SIZE);
    }
}

static void write_failed(struct transfer *transfer, tm_status status)
{
    struct pager *pager = transfer->pager;

    for (unsigned i = 0; i < transfer->swap.n_pages; i++) {
        page_no page = transfer->pages[i];

        if (page != NO_PAGE) {
            pager_page(pager, page)->io = IO_NONE;
            pager_page(pager, page)->stays = 0;
            pager->n_going--;
        }
        swap_file_release(pager->swap, transfer->swap.slot + i, 1);
    }
    pager->is_full = 1;
    pager->is_disk_bad |= status != TM_ELIMIT;
}

static void write_done(struct swap_transfer *swap, tm_status status)
{
    struct transfer *transfer = (struct transfer *)swap;
    struct pager *pager = transfer->pager;
    page_no gone[SWAP_TRANSFER_MAX];
    unsigned n_gone = 0;

    if (status != TM_OK) {
        write_failed(transfer, status);
        retire(transfer);
        return;
    }
    for (unsigned i = 0; i < swap->n_pages; i++) {
        page_no page = transfer->pages[i];

        if (page == NO_PAGE) {
            swap_file_release(pager->swap, swap->slot + i, 1);
        } else if (has_gone(pager, page, swap->slot + i)) {
            gone[n_gone++] = page;
        }
    }
    pager_discard(pager, gone, n_gone);
    retire(transfer);
}

void pager_write(struct pager *pager, const page_no *pages, unsigned n)
{
    unsigned n_going = 0;

    while (n_going < n) {
        uint64_t slot = 0;
        unsigned n_slots = swap_file_reserve(pager->swap, n - n_going, &slot);
        struct transfer *transfer;

        if (n_slots == 0) {
            pager->is_full = 1;
            break;
        }
        transfer = new_transfer(pager, SWAP_OUT, slot);
        for (unsigned i = 0; i < n_slots; i++) {
            add(transfer, pages[n_going + i]);
            pager_page(pager, pages[n_going + i])->io = IO_OUT;
        }
        pager->n_going += n_slots;
        n_going += n_slots;
        start(transfer, write_done);
    }
}
