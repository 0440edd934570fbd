// SPDX-License-Identifier: BSD-3-Clause
/*
 * Jobs of a swap file: those of transfers, and those that give regions back.
 *
 * Every slot has a checksum, in memory: of what was last given to be written
 * there. What is read is compared, always: a page costs a fraction of a microsecond,
 * the disk many. So neither a write that was torn, nor one that the disk lost, nor a
 * read of another place can pass for good.
 *
 * Regions that are free as a whole are given back to the file system once there are
 * more of them than of regions in use, and some more, until few are left: a program
 * that swaps the same pages in and out finds its blocks still allocated. They are
 * held while that lasts (os/swap_slots.h).
 *
 * I1 and I2 are in swap_file.c.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/swap_file_priv.h"

/** Stale regions, besides as many as are in use, that start giving back: 16 MiB.
 * It stops at half of them. */
#define KEPT_REGIONS 64

/** Most regions to give back at once: 64 MiB. */
#define MAX_PUNCH 256

static struct work *work_new(struct swap_file *file,
                             struct swap_transfer *transfer)
{
    struct work *work = file->free_works;

    if (work != NULL) {
        file->free_works = work->next_free;
        *work = (struct work){.transfer = transfer};
    }
    return work;
}

static void work_free(struct swap_file *file, struct work *work)
{
    work->next_free = file->free_works;
    file->free_works = work;
}

static void submit(struct swap_file *file, struct work *work)
{
    file->n_jobs++;
    file->engine->submit(file->engine_state, &work->job);
}

static void submit_rest(struct swap_file *file, struct work *work)
{
    const struct swap_transfer *transfer = work->transfer;

    work->job.kind = transfer->op == SWAP_OUT ? SWAP_WRITE : SWAP_READ;
    work->job.parts = transfer->parts + transfer->first_part;
    work->job.n_parts = transfer->n_parts - transfer->first_part;
    work->job.offset = transfer->slot * TM_PAGE_SIZE + transfer->bytes_done;
    submit(file, work);
}

static void pump(struct swap_file *file)
{
    while (file->queue.first != NULL && file->free_works != NULL) {
        struct swap_transfer *transfer = file->queue.first;

        file->queue.first = transfer->next;
        if (file->queue.first == NULL) {
            file->queue.last = &file->queue.first;
        }
        submit_rest(file, work_new(file, transfer));
    }
}

/** Pages that are adjacent in memory are one part. */
static void make_parts(struct swap_transfer *transfer)
{
    unsigned n = 0;

    for (unsigned i = 0; i < transfer->n_pages; i++) {
        char *page = transfer->pages[i];
        struct iovec *last = &transfer->parts[n > 0 ? n - 1 : 0];

        ensure((uintptr_t)page % TM_PAGE_SIZE == 0);
        if (n > 0 && (char *)last->iov_base + last->iov_len == page) {
            last->iov_len += TM_PAGE_SIZE;
        } else {
            transfer->parts[n++] = (struct iovec){page, TM_PAGE_SIZE};
        }
    }
    transfer->n_parts = n;
    transfer->first_part = 0;
    transfer->bytes_done = 0;
}

static void skip_bytes(struct swap_transfer *transfer, size_t n)
{
    transfer->bytes_done += (unsigned)n;
    while (n > 0) {
        struct iovec *part = &transfer->parts[transfer->first_part];
        size_t here = n < part->iov_len ? n : part->iov_len;

        part->iov_base = (char *)part->iov_base + here;
        part->iov_len -= here;
        n -= here;
        transfer->first_part += part->iov_len == 0;
    }
}

// ---- checksums

static uint32_t page_sum(const struct swap_transfer *transfer, unsigned i)
{
    return checksum(transfer->pages[i], TM_PAGE_SIZE, transfer->slot + i);
}

static void set_sums(struct swap_file *file,
                     const struct swap_transfer *transfer)
{
    for (unsigned i = 0; i < transfer->n_pages; i++) {
        file->sums[transfer->slot + i] = page_sum(transfer, i);
    }
}

void swap_work_forget(struct swap_file *file, uint64_t slot, unsigned n)
{
    memset(file->sums + slot, 0, n * sizeof *file->sums);
}

static int sums_are_right(const struct swap_file *file,
                          const struct swap_transfer *transfer)
{
    for (unsigned i = 0; i < transfer->n_pages; i++) {
        if (file->sums[transfer->slot + i] != page_sum(transfer, i)) {
            return 0;
        }
    }
    return 1;
}

static int all_were_written(const struct swap_file *file,
                            const struct swap_transfer *transfer)
{
    for (unsigned i = 0; i < transfer->n_pages; i++) {
        if (file->sums[transfer->slot + i] == 0) {
            return 0;
        }
    }
    return 1;
}

// ---- the end of transfers

static void log_failure(const struct swap_file *file,
                        const struct swap_transfer *transfer, int error)
{
    unsigned long long slot = transfer->slot;

    errno = error;
    if (error == EBADMSG) {
        log_error("swap file in %s: what was read from %u slots at %llu is not "
                  "what was written there",
                  file->folder, transfer->n_pages, slot);
    } else {
        log_error("swap file in %s: cannot %s %u slots at %llu: %m",
                  file->folder, transfer->op == SWAP_OUT ? "write" : "read",
                  transfer->n_pages, slot);
    }
}

static tm_status failure(struct swap_file *file,
                         const struct swap_transfer *transfer, int error)
{
    if (transfer->op == SWAP_OUT) {
        swap_work_forget(file, transfer->slot, transfer->n_pages);
    }
    if (file->logged_errno[transfer->op] != error) {
        file->logged_errno[transfer->op] = error;
        log_failure(file, transfer, error);
    }
    return error == ENOSPC || error == EDQUOT || error == EFBIG ? TM_ELIMIT
                                                                : TM_ESYSTEM;
}

static void transfer_end(struct swap_file *file, struct swap_transfer *transfer,
                         tm_status status)
{
    struct swap_transfer **at = &file->ended;

    transfer->status = status;
    while (*at != NULL && (*at)->due_ns <= transfer->due_ns) {
        at = &(*at)->next;
    }
    transfer->next = *at;
    *at = transfer;
}

/** A job of a transfer has ended. */
static void transfer_go_on(struct swap_file *file, struct work *work)
{
    struct swap_transfer *transfer = work->transfer;
    unsigned bytes = transfer->n_pages * TM_PAGE_SIZE;
    int result = work->job.result;
    tm_status status = TM_OK;

    if (file->probe != NULL && file->probe->ended != NULL) {
        result = file->probe->ended(file->probe->owner, file->fd,
                                    transfer->op == SWAP_OUT, work->job.offset,
                                    result);
    }
    if (result > 0) {
        skip_bytes(transfer, (size_t)result);
        if (transfer->bytes_done < bytes) {
            submit_rest(file, work);
            return;
        }
    }
    if (result <= 0) {
        status = failure(file, transfer, result < 0 ? -result : EIO);
    } else if (transfer->op == SWAP_IN && !sums_are_right(file, transfer)) {
        status = failure(file, transfer, EBADMSG);
    }
    work_free(file, work);
    transfer_end(file, transfer, status);
}

static void punch_end(struct swap_file *file, struct work *work)
{
    int result = work->job.result;

    swap_slots_unhold(&file->slots, file->first_punching, file->n_punching,
                      result == 0);
    if (result == 0) {
        file->stats.bytes_punched += work->job.n_bytes;
    } else {
        file->can_punch = 0; // the file system cannot, or is failing
        errno = -result;
        log_debug("the swap file in %s does not shrink: %m", file->folder);
    }
    file->n_punching = 0;
    work_free(file, work);
}

void swap_work_collect(struct swap_file *file)
{
    struct swap_job *job;

    while ((job = file->engine->reap(file->engine_state)) != NULL) {
        struct work *work = (struct work *)job;

        file->n_jobs--;
        if (work->transfer == NULL) {
            punch_end(file, work);
        } else {
            transfer_go_on(file, work);
        }
    }
    pump(file);
}

void swap_work_start(struct swap_file *file, struct swap_transfer *transfer)
{
    make_parts(transfer);
    if (transfer->op == SWAP_OUT) {
        set_sums(file, transfer);
    } else if (!all_were_written(file, transfer)) {
        transfer_end(file, transfer, failure(file, transfer, ENODATA));
        swap_work_ring(file);
        return;
    }
    transfer->next = NULL;
    *file->queue.last = transfer;
    file->queue.last = &transfer->next;
    pump(file);
}

void swap_work_await(struct swap_file *file)
{
    swap_work_sleep(file->wake);
    swap_work_drain(file);
    swap_work_collect(file);
}

static unsigned regions_to_punch(const struct swap_file *file)
{
    const struct swap_slots *slots = &file->slots;
    uint64_t n_free = slots->limit - slots->n_used;
    uint64_t n = n_free / SWAP_REGION / 4; // leaves some to be reserved

    return n < MAX_PUNCH ? (unsigned)n : MAX_PUNCH;
}

void swap_work_shrink(struct swap_file *file)
{
    uint64_t n_stale = swap_slots_n_stale(&file->slots);
    unsigned most = regions_to_punch(file);
    struct work *work;

    if (n_stale > file->slots.n_used / SWAP_REGION + KEPT_REGIONS) {
        file->is_shrinking = 1;
    } else if (n_stale <= KEPT_REGIONS / 2) {
        file->is_shrinking = 0;
    }
    if (!file->is_shrinking || !file->can_punch || file->n_punching > 0 ||
        most == 0) {
        return;
    }
    work = work_new(file, NULL);
    if (work == NULL) {
        return;
    }
    file->n_punching =
        swap_slots_hold(&file->slots, most, &file->first_punching);
    work->job.kind = SWAP_PUNCH;
    work->job.offset = file->first_punching * TM_PAGE_SIZE;
    work->job.n_bytes = (uint64_t)file->n_punching * SWAP_REGION * TM_PAGE_SIZE;
    submit(file, work);
}

void swap_work_drain(const struct swap_file *file)
{
    uint64_t count;

    (void)!read(file->wake, &count, sizeof count); // EAGAIN: there was none
}

void swap_work_ring(const struct swap_file *file)
{
    const uint64_t one = 1;

    (void)!write(file->wake, &one, sizeof one);
}

void swap_work_sleep(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR) {
    }
}
