// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "os/descriptor.h"
#include "os/swap_file_priv.h"
#include "os/unnamed_file.h"

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
    file->queue.last = &file->queue.first;
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
    swap_slots_init(&made->slots, n_slots, swap_file_may_grow, made);
    status = open_unnamed(made);
    if (status == TM_OK) {
        status = open_wake(made);
    }
    if (status == TM_OK) {
        status = open_engine(made, settings->engine);
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
    file->queue = (struct transfer_list){.last = &file->queue.first};
    while (file->n_jobs > 0) {
        swap_work_await(file);
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
