// SPDX-License-Identifier: BSD-3-Clause
//
// What a page costs that is swapped out, and one that is swapped in: t_spo and t_spi
// of [Liu06], for each node by itself, since disks do not scale with processors.
// Measured where a swap file would be, on a file that has its blocks already and
// holds no zeros, one page at a time at random places, past the kernel's cache. That
// is the price of a single page; reading ahead and writing in clusters make it less.
// A page read soon after it was written may come from the memory of the disk, or, in
// a virtual machine, of its host: such a device looks faster here than it is over
// more data. The times of real paging replace these as soon as there are any.
#include "observe/swap_cost.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "os/page_file.h"

enum {
    N_PAGES = 64,
    N_TRANSFERS = 24, ///< of each kind
    MIN_TRANSFERS = 3,
    ENOUGH_NS = 50 * 1000 * 1000, ///< for each kind
};

struct measuring {
    struct page_file file;
    char *bytes; ///< [N_PAGES] pages
    const _Atomic int *stop;
};

typedef tm_status transfer_fn(const struct measuring *measuring, unsigned page);

const char *swap_folder(const char *option)
{
    const char *folder = getenv("TMPDIR");

    if (option[0] == '/') {
        return option;
    }
    return folder != NULL && folder[0] == '/' ? folder : "/tmp";
}

// What devices that compress cannot make small.
static void fill(uint64_t *words, size_t n)
{
    uint64_t random = 0x9e3779b97f4a7c15u;

    for (size_t i = 0; i < n; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        words[i] = random;
    }
}

static tm_status swap_out(const struct measuring *measuring, unsigned page)
{
    return page_file_write(&measuring->file, page,
                           measuring->bytes + (size_t)page * TM_PAGE_SIZE);
}

static tm_status swap_in(const struct measuring *measuring, unsigned page)
{
    return page_file_read(&measuring->file, page, measuring->bytes);
}

static int goes_on(const struct measuring *measuring, unsigned n,
                   uint64_t all_ns)
{
    if (n == 0) {
        return 1; // something must be measured
    }
    return n < N_TRANSFERS && (n < MIN_TRANSFERS || all_ns < ENOUGH_NS) &&
           !atomic_load_explicit(measuring->stop, memory_order_relaxed);
}

static tm_status measure(const struct measuring *measuring,
                         transfer_fn *transfer, struct quartiles *quartiles,
                         unsigned *n_measured)
{
    uint64_t times_ns[N_TRANSFERS];
    uint64_t all_ns = 0;
    unsigned page = 1;
    unsigned n = 0;

    while (goes_on(measuring, n, all_ns)) {
        uint64_t begun_ns = clock_now_ns();
        tm_status status;

        page = (page * 37 + 11) % N_PAGES; // goes through all of them
        status = transfer(measuring, page);
        if (status != TM_OK) {
            return status;
        }
        times_ns[n] = clock_now_ns() - begun_ns;
        all_ns += times_ns[n++];
    }
    *quartiles = quartiles_of(times_ns, n);
    *n_measured = n;
    return TM_OK;
}

static enum swap_kind kind_of(const struct page_file *file)
{
    if (file->is_in_memory) {
        return SWAP_IN_MEMORY;
    }
    return file->is_direct ? SWAP_DIRECT : SWAP_CACHED;
}

tm_status swap_cost_measure(const char *folder, const _Atomic int *stop,
                            struct swap_cost *cost, char *reason, size_t size)
{
    struct measuring measuring = {
        .bytes = aligned_alloc(TM_PAGE_SIZE, N_PAGES * TM_PAGE_SIZE),
        .stop = stop,
    };
    struct swap_cost result = {0};
    tm_status status;

    if (measuring.bytes == NULL) {
        snprintf(reason, size, "no memory");
        return TM_ENOMEM;
    }
    fill((uint64_t *)(void *)measuring.bytes,
         N_PAGES * TM_PAGE_SIZE / sizeof(uint64_t));
    status = page_file_open(&measuring.file, folder, measuring.bytes, N_PAGES,
                            reason, size);
    if (status != TM_OK) {
        goto free_bytes;
    }
    snprintf(reason, size, "a transfer in %s has failed", folder);
    status = measure(&measuring, swap_out, &result.out_ns, &result.n_out);
    if (status == TM_OK) {
        status = measure(&measuring, swap_in, &result.in_ns, &result.n_in);
    }
    result.kind = kind_of(&measuring.file);
    page_file_close(&measuring.file);
    if (status == TM_OK) {
        *cost = result;
    }
free_bytes:
    free(measuring.bytes);
    return status;
}
