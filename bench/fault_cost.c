// SPDX-License-Identifier: BSD-3-Clause
/*
 * What one page fault takes that a signal handler serves with one call, without
 * any network: the least that the fetch of a page adds to a message.
 *
 *     fault_cost
 *
 * Prints a line for each way to catch accesses, see samples.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "samples.h"

enum { N_PAGES = 4096, PAGE_SIZE = 4096 };

static int userfault_fd = -1;

static void continue_page(int signal, siginfo_t *info, void *context)
{
    struct uffdio_continue page = {
        .range = {(uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_SIZE - 1),
                  PAGE_SIZE},
        .mode = UFFDIO_CONTINUE_MODE_DONTWAKE,
    };

    (void)signal, (void)context;
    if (ioctl(userfault_fd, UFFDIO_CONTINUE, &page) != 0) {
        _exit(EXIT_FAILURE);
    }
}

static void allow_page(int signal, siginfo_t *info, void *context)
{
    const uintptr_t page =
        (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_SIZE - 1);

    (void)signal, (void)context;
    if (mprotect((void *)page, PAGE_SIZE, PROT_READ | PROT_WRITE) != 0) {
        _exit(EXIT_FAILURE);
    }
}

// Two mappings of one file: the second is only there to fill it.
static char *watched_new(void)
{
    const size_t size = (size_t)N_PAGES * PAGE_SIZE;
    const int fd = memfd_create("fault_cost", MFD_CLOEXEC);
    char *watched;
    char *filled;

    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        return MAP_FAILED;
    }
    watched = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    filled = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (filled != MAP_FAILED) {
        memset(filled, 1, size);
        munmap(filled, size);
    }
    return watched;
}

static int userfault_watch(char *start)
{
    struct uffdio_api api = {
        .api = UFFD_API,
        .features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MINOR_SHMEM,
    };
    struct uffdio_register range = {
        .range = {(uintptr_t)start, (size_t)N_PAGES * PAGE_SIZE},
        .mode = UFFDIO_REGISTER_MODE_MINOR,
    };

    userfault_fd =
        (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    return userfault_fd >= 0 && ioctl(userfault_fd, UFFDIO_API, &api) == 0 &&
           ioctl(userfault_fd, UFFDIO_REGISTER, &range) == 0;
}

// Each page once, in an order without a pattern.
static void faults_time(const char *name, const volatile char *pages)
{
    static double us[N_PAGES];

    for (size_t i = 0; i < N_PAGES; i++) {
        const size_t page = scattered(i);
        const double start_us = now_us();

        (void)pages[page * PAGE_SIZE];
        us[i] = now_us() - start_us;
    }
    samples_print(name, us, N_PAGES);
}

static void handler_set(int signal, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {
        .sa_sigaction = handler,
        .sa_flags = SA_SIGINFO | SA_NODEFER,
    };

    sigaction(signal, &action, NULL);
}

int main(void)
{
    char *pages = watched_new();

    if (pages == MAP_FAILED) {
        perror("fault_cost");
        return EXIT_FAILURE;
    }
    if (userfault_watch(pages)) {
        handler_set(SIGBUS, continue_page);
        faults_time("userfaultfd", pages);
    } else {
        fprintf(stderr, "fault_cost: no userfaultfd here: %s\n",
                strerror(errno));
    }
    pages = watched_new();
    if (pages == MAP_FAILED ||
        mprotect(pages, (size_t)N_PAGES * PAGE_SIZE, PROT_NONE) != 0) {
        perror("fault_cost");
        return EXIT_FAILURE;
    }
    handler_set(SIGSEGV, allow_page);
    faults_time("mprotect", pages);
    return EXIT_SUCCESS;
}
