// SPDX-License-Identifier: BSD-3-Clause
// A descriptor of a process becomes readable when it ends, whoever its parent is and
// whatever ends it; and unlike its number it is never another process's.
#include "os/death_watch.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

struct death_watch {
    int epoll;
};

tm_status death_watch_open(struct death_watch **watch)
{
    struct death_watch *made = malloc(sizeof *made);

    if (made == NULL) {
        return TM_ENOMEM;
    }
    made->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (made->epoll < 0) {
        log_error("cannot watch processes: %m");
        free(made);
        return TM_ESYSTEM;
    }
    *watch = made;
    return TM_OK;
}

// The descriptors of processes stay open: as many as were added, until the end.
void death_watch_close(struct death_watch *watch)
{
    if (watch != NULL) {
        close(watch->epoll);
        free(watch);
    }
}

tm_status death_watch_add(struct death_watch *watch, pid_t pid, unsigned label)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0); // close-on-exec
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLONESHOT,
        .data = {.u64 = (uint64_t)label << 32 | (uint32_t)fd},
    };

    if (fd < 0) {
        return TM_ESYSTEM;
    }
    if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

int death_watch_fd(const struct death_watch *watch)
{
    return watch->epoll;
}

int death_watch_next(struct death_watch *watch, unsigned *label)
{
    struct epoll_event event;

    if (epoll_wait(watch->epoll, &event, 1, 0) != 1) {
        return 0;
    }
    close((int)(uint32_t)event.data.u64); // takes it out of the set
    *label = (unsigned)(event.data.u64 >> 32);
    return 1;
}
