// SPDX-License-Identifier: BSD-3-Clause
// The views are kept out of children made by fork(): a child would otherwise
// share this node's pages without being watched (docs/failures.md, row 20). They are
// kept out of core files, too: the kernel would make each page of them, gigabytes
// that nobody has used, to write it. memfd_keep_in_core() names what is worth it.
#include "os/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ensure.h"
#include "base/log.h"
#include "os/descriptor.h"
#include "os/image.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static unsigned long long limit_of(int resource)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0) {
        return 0;
    }
    return limit.rlim_cur == RLIM_INFINITY ? ~0ull : limit.rlim_cur;
}

// ftruncate() above RLIMIT_FSIZE would raise SIGXFSZ, so ask first.
static tm_status set_size(int fd, size_t size)
{
    if (size > limit_of(RLIMIT_FSIZE)) {
        log_error("cannot make %zu bytes of shared memory: files are limited "
                  "to %llu bytes (ulimit -f)",
                  size, limit_of(RLIMIT_FSIZE));
        return TM_ENOMEM;
    }
    if (ftruncate(fd, (off_t)size) != 0) {
        log_error("cannot make %zu bytes of shared memory: %m", size);
        return TM_ENOMEM;
    }
    return TM_OK;
}

static tm_status map_runtime_view(struct memfd *memfd)
{
    void *view = mmap(NULL, memfd->size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, memfd->fd, 0);

    if (view == MAP_FAILED) {
        log_error("cannot map %zu bytes of shared memory: %m (limit of the "
                  "address space, ulimit -v: %llu KiB)",
                  memfd->size, limit_of(RLIMIT_AS) / 1024);
        return errno == ENOMEM ? TM_ENOMEM : TM_ESYSTEM;
    }
    madvise(view, memfd->size, MADV_DONTFORK);
    madvise(view, memfd->size, MADV_DONTDUMP);
    memfd->runtime = view;
    return TM_OK;
}

tm_status memfd_open(struct memfd *memfd, size_t size)
{
    tm_status status;

    *memfd = (struct memfd){.fd = -1, .size = size};
    memfd->fd = memfd_create("teamster", MFD_CLOEXEC);
    if (memfd->fd < 0) {
        log_error("memfd_create() failed: %m");
        return TM_ESYSTEM;
    }
    status = set_size(memfd->fd, size);
    if (status == TM_OK) {
        status = map_runtime_view(memfd);
    }
    if (status != TM_OK) {
        memfd_close(memfd);
    }
    return status;
}

tm_status memfd_map(const struct memfd *memfd, size_t offset, char *address,
                    size_t size)
{
    void *got;

    ensure(size <= memfd->size && offset <= memfd->size - size);
    got =
        mmap(address, size, image_memory_protection(),
             MAP_SHARED | MAP_NORESERVE | MAP_FIXED, memfd->fd, (off_t)offset);
    if (got == MAP_FAILED) {
        log_error("cannot map %zu bytes of shared memory at %p: %m", size,
                  (void *)address);
        return errno == ENOMEM ? TM_ENOMEM : TM_ESYSTEM;
    }
    madvise(got, size, MADV_DONTFORK);
    madvise(got, size, MADV_DONTDUMP);
    return TM_OK;
}

void memfd_keep_in_core(char *address, size_t size)
{
    madvise(address, size, MADV_DODUMP); // less to look at is no reason to fail
}

void memfd_discard(const struct memfd *memfd, size_t offset, size_t size)
{
    while (fallocate(memfd->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     (off_t)offset, (off_t)size) != 0) {
        if (errno != EINTR) {
            log_error("cannot give %zu bytes of shared memory back: %m", size);
            return;
        }
    }
}

void memfd_populate(const struct memfd *memfd, size_t offset, size_t size)
{
    while (fallocate(memfd->fd, 0, (off_t)offset, (off_t)size) != 0) {
        if (errno != EINTR) {
            log_fatal(EXIT_MEMORY,
                      "no memory for %zu bytes of shared memory: "
                      "%m",
                      size);
        }
    }
}

void memfd_residency(const struct memfd *memfd, size_t offset, size_t size,
                     unsigned char *is_resident)
{
    size_t n_pages = size / TM_PAGE_SIZE;

    if (mincore(memfd->runtime + offset, size, is_resident) != 0) {
        memset(is_resident, 1, n_pages);
        return;
    }
    for (size_t i = 0; i < n_pages; i++) {
        is_resident[i] &= 1; // the other bits are reserved
    }
}

void memfd_page_out(const struct memfd *memfd, size_t offset, char *view,
                    size_t size)
{
    // The kernel leaves alone what is mapped twice, and says nothing.
    madvise(memfd->runtime + offset, size, MADV_DONTNEED);
    madvise(view, size, MADV_PAGEOUT);
}

void memfd_page_in(const struct memfd *memfd, size_t offset, size_t size)
{
    madvise(memfd->runtime + offset, size, MADV_WILLNEED);
}

void memfd_write(const struct memfd *memfd, size_t offset, const void *bytes,
                 size_t size)
{
    const char *from = bytes;

    while (size > 0) {
        // Not pwrite(): in programs that is runtime/wrap.c's.
        ssize_t written =
            syscall(SYS_pwrite64, memfd->fd, from, size, (off_t)offset);

        if (written < 0 && errno != EINTR) {
            log_fatal(EXIT_MEMORY,
                      "no memory for %zu bytes of shared memory: "
                      "%m",
                      size);
        }
        if (written > 0) {
            from += written;
            offset += (size_t)written;
            size -= (size_t)written;
        }
    }
}

void memfd_close(struct memfd *memfd)
{
    if (memfd->runtime != NULL) {
        munmap(memfd->runtime, memfd->size);
        memfd->runtime = NULL;
    }
    descriptor_drop(&memfd->fd);
}
