// SPDX-License-Identifier: BSD-3-Clause
//
// Two stacks for each thread of the program, and the way from one to the other.
//
// A stack in shared memory is a block of its own, sequential: as long as only its thread
// uses a page, that costs nothing. It is allocated by the thread itself, so it is first
// touched where it is used; when the thread has ended its node keeps it for another. Below
// it is a guard that nobody touches: a fault there is an overflow. It is longer than what is
// fetched ahead.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/unchanged.h"

struct tm_unchanged front_program;

enum { PAGE = 4096, GUARD = 64 * PAGE, KEPT_MAX = 64 };

// Stacks of threads that have ended here, of this node only.
static struct {
    pthread_mutex_t mutex;
    unsigned n;
    unsigned n_full; // threads that have a full stack without asking for it
    struct kept {
        char *low;
        size_t size;
    } stack[KEPT_MAX];
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

// front_jump(sp, function, a, b, c, d): call it on another stack.
// front_switch(&saved, sp, function, a): the same, noting where this one ends.
__asm__(".text\n"
        ".p2align 4\n"
        ".globl front_jump\n"
        ".hidden front_jump\n"
        ".type front_jump, @function\n"
        "front_jump:\n"
        "  .cfi_startproc\n"
        "  pushq %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  movq %rdi, %rsp\n"
        "  movq %rsi, %rax\n"
        "  movq %rdx, %rdi\n"
        "  movq %rcx, %rsi\n"
        "  movq %r8, %rdx\n"
        "  movq %r9, %rcx\n"
        "  callq *%rax\n"
        "  movq %rbp, %rsp\n"
        "  popq %rbp\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  retq\n"
        "  .cfi_endproc\n"
        ".size front_jump, .-front_jump\n"
        ".p2align 4\n"
        ".globl front_switch\n"
        ".hidden front_switch\n"
        ".type front_switch, @function\n"
        "front_switch:\n"
        "  .cfi_startproc\n"
        "  pushq %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  movq %rcx, %rdi\n"
        "  callq *%rdx\n"
        "  movq %rbp, %rsp\n"
        "  popq %rbp\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  retq\n"
        "  .cfi_endproc\n"
        ".size front_switch, .-front_switch\n");

long front_jump(void *sp, void *function, uintptr_t a, uintptr_t b, uintptr_t c,
                uintptr_t d);
void *front_switch(void **saved, void *sp,
                   void *(*function)(struct front_thread *),
                   struct front_thread *thread);

int front_is_shared(const void *address)
{
    const char *at = address;

    return at >= front_program.blocks_low && at < front_program.blocks_high;
}

int front_is_program(void)
{
    return front_is_shared(__builtin_frame_address(0));
}

struct front_thread *front_thread(void)
{
    return teamster_front();
}

// In the program's context.
static void prepare_call(struct front_thread *thread)
{
    void (*prepare)(void) = thread->before_call;

    if (prepare != NULL) {
        thread->before_call = NULL;
        prepare();
    }
}

long front_call(void *function, uintptr_t a, uintptr_t b, uintptr_t c,
                uintptr_t d)
{
    long (*direct)(uintptr_t, uintptr_t, uintptr_t, uintptr_t) = function;

    if (!front_is_program()) {
        return direct(a, b, c, d);
    }
    prepare_call(front_thread());
    return front_jump(front_thread()->private_sp, function, a, b, c, d);
}

size_t front_overflown(const void *address)
{
    const struct front_thread *thread = front_thread();
    const char *at = address;

    return thread != NULL && thread->stack != NULL && at >= thread->stack &&
                   at < thread->stack + GUARD
               ? thread->stack_size
               : 0;
}

static char *take_kept(size_t size)
{
    char *low = NULL;

    pthread_mutex_lock(&kept.mutex);
    for (unsigned i = kept.n; i-- > 0 && low == NULL;) {
        if (kept.stack[i].size == size) {
            low = kept.stack[i].low;
            kept.stack[i] = kept.stack[--kept.n];
        }
    }
    pthread_mutex_unlock(&kept.mutex);
    return low;
}

static int keep_stack(char *low, size_t size)
{
    int has_room;

    pthread_mutex_lock(&kept.mutex);
    has_room = kept.n < KEPT_MAX;
    if (has_room) {
        kept.stack[kept.n++] = (struct kept){low, size};
    }
    pthread_mutex_unlock(&kept.mutex);
    return has_room;
}

static char *take_stack(size_t size)
{
    static const tm_alloc_attr attr = {.name = "stack",
                                       .protocol = TM_SEQUENTIAL};
    char *low = take_kept(size);

    return low != NULL ? low : tm_alloc(GUARD + size, &attr);
}

size_t front_stack_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_STACK, &limit) != 0 ||
                   limit.rlim_cur == RLIM_INFINITY
               ? FRONT_STACK_MOST
               : limit.rlim_cur;
}

// Of a thread that names none. Those of full size may take a quarter of the address space,
// each node's as much of it; when there are more threads, others get the least.
static size_t usual_size(void)
{
    const size_t limit = front_stack_limit();
    const size_t full = limit > FRONT_STACK_MOST ? FRONT_STACK_MOST : limit;
    const size_t space =
        (size_t)(front_program.blocks_high - front_program.blocks_low);
    int has_room;

    if (full <= FRONT_STACK_LEAST) {
        return FRONT_STACK_LEAST;
    }
    pthread_mutex_lock(&kept.mutex);
    has_room = kept.n_full < space / 4 / tm_node_count() / full;
    kept.n_full += (unsigned)has_room;
    pthread_mutex_unlock(&kept.mutex);
    return has_room ? full : FRONT_STACK_LEAST;
}

static void forget_full_size(void)
{
    pthread_mutex_lock(&kept.mutex);
    kept.n_full -= kept.n_full > 0; // it may have come from another node
    pthread_mutex_unlock(&kept.mutex);
}

// @param size  0: none is named
static void give_stack(struct front_thread *thread, size_t size)
{
    const size_t wanted = size == 0 ? usual_size() : size;

    thread->has_full_size = size == 0 && wanted > FRONT_STACK_LEAST;
    thread->stack_size = (wanted + PAGE - 1) / PAGE * PAGE;
    thread->stack = take_stack(thread->stack_size);
    if (thread->stack == NULL) {
        front_fatal("no memory for a stack of %zu bytes: see --space",
                    thread->stack_size);
    }
}

// A thread with variables of its own stays on its node: they may be large, and are private
// memory. Others have some words of the C++ library's, on the stack that moves with them.
static char *room_for_locals(char *on_stack)
{
    char *room = front_has_locals() ? malloc(front_locals_size()) : on_stack;

    if (room == NULL) {
        front_fatal("no memory for thread-local variables");
    }
    return room;
}

void *front_run(struct front_thread *thread, size_t stack_size,
                void *(*function)(struct front_thread *))
{
    char locals[front_has_locals() ? 1 : front_locals_size()];
    void *result;

    give_stack(thread, stack_size);
    thread->locals = room_for_locals(locals);
    if (teamster_set_front(thread) != TM_OK) {
        front_fatal("no memory for a thread");
    }
    front_locals_begin();
    result = front_switch(&thread->private_sp,
                          front_stack_end(thread) - FRONT_STACK_TOP, function,
                          thread);
    (void)!teamster_set_front(NULL);
    return result;
}

char *front_stack_end(const struct front_thread *thread)
{
    return thread->stack + GUARD + thread->stack_size;
}

void front_leave_stack(struct front_thread *thread)
{
    if (front_has_locals()) {
        char *room = thread->locals;

        thread->locals = NULL;
        free(room);
    }
    if (thread->has_full_size) {
        forget_full_size();
    }
    if (!keep_stack(thread->stack, thread->stack_size)) {
        (void)!tm_free(thread->stack);
    }
}

// ---- on the root

struct errand {
    long (*function)(void *arguments);
    void *arguments;
    long result;
    int error;
};

static void *do_errand(void *argument)
{
    struct errand *errand = argument;
    long (*function)(void *) = errand->function;
    void *arguments = errand->arguments;
    long result;

    errno = errand->error;
    result = function(arguments);
    errand->error = errno;
    errand->result = result;
    return NULL;
}

static long send_errand(struct errand *errand)
{
    const tm_thread_attr attr = {
        .name = "files", .placement = TM_ON_NODE, .node = 0};
    tm_thread server;

    if (tm_node_self() == 0) {
        do_errand(errand);
    } else if (tm_thread_create(&server, &attr, do_errand, errand) != TM_OK ||
               tm_thread_join(server, NULL) != TM_OK) {
        front_fatal("no thread for a call on the root");
    }
    return 0;
}

long front_at_root(long (*function)(void *arguments), void *arguments)
{
    struct errand errand = {
        .function = function, .arguments = arguments, .error = errno};

    FRONT_1(send_errand, &errand);
    errno = errand.error;
    return errand.result;
}

// ---- errors

int front_error(tm_status status)
{
    switch (status) {
    case TM_OK:
        return 0;
    case TM_EBUSY:
        return EBUSY;
    case TM_EPERM:
        return EPERM;
    case TM_EDEADLK:
        return EDEADLK;
    case TM_ENOTHREAD:
        return ESRCH;
    case TM_ELIMIT:
        return EAGAIN;
    case TM_ETIMEDOUT:
        return ETIMEDOUT;
    case TM_ENOMEM:
        return ENOMEM;
    default:
        return EINVAL;
    }
}

static long say_and_end(const char *text)
{
    fprintf(stderr, "teamster: %s\n", text);
    if (front_thread() == NULL) {
        exit(70);
    }
    return front_end(70);
}

void front_fatal(const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    FRONT_1(say_and_end, text);
    abort();
}
