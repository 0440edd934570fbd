// SPDX-License-Identifier: BSD-3-Clause
#ifndef FRONTEND_FRONT_H
#define FRONTEND_FRONT_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <teamster.h>

/*
 * Programs that were not written for Teamster (docs/unchanged-programs.md). `teamster cc`
 * renames what they call: pthread_mutex_lock() becomes tmf_pthread_mutex_lock(), which is
 * here. Each file is one border between such a program and Teamster.
 *
 * A thread has two stacks. The program's code runs on one in shared memory, so that the
 * address of a local variable is good on all nodes. Teamster's code runs on the thread's
 * private one, since a page of the other may go at any time:
 *
 *   - On the program's stack nothing of the library is called but what front_thread()
 *     does.
 *   - On the private stack none of the program's functions is called.
 *   - No lock of the front end's own is held while shared memory is touched: a fault may
 *     let another thread of the worker in.
 */

/** A function that takes the place of the C library's; one of the same name in the program
 * goes first, as it would there. Before its definition. */
#define FRONT(name) extern __typeof__(name) tmf_##name __attribute__((weak));

/** The same function under another name of the C library's. After its definition. */
#define SAME(other, name)                                                      \
    extern __typeof__(other) tmf_##other                                       \
        __attribute__((weak, alias("tmf_" #name)))

/** A function that C++ programs call, by the name that they have for it. */
#define NAMED(name) __asm__(name) __attribute__((visibility("default")))

/** Units of Fortran's, told apart by the last bits of their numbers. */
enum { FRONT_UNITS = 64 };

/** Bytes of a thread's name, as the kernel has it. */
enum { FRONT_NAME = 16 };

/** What the front end keeps of a thread; on its private stack. */
struct front_thread {
    void *private_sp; ///< where Teamster's code begins
    char *stack;      ///< the program's stack, shared: a guard, then its bytes
    size_t stack_size;
    int has_full_size; ///< stack.c
    void *(*start)(void *);
    void *argument;
    void *result;
    struct value *values;                 ///< of keys: keys.c; shared
    struct front_cleanup *cleanups;       ///< threads.c
    struct front_destructor *destructors; ///< locals.c
    struct at_exit *at_exit;              ///< cxx.c
    char *locals;            ///< what it has in variables of workers: locals.c
    struct member *member;   ///< openmp.c
    pthread_mutex_t *robust; ///< the one that it has locked last: robust.c
    unsigned short
        n_statements[FRONT_UNITS]; ///< of Fortran's that it is in: fortran_io.c
    void (*before_call)(void);     ///< what is to be done before it next calls
                                   ///< Teamster; openmp_across.c
    int is_main;
    int cancel_state; ///< what it has said of pthread_cancel(), which is refused
    int cancel_type;
    char name[FRONT_NAME]; ///< that it has given itself
    void *handler_stack;   ///< of sigaltstack(): signals.c
    size_t handler_stack_size;
    uint64_t blocked; ///< signals: masks.c
    uint64_t
        acts_for; ///< it runs a handler in the name of this thread: signals.c
};

/** Of the calling thread; NULL if it is none of the program's. */
struct front_thread *front_thread(void);

/** Does the caller run on the program's stack? */
int front_is_program(void);

/** The program, as the library knows it. Private to each node. */
extern struct tm_unchanged front_program;

/** Is it an address of shared memory that blocks are in? */
int front_is_shared(const void *address);

/** Call a function on the private stack; numbers and pointers only. */
long front_call(void *function, uintptr_t a, uintptr_t b, uintptr_t c,
                uintptr_t d);

#define FRONT_1(function, a) front_call((function), (uintptr_t)(a), 0, 0, 0)
#define FRONT_2(function, a, b)                                                \
    front_call((function), (uintptr_t)(a), (uintptr_t)(b), 0, 0)
#define FRONT_3(function, a, b, c)                                             \
    front_call((function), (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c), 0)
#define FRONT_4(function, a, b, c, d)                                          \
    front_call((function), (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c),     \
               (uintptr_t)(d))

/** A mutex of the front end's own, or any that an address names. In the program's context.
 * @return of front_lock(): TM_OK, TM_EDEADLK; of front_try_lock() also TM_EBUSY */
tm_status front_lock(void *mutex);
tm_status front_try_lock(void *mutex);
void front_unlock(void *mutex);

/** Call function(arguments) on the root, where files are open. The arguments are shared;
 * errno is as the function leaves it there. In the program's context. */
long front_at_root(long (*function)(void *arguments), void *arguments);

/** A deadline of some clock by CLOCK_REALTIME. In the program's context.
 * @return 0, EINVAL: no deadlines are by this clock */
int front_deadline(clockid_t clock, const struct timespec *deadline,
                   struct timespec *until);

/** A status as POSIX has it. */
int front_error(tm_status status);

/** One line, then the end of the program with exit code 70. */
_Noreturn void front_fatal(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

// ---- stack.c

/** Stacks of threads that name no size have as much as `ulimit -s` gives, within these,
 * or the lower one if there are many threads; that of main() may be larger. */
#define FRONT_STACK_LEAST ((size_t)1 << 20)
#define FRONT_STACK_MOST ((size_t)8 << 20)

/** What `ulimit -s` gives, or FRONT_STACK_MOST if that is unlimited. */
size_t front_stack_limit(void);

/** Of tm_unchanged. */
size_t front_overflown(const void *address);

/** Run function(argument) on a stack of so many bytes as a thread of the program.
 * On a private stack. @param stack_size  0: none is named */
void *front_run(struct front_thread *thread, size_t stack_size,
                void *(*function)(struct front_thread *));

/** Behind the last byte of a thread's program stack, and what is left free there. */
#define FRONT_STACK_TOP 64
char *front_stack_end(const struct front_thread *thread);

/** The calling thread's program stack is needed no more. */
void front_leave_stack(struct front_thread *thread);

// ---- cxx.c

/** A thread has ended: what C++ programs have asked for then, in its context. */
void front_at_exit_end(void) __attribute__((weak));

// ---- signals.c

/** Sleep until a handler is to be run, and run it. In the program's context. NULL: there are none.
 * @param[out] left_ns  then
 * @return 0: sleep in the usual way; 1; -1 and EINTR: a handler has run */
int front_sleep(int64_t ns, int64_t *left_ns) __attribute__((weak));

// ---- masks.c

/** A thread begins, and ends; in its context. NULL: the program changes no masks. */
void front_signals_begin(void) __attribute__((weak));
void front_signals_end(void) __attribute__((weak));

// ---- joins.c

/** A thread begins, and ends, in its context; its end has been waited for; it is detached. NULL:
 * the program waits for ends in the usual way alone. */
void front_join_begin(void) __attribute__((weak));
void front_join_end(void) __attribute__((weak));
void front_join_forget(unsigned long thread) __attribute__((weak));
void front_join_detach(unsigned long thread) __attribute__((weak));

// ---- mutexes.c, in the program's context

/** A mutex has been asked for: with that error, or 0. @return what the program is told */
int front_has_locked(pthread_mutex_t *mutex, int error);

/** It is about to be unlocked. @return 0, or an error: it may not be */
int front_will_unlock(pthread_mutex_t *mutex);

// ---- robust.c, in the program's context. NULL: the program has no robust mutexes.

/** The caller has locked one. @return 0, EOWNERDEAD, ENOTRECOVERABLE: it must not keep it */
int front_robust_begin(pthread_mutex_t *mutex) __attribute__((weak));

/** The caller is about to unlock it. @return 0, EPERM */
int front_robust_end(pthread_mutex_t *mutex) __attribute__((weak));

/** The caller ends: those that it holds are orphans. */
void front_robust_orphan(void) __attribute__((weak));

// ---- updates.c. NULL: the program has no `lock` instructions that are called for

/** The program's memory is not sequential, and this node may not be the only one. Before threads
 * run here. */
void front_begin_updates(void) __attribute__((weak));

/** It is the only one. */
void front_end_updates(void) __attribute__((weak));

// ---- saved.c

/** The process begins: what is open now is not the program's. */
void front_note_inherited(void);

/** There is to be no checkpoint from now on. @param why  a text that stays */
void front_never_saved(const char *why);

/** Of tm_unchanged. */
const char *front_why_unsaved(void);

// ---- locals.c

/** Thread-local variables of the program and the C++ library: bytes that each thread has
 * of them; setting them as for a new thread; the library's calls at each switch. */
size_t front_locals_size(void);
void front_locals_begin(void);
void front_locals_leave(void);
void front_locals_arrive(void);

/** Are there variables of the program's own? Then its threads must stay where they are: it
 * may keep an address of one. */
int front_has_locals(void);

/** The caller's own variables for threads elsewhere, to which a list of addresses is given
 * (OpenMP's copyin and copyprivate): words at and above `list` that are addresses of such
 * variables become those of a shared copy, until the loan ends. In the program's context. */
struct front_locals_loan {
    char **list; ///< NULL: there were none
    char *copy;
};
void front_lend_locals(struct front_locals_loan *loan, void *list);
void front_end_locals(struct front_locals_loan *loan);

// ---- allocate.c

/** malloc() and free() of the program's, on either stack. NULL: none left. */
void *front_allocate(size_t size);
void front_free(void *block);

/** A block for C++, of the program's in its context and else of the C library's.
 * @return NULL: none left */
void *front_new_block(size_t size, size_t alignment);

// ---- loans.c; all in the program's context

/** Does the caller run on the node where files are open? */
int front_is_on_root(void);

/** The caller's memory, or what takes its place on the root. */
struct front_loan {
    void *at;
    void *own;
};

/** Does a call on the root find this there? Also if it is none, and if that is the caller's node. */
int front_reaches_root(const void *address);

/** Room for size bytes that a call on the root fills; the same with the caller's bytes. */
struct front_loan front_borrow(void *own, size_t size);
struct front_loan front_lend(const void *own, size_t size);

/** The call is done. @param size  bytes that it has filled, which are copied back */
void front_end_loan(struct front_loan loan, size_t size);

/** front_lend() of a text or NULL. */
const char *front_lend_text(const char *own);
void front_end_text(const char *own, const char *lent);

// ---- attributes.c

/** The mask that attributes of threads name. NULL: the program has no attributes.
 * @return 0: they name none */
int front_attr_mask(const pthread_attr_t *attr, sigset_t *set)
    __attribute__((weak));

// ---- defaults.c, in the program's context. NULL: it sets no attributes for all threads.

/** Bytes of the stack of a thread that names none; 0: as many as usual. */
size_t front_default_stack(void) __attribute__((weak));

/** Attributes of a thread that is given none; NULL: the usual ones. */
const pthread_attr_t *front_default_attr(void) __attribute__((weak));

// ---- process.c

/** Nanoseconds; 0 of a time that is none, INT64_MAX of one that is longer. */
int64_t front_ns(const struct timespec *time);

// ---- threads.c, main.c, keys.c

/** Has main() ended by pthread_exit()? As far as this node has heard. */
int front_main_is_gone(void);

/** The bytes of stack that attributes name; 0: none, or NULL. */
size_t front_named_stack(const pthread_attr_t *attr);

/** main() begins; by its thread, in the program's context. NULL: the program has no OpenMP. */
void front_openmp_begin(void) __attribute__((weak));

/** End the calling thread; keys' destructors have run. On its private stack. */
_Noreturn void front_thread_exit(struct front_thread *thread, void *result);

/** What runs in a thread of the program: its function, then what its end brings. */
void *front_thread_body(struct front_thread *thread);

/** Call destructors of thread-local variables, then keys'. In the program's context. */
void front_locals_end(void);
void front_keys_end(void);

/** All that main() has promised to be called at the end. In the program's context. */
_Noreturn void front_exit(int status);

/** End the program with this exit code, calling nothing. On the private stack; does not
 * return. */
long front_end(int status);

/** main() has ended by pthread_exit(). On its private stack. */
_Noreturn void front_main_gone(void *result);

/** Wait for that, if it is main()'s thread. On the private stack.
 * @return 0: it is another one */
int front_join_main(tm_thread thread, void **result);

#endif
