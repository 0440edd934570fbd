// SPDX-License-Identifier: BSD-3-Clause
//
// Errors of the program, told apart and said in one line: an access past the end
// of a block, to a freed one, to nothing at all; a stack overflow; abort(). The
// signal's default action follows, so that debuggers and core files work.
#include "runtime/error_report.h"
#include "base/log.h"
#include "os/image.h"
#include "runtime/node.h"
#include "runtime/threads.h"
#include "runtime/unchanged.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

// Where a signal frame no longer fits, the kernel raises SIGSEGV without an
// address; the stack pointer tells.
#define SIGNAL_FRAME_MAX (16u * 1024)

// Past the end of a block by more than this is rather nowhere.
#define NEAR_BYTES ((uintptr_t)1024 * 1024)

static void describe_thread(const struct thread *thread, char *text,
                            size_t size)
{
    if (tasking_is_runner(thread->number)) {
        snprintf(text, size, "a task");
        return;
    }
    snprintf(text, size, "thread %llu%s%s%s",
             (unsigned long long)thread->number,
             thread->name[0] != '\0' ? " (" : "", thread->name,
             thread->name[0] != '\0' ? ")" : "");
}

static void describe_speaker(struct node *node, char *text, size_t size)
{
    const struct thread *thread = thread_self();

    if (node_step(node) == RUNTIME_FORKED) {
        snprintf(text, size, "a child of fork()");
    } else if (thread == NULL) {
        snprintf(text, size, "a kernel thread that is not Teamster's");
    } else {
        describe_thread(thread, text, size);
    }
}

// ", allocated at a.c:12"
static void append_origin(const struct extent *extent, char *text, size_t size)
{
    size_t used = strlen(text);

    if (extent->file[0] != '\0') {
        snprintf(text + used, size - used, ", allocated at %s:%u", extent->file,
                 extent->line);
    }
}

// ", which is bound to ..."
static void append_reason(struct node *node, uintptr_t address, page_no page,
                          char *text, size_t size)
{
    const size_t used = strlen(text);
    char why[128];

    engine_explain(node->engine, page, address % TM_PAGE_SIZE,
                   thread_self()->number, why, sizeof why);
    if (why[0] != '\0') {
        snprintf(text + used, size - used, ", %s", why);
    }
}

static void describe_miss(struct node *node, uintptr_t address, page_no page,
                          char *text, size_t size)
{
    const struct extent *extent = engine_extent_below(node->engine, page);
    uintptr_t end = 0;
    char distance[32];

    if (extent != NULL) {
        end =
            (uintptr_t)space_address(&node->space, extent->page) + extent->size;
    }
    if (extent == NULL || address < end || address - end > NEAR_BYTES) {
        snprintf(text, size, "in shared memory that is not allocated");
        return;
    }
    snprintf(distance, sizeof distance, "%zu bytes", (size_t)(address - end));
    snprintf(text, size, "%s past the end of block '%s' of %llu bytes",
             address == end ? "just" : distance, extent->name,
             (unsigned long long)extent->size);
    append_origin(extent, text, size);
}

// What an address in the shared space is. Under the node lock.
static void describe_shared(struct node *node, uintptr_t address, page_no page,
                            char *text, size_t size)
{
    const struct extent *extent = engine_extent(node->engine, page);

    if (extent != NULL && !extent->is_closed) {
        snprintf(text, size, "in %sblock '%s' of %llu bytes",
                 extent->sharing == TM_READ_ONLY ? "read-only " : "",
                 extent->name, (unsigned long long)extent->size);
        append_origin(extent, text, size);
        append_reason(node, address, page, text, size);
    } else if (!freed_describe(node, page, text, size)) {
        describe_miss(node, address, page, text, size);
    }
}

static void describe_reach(struct node *node, uintptr_t address, page_no page,
                           char *text, size_t size)
{
    if (node_step(node) == RUNTIME_FORKED) {
        snprintf(text, size,
                 "in shared memory, which a child of fork() does "
                 "not have; exec*() and _exit() work");
    } else if (node_step(node) == RUNTIME_ENDED) {
        snprintf(text, size, "in shared memory after tm_end()");
    } else if (thread_self() == NULL) {
        snprintf(text, size,
                 "in shared memory, which only threads made by "
                 "tm_thread_create() can use");
    } else {
        // The fault has been through the engine already: nobody here holds it.
        node_enter(node);
        describe_shared(node, address, page, text, size);
        node_leave(node);
    }
}

// The thread whose stack has ended, -1 if that is not the matter.
static int overflown_slot(struct node *node, const struct trap *trap)
{
    struct ult *ult = ult_self();
    char *low;
    char *top;
    int slot;

    if (node->ult == NULL || ult == NULL) {
        return -1;
    }
    slot = ult_guard_slot(node->ult, trap->address);
    ult_stack(ult, &low, &top);
    if (slot < 0 && trap->code == SI_KERNEL &&
        trap->sp >= (uintptr_t)low - SIGNAL_FRAME_MAX &&
        trap->sp < (uintptr_t)low + SIGNAL_FRAME_MAX) {
        slot = (int)ult_slot(ult);
    }
    return slot;
}

static void describe_overflow(struct node *node, int slot, char *text,
                              size_t size)
{
    const struct thread *thread = thread_self();

    if (slot == 0) {
        snprintf(text, size,
                 "overflowed its stack; ulimit -s gives main() "
                 "more");
    } else if (thread != NULL &&
               thread_slot_of(thread->number) == (uint32_t)slot) {
        snprintf(text, size,
                 "overflowed its stack of %zu KiB; use --stack-size",
                 node->options.stack_size / 1024);
    } else {
        snprintf(text, size,
                 "segmentation fault: below the stack of the "
                 "thread in slot %d",
                 slot);
    }
}

static int is_in_main(struct node *node, uintptr_t address)
{
    return address >= (uintptr_t)node->main_stack.low &&
           address < (uintptr_t)node->main_stack.top;
}

static void describe_access(struct node *node, const struct trap *trap,
                            char *text, size_t size)
{
    const char *verb = trap->is_write ? "write to" : "read from";
    int slot = overflown_slot(node, trap);
    size_t shared = node->unchanged == NULL
                        ? 0
                        : node->unchanged->overflown((void *)trap->address);
    page_no page;

    if (shared > 0) {
        snprintf(text, size,
                 "overflowed its stack of %zu KiB; pthread_attr_setstacksize() "
                 "and OMP_STACKSIZE give threads more, ulimit -s gives main()",
                 shared / 1024);
    } else if (slot >= 0) {
        describe_overflow(node, slot, text, size);
    } else if (trap->code <= 0) {
        snprintf(text, size, "%s, which somebody sent",
                 strsignal(trap->signal));
    } else if (trap->code == SI_KERNEL) {
        snprintf(text, size,
                 "segmentation fault: an address that no "
                 "processor has (not shared memory)");
    } else if (space_find(&node->space, (void *)trap->address, &page)) {
        int n = snprintf(text, size, "segmentation fault: %s 0x%zx, ", verb,
                         trap->address);

        describe_reach(node, trap->address, page, text + n, size - (size_t)n);
    } else if (node->self != 0 && is_in_main(node, trap->address)) {
        snprintf(text, size,
                 "segmentation fault: %s 0x%zx, in main()'s stack, which only "
                 "node 0 has; put it in TM_SHARED or tm_alloc() memory, or "
                 "pass it by value",
                 verb, trap->address);
    } else {
        snprintf(text, size, "segmentation fault: %s 0x%zx (%s)", verb,
                 trap->address,
                 trap->address >= TM_PAGE_SIZE ? "not shared memory"
                 : node->self == 0
                     ? "a null pointer"
                     : "a null pointer; what main() puts into a variable after "
                       "tm_init() is seen here if that is TM_SHARED");
    }
}

void report_trap(struct node *node, const struct trap *trap)
{
    char speaker[64];
    char what[384];
    char place[384];

    describe_speaker(node, speaker, sizeof speaker);
    call_site_describe(trap, place, sizeof place);
    if (trap->signal == SIGSEGV || trap->signal == SIGBUS) {
        describe_access(node, trap, what, sizeof what);
    } else {
        snprintf(what, sizeof what, "%s", strsignal(trap->signal));
    }
    log_error("node %u %s: %s, in %s", node->self, speaker, what, place);
}

void report_bad_buffer(struct node *node, const char *function, uintptr_t place,
                       const void *address)
{
    char speaker[64];
    char what[384] = "not a place in shared memory";
    char text[256];
    page_no page;

    describe_speaker(node, speaker, sizeof speaker);
    image_describe(place - 1, text, sizeof text);
    if (space_find(&node->space, address, &page)) {
        describe_reach(node, (uintptr_t)address, page, what, sizeof what);
    }
    log_error("node %u %s: %s() called from %s fails with EFAULT: its buffer "
              "reaches %p, %s",
              node->self, speaker, function, text, address, what);
}

void report_argument(struct node *node, const void *argument)
{
    char speaker[64];
    char what[384];
    char place[256];

    if (!argument_is_private(&node->arguments, argument, what, sizeof what)) {
        return;
    }
    describe_speaker(node, speaker, sizeof speaker);
    image_describe(thread_self()->place - 1, place, sizeof place);
    log_warning("node %u %s: tm_thread_create() called from %s gives a thread "
                "that may run on another node the address of %s",
                node->self, speaker, place, what);
}

void report_overrun(struct node *node, const struct heap_block *block,
                    uint64_t at, const char *file, int line)
{
    char speaker[64];
    char origin[96] = "";

    describe_speaker(node, speaker, sizeof speaker);
    if (block->file[0] != '\0') {
        snprintf(origin, sizeof origin, ", allocated at %s:%u", block->file,
                 block->line);
    }
    log_error("node %u %s: tm_free(0x%llx) at %s:%d: something wrote past the "
              "end of block '%s' of %llu bytes%s: byte %llu has changed",
              node->self, speaker, (unsigned long long)block->address, file,
              line, block->name, (unsigned long long)block->size, origin,
              (unsigned long long)at);
}

// The line with the name of its thread, if that is here. @return the thread
static const struct thread *add_name(struct node *node, const char *line,
                                     char *text, size_t size)
{
    const struct thread *thread = NULL;
    unsigned long long number;
    int length = 0;
    char name[64];

    if (sscanf(line, "thread %llu%n", &number, &length) == 1) {
        thread = thread_find(node, number);
    }
    if (thread == NULL) {
        snprintf(text, size, "%s", line);
        return NULL;
    }
    describe_thread(thread, name, sizeof name);
    snprintf(text, size, "%s%s", name, line + length);
    return thread;
}

void report_complete_line(struct node *node, const char *line, char *text,
                          size_t size)
{
    const struct thread *thread = add_name(node, line, text, size);
    size_t used = strlen(text);

    if (thread != NULL && thread->place != 0 && used + sizeof ", in " < size) {
        used += (size_t)snprintf(text + used, size - used, ", in ");
        image_describe(thread->place - 1, text + used, size - used);
    }
}

void report_exit(struct node *node, int status)
{
    const uintptr_t place = place_of_call();
    char speaker[64];
    char text[256] = "";

    describe_speaker(node, speaker, sizeof speaker);
    if (place != 0) {
        image_describe(place - 1, text, sizeof text);
    }
    log_error("node %u %s: exit(%d)%s%s ends the whole program, not only the "
              "thread (tm_thread_exit() does that)",
              node->self, speaker, status, place != 0 ? " in " : "", text);
}

void report_program_error(struct node *node, const char *text)
{
    char line[768];

    add_name(node, text, line, sizeof line);
    log_fatal(EXIT_INTERNAL, "error of the program: %s", line);
}
