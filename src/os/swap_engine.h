// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_SWAP_ENGINE_H
#define OS_SWAP_ENGINE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/mutex.h"
#include "base/status.h"
#include "os/kthread.h"

/*
 * How system calls on a swap file are done without waiting for them. Inside of
 * os/swap_*.c, but for a simulated disk (simulate/disk.c). All functions are
 * called by one caller at a time, on any kernel thread.
 */

enum swap_job_kind { SWAP_READ, SWAP_WRITE, SWAP_PUNCH };

/** One call. Belongs to the engine from submit() to reap(), as do its parts. */
struct swap_job {
    enum swap_job_kind kind;
    unsigned n_parts;
    const struct iovec *parts; ///< [n_parts] for SWAP_READ and SWAP_WRITE
    uint64_t offset;
    uint64_t n_bytes;      ///< for SWAP_PUNCH
    int result;            ///< once reaped: bytes, 0 for SWAP_PUNCH, or -errno
    struct swap_job *next; ///< of the engine
};

/** Jobs that an engine can have at a time. */
#define SWAP_MAX_JOBS 64

struct swap_engine_state;

struct swap_engine {
    const char *name; ///< as swap_file_engine() says

    // Begin to serve a file; wake is an eventfd to write to whenever a job has
    // ended. Returns 0 or the errno for which it cannot; logs nothing.
    int (*open)(struct swap_engine_state **state, int fd, int wake);

    // Start a job; at most SWAP_MAX_JOBS at a time. Does not block.
    void (*submit)(struct swap_engine_state *state, struct swap_job *job);

    // Returns a job that has ended, NULL if there is none. Does not block.
    struct swap_job *(*reap)(struct swap_engine_state *state);

    // Frees what open() made; no job is under way.
    void (*close)(struct swap_engine_state *state);

    // Somebody waits for a job: have one end, now. NULL: they do by themselves.
    void (*hurry)(struct swap_engine_state *state);
};

extern const struct swap_engine swap_engine_io_uring;
extern const struct swap_engine swap_engine_thread;
extern const struct swap_engine swap_engine_at_once;

/** Do a job's call now. @return bytes, or -errno */
int swap_job_call(int fd, const struct swap_job *job);

/*
 * The kernel thread of an engine, tm-swap: jobs are handed to it in the order in
 * which they come. With the engine "thread" it does their calls itself.
 */

struct swap_job_list {
    struct swap_job *first;
    struct swap_job *last;
};

struct swap_thread {
    // What the thread does with some jobs that have been posted, linked by `next`.
    void (*serve)(void *owner, struct swap_job *jobs);
    void *owner;
    pthread_t thread;
    _Atomic uint32_t posted; ///< counts what it is to notice; it sleeps on it

    // Guarded by the mutex.
    struct mutex mutex;
    struct swap_job_list todo;
    int is_closing;
};

/** Start it. @return 0 or the errno for which that fails */
int swap_thread_open(struct swap_thread *thread,
                     void (*serve)(void *owner, struct swap_job *jobs),
                     void *owner);

/** Hand a job over. Context: any kernel thread; does not block. */
void swap_thread_post(struct swap_thread *thread, struct swap_job *job);

/** End it, after what has been posted. */
void swap_thread_close(struct swap_thread *thread);

#endif
