// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SWAP_FILE_H
#define OS_SWAP_FILE_H

#include <stdint.h>
#include <sys/uio.h>

#include "base/status.h"

/*
 * Where a node's pager puts pages that it has no memory for: a file without a
 * name, in slots of one page. Pages go in and out in transfers, several at a time,
 * past the kernel's cache if the file system lets them.
 *
 * The functions are for one caller at a time: whoever calls holds the lock that
 * guards the pager. It need not be the same kernel thread each time; what calls there
 * are of the system a kernel thread of the file's own begins, or does.
 */

/** Pages of the largest transfer: 256 KiB. */
#define SWAP_TRANSFER_MAX 64

struct swap_file;
struct swap_engine; ///< os/swap_engine.h
struct swap_engine_state;

/** What tests put between a file and its user; all functions have the owner as
 * their first argument, and are called by who calls the file's functions. */
struct swap_probe {
    void *owner;

    int io_uring_errno; ///< not 0: the reason why there is no io_uring

    // A read (is_out is 0) or write of bytes at an offset of the file, or a part
    // of it, has ended with a number of bytes or -errno. Returns what is to be
    // believed instead.
    int (*ended)(void *owner, int fd, int is_out, uint64_t offset, int result);
};

struct swap_settings {
    const char *folder; ///< must be there
    uint64_t limit;     ///< bytes that the file may have, 0: as it comes
    uint64_t rate;      ///< bytes per second, 0: as fast as the disk
    const char *engine; ///< "io_uring" or "thread"; NULL: the first that works;
                        ///< "at once": for tests, waits in swap_file_start()
    const struct swap_engine *own; ///< another one instead, whose open() finds
    struct swap_engine_state *own_state; ///< this in *state; NULL: none
    const struct swap_probe *probe; ///< NULL but in tests; lives as the file
};

enum swap_op { SWAP_IN, SWAP_OUT };

/** Some adjacent slots, and the pages that they are read to or written from. */
struct swap_transfer {
    // Set by the user, left as they are.
    enum swap_op op;
    unsigned n_pages; ///< 1 to SWAP_TRANSFER_MAX
    uint64_t slot;    ///< the first of n_pages, all reserved
    char *pages
        [SWAP_TRANSFER_MAX]; ///< each at a multiple of TM_PAGE_SIZE, anywhere
    void *owner;             ///< for the user

    // Called once, in swap_file_poll() or swap_file_wait(). The transfer is the
    // user's again: it may be freed or started anew. May reserve, release and
    // start; must not poll, wait or close. With a status:
    //
    // TM_OK       all pages are there
    // TM_ELIMIT   the disk or a quota is full, nothing is in the slots
    // TM_ESYSTEM  the disk failed. Out: nothing is in the slots. In: what is in
    //             the pages now is not what was written to the slots, or may not
    //             be
    void (*done)(struct swap_transfer *transfer, tm_status status);

    // Set by the swap file, clock_now_ns().
    uint64_t began_ns; ///< at swap_file_start()
    uint64_t ended_ns; ///< just before done()

    // Of the swap file.
    struct swap_transfer *next;
    uint64_t due_ns;
    tm_status status;
    unsigned is_under_way;
    unsigned bytes_done;
    unsigned first_part;
    unsigned n_parts;
    struct iovec parts[SWAP_TRANSFER_MAX];
};

/** Since the file was opened, but for what says otherwise. */
struct swap_stats {
    uint64_t slots_used;     ///< reserved now
    uint64_t slots_used_max; ///< most that ever were
    uint64_t file_bytes;     ///< the file's length now, holes included
    uint64_t bytes_punched;  ///< given back to the file system
    unsigned in_flight;      ///< transfers started and not done now
    uint64_t n_in;           ///< transfers done, failed ones too
    uint64_t n_out;
    uint64_t bytes_in; ///< of those that did not fail
    uint64_t bytes_out;
    uint64_t ns_in;   ///< sum of ended_ns - began_ns; more than the time that
    uint64_t ns_out;  ///< has passed if transfers overlap
    uint64_t ns_busy; ///< while at least one transfer was in flight
};

/**
 * Make a swap file. Nothing of it is left when the process ends, however that
 * happens.
 *
 * @param[out] file
 * @param settings  is copied, but for the probe
 * @return TM_OK
 * @return TM_ENOMEM
 * @return TM_EUNKNOWN  there is no such engine (logged)
 * @return TM_ESYSTEM   the folder takes no file, or the engine that was asked for
 *                      does not work here (logged)
 *
 * Context: any kernel thread; does system calls, starts a kernel thread if there
 * is no io_uring.
 */
TM_CHECKED tm_status swap_file_open(struct swap_file **file,
                                    const struct swap_settings *settings);

/** Transfers under way are waited for, their done() is not called. NULL is no
 * file. Context: any kernel thread, not in done(); blocks for the disk. */
void swap_file_close(struct swap_file *file);

/** @return 1: transfers go past the kernel's cache. 0: the file system does not do
 * that, so that the kernel keeps pages in memory too until it needs that. */
int swap_file_is_direct(const struct swap_file *file);

/** @return 1: the folder is in memory (tmpfs), to swap there saves none */
int swap_file_is_in_memory(const struct swap_file *file);

/** Would there be io_uring? @return 0, or the error number that the kernel gives */
int swap_uring_error(void);

/** @return "io_uring" or "thread"; static */
const char *swap_file_engine(const struct swap_file *file);

/**
 * Get adjacent slots. What was in them before is gone.
 *
 * @param n          1 to SWAP_TRANSFER_MAX
 * @param[out] slot  the first of them
 * @return how many: n; fewer if no n adjacent ones are easily found; 0 if all are
 *         used, slot untouched: the limit is reached, or the file system or lack of
 *         memory does not let the file grow (logged, once until it grows again).
 *         That is tried again every 100 ms at most.
 *
 * Context: does not wait for the disk; a system call now and then.
 */
unsigned swap_file_reserve(struct swap_file *file, unsigned n, uint64_t *slot);

/**
 * Give slots back; they may be any part of what was reserved, no transfer uses
 * them. If many are free, regions of the file are given back to the file system,
 * behind the caller's back.
 *
 * Context: does not wait for the disk.
 */
void swap_file_release(struct swap_file *file, uint64_t slot, unsigned n);

/** Wait until what is being given back to the file system has been. Context: not in
 * done(); blocks for the disk. */
void swap_file_finish_shrinking(struct swap_file *file);

/**
 * Start a transfer. It is the file's until done() is called. So are the pages: those
 * that are written must not change, those that are read have no contents. Slots are
 * in one transfer at a time; one that is read was written before.
 *
 * Transfers run and end in any order, but for the order that a rate imposes.
 *
 * Context: does not wait for the disk; a system call.
 */
void swap_file_start(struct swap_file *file, struct swap_transfer *transfer);

/**
 * Call done() of the transfers that have ended.
 *
 * @return how many
 *
 * Context: does not block; a system call. Without a transfer in flight (see
 * swap_file_in_flight()) there is nothing to poll.
 */
unsigned swap_file_poll(struct swap_file *file);

/** @return transfers started and not yet done. Context: as cheap as it looks. */
unsigned swap_file_in_flight(const struct swap_file *file);

/**
 * Wait for a transfer that is in flight. done() of others may be called as well.
 *
 * Context: any kernel thread, not in done(); blocks until the disk has done it, or
 * until the rate lets it end. A disk that never answers is waited for for ever.
 */
void swap_file_wait(struct swap_file *file,
                    const struct swap_transfer *transfer);

/** @return a descriptor for epoll and poll: readable if there is something to
 * poll. Lives as long as the file. May be readable without cause; swap_file_poll()
 * makes it unreadable. */
int swap_file_fd(const struct swap_file *file);

/** Read all counters. Context: does not block. */
void swap_file_stats(const struct swap_file *file, struct swap_stats *stats);

/** Check the book-keeping: time proportional to the size of the file. */
int swap_file_is_valid(const struct swap_file *file);

#endif
