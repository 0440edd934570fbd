// SPDX-License-Identifier: BSD-3-Clause
//
// Faults by userfaultfd in SIGBUS mode: the thread that touches a page which is
// not mapped, or writes one that is write-protected, gets SIGBUS at once; there
// is no queue of faults and no thread that reads one.
//
//   absent    no entry in the page table, or a marker left of a protected page
//   readable  mapped, write-protected      CONTINUE in WP mode from absent,
//                                          WRITEPROTECT from writable
//   writable  mapped                       CONTINUE from absent,
//                                          WRITEPROTECT off from readable
//   absent again                           madvise(MADV_DONTNEED)
//
// The system calls are most of what a fault costs, so each page has a hint of
// its state here, and a call is made once for each run of equal hints.
//
// I1 A hint may claim more than the kernel allows, never less: the kernel may
//    unmap a page behind our back (swapping, a discarded page), nothing maps
//    one. An access then faults although the hint says it could not.
// I2 So a single page that is said to be in the wanted state already is mapped
//    again anyway; longer runs of such pages are left to their faults.
//
// UFFDIO_CONTINUE replaces markers, which matters because MADV_DONTNEED leaves
// one for every protected page. It stops at the first page that is mapped:
// "mapped" then tells how far it came.
//
// Needs Linux 6.4 (WP mode of CONTINUE); nothing tells of it but trying.
#include "os/fault_source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "os/descriptor.h"

#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP ((__u64)1 << 1)
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

enum {
    PAGE = 4096,
    MAX_AREAS = 16,
};

enum hint { HINT_ABSENT, HINT_READABLE, HINT_WRITABLE };

struct area {
    char *start;
    size_t size;
    uint8_t *hints; // [size / PAGE] of enum hint; zero pages until used
};

struct fault_watch {
    int fd;
    unsigned n_areas;
    struct area areas[MAX_AREAS];
};

// @return the descriptor, or -1 with the reason
static int open_descriptor(char *reason, size_t size)
{
    struct uffdio_api api = {
        .api = UFFD_API,
        .features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP |
                    UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
                    UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
    };
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

    if (fd < 0) {
        snprintf(reason, size, "userfaultfd() is refused: %m");
        return -1;
    }
    if (ioctl(fd, UFFDIO_API, &api) != 0) {
        snprintf(reason, size,
                 "userfaultfd of this kernel lacks what is needed; Linux 6.4 "
                 "has it");
        close(fd);
        return -1;
    }
    return fd;
}

static int register_range(int fd, char *start, size_t size)
{
    struct uffdio_register request = {
        .range = {.start = (uintptr_t)start, .len = size},
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR |
                UFFDIO_REGISTER_MODE_WP,
    };

    return ioctl(fd, UFFDIO_REGISTER, &request);
}

// Map one page of a memfd as the runtime will: register, CONTINUE in WP mode. Where there
// is no memory to try it with, it is left to open_watch() and its user to say so.
static int try_one_page(int fd)
{
    int memory = memfd_create("teamster-probe", MFD_CLOEXEC);
    char *view = MAP_FAILED;
    int works;

    if (memory >= 0 && ftruncate(memory, PAGE) == 0 &&
        pwrite(memory, "", 1, 0) == 1) {
        view = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    }
    if (view != MAP_FAILED) {
        struct uffdio_continue request = {
            .range = {.start = (uintptr_t)view, .len = PAGE},
            .mode = UFFDIO_CONTINUE_MODE_WP | UFFDIO_CONTINUE_MODE_DONTWAKE,
        };

        works = register_range(fd, view, PAGE) == 0 &&
                ioctl(fd, UFFDIO_CONTINUE, &request) == 0;
        munmap(view, PAGE);
    } else {
        works = errno == ENOMEM;
    }
    descriptor_close(memory);
    return works;
}

static int is_available(char *reason, size_t size)
{
    int fd = open_descriptor(reason, size);
    int works;

    if (fd < 0) {
        return 0;
    }
    works = try_one_page(fd);
    close(fd);
    if (size > 0) {
        reason[0] = '\0';
    }
    if (!works) {
        snprintf(reason, size,
                 "userfaultfd cannot map write-protected pages of a memfd; "
                 "Linux 6.4 can");
    }
    return works;
}

static tm_status open_watch(struct fault_watch **watch)
{
    char reason[160];
    struct fault_watch *made = calloc(1, sizeof *made);

    if (made == NULL) {
        log_error("no memory for the fault source");
        return TM_ENOMEM;
    }
    made->fd = open_descriptor(reason, sizeof reason);
    if (made->fd < 0) {
        log_error("cannot watch shared memory: %s", reason);
        free(made);
        return TM_ESYSTEM;
    }
    *watch = made;
    return TM_OK;
}

static tm_status watch_again(struct fault_watch *watch, char *start,
                             size_t size)
{
    if (register_range(watch->fd, start, size) != 0) {
        log_error("cannot watch %zu bytes at %p: %m", size, (void *)start);
        return TM_ESYSTEM;
    }
    // What was mapped before would stay accessible.
    if (madvise(start, size, MADV_DONTNEED) != 0 &&
        madvise(start, size, MADV_DONTNEED_LOCKED) != 0) {
        log_error("cannot unmap %zu bytes at %p: %m", size, (void *)start);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

static tm_status add(struct fault_watch *watch, char *start, size_t size)
{
    struct area *area = &watch->areas[watch->n_areas];
    tm_status status;
    void *hints;

    ensure(watch->n_areas < MAX_AREAS);
    hints = mmap(NULL, size / PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (hints == MAP_FAILED) {
        log_error("no memory to watch %zu bytes: %m", size);
        return TM_ENOMEM;
    }
    status = watch_again(watch, start, size);
    if (status != TM_OK) {
        munmap(hints, size / PAGE);
        return status;
    }
    *area = (struct area){.start = start, .size = size, .hints = hints};
    watch->n_areas++;
    return TM_OK;
}

static _Noreturn void give_up(const char *what, const char *page)
{
    if (errno == ENOMEM) {
        log_fatal(
            EXIT_MEMORY,
            "no memory to %s shared page %p: the kernel has none left for "
            "its tables, or vm.max_map_count is reached",
            what, (const void *)page);
    }
    log_fatal(EXIT_INTERNAL, "cannot %s shared page %p: %m", what,
              (const void *)page);
}

static void write_protect(struct fault_watch *watch, char *start, size_t size,
                          enum hint wanted)
{
    struct uffdio_writeprotect request = {
        .range = {.start = (uintptr_t)start, .len = size},
        .mode = wanted == HINT_READABLE ? UFFDIO_WRITEPROTECT_MODE_WP
                                        : UFFDIO_WRITEPROTECT_MODE_DONTWAKE,
    };

    while (ioctl(watch->fd, UFFDIO_WRITEPROTECT, &request) != 0) {
        if (errno != EAGAIN && errno != EINTR) {
            give_up("protect", start);
        }
    }
}

static void map_pages(struct fault_watch *watch, char *start, size_t size,
                      enum hint wanted)
{
    while (size > 0) {
        struct uffdio_continue request = {
            .range = {.start = (uintptr_t)start, .len = size},
            .mode = UFFDIO_CONTINUE_MODE_DONTWAKE |
                    (wanted == HINT_READABLE ? UFFDIO_CONTINUE_MODE_WP : 0),
        };
        size_t n_mapped = 0;

        if (ioctl(watch->fd, UFFDIO_CONTINUE, &request) == 0) {
            return;
        }
        if (request.mapped > 0) {
            n_mapped = (size_t)request.mapped;
        } else if (errno == EEXIST) {
            write_protect(watch, start, PAGE, wanted);
            n_mapped = PAGE;
        } else if (errno != EAGAIN && errno != EINTR) {
            ensure(errno != EFAULT && errno != ENOENT); // the page must exist
            give_up("map", start);
        }
        start += n_mapped;
        size -= n_mapped;
    }
}

static const struct area *find_area(const struct fault_watch *watch,
                                    const char *start, size_t size)
{
    for (unsigned i = 0; i < watch->n_areas; i++) {
        const struct area *area = &watch->areas[i];

        if (start >= area->start && start + size <= area->start + area->size) {
            return area;
        }
    }
    ensure(!"a range that is watched");
    return NULL;
}

static size_t run_length(const uint8_t *hints, size_t n_pages)
{
    size_t n = 1;

    while (n < n_pages && hints[n] == hints[0]) {
        n++;
    }
    return n;
}

static void allow(struct fault_watch *watch, char *start, size_t size,
                  enum hint wanted)
{
    const struct area *area = find_area(watch, start, size);
    uint8_t *hints = area->hints + (size_t)(start - area->start) / PAGE;
    size_t n_pages = size / PAGE;

    for (size_t at = 0; at < n_pages;) {
        size_t run = run_length(hints + at, n_pages - at);
        char *run_start = start + at * PAGE;

        if (hints[at] == HINT_ABSENT || (hints[at] == wanted && n_pages == 1)) {
            map_pages(watch, run_start, run * PAGE, wanted); // I2
        } else if (hints[at] != wanted) {
            write_protect(watch, run_start, run * PAGE, wanted);
        }
        memset(hints + at, wanted, run);
        at += run;
    }
}

static void allow_read(struct fault_watch *watch, char *start, size_t size)
{
    allow(watch, start, size, HINT_READABLE);
}

static void allow_write(struct fault_watch *watch, char *start, size_t size)
{
    allow(watch, start, size, HINT_WRITABLE);
}

static void unmap(char *start, size_t size)
{
    int advice = MADV_DONTNEED;

    while (madvise(start, size, advice) != 0) {
        if (errno == EINVAL && advice == MADV_DONTNEED) {
            advice = MADV_DONTNEED_LOCKED; // the program has called mlockall()
        } else if (errno != EAGAIN && errno != EINTR) {
            give_up("unmap", start);
        }
    }
}

static void deny(struct fault_watch *watch, char *start, size_t size)
{
    const struct area *area = find_area(watch, start, size);
    uint8_t *hints = area->hints + (size_t)(start - area->start) / PAGE;
    size_t first = 0;
    size_t end = size / PAGE;

    while (first < end && hints[first] == HINT_ABSENT) {
        first++;
    }
    while (end > first && hints[end - 1] == HINT_ABSENT) {
        end--;
    }
    if (first < end) {
        unmap(start + first * PAGE, (end - first) * PAGE);
        memset(hints + first, HINT_ABSENT, end - first);
    }
}

static void close_watch(struct fault_watch *watch)
{
    close(watch->fd);
    for (unsigned i = 0; i < watch->n_areas; i++) {
        munmap(watch->areas[i].hints, watch->areas[i].size / PAGE);
    }
    free(watch);
}

const struct fault_source fault_userfaultfd = {
    .name = "userfaultfd",
    .signal = SIGBUS,
    .brings_in = 1,
    .is_available = is_available,
    .open = open_watch,
    .add = add,
    .watch_again = watch_again,
    .allow_read = allow_read,
    .allow_write = allow_write,
    .deny = deny,
    .close = close_watch,
};
