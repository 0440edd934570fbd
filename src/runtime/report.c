// SPDX-License-Identifier: BSD-3-Clause
//
// Errors of the program, told apart and said in one line: an access past the end
// of a block, to a freed one, to nothing at all; a stack overflow; abort(). The
// signal's default action follows, so that debuggers and core files work.
#include "base/log.h"
#include "os/image.h"
#include "runtime/runtime.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void report_speaker(char *text, size_t size)
{
    const struct thread *thread = thread_self();

    if (thread == NULL) {
        snprintf(text, size, "runtime");
    } else {
        snprintf(text, size, "thread %llu%s%s%s",
                 (unsigned long long)thread->number,
                 thread->name[0] != '\0' ? " (" : "", thread->name,
                 thread->name[0] != '\0' ? ")" : "");
    }
}

// What an address in the shared space is.
static void describe_shared(uintptr_t address, page_no page, char *text,
                            size_t size)
{
    const struct extent *extent = engine_extent_below(runtime.engine, page);
    uintptr_t end;

    if (extent == NULL) {
        snprintf(text, size, "in shared memory that is not allocated");
        return;
    }
    end = (uintptr_t)space_address(&runtime.space, extent->page) +
          extent->size;
    if (extent->is_closed &&
        page < extent->page + extent->n_pages) {
        snprintf(text, size, "in block '%s', which is being freed",
                 extent->name);
        return;
    }
    snprintf(text, size,
             "%zu bytes past the end of block '%s' of %llu bytes%s%s",
             (size_t)(address - end), extent->name,
             (unsigned long long)extent->size,
             extent->file[0] != '\0' ? ", allocated at " : "", extent->file);
    if (extent->file[0] != '\0') {
        size_t used = strlen(text);

        snprintf(text + used, size - used, ":%u", extent->line);
    }
}

static void describe(const struct trap *trap, char *text, size_t size)
{
    int slot = runtime.ult == NULL
                   ? -1
                   : ult_guard_slot(runtime.ult, trap->address);
    page_no page;

    if (slot >= 0) {
        snprintf(text, size,
                 "overflowed its stack of %zu KiB; use --stack-size",
                 runtime.options.stack_size / 1024);
    } else if (runtime.engine != NULL &&
               space_find(&runtime.space, (void *)trap->address, &page)) {
        int n = snprintf(text, size, "%s at 0x%zx, ",
                         trap->is_write ? "write" : "read", trap->address);

        describe_shared(trap->address, page, text + n, size - (size_t)n);
    } else {
        snprintf(text, size,
                 "segmentation fault: %s at 0x%zx (not shared memory)",
                 trap->is_write ? "write" : "read", trap->address);
    }
}

void report_trap(const struct trap *trap)
{
    char speaker[64];
    char what[256];
    char place[256];

    report_speaker(speaker, sizeof speaker);
    image_describe(trap->pc, place, sizeof place);
    if (trap->signal == SIGSEGV || trap->signal == SIGBUS) {
        describe(trap, what, sizeof what);
    } else {
        snprintf(what, sizeof what, "%s", strsignal(trap->signal));
    }
    log_error("node %u %s: %s, in %s", runtime.self, speaker, what, place);
}
