// SPDX-License-Identifier: BSD-3-Clause
//
// What C++ programs call besides: those functions of std::thread and
// std::condition_variable that are in the library, and its locks. They are written in C, by
// the names and layouts that the library's ABI fixes. new and delete: new.c.
#include "front.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern __typeof__(sysconf) tmf_sysconf;
extern __typeof__(pthread_create) tmf_pthread_create;
extern __typeof__(pthread_join) tmf_pthread_join;
extern __typeof__(pthread_detach) tmf_pthread_detach;
extern __typeof__(pthread_spin_lock) tmf_pthread_spin_lock;
extern __typeof__(pthread_spin_unlock) tmf_pthread_spin_unlock;
extern __typeof__(pthread_mutex_unlock) tmf_pthread_mutex_unlock;
extern __typeof__(pthread_cond_wait) tmf_pthread_cond_wait;
extern __typeof__(pthread_cond_signal) tmf_pthread_cond_signal;
extern __typeof__(pthread_cond_broadcast) tmf_pthread_cond_broadcast;

// ---- std::thread: its state is an object whose functions are, in the order of its table,
// two destructors, of which the second deletes it, and what runs

struct state {
    void (**functions)(struct state *);
};

enum { DELETES = 1, RUNS = 2 };

static void delete_state(struct state **state)
{
    (*state)->functions[DELETES](*state);
}

// pthread_exit() deletes it, too: it may be a task whose result others wait for.
static void *run_state(void *argument)
{
    struct state *state __attribute__((cleanup(delete_state))) = argument;

    state->functions[RUNS](state);
    return NULL;
}

extern void throw_system_error(int error) __asm__("_ZSt20__throw_system_errori")
    __attribute__((weak));

static void throw_if(int error)
{
    if (error != 0) {
        throw_system_error(error);
    }
}

void start_thread(pthread_t *number, struct state **state, void (*unused)(void))
    NAMED("tmf__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14"
          "default_deleteIS1_EEPFvvE");
void start_thread(pthread_t *number, struct state **state, void (*unused)(void))
{
    (void)unused;
    throw_if(tmf_pthread_create(number, NULL, run_state, *state));
    *state = NULL;
}

void join_thread(pthread_t *number) NAMED("tmf__ZNSt6thread4joinEv");
void join_thread(pthread_t *number)
{
    throw_if(*number == 0 ? EINVAL : tmf_pthread_join(*number, NULL));
    *number = 0;
}

void detach_thread(pthread_t *number) NAMED("tmf__ZNSt6thread6detachEv");
void detach_thread(pthread_t *number)
{
    throw_if(*number == 0 ? EINVAL : tmf_pthread_detach(*number));
    *number = 0;
}

unsigned count_processors(void)
    NAMED("tmf__ZNSt6thread20hardware_concurrencyEv");
unsigned count_processors(void)
{
    return (unsigned)tmf_sysconf(_SC_NPROCESSORS_ONLN);
}

// ---- std::condition_variable: a pthread_cond_t; std::unique_lock: a pointer to a mutex

// std::ios::sync_with_stdio(false) would give std::cout a buffer on each node, and lines of
// threads would come out in the order in which those are full.
_Bool keep_streams_together(_Bool is_wanted)
    NAMED("tmf__ZNSt8ios_base15sync_with_stdioEb");
_Bool keep_streams_together(_Bool is_wanted)
{
    (void)is_wanted;
    return 1;
}

void make_cond(pthread_cond_t *cond) NAMED("tmf__ZNSt18condition_variableC1Ev");
void make_cond(pthread_cond_t *cond)
{
    memset(cond, 0, sizeof *cond);
}

void make_base_cond(pthread_cond_t *cond)
    NAMED("tmf__ZNSt18condition_variableC2Ev")
        __attribute__((alias("tmf__ZNSt18condition_variableC1Ev")));

void end_cond(pthread_cond_t *cond) NAMED("tmf__ZNSt18condition_variableD1Ev");
void end_cond(pthread_cond_t *cond)
{
    (void)cond;
}

void end_base_cond(pthread_cond_t *cond)
    NAMED("tmf__ZNSt18condition_variableD2Ev")
        __attribute__((alias("tmf__ZNSt18condition_variableD1Ev")));

void wait_for_cond(pthread_cond_t *cond, pthread_mutex_t **lock)
    NAMED("tmf__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void wait_for_cond(pthread_cond_t *cond, pthread_mutex_t **lock)
{
    (void)!tmf_pthread_cond_wait(cond, *lock);
}

void notify_one(pthread_cond_t *cond)
    NAMED("tmf__ZNSt18condition_variable10notify_oneEv");
void notify_one(pthread_cond_t *cond)
{
    (void)!tmf_pthread_cond_signal(cond);
}

void notify_all(pthread_cond_t *cond)
    NAMED("tmf__ZNSt18condition_variable10notify_allEv");
void notify_all(pthread_cond_t *cond)
{
    (void)!tmf_pthread_cond_broadcast(cond);
}

// ---- what is done when a thread has ended and its thread-local variables are gone: futures
// become ready, and conditions are told. The elements of the list begin as the library's do.

struct at_exit {
    struct at_exit *next;
    void (*run)(struct at_exit *element);
};

/** What a std::shared_ptr counts by; of its functions the third ends the object, the fourth
 * this. */
struct counts {
    void (**functions)(struct counts *);
    int n_owners;
    int n_watchers; // and one for all owners
};

enum { ENDS_OBJECT = 2, ENDS_COUNTS = 3 };

/** Of a future: std::__future_base::_State_baseV2. */
struct future_state {
    void *functions;
    void *result;
    unsigned status;
};

/** Its state is a std::weak_ptr. */
struct make_ready {
    struct at_exit element;
    struct future_state *state;
    struct counts *counts;
};

struct notify {
    struct at_exit element;
    pthread_cond_t *cond;
    pthread_mutex_t *mutex;
};

enum { IS_READY = 1 };

extern void notify_state(unsigned *word)
    NAMED("tmf__ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj");
extern void delete_object(void *block) NAMED("_ZdlPv");

void front_at_exit_end(void)
{
    while (front_thread()->at_exit != NULL) {
        struct at_exit *first = front_thread()->at_exit;

        front_thread()->at_exit = first->next;
        first->run(first);
    }
}

static void add_at_exit(struct at_exit *element, void (*run)(struct at_exit *))
{
    *element = (struct at_exit){front_thread()->at_exit, run};
    front_thread()->at_exit = element;
}

// @return 0: there is no owner any more
static int become_owner(struct counts *counts)
{
    int n = __atomic_load_n(&counts->n_owners, __ATOMIC_RELAXED);

    while (n != 0 &&
           !__atomic_compare_exchange_n(&counts->n_owners, &n, n + 1, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    return n != 0;
}

static void stop_watching(struct counts *counts)
{
    if (__atomic_fetch_sub(&counts->n_watchers, 1, __ATOMIC_ACQ_REL) == 1) {
        counts->functions[ENDS_COUNTS](counts);
    }
}

static void stop_owning(struct counts *counts)
{
    if (__atomic_fetch_sub(&counts->n_owners, 1, __ATOMIC_ACQ_REL) == 1) {
        counts->functions[ENDS_OBJECT](counts);
        stop_watching(counts);
    }
}

static void make_ready(struct at_exit *element)
{
    struct make_ready *own = (struct make_ready *)(void *)element;

    if (own->counts != NULL && become_owner(own->counts)) {
        __atomic_store_n(&own->state->status, IS_READY, __ATOMIC_SEQ_CST);
        notify_state(&own->state->status);
        stop_owning(own->counts);
    }
    if (own->counts != NULL) {
        stop_watching(own->counts);
    }
    delete_object(own);
}

void make_ready_at_exit(struct make_ready *own)
    NAMED("tmf__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv");
void make_ready_at_exit(struct make_ready *own)
{
    add_at_exit(&own->element, make_ready);
}

static void notify_and_unlock(struct at_exit *element)
{
    struct notify *own = (struct notify *)(void *)element;

    (void)!tmf_pthread_cond_broadcast(own->cond);
    (void)!tmf_pthread_mutex_unlock(own->mutex);
    front_free(own);
}

// std::unique_lock: a pointer to a mutex, and whether it is locked.
struct unique_lock {
    pthread_mutex_t *mutex;
    _Bool is_owned;
};

void notify_all_at_exit(pthread_cond_t *cond, struct unique_lock *lock)
    NAMED("tmf__ZSt25notify_all_at_thread_exitRSt18condition_"
          "variableSt11unique_lockISt5mutexE");
void notify_all_at_exit(pthread_cond_t *cond, struct unique_lock *lock)
{
    struct notify *own = front_allocate(sizeof *own);

    if (own == NULL) {
        front_fatal("no memory for std::notify_all_at_thread_exit()");
    }
    own->cond = cond;
    own->mutex = lock->mutex;
    *lock = (struct unique_lock){0};
    add_at_exit(&own->element, notify_and_unlock);
}

// ---- variables of functions. Each node has guards of its own (cli/cc_object.c): the first byte
// says that the variable has been made, and that this node has heard of it. So it is read by a
// plain instruction, and no page goes from node to node for it.

struct made {
    struct made *next;
    const char *guard;
};

static TM_SHARED struct made *all_made[64];
static tm_mutex made_mutex;

static struct made **made_list_of(const char *guard)
{
    return &all_made[(uintptr_t)guard / 8 %
                     (sizeof all_made / sizeof all_made[0])];
}

static int is_made(const char *guard)
{
    const struct made *made;

    front_lock(&made_mutex);
    made = *made_list_of(guard);
    while (made != NULL && made->guard != guard) {
        made = made->next;
    }
    front_unlock(&made_mutex);
    return made != NULL;
}

static void note_made(const char *guard)
{
    struct made *made = front_new_block(sizeof *made, sizeof(void *));

    if (made == NULL) {
        front_fatal("no memory for a static variable's guard");
    }
    front_lock(&made_mutex);
    *made = (struct made){*made_list_of(guard), guard};
    *made_list_of(guard) = made;
    front_unlock(&made_mutex);
}

int acquire_guard(char *guard) NAMED("tmf___cxa_guard_acquire");
int acquire_guard(char *guard)
{
    (void)!tmf_pthread_spin_lock((pthread_spinlock_t *)(void *)guard);
    if (*guard == 0 && !is_made(guard)) {
        return 1;
    }
    *guard = 1;
    (void)!tmf_pthread_spin_unlock((pthread_spinlock_t *)(void *)guard);
    return 0;
}

void release_guard(char *guard) NAMED("tmf___cxa_guard_release");
void release_guard(char *guard)
{
    note_made(guard);
    *guard = 1;
    (void)!tmf_pthread_spin_unlock((pthread_spinlock_t *)(void *)guard);
}

void abort_guard(char *guard) NAMED("tmf___cxa_guard_abort");
void abort_guard(char *guard)
{
    (void)!tmf_pthread_spin_unlock((pthread_spinlock_t *)(void *)guard);
}

// ---- exceptions: one may be thrown on one node and caught on another (std::future)

enum { HEADER = 128 }; // what the library keeps before an exception

void *allocate_exception(size_t size) NAMED("__cxa_allocate_exception");
void *allocate_exception(size_t size)
{
    char *block = front_new_block(size + HEADER, 16);

    if (block == NULL) {
        front_fatal("no memory for an exception of %zu bytes", size);
    }
    memset(block, 0, size + HEADER);
    return block + HEADER;
}

void free_exception(void *exception) NAMED("__cxa_free_exception");
void free_exception(void *exception)
{
    front_free((char *)exception - HEADER);
}

// ---- std::atomic_load(shared_ptr *) and such: the library's own locks are of one node

static tm_mutex pointers_mutex;

void make_locker(void *locker, const void *pointer)
    NAMED("tmf__ZNSt10_Sp_lockerC1EPKv");
void make_locker(void *locker, const void *pointer)
{
    (void)locker;
    (void)pointer;
    front_lock(&pointers_mutex);
}

void make_locker_of_two(void *locker, const void *one, const void *other)
    NAMED("tmf__ZNSt10_Sp_lockerC1EPKvS1_");
void make_locker_of_two(void *locker, const void *one, const void *other)
{
    (void)locker;
    (void)one;
    (void)other;
    front_lock(&pointers_mutex);
}

void end_locker(void *locker) NAMED("tmf__ZNSt10_Sp_lockerD1Ev");
void end_locker(void *locker)
{
    (void)locker;
    front_unlock(&pointers_mutex);
}
