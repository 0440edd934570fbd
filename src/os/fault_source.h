// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_FAULT_SOURCE_H
#define OS_FAULT_SOURCE_H

#include <stddef.h>

#include "base/status.h"

/*
 * A fault source decides how accesses to watched memory are caught and allowed.
 * Watched memory is always a MAP_SHARED mapping of a memfd. Ranges are whole
 * pages. Calls are made under the node lock.
 *
 * The kernel may unmap a page behind our back, when it swaps it out or when the
 * memfd's page is discarded without deny() before: the next access faults,
 * whatever was allowed, and so may one more after the next call for the page.
 * Children made by fork() have no access (memfd_map()).
 */
struct fault_watch; ///< one source at work in this process

struct fault_source {
    const char *name; ///< "userfaultfd", "mprotect"; TEAMSTER_FAULT_SOURCE

    int signal; ///< SIGBUS or SIGSEGV: what an access that is not allowed raises

    int brings_in; ///< 1: to allow an access brings pages in that are swapped out

    /** Can it be used here? Cheap enough for `teamster info`.
     * @param[out] reason  [size]  why not, one line
     * @return 1 or 0 */
    int (*is_available)(char *reason, size_t size);

    /** @return TM_OK, TM_ESYSTEM (logged) */
    tm_status (*open)(struct fault_watch **watch);

    /** Begin to watch [start, start + size): every access faults from now on.
     * @return TM_OK, TM_ESYSTEM (logged) */
    tm_status (*add)(struct fault_watch *watch, char *start, size_t size);

    /** What is mapped at a part of a watched range has been replaced, by mappings of the
     * same memfd: every access faults from now on there too. Nothing was allowed.
     * @return TM_OK, TM_ESYSTEM (logged) */
    tm_status (*watch_again)(struct fault_watch *watch, char *start,
                             size_t size);

    /** Allow reads; writes fault. Valid from any state: absent pages are mapped,
     * writable ones are protected, and when it returns no processor can write
     * any more. The memfd's pages must exist (have been written) for absent
     * pages. Fails only for want of kernel resources, which ends the process
     * with a clear line (exit code 71, vm.max_map_count named). */
    void (*allow_read)(struct fault_watch *watch, char *start, size_t size);

    /** Allow reads and writes. As above. */
    void (*allow_write)(struct fault_watch *watch, char *start, size_t size);

    /** Allow nothing; when it returns no processor can access the range. The
     * bytes stay in the memfd. */
    void (*deny)(struct fault_watch *watch, char *start, size_t size);

    void (*close)(struct fault_watch *watch);
};

extern const struct fault_source fault_userfaultfd;
extern const struct fault_source fault_mprotect;

/** All of them, the preferred one first; NULL behind the last. */
extern const struct fault_source *const fault_sources[];

/** The one that an option names; of "auto" the first that works.
 * @param[out] reason  [size] why the last that was asked does not
 * @return NULL: none does; not logged */
const struct fault_source *fault_source_choose(const char *name, char *reason,
                                               size_t size);

#endif
