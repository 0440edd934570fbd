// SPDX-License-Identifier: BSD-3-Clause
//
// The most common first mistake of a port: a thread is given the address of a local
// variable of main(), of malloc()ed memory, or of a plain global variable, and reads and
// writes its own node's bytes at that address. tm_thread_create() asks here, and warns
// once for each kind:
//
//   STACK_OF_MAIN    no other node has it: os/main_stack.c
//   STACK_OF_THREAD  is where that thread is
//   VARIABLE         of the program, if its bytes have changed since tm_init(), or are
//                    zero: then it is none that all nodes have filled alike, as tables
//                    and settings, but one to be shared, or for a result
//   MEMORY           private, and of no file: malloc(), new, mmap()
//
// No warning may be wrong, since it says that a program is. So these are let be:
// numbers, what is in shared memory, text and constants, all of libraries (stdout is one
// of their variables), files that are mapped, and synchronisation objects, which are names
// only: a filter knows those that were used. An object that was never used before is not
// known; it can be initialised first.
//
// The thread may have started on its creator's node nevertheless, if that was left to
// the runtime. The program is wrong then too.
#include "runtime/argument.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "os/range.h"

// Addresses below are taken for numbers. Programs that lie there are not warned.
#define LOWEST ((uintptr_t)1 << 32)

// So much of a variable is looked at.
#define MOST_BYTES 64u

enum kind { NONE, STACK_OF_MAIN, STACK_OF_THREAD, VARIABLE, MEMORY };

void argument_open(struct argument_watch *watch, const struct space *space,
                   const struct ult_system *ult,
                   const struct main_stack *main_stack)
{
    const size_t size = space->n_globals * TM_PAGE_SIZE;

    watch->space = space;
    watch->ult = ult;
    watch->main_stack = main_stack;
    watch->before = image_copy_new(space->globals_base, size);
}

// One of the bits of watch->objects.
static uint64_t choose_bit(const void *object, unsigned *word)
{
    const uint64_t hash = random_mix((uintptr_t)object);

    *word =
        (unsigned)(hash / ARGUMENT_WORD % (ARGUMENT_OBJECTS / ARGUMENT_WORD));
    return (uint64_t)1 << hash % ARGUMENT_WORD;
}

static int is_known(const struct argument_watch *watch, const void *object)
{
    unsigned word;
    uint64_t bit = choose_bit(object, &word);

    return (atomic_load_explicit(&watch->objects[word], memory_order_relaxed) &
            bit) != 0;
}

void argument_note_object(struct argument_watch *watch, const void *object)
{
    unsigned word;
    uint64_t bit;
    page_no page;

    if (watch->before == NULL || space_find(watch->space, object, &page) ||
        is_known(watch, object)) {
        return;
    }
    bit = choose_bit(object, &word);
    atomic_fetch_or_explicit(&watch->objects[word], bit, memory_order_relaxed);
}

// Is it as it was at tm_init(), where it was the same on all nodes most likely?
static int is_constant(const struct argument_watch *watch, const char *argument)
{
    size_t rest = 1; // that is sure
    size_t offset;
    char name[8];

    (void)!image_variable((uintptr_t)argument, name, sizeof name, &offset,
                          &rest);
    rest = rest < MOST_BYTES ? rest : MOST_BYTES;
    return image_copy_is_constant(watch->before, argument, rest);
}

static int is_told(const struct argument_watch *watch, enum kind kind)
{
    return (atomic_load_explicit(&watch->told, memory_order_relaxed) &
            1u << kind) != 0;
}

// NONE also where an answer that takes long would be told no more.
static enum kind classify(const struct argument_watch *watch,
                          const char *argument)
{
    page_no page;

    if ((uintptr_t)argument < LOWEST ||
        space_find(watch->space, argument, &page) ||
        is_known(watch, argument)) {
        return NONE;
    }
    if (argument >= watch->main_stack->low &&
        argument < watch->main_stack->top) {
        return STACK_OF_MAIN;
    }
    if (ult_is_stack(watch->ult, (uintptr_t)argument)) {
        return STACK_OF_THREAD;
    }
    switch (image_part((uintptr_t)argument)) {
    case IMAGE_FIXED:
        return NONE;
    case IMAGE_VARIABLE:
        return is_told(watch, VARIABLE) || is_constant(watch, argument)
                   ? NONE
                   : VARIABLE;
    default:
        return is_told(watch, MEMORY) || !range_is_private(argument) ? NONE
                                                                     : MEMORY;
    }
}

// "'args' + 16", or "0x5555..." where names are stripped.
static void name_variable(const void *argument, char *text, size_t size)
{
    size_t offset;
    size_t rest;
    char name[64];

    if (image_variable((uintptr_t)argument, name, sizeof name, &offset,
                       &rest) != TM_OK) {
        snprintf(text, size, "%p", argument);
        return;
    }
    name[strcspn(name, ".")] = '\0'; // compilers number those of functions
    if (offset == 0) {
        snprintf(text, size, "'%s'", name);
    } else {
        snprintf(text, size, "'%s' + %zu", name, offset);
    }
}

static void describe(enum kind kind, const void *argument, char *text,
                     size_t size)
{
    static const struct {
        const char *what;
        const char *advice;
    } rows[] = {
        [STACK_OF_MAIN] =
            {"a local variable of main(), which no other node has",
             "pass it by value, or put it in TM_SHARED or "
             "tm_alloc() memory"},
        [STACK_OF_THREAD] =
            {"a local variable of a thread, which is only where "
             "that thread is",
             "pass it by value, or put it in tm_alloc() "
             "memory"},
        [VARIABLE] = {"a variable of which each node has its own",
                      "write TM_SHARED before it, or pass it by value"},
        [MEMORY] = {"malloc()ed memory, which no other node has",
                    "use tm_alloc()"},
    };
    char name[96];

    if (kind == VARIABLE) {
        name_variable(argument, name, sizeof name);
    } else {
        snprintf(name, sizeof name, "%p", argument);
    }
    snprintf(text, size, "%s, %s: %s", name, rows[kind].what,
             rows[kind].advice);
}

int argument_is_private(struct argument_watch *watch, const void *argument,
                        char *text, size_t size)
{
    unsigned before;
    enum kind kind;

    if (watch->before == NULL) {
        return 0;
    }
    kind = classify(watch, argument);
    if (kind == NONE) {
        return 0;
    }
    before = atomic_fetch_or_explicit(&watch->told, 1u << kind,
                                      memory_order_relaxed);
    if ((before & 1u << kind) != 0) {
        return 0;
    }
    describe(kind, argument, text, size);
    return 1;
}
