// SPDX-License-Identifier: BSD-3-Clause
/*
 * The swap file of a node.
 *
 * A transfer is started; it waits in a queue if the engine (os/swap_engine.h) has
 * its fill of jobs; the engine does it, in several jobs if one comes back short; it
 * waits in the list of ended ones until the rate lets it end; done() is called.
 *
 *     swap_file_start() -> queued -> submitted -> ended -> done()
 *                         pump()    collect_jobs()  deliver()
 *
 * Whoever polls learns of it by one descriptor. Without a rate it is the eventfd that
 * the engine writes to; with one it is an epoll of that and of a timer.
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
 * I1  A transfer is in the queue, has a job, or is in the list of ended ones, if and
 *     only if it is under way; in_flight counts them.
 * I2  sums[i] is 0 for slots without contents that can be relied on: not written
 *     since they were reserved, or the write failed.
 * I3  The file is at least as long as the slots that there are, so that no write has
 *     to make it longer.
 */
#include "os/swap_file.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/ensure.h"
#include "base/list.h"
#include "base/log.h"
#include "os/descriptor.h"
#include "os/swap_engine.h"
#include "os/swap_slots.h"
#include "os/unnamed_file.h"

/** A file that could not grow is not tried to be made longer before that: until
 * then there are the slots that it has. */
#define RETRY_NS UINT64_C(100000000)

/** Stale regions, besides as many as are in use, that start giving back: 16 MiB.
 * It stops at half of them. */
#define KEPT_REGIONS 64

/** Most regions to give back at once: 64 MiB. */
#define MAX_PUNCH 256

struct transfer_list {
    struct swap_transfer *first;
    struct swap_transfer *last;
};

/** A job, and whose it is. */
struct work {
    struct swap_job job; // first: a job is found in its work by a cast
    struct swap_transfer *transfer; ///< NULL: regions are given back
    struct work *next_free;
};

struct swap_file {
    int fd;
    int is_direct;
    int is_in_memory;
    char *folder;
    uint64_t rate;
    const struct swap_probe *probe;
    const struct swap_engine *engine;
    struct swap_engine_state *engine_state;

    int wake;  ///< eventfd that the engine writes to
    int timer; ///< -1 without a rate
    int watch; ///< epoll of both, -1 without a rate

    struct swap_slots slots;
    uint32_t *sums;      ///< [n_sums]
    uint64_t n_sums;     ///< at least slots.n_slots
    uint64_t length;     ///< of the file, bytes
    uint64_t refused_ns; ///< when it last could not grow; 0: it could

    struct work works[SWAP_MAX_JOBS];
    struct work *free_works;
    unsigned n_jobs; ///< submitted, not reaped

    struct transfer_list queue;
    struct swap_transfer *ended; ///< by due_ns
    uint64_t rate_ns;            ///< when the last one started may end
    const struct swap_transfer *awaited;
    int is_delivering;

    int can_punch;
    int is_shrinking;
    unsigned n_punching; ///< regions
    uint64_t first_punching;

    uint64_t busy_since_ns;
    struct swap_stats stats;
    int logged_errno[2]; ///< [swap_op] the last one that was told
};

// ---- the eventfd

/** Make it readable, and unreadable. */
static void ring_wake(const struct swap_file *file)
{
    const uint64_t one = 1;

    (void)!write(file->wake, &one, sizeof one);
}

static void drain_wake(const struct swap_file *file)
{
    uint64_t count;

    (void)!read(file->wake, &count, sizeof count); // EAGAIN: there was none
}

/** Block until a descriptor is readable. */
static void sleep_on(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR) {
    }
}

// ---- jobs

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

static void forget_sums(struct swap_file *file, uint64_t slot, unsigned n)
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
        forget_sums(file, transfer->slot, transfer->n_pages);
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

static void collect_jobs(struct swap_file *file)
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

/** Let jobs of a transfer be submitted, now or when there is room. */
static void start_work(struct swap_file *file, struct swap_transfer *transfer)
{
    make_parts(transfer);
    if (transfer->op == SWAP_OUT) {
        set_sums(file, transfer);
    } else if (!all_were_written(file, transfer)) {
        transfer_end(file, transfer, failure(file, transfer, ENODATA));
        ring_wake(file);
        return;
    }
    list_append(&file->queue, transfer);
    pump(file);
}

/** Sleep until a descriptor says that a job may have ended. */
static void sleep_for_job(const struct swap_file *file, int fd)
{
    if (file->engine->hurry != NULL) {
        file->engine->hurry(file->engine_state);
    }
    sleep_on(fd);
}

/** Wait until a job may have ended. Context: blocks for the disk. */
static void await_job(struct swap_file *file)
{
    sleep_for_job(file, file->wake);
    drain_wake(file);
    collect_jobs(file);
}

// ---- the size of the file

static unsigned regions_to_punch(const struct swap_file *file)
{
    const struct swap_slots *slots = &file->slots;
    uint64_t n_free = slots->limit - slots->n_used;
    uint64_t n = n_free / SWAP_REGION / 4; // leaves some to be reserved

    return n < MAX_PUNCH ? (unsigned)n : MAX_PUNCH;
}

/** Give regions back if there are many. */
static void shrink_file(struct swap_file *file)
{
    uint64_t n_stale = file->slots.n_stale;
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

/** For struct swap_slots: let there be as many slots. @param owner  the file */
static int may_grow(void *owner, uint64_t n_slots)
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

// ---- opening and closing

static uint64_t slots_allowed(const struct swap_settings *settings)
{
    uint64_t bytes = settings->limit > 0 ? settings->limit : UINT64_MAX;
    struct rlimit limit;

    // A write beyond that limit would raise SIGXFSZ.
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
        bytes = limit.rlim_cur;
    }
    return (bytes < INT64_MAX ? bytes : INT64_MAX) / TM_PAGE_SIZE;
}

static tm_status open_unnamed(struct swap_file *file)
{
    void *page;

    file->fd = unnamed_file_open(file->folder);
    if (file->fd < 0) {
        log_error("cannot make a swap file in %s: %m", file->folder);
        return TM_ESYSTEM;
    }
    file->is_in_memory = unnamed_file_is_in_memory(file->fd);
    page = aligned_alloc(TM_PAGE_SIZE, TM_PAGE_SIZE);
    if (page == NULL) {
        return TM_ENOMEM;
    }
    memset(page, 0, TM_PAGE_SIZE);
    file->is_direct =
        !file->is_in_memory && unnamed_file_go_direct(file->fd, page);
    free(page);
    return TM_OK;
}

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static tm_status open_wake(struct swap_file *file)
{
    file->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (file->wake < 0) {
        goto failed;
    }
    if (file->rate > 0) {
        file->timer =
            timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        file->watch = epoll_create1(EPOLL_CLOEXEC);
        if (file->watch < 0 || !watch(file->watch, file->wake) ||
            !watch(file->watch, file->timer)) {
            goto failed;
        }
    }
    return TM_OK;

failed:
    log_error("cannot watch a swap file: %m");
    return TM_ESYSTEM;
}

static int try_engine(struct swap_file *file, const struct swap_engine *engine)
{
    int error = 0;

    if (engine == &swap_engine_io_uring && file->probe != NULL) {
        error = file->probe->io_uring_errno;
    }
    if (error == 0) {
        error = engine->open(&file->engine_state, file->fd, file->wake);
    }
    if (error == 0) {
        file->engine = engine;
    }
    return error;
}

// One that the caller brings along.
static tm_status open_own(struct swap_file *file,
                          const struct swap_settings *settings)
{
    file->engine_state = settings->own_state;
    return try_engine(file, settings->own) == 0 ? TM_OK : TM_ESYSTEM;
}

static tm_status open_engine(struct swap_file *file, const char *wanted)
{
    const struct swap_engine *const engines[] = {
        &swap_engine_io_uring, &swap_engine_thread, &swap_engine_at_once};
    tm_status status = TM_EUNKNOWN;

    for (unsigned i = 0; i < 3 && file->engine == NULL; i++) {
        if (wanted == NULL || strcmp(wanted, engines[i]->name) == 0) {
            errno = try_engine(file, engines[i]);
            status = TM_ESYSTEM;
            if (errno != 0 && wanted == NULL) {
                log_debug("swap file: no %s: %m", engines[i]->name);
            }
        }
    }
    if (file->engine != NULL) {
        return TM_OK;
    }
    if (status == TM_EUNKNOWN) {
        log_error("swap file: there is no engine %s", wanted);
    } else {
        log_error("swap file: cannot use %s: %m",
                  wanted != NULL ? wanted : "io_uring nor a thread");
    }
    return status;
}

static struct swap_file *file_new(const struct swap_settings *settings)
{
    struct swap_file *file = calloc(1, sizeof *file);

    if (file == NULL) {
        return NULL;
    }
    file->fd = file->wake = file->timer = file->watch = -1;
    file->rate = settings->rate;
    file->probe = settings->probe;
    file->can_punch = 1;
    for (unsigned i = 0; i < SWAP_MAX_JOBS; i++) {
        file->works[i].next_free = file->free_works;
        file->free_works = &file->works[i];
    }
    file->folder = strdup(settings->folder);
    if (file->folder == NULL) {
        free(file);
        return NULL;
    }
    return file;
}

tm_status swap_file_open(struct swap_file **file,
                         const struct swap_settings *settings)
{
    uint64_t n_slots = slots_allowed(settings);
    struct swap_file *made;
    tm_status status;

    if (n_slots == 0) {
        log_error("a swap file in %s: its limit is less than a page",
                  settings->folder);
        return TM_ESYSTEM;
    }
    made = file_new(settings);
    if (made == NULL) {
        return TM_ENOMEM;
    }
    swap_slots_init(&made->slots, n_slots, may_grow, made);
    status = open_unnamed(made);
    if (status == TM_OK) {
        status = open_wake(made);
    }
    if (status == TM_OK) {
        status = settings->own != NULL ? open_own(made, settings)
                                       : open_engine(made, settings->engine);
    }
    if (status != TM_OK) {
        swap_file_close(made);
        return status;
    }
    *file = made;
    return TM_OK;
}

void swap_file_close(struct swap_file *file)
{
    if (file == NULL) {
        return;
    }
    ensure(!file->is_delivering);
    file->queue.first = NULL;
    while (file->n_jobs > 0) {
        await_job(file);
    }
    if (file->engine != NULL) {
        file->engine->close(file->engine_state);
    }
    descriptor_close(file->watch);
    descriptor_close(file->timer);
    descriptor_close(file->wake);
    descriptor_close(file->fd);
    swap_slots_release(&file->slots);
    free(file->sums);
    free(file->folder);
    free(file);
}

// ---- transfers

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

void swap_file_finish_shrinking(struct swap_file *file)
{
    if (file->n_punching == 0) {
        return;
    }
    while (file->n_punching > 0) {
        await_job(file);
    }
    ring_wake(file); // for what has ended besides
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
    forget_sums(file, slot, n);
    shrink_file(file);
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
    start_work(file, transfer);
}

unsigned swap_file_poll(struct swap_file *file)
{
    unsigned n;

    ensure(!file->is_delivering);
    drain_wake(file);
    collect_jobs(file);
    n = deliver(file);
    shrink_file(file);
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
        sleep_for_job(file, swap_file_fd(file));
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
