// SPDX-License-Identifier: BSD-3-Clause
// Faults by mprotect() and SIGSEGV, where userfaultfd is refused. Every run of
// pages with equal protection is one mapping of the kernel's, of which it allows
// vm.max_map_count in a process: alternating pages use them up.
#include "os/fault_source.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/log.h"
#include "os/image.h"

// All else is in the kernel's mappings.
struct fault_watch {
    int protection; // of a page that may be written
};

static int is_available(char *reason, size_t size)
{
    if (size > 0) {
        reason[0] = '\0';
    }
    return 1;
}

static tm_status open_watch(struct fault_watch **watch)
{
    *watch = calloc(1, sizeof **watch);
    if (*watch == NULL) {
        log_error("no memory for the fault source");
        return TM_ENOMEM;
    }
    (*watch)->protection = image_memory_protection();
    return TM_OK;
}

static tm_status add(struct fault_watch *watch, char *start, size_t size)
{
    (void)watch;
    if (mprotect(start, size, PROT_NONE) != 0) {
        log_error("cannot protect %zu bytes of shared memory: %m", size);
        return TM_ESYSTEM;
    }
    return TM_OK;
}

static void protect(char *start, size_t size, int protection)
{
    while (mprotect(start, size, protection) != 0) {
        if (errno == ENOMEM) {
            log_fatal(EXIT_MEMORY,
                      "cannot protect shared page %p: the process has too many "
                      "mappings; raise vm.max_map_count (sysctl -w "
                      "vm.max_map_count=1048576) or allow userfaultfd",
                      (void *)start);
        }
        if (errno != EAGAIN && errno != EINTR) {
            log_fatal(EXIT_INTERNAL, "mprotect() of shared page %p failed: %m",
                      (void *)start);
        }
    }
}

static void allow_read(struct fault_watch *watch, char *start, size_t size)
{
    protect(start, size, watch->protection & ~PROT_WRITE);
}

static void allow_write(struct fault_watch *watch, char *start, size_t size)
{
    protect(start, size, watch->protection);
}

static void deny(struct fault_watch *watch, char *start, size_t size)
{
    (void)watch;
    protect(start, size, PROT_NONE);
}

static void close_watch(struct fault_watch *watch)
{
    free(watch);
}

const struct fault_source fault_mprotect = {
    .name = "mprotect",
    .signal = SIGSEGV,
    .brings_in = 0,
    .is_available = is_available,
    .open = open_watch,
    .add = add,
    .watch_again = add,
    .allow_read = allow_read,
    .allow_write = allow_write,
    .deny = deny,
    .close = close_watch,
};
