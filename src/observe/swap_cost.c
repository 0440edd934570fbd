// SPDX-License-Identifier: BSD-3-Clause
//
// What a page costs that is swapped out, and one that is swapped in: t_spo and t_spi
// of [Liu06], for each node by itself, since disks do not scale with processors.
// Measured with a swap file where the pager's is, in transfers as the pager's, one
// after the other at random places; a page's price is its part of a transfer's.
// A page read soon after it was written may come from the memory of the disk, or, in
// a virtual machine, of its host: such a device looks faster here than it is over
// more data. The times of real paging correct the model as soon as there are any.
#include "observe/swap_cost.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "os/descriptor.h"
#include "os/swap_file.h"
#include "os/unnamed_file.h"

enum {
    N_PLACES = 16,
    N_TRANSFERS = 16, ///< of each kind
    MIN_TRANSFERS = 3,
    ENOUGH_NS = 50 * 1000 * 1000, ///< for each kind
};

#define TRANSFER_BYTES ((size_t)SWAP_TRANSFER_MAX * TM_PAGE_SIZE)

struct measuring {
    struct swap_file *file;
    char *bytes; ///< [TRANSFER_BYTES]
    uint64_t slots[N_PLACES];
    const _Atomic int *stop;
};

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
    uint64_t random = 0;

    for (size_t i = 0; i < n; i++) {
        words[i] = random_next(&random);
    }
}

static void note_done(struct swap_transfer *transfer, tm_status status)
{
    *(tm_status *)transfer->owner = status;
}

// @param[out] took_ns  a page's part
static tm_status transfer(const struct measuring *measuring, enum swap_op op,
                          unsigned place, uint64_t *took_ns)
{
    tm_status status = TM_ESYSTEM;
    struct swap_transfer swap = {
        .op = op,
        .n_pages = SWAP_TRANSFER_MAX,
        .slot = measuring->slots[place],
        .owner = &status,
        .done = note_done,
    };

    for (unsigned i = 0; i < SWAP_TRANSFER_MAX; i++) {
        swap.pages[i] = measuring->bytes + (size_t)i * TM_PAGE_SIZE;
    }
    swap_file_start(measuring->file, &swap);
    swap_file_wait(measuring->file, &swap);
    *took_ns = (swap.ended_ns - swap.began_ns) / SWAP_TRANSFER_MAX;
    return status;
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

static tm_status measure(const struct measuring *measuring, enum swap_op op,
                         struct quartiles *quartiles, unsigned *n_measured)
{
    uint64_t times_ns[N_TRANSFERS];
    uint64_t all_ns = 0;
    unsigned place = 0;
    unsigned n = 0;

    while (goes_on(measuring, n, all_ns)) {
        tm_status status = transfer(measuring, op, place, &times_ns[n]);

        if (status != TM_OK) {
            return status;
        }
        all_ns += times_ns[n++] * SWAP_TRANSFER_MAX;
        place = (place * 5 + 3) % N_PLACES; // goes through all of them
    }
    *quartiles = quartiles_of(times_ns, n);
    *n_measured = n;
    return TM_OK;
}

// Its blocks are there before anything is measured.
static tm_status write_all_places(struct measuring *measuring)
{
    tm_status status = TM_OK;
    uint64_t ns;

    for (unsigned i = 0; status == TM_OK && i < N_PLACES; i++) {
        if (swap_file_reserve(measuring->file, SWAP_TRANSFER_MAX,
                              &measuring->slots[i]) < SWAP_TRANSFER_MAX) {
            return TM_ELIMIT;
        }
        status = transfer(measuring, SWAP_OUT, i, &ns);
    }
    return status;
}

static enum swap_kind kind_of(const struct swap_file *file)
{
    if (swap_file_is_in_memory(file)) {
        return SWAP_IN_MEMORY;
    }
    return swap_file_is_direct(file) ? SWAP_DIRECT : SWAP_CACHED;
}

static tm_status measure_file(struct measuring *measuring,
                              struct swap_cost *cost)
{
    struct swap_cost result = {.kind = kind_of(measuring->file)};
    tm_status status = write_all_places(measuring);

    if (status == TM_OK) {
        status = measure(measuring, SWAP_OUT, &result.out_ns, &result.n_out);
    }
    if (status == TM_OK) {
        status = measure(measuring, SWAP_IN, &result.in_ns, &result.n_in);
    }
    if (status == TM_OK) {
        *cost = result;
    }
    return status;
}

// Nobody may ever need a swap file: not to have one is no error yet.
static int takes_file(const char *folder)
{
    int fd = unnamed_file_open(folder);

    descriptor_close(fd);
    return fd >= 0;
}

tm_status swap_cost_measure(const char *folder, uint64_t rate,
                            const _Atomic int *stop, struct swap_cost *cost,
                            char *reason, size_t size)
{
    const struct swap_settings settings = {.folder = folder, .rate = rate};
    struct measuring measuring = {
        .bytes = aligned_alloc(TM_PAGE_SIZE, TRANSFER_BYTES),
        .stop = stop,
    };
    tm_status status;

    if (measuring.bytes == NULL) {
        snprintf(reason, size, "no memory");
        return TM_ENOMEM;
    }
    fill((uint64_t *)(void *)measuring.bytes,
         TRANSFER_BYTES / sizeof(uint64_t));
    if (!takes_file(folder)) {
        snprintf(reason, size, "cannot make a file in %s: %s", folder,
                 strerror(errno));
        status = TM_ESYSTEM;
        goto free_bytes;
    }
    snprintf(reason, size, "a transfer in %s has failed", folder);
    status = swap_file_open(&measuring.file, &settings);
    if (status == TM_OK) {
        status = measure_file(&measuring, cost);
        swap_file_close(measuring.file);
    }
free_bytes:
    free(measuring.bytes);
    return status == TM_OK || status == TM_ENOMEM ? status : TM_ESYSTEM;
}
