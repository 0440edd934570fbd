// SPDX-License-Identifier: BSD-3-Clause
//
// Variables of which each kernel thread has its own, and each thread of the program is to:
//
//   those of the program (__thread, thread_local)
//   what the C++ library keeps of exceptions in flight, and of a std::call_once()
//
// A worker has one set of them, at a fixed distance from its thread pointer. When it switches
// threads, the bytes go to the private stack of the one that leaves, and those of the one that
// comes are put there. So they move with a thread; but an address of one is a worker's.
//
// Destructors of such variables are called at the end of the thread, as keys' are.
#include "front.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    long distance; // from the thread pointer
    size_t size;
    const void *image; // its first bytes; zeros behind
    size_t image_size;
};

static struct {
    struct piece piece[4];
    unsigned n;
    size_t size;
    int has_own;
} locals;

static char *thread_pointer(void)
{
    char *pointer;

    __asm__ volatile("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

static void add_piece(long distance, size_t size, const void *image,
                      size_t image_size)
{
    locals.piece[locals.n++] =
        (struct piece){distance, size, image, image_size};
    locals.size += size;
}

// The program is the first of all. Its variables end at the thread pointer.
static int look_at_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_TLS && part->p_memsz > 0) {
            size_t room = (part->p_memsz + part->p_align - 1) / part->p_align *
                          part->p_align;

            add_piece(-(long)room, part->p_memsz,
                      (void *)(info->dlpi_addr + part->p_vaddr),
                      part->p_filesz);
            locals.has_own = 1;
        }
    }
    return 1;
}

static void add_library_piece(const void *address, size_t size)
{
    if (address != NULL) {
        add_piece((const char *)address - thread_pointer(), size, NULL, 0);
    }
}

__attribute__((constructor)) static void find_pieces(void)
{
    void *(*exceptions)(void) =
        (void *(*)(void))dlsym(RTLD_DEFAULT, "__cxa_get_globals");

    dl_iterate_phdr(look_at_program, NULL);
    if (exceptions != NULL) {
        add_library_piece(exceptions(), 2 * sizeof(void *));
        add_library_piece(dlsym(RTLD_DEFAULT, "_ZSt15__once_callable"),
                          sizeof(void *));
        add_library_piece(dlsym(RTLD_DEFAULT, "_ZSt11__once_call"),
                          sizeof(void *));
    }
}

size_t front_locals_size(void)
{
    return locals.size + 1;
}

int front_has_locals(void)
{
    return locals.has_own;
}

void front_locals_begin(void)
{
    for (unsigned i = 0; i < locals.n; i++) {
        const struct piece *piece = &locals.piece[i];
        char *place = thread_pointer() + piece->distance;

        memset(place, 0, piece->size);
        memcpy(place, piece->image, piece->image_size);
    }
}

static char *kept_locals(void)
{
    const struct front_thread *thread = locals.n == 0 ? NULL : front_thread();

    return thread == NULL ? NULL : thread->locals;
}

void front_locals_leave(void)
{
    char *kept = kept_locals();

    for (unsigned i = 0; i < locals.n && kept != NULL; i++) {
        memcpy(kept, thread_pointer() + locals.piece[i].distance,
               locals.piece[i].size);
        kept += locals.piece[i].size;
    }
}

void front_locals_arrive(void)
{
    const char *kept = kept_locals();

    for (unsigned i = 0; i < locals.n && kept != NULL; i++) {
        memcpy(thread_pointer() + locals.piece[i].distance, kept,
               locals.piece[i].size);
        kept += locals.piece[i].size;
    }
}

// ---- loans. How long a list is nobody knows: it is in a frame of the caller's stack, in
// which other words that are such addresses are not looked at meanwhile.

enum { LIST_MAX = 128 };

static char **end_of_list(char **list)
{
    const struct front_thread *thread = front_thread();
    const char *stack = thread->stack;
    char **top;

    if (stack == NULL || (char *)list < stack) {
        return list;
    }
    top = (char **)(void *)front_stack_end(thread);
    return list >= top ? list : top - list > LIST_MAX ? list + LIST_MAX : top;
}

// Words that point into `from` point as far into `to` then.
static int change_list(char **list, const char *from, char *to, size_t size)
{
    char **first = (char **)(((uintptr_t)list + sizeof *list - 1) /
                             sizeof *list * sizeof *list);
    char **end = end_of_list(first);
    int n = 0;

    for (char **word = first; word < end; word++) {
        if (*word >= from && *word < from + size) {
            n++;
            *word += to - from;
        }
    }
    return n;
}

void front_lend_locals(struct front_locals_loan *loan, void *list)
{
    const struct piece *own = &locals.piece[0];
    char *at = thread_pointer() + own->distance;

    *loan = (struct front_locals_loan){NULL, NULL};
    if (!locals.has_own || change_list(list, at, at, own->size) == 0) {
        return;
    }
    loan->copy = front_allocate(own->size);
    if (loan->copy == NULL) {
        front_fatal("no memory for a copy of thread-local variables");
    }
    loan->list = list;
    memcpy(loan->copy, at, own->size);
    change_list(list, at, loan->copy, own->size);
}

void front_end_locals(struct front_locals_loan *loan)
{
    const struct piece *own = &locals.piece[0];

    if (loan->list != NULL) {
        change_list(loan->list, loan->copy, thread_pointer() + own->distance,
                    own->size);
        front_free(loan->copy);
        loan->list = NULL;
    }
}

// ---- their destructors

struct front_destructor {
    struct front_destructor *next;
    void (*function)(void *);
    void *object;
};

int tmf___cxa_thread_atexit(void (*function)(void *), void *object,
                            void *library) __attribute__((weak));
int tmf___cxa_thread_atexit(void (*function)(void *), void *object,
                            void *library)
{
    struct front_destructor *made = front_allocate(sizeof *made);

    (void)library;
    if (made == NULL) {
        return -1;
    }
    *made = (struct front_destructor){front_thread()->destructors, function,
                                      object};
    front_thread()->destructors = made;
    return 0;
}

void front_locals_end(void)
{
    while (front_thread()->destructors != NULL) {
        struct front_destructor *first = front_thread()->destructors;

        front_thread()->destructors = first->next;
        first->function(first->object);
        front_free(first);
    }
    if (front_at_exit_end != NULL) {
        front_at_exit_end();
    }
}
