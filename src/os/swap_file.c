// SPDX-License-Identifier: BSD-3-Clause
/*
 * The swap file of a node.
 *
 * A transfer is started; it waits in a queue if the engine (os/swap_engine.h) has
 * its fill of jobs; the engine does it, in several jobs if one comes back short; it
 * waits in the list of ended ones until the rate lets it end; done() is called.
 *
 *     swap_file_start() -> queued -> submitted -> ended -> done()
 *                         pump()       collect()  deliver()
 *
 * Whoever polls learns of it by one descriptor. Without a rate it is the eventfd that
 * the engine writes to; with one it is an epoll of that and of a timer.
 *
 * Opening is in swap_open.c, the way to the disk and back in swap_work.c.
 *
 * I1  A transfer is in the queue, has a job, or is in the list of ended ones, if and
 *     only if it is under way; in_flight counts them.
 * I2  sums[i] is 0 for slots without contents that can be relied on: not written
 *     since they were reserved, or the write failed.
 * I3  The file is at least as long as the slots that there are, so that no write has
 *     to make it longer.
 */
#include "os/swap_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ensure.h"
#include "base/log.h"
#include "os/swap_file_priv.h"

/** A file that could not grow is not tried to be made longer before that: until
 * then there are the slots that it has. */
#define RETRY_NS UINT64_C(100000000)

static void note_done(struct swap_file *file,
                      const struct swap_transfer *transfer)
{
    struct swap_stats *stats = &file->stats;
    uint64_t bytes =
        transfer->status == TM_OK ? transfer->n_pages * TM_PAGE_SIZE : 0;
    uint64_t ns = transfer->ended_ns - transfer->began_ns;

    if (transfer->op == SWAP_OUT) {
        stats->n_out++;
        stats->bytes_out += bytes;
        stats->ns_out += ns;
    } else {
        stats->n_in++;
        stats->bytes_in += bytes;
        stats->ns_in += ns;
    }
    stats->in_flight--;
    if (stats->in_flight == 0) {
        stats->ns_busy += transfer->ended_ns - file->busy_since_ns;
    }
}

static unsigned deliver(struct swap_file *file)
{
    unsigned n = 0;

    file->is_delivering = 1;
    while (file->ended != NULL) {
        struct swap_transfer *transfer = file->ended;
        uint64_t now = clock_now_ns();

        if (transfer->due_ns > now) {
            break;
        }
        file->ended = transfer->next;
        transfer->is_under_way = 0;
        transfer->ended_ns = now;
        note_done(file, transfer);
        if (file->awaited == transfer) {
            file->awaited = NULL;
        }
        transfer->done(transfer, transfer->status);
        n++;
    }
    file->is_delivering = 0;
    return n;
}

/** Also makes a timer that has run down unreadable. */
static void set_timer(const struct swap_file *file)
{
    uint64_t due = file->ended != NULL ? file->ended->due_ns : 0;
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(due / 1000000000u),
                     .tv_nsec = (long)(due % 1000000000u)}};

    if (file->timer >= 0) {
        timerfd_settime(file->timer, TFD_TIMER_ABSTIME, &when, NULL);
    }
}

void swap_file_finish_shrinking(struct swap_file *file)
{
    if (file->n_punching == 0) {
        return;
    }
    while (file->n_punching > 0) {
        swap_work_await(file);
    }
    swap_work_ring(file); // for what has ended besides
}

/** I3. @return 1, or 0 and errno */
static int make_longer(struct swap_file *file, uint64_t n_slots)
{
    if (n_slots * TM_PAGE_SIZE > file->length) {
        if (ftruncate(file->fd, (off_t)(n_slots * TM_PAGE_SIZE)) != 0) {
            return 0;
        }
        file->length = n_slots * TM_PAGE_SIZE;
    }
    return 1;
}

/** @return 1, or 0 and errno */
static int make_sums(struct swap_file *file, uint64_t n_slots)
{
    uint64_t room = file->n_sums > 0 ? file->n_sums : 1024;
    uint32_t *sums;

    if (n_slots <= file->n_sums) {
        return 1;
    }
    while (room < n_slots) {
        room *= 2;
    }
    sums = realloc(file->sums, room * sizeof *sums);
    if (sums == NULL) {
        return 0;
    }
    memset(sums + file->n_sums, 0, (room - file->n_sums) * sizeof *sums);
    file->sums = sums;
    file->n_sums = room;
    return 1;
}

int swap_file_may_grow(void *owner, uint64_t n_slots)
{
    struct swap_file *file = owner;

    if (file->refused_ns != 0 && clock_now_ns() - file->refused_ns < RETRY_NS) {
        return 0;
    }
    if (make_longer(file, n_slots) && make_sums(file, n_slots)) {
        file->refused_ns = 0;
        return 1;
    }
    if (file->refused_ns == 0) {
        log_error("the swap file in %s cannot grow to %llu KiB: %m",
                  file->folder,
                  (unsigned long long)(n_slots * TM_PAGE_SIZE >> 10));
    }
    file->refused_ns = clock_now_ns();
    return 0;
}

unsigned swap_file_reserve(struct swap_file *file, unsigned n, uint64_t *slot)
{
    uint64_t first;
    unsigned got = swap_slots_reserve(&file->slots, n, &first);

    if (got == 0 && file->n_punching > 0) {
        swap_file_finish_shrinking(file);
        got = swap_slots_reserve(&file->slots, n, &first);
    }
    if (got > 0) {
        *slot = first;
    }
    return got;
}

void swap_file_release(struct swap_file *file, uint64_t slot, unsigned n)
{
    swap_slots_free(&file->slots, slot, n);
    swap_work_forget(file, slot, n);
    swap_work_shrink(file);
}

static void set_due(struct swap_file *file, struct swap_transfer *transfer)
{
    uint64_t bytes = (uint64_t)transfer->n_pages * TM_PAGE_SIZE;

    transfer->due_ns = 0;
    if (file->rate > 0) {
        if (file->rate_ns < transfer->began_ns) {
            file->rate_ns = transfer->began_ns;
        }
        file->rate_ns += bytes * 1000000000u / file->rate;
        transfer->due_ns = file->rate_ns;
    }
}

void swap_file_start(struct swap_file *file, struct swap_transfer *transfer)
{
    ensure(transfer->n_pages > 0 && transfer->n_pages <= SWAP_TRANSFER_MAX &&
           transfer->slot + transfer->n_pages <= file->slots.n_slots);
    transfer->is_under_way = 1;
    transfer->began_ns = clock_now_ns();
    if (file->stats.in_flight++ == 0) {
        file->busy_since_ns = transfer->began_ns;
    }
    set_due(file, transfer);
    swap_work_start(file, transfer);
}

unsigned swap_file_poll(struct swap_file *file)
{
    unsigned n;

    ensure(!file->is_delivering);
    swap_work_drain(file);
    swap_work_collect(file);
    n = deliver(file);
    swap_work_shrink(file);
    set_timer(file);
    return n;
}

void swap_file_wait(struct swap_file *file,
                    const struct swap_transfer *transfer)
{
    ensure(transfer->is_under_way);
    file->awaited = transfer;
    swap_file_poll(file);
    while (file->awaited != NULL) {
        swap_work_sleep(swap_file_fd(file));
        swap_file_poll(file);
    }
}

int swap_file_is_direct(const struct swap_file *file)
{
    return file->is_direct;
}

int swap_file_is_in_memory(const struct swap_file *file)
{
    return file->is_in_memory;
}

const char *swap_file_engine(const struct swap_file *file)
{
    return file->engine->name;
}

unsigned swap_file_in_flight(const struct swap_file *file)
{
    return file->stats.in_flight;
}

int swap_file_fd(const struct swap_file *file)
{
    return file->watch >= 0 ? file->watch : file->wake;
}

void swap_file_stats(const struct swap_file *file, struct swap_stats *stats)
{
    *stats = file->stats;
    stats->slots_used = file->slots.n_used;
    stats->slots_used_max = file->slots.n_used_max;
    stats->file_bytes = file->length;
    if (stats->in_flight > 0) {
        stats->ns_busy += clock_now_ns() - file->busy_since_ns;
    }
}

int swap_file_is_valid(const struct swap_file *file)
{
    unsigned n_free = 0;
    unsigned n_waiting = 0;

    for (const struct work *work = file->free_works; work != NULL;
         work = work->next_free) {
        n_free++;
    }
    for (const struct swap_transfer *transfer = file->queue.first;
         transfer != NULL; transfer = transfer->next) {
        n_waiting++;
    }
    for (const struct swap_transfer *transfer = file->ended; transfer != NULL;
         transfer = transfer->next) {
        n_waiting++;
    }
    return swap_slots_is_valid(&file->slots) &&
           n_free + file->n_jobs == SWAP_MAX_JOBS &&
           n_waiting + file->n_jobs - (file->n_punching > 0) ==
               file->stats.in_flight &&
           file->n_sums >= file->slots.n_slots &&
           file->length >= file->slots.n_slots * TM_PAGE_SIZE &&
           (file->n_punching == 0) == (file->slots.n_held == 0);
}
