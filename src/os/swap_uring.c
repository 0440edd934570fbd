// SPDX-License-Identifier: BSD-3-Clause
/*
 * A swap file's calls through io_uring. The kernel rings the eventfd when it has put
 * an answer into the ring.
 *
 * To put it there it interrupts the kernel thread that has submitted the call, and
 * ends what that waits for, as a signal does. So a thread of ours submits, which
 * waits for nothing else, and none of the program's: the side of the ring where calls
 * go in is that thread's, the side where answers come out the caller's.
 *
 * Where the kernel cannot do a call without waiting it lets threads of its own do
 * it. It may also give a call back unfinished (EINTR or EAGAIN): then it is submitted
 * again.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ensure.h"
#include "os/swap_engine.h"
#include "os/swap_file.h"

struct swap_engine_state {
    struct swap_thread thread;
    struct io_uring ring;
    int fd;
    _Atomic uint32_t n_prepared; ///< calls, since the start
};

/** fallocate() came last of what is used: Linux 5.6. */
static int probe(struct io_uring *ring)
{
    struct io_uring_probe *answer = io_uring_get_probe_ring(ring);
    int is_good = answer != NULL &&
                  io_uring_opcode_supported(answer, IORING_OP_READV) &&
                  io_uring_opcode_supported(answer, IORING_OP_WRITEV) &&
                  io_uring_opcode_supported(answer, IORING_OP_FALLOCATE);

    io_uring_free_probe(answer);
    return is_good ? 0 : ENOSYS;
}

static void prepare(struct io_uring_sqe *entry, int fd,
                    const struct swap_job *job)
{
    switch (job->kind) {
    case SWAP_READ:
        io_uring_prep_readv(entry, fd, job->parts, job->n_parts, job->offset);
        break;
    case SWAP_WRITE:
        io_uring_prep_writev(entry, fd, job->parts, job->n_parts, job->offset);
        break;
    case SWAP_PUNCH:
        io_uring_prep_fallocate(entry, fd,
                                FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                (off_t)job->offset, (off_t)job->n_bytes);
        break;
    }
}

static void submit(struct swap_engine_state *state, int n_jobs)
{
    while (n_jobs > 0) {
        int n = io_uring_submit(&state->ring);

        // The kernel is short of memory for a moment, or a signal came.
        ensure(n >= 0 || n == -EAGAIN || n == -EBUSY || n == -EINTR ||
               n == -ENOMEM);
        n_jobs -= n > 0 ? n : 0;
    }
}

static void serve(void *owner, struct swap_job *jobs)
{
    struct swap_engine_state *state = owner;
    int n_jobs = 0;

    while (jobs != NULL) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&state->ring);

        ensure(entry != NULL); // every entry is taken over at once
        prepare(entry, state->fd, jobs);
        io_uring_sqe_set_data(entry, jobs);
        jobs = jobs->next;
        n_jobs++;
    }
    // Pairs with the load in uring_reap(): the jobs have been read, and may change.
    atomic_fetch_add_explicit(&state->n_prepared, (uint32_t)n_jobs,
                              memory_order_release);
    submit(state, n_jobs);
}

static int uring_open(struct swap_engine_state **state, int fd, int wake)
{
    struct swap_engine_state *made = calloc(1, sizeof *made);
    int error;

    if (made == NULL) {
        return ENOMEM;
    }
    made->fd = fd;
    error = -io_uring_queue_init(SWAP_MAX_JOBS, &made->ring, 0);
    if (error != 0) {
        goto free_state;
    }
    error = probe(&made->ring);
    if (error == 0) {
        error = -io_uring_register_eventfd(&made->ring, wake);
    }
    if (error == 0) {
        error = -io_uring_ring_dontfork(&made->ring);
    }
    if (error == 0) {
        error = swap_thread_open(&made->thread, serve, made);
    }
    if (error != 0) {
        goto exit_ring;
    }
    *state = made;
    return 0;

exit_ring:
    io_uring_queue_exit(&made->ring);
free_state:
    free(made);
    return error;
}

static void uring_submit(struct swap_engine_state *state, struct swap_job *job)
{
    swap_thread_post(&state->thread, job);
}

static int is_unfinished(int result)
{
    return result == -EINTR || result == -EAGAIN;
}

static struct swap_job *uring_reap(struct swap_engine_state *state)
{
    struct io_uring_cqe *answer;

    while (io_uring_peek_cqe(&state->ring, &answer) == 0) {
        struct swap_job *job = io_uring_cqe_get_data(answer);

        // Pairs with the store in serve(), which has read the job before. There is an
        // answer only after that store, so it is that one, or a later one, that is seen.
        (void)atomic_load_explicit(&state->n_prepared, memory_order_acquire);
        job->result = answer->res;
        io_uring_cqe_seen(&state->ring, answer);
        if (!is_unfinished(job->result)) {
            return job;
        }
        uring_submit(state, job);
    }
    return NULL;
}

static void uring_close(struct swap_engine_state *state)
{
    swap_thread_close(&state->thread);
    io_uring_queue_exit(&state->ring);
    free(state);
}

int swap_uring_error(void)
{
    struct io_uring ring;
    const int error = -io_uring_queue_init(1, &ring, 0);

    if (error == 0) {
        io_uring_queue_exit(&ring);
    }
    return error;
}

const struct swap_engine swap_engine_io_uring = {
    .name = "io_uring",
    .open = uring_open,
    .submit = uring_submit,
    .reap = uring_reap,
    .close = uring_close,
};
