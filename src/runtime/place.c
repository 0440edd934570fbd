// SPDX-License-Identifier: BSD-3-Clause
//
// Where in the program something went wrong. A fault is often in the C library
// (memcpy, strlen, printf) or in the runtime, and then the user wants to know
// which line of the program called it. Libraries are built without frame
// pointers, so the stack is searched from its end upwards for the first word that
// is an address in the program's text right behind a call instruction. It may be
// left over from an earlier call of the same depth; rarely, and near by.
#include <stdio.h>
#include <string.h>

#include "os/image.h"
#include "runtime/runtime.h"

#define SEARCH_BYTES (32u * 1024)
#define LONGEST_CALL 7u

// call rel32 is E8 and 4 bytes; calls through a register or memory are FF /2.
static int is_behind_call(uintptr_t address)
{
    const unsigned char *at = (const unsigned char *)address;

    if (!image_is_program_text(address) ||
        !image_is_program_text(address - LONGEST_CALL)) {
        return 0;
    }
    if (at[-5] == 0xe8) {
        return 1;
    }
    for (unsigned length = 2; length <= LONGEST_CALL; length++) {
        if (at[-(int)length] == 0xff &&
            (at[-(int)length + 1] & 0x38) == 0x10) {
            return 1;
        }
    }
    return 0;
}

// The part of the thread's stack that is in use. @return 0 if sp is elsewhere
static int used_stack(uintptr_t sp, uintptr_t *low, uintptr_t *high)
{
    struct ult *ult = ult_self();
    char *stack_low;
    char *stack_top;

    if (ult == NULL) {
        return 0;
    }
    ult_stack(ult, &stack_low, &stack_top);
    *low = sp < (uintptr_t)stack_low ? (uintptr_t)stack_low : sp;
    *high = (uintptr_t)stack_top;
    if (*high - *low > SEARCH_BYTES) {
        *high = *low + SEARCH_BYTES;
    }
    return sp >= (uintptr_t)stack_low - SEARCH_BYTES &&
           sp < (uintptr_t)stack_top;
}

// Stacks are read word by word as they lie, redzones of sanitizers and all.
__attribute__((no_sanitize("address", "thread"))) static uintptr_t
find_caller(uintptr_t sp)
{
    uintptr_t low;
    uintptr_t high;

    if (!used_stack(sp, &low, &high)) {
        return 0;
    }
    low = (low + sizeof(uintptr_t) - 1) & -sizeof(uintptr_t);
    for (; low < high; low += sizeof(uintptr_t)) {
        uintptr_t word = *(const uintptr_t *)low;

        if (is_behind_call(word)) {
            return word;
        }
    }
    return 0;
}

void place_describe(const struct trap *trap, char *text, size_t size)
{
    const struct thread *thread = thread_self();
    uintptr_t caller = 0;
    size_t used;

    if (thread != NULL && thread->wrapped != NULL) {
        snprintf(text, size, "%s()", thread->wrapped);
        caller = thread->place;
    } else {
        image_describe(trap->pc, text, size);
        if (!image_is_program_text(trap->pc)) {
            caller = find_caller(trap->sp);
        }
    }
    used = strlen(text);
    if (caller != 0 && used + sizeof ", called from " < size) {
        used += (size_t)snprintf(text + used, size - used, ", called from ");
        image_describe(caller - 1, text + used, size - used);
    }
}
