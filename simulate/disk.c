// SPDX-License-Identifier: BSD-3-Clause
//
// Calls end in the order in which they were submitted. Each is done at once, and told when
// its time has come; one that somebody waits for is told at once, with all before it.
#include "simulate/disk.h"

#include <errno.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "os/swap_engine.h"

/** Where the bytes are: in memory. */
#define DISK_FOLDER "/dev/shm"

struct swap_engine_state {
    struct disk *disk;
};

struct disk {
    struct swap_engine_state state;
    struct events *events;
    struct disk_speed speed;
    event_fn *ended;
    void *owner;
    int fd;
    int wake;
    struct swap_job_list under_way; ///< in order
    struct swap_job_list over;      ///< not yet reaped
    unsigned n_early;               ///< ends to come of calls that were hurried
    uint64_t free_ns;               ///< when it has done all
    uint64_t next_offset;
    uint64_t busy_ns;
    uint64_t n_hurried;
};

static int open_disk(struct swap_engine_state **state, int fd, int wake)
{
    struct disk *disk = (*state)->disk;

    disk->fd = fd;
    disk->wake = wake;
    return 0;
}

static void close_disk(struct swap_engine_state *state)
{
    (void)state; // disk_free() does it
}

static uint64_t bytes_of(const struct swap_job *job)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < job->n_parts && job->kind != SWAP_PUNCH; i++) {
        n += job->parts[i].iov_len;
    }
    return n;
}

// A simulated disk is never full: going on would make the result this machine's.
static void end_without_room(int error)
{
    errno = error;
    log_fatal(EXIT_MEMORY,
              "%s has no room for what simulated nodes have paged out: %m; "
              "free some, or simulate more memory or fewer pages",
              DISK_FOLDER);
}

static int is_room_short(int error)
{
    return error == ENOSPC || error == EDQUOT || error == ENOMEM;
}

// The time that a call takes, and where the disk is then.
static uint64_t cost_ns(struct disk *disk, const struct swap_job *job)
{
    const uint64_t n_bytes = bytes_of(job);
    double seconds = (double)n_bytes / disk->speed.bytes_per_s;

    if (job->kind == SWAP_PUNCH) {
        return 0;
    }
    seconds += job->offset == disk->next_offset ? 0 : disk->speed.seek_s;
    disk->next_offset = job->offset + n_bytes;
    return (uint64_t)(seconds * 1e9);
}

static void end_first(struct disk *disk)
{
    const uint64_t one = 1;
    struct swap_job *job = disk->under_way.first;

    disk->under_way.first = job->next;
    list_append(&disk->over, job);
    (void)!write(disk->wake, &one, sizeof one); // fails only if it is readable
}

static void end_by_time(void *owner, uint64_t argument)
{
    struct disk *disk = owner;

    if (disk->n_early > 0) {
        disk->n_early--; // it was hurried
        return;
    }
    end_first(disk);
    disk->ended(disk->owner, argument);
}

static void submit(struct swap_engine_state *state, struct swap_job *job)
{
    struct disk *disk = state->disk;
    const uint64_t now_ns = disk->events->now_ns;
    const uint64_t takes_ns = cost_ns(disk, job);

    job->result = swap_job_call(disk->fd, job);
    if (job->kind == SWAP_WRITE && job->result < 0 &&
        is_room_short(-job->result)) {
        end_without_room(-job->result);
    }
    list_append(&disk->under_way, job);
    disk->free_ns =
        (disk->free_ns > now_ns ? disk->free_ns : now_ns) + takes_ns;
    disk->busy_ns += takes_ns;
    events_at(disk->events, disk->free_ns, end_by_time, disk, 0);
}

static struct swap_job *reap(struct swap_engine_state *state)
{
    struct swap_job *job = state->disk->over.first;

    if (job != NULL) {
        state->disk->over.first = job->next;
    }
    return job;
}

static void hurry(struct swap_engine_state *state)
{
    struct disk *disk = state->disk;

    if (disk->under_way.first != NULL) {
        disk->n_early++;
        disk->n_hurried++;
        end_first(disk);
    }
}

static const struct swap_engine engine = {
    .name = "simulated",
    .open = open_disk,
    .submit = submit,
    .reap = reap,
    .close = close_disk,
    .hurry = hurry,
};

struct disk *disk_new(struct events *events, const struct disk_speed *speed,
                      event_fn *ended, void *owner)
{
    struct disk *disk = memory_new(1, sizeof *disk);

    disk->state.disk = disk;
    disk->events = events;
    disk->speed = *speed;
    disk->ended = ended;
    disk->owner = owner;
    disk->next_offset = UINT64_MAX;
    return disk;
}

void disk_free(struct disk *disk)
{
    free(disk);
}

void disk_set(struct disk *disk, struct swap_settings *settings)
{
    settings->folder = DISK_FOLDER;
    settings->own = &engine;
    settings->own_state = &disk->state;
}

uint64_t disk_busy_ns(const struct disk *disk)
{
    return disk->busy_ns;
}

uint64_t disk_n_hurried(const struct disk *disk)
{
    return disk->n_hurried;
}
