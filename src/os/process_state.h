// SPDX-License-Identifier: BSD-3-Clause
#ifndef OS_PROCESS_STATE_H
#define OS_PROCESS_STATE_H

#include <stdint.h>
#include <sys/types.h>

/** What a process has set for itself besides its memory, and a new one has not. */
struct process_state {
    dev_t device; ///< of the working folder
    ino_t folder;
    mode_t mask;          ///< of files that are made
    uint64_t ignored;     ///< signals
    uint64_t locale;      ///< a hash of its names
    uint64_t environment; ///< a hash of all variables
};

/** May the process's own memory at an address be read here and now? (What putenv() was given may be in memory
 * whose page has to come.) */
typedef int process_state_reads(const void *owner, const void *address);

/** Take it down. Context: any kernel thread; reads a file. @param reads  NULL: all may be read */
void process_state_note(struct process_state *state, process_state_reads *reads,
                        const void *owner);

/** @return what is not as it was, in words; NULL: nothing. What may not be read is not. */
const char *process_state_change(const struct process_state *before,
                                 process_state_reads *reads, const void *owner);

/** Does the program need a library that may keep something for itself? Those of compilers, of the C
 * library and Teamster's do not, or what they keep is known.
 * @return its name, NULL: none; stays */
const char *process_state_library(void);

#endif
