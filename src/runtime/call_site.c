// SPDX-License-Identifier: BSD-3-Clause
//
// Where in the program something went wrong. A fault is often in the C library
// (memcpy, strlen, printf), and then the user wants to know which line of the
// program called it. Libraries are built without frame pointers, so the frames
// are found by the compiler's unwinder: from here through the signal handler to
// the instruction that failed, and on to the first address in the program's text.
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#include "os/image.h"
#include "runtime/error_report.h"
#include "runtime/node.h"
#include "runtime/threads.h"

struct walk {
    uintptr_t pc;     ///< that failed
    int has_passed;   ///< its frame has been seen
    uintptr_t caller; ///< in the program; 0: not found yet
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    uintptr_t pc = _Unwind_GetIP(context);

    if (walk->has_passed && image_is_program_text(pc)) {
        walk->caller = pc;
        return _URC_END_OF_STACK;
    }
    walk->has_passed |= pc == walk->pc;
    return _URC_NO_REASON;
}

// A stack that was overwritten may fail again, in the unwinder: once is enough.
static uintptr_t find_caller(uintptr_t pc, struct thread *thread)
{
    struct walk walk = {.pc = pc};

    if (thread == NULL || thread->is_walked) {
        return 0;
    }
    thread->is_walked = 1;
    _Unwind_Backtrace(look, &walk);
    thread->is_walked = 0;
    return walk.caller;
}

// From the library's own frames, which may be in the program, to the C library's, and on.
static _Unwind_Reason_Code look_beyond(struct _Unwind_Context *context,
                                       void *argument)
{
    struct walk *walk = argument;
    uintptr_t pc = _Unwind_GetIP(context);

    if (!image_is_program_text(pc)) {
        walk->has_passed = 1;
    } else if (walk->has_passed) {
        walk->caller = pc;
        return _URC_END_OF_STACK;
    }
    return _URC_NO_REASON;
}

uintptr_t place_of_call(void)
{
    struct walk walk = {0};

    _Unwind_Backtrace(look_beyond, &walk);
    return walk.caller;
}

void call_site_describe(const struct trap *trap, char *text, size_t size)
{
    struct thread *thread = thread_self();
    uintptr_t caller = 0;
    size_t used;

    if (thread != NULL && thread->wrapped != NULL) {
        snprintf(text, size, "%s()", thread->wrapped);
        caller = thread->place;
    } else {
        image_describe(trap->pc, text, size);
        if (!image_is_program_text(trap->pc)) {
            caller = find_caller(trap->pc, thread);
        }
    }
    used = strlen(text);
    if (caller != 0 && used + sizeof ", called from " < size) {
        used += (size_t)snprintf(text + used, size - used, ", called from ");
        image_describe(caller - 1, text + used, size - used);
    }
}
