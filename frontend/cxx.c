// SPDX-License-Identifier: BSD-3-Clause
//
// What C++ programs call besides: those functions of std::thread and
// std::condition_variable that are in the library, and its locks. They are written in C, by
// the names and layouts that the library's ABI fixes. new and delete: new.c.
#include "front.h"

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
extern __typeof__(pthread_cond_wait) tmf_pthread_cond_wait;
extern __typeof__(pthread_cond_signal) tmf_pthread_cond_signal;
extern __typeof__(pthread_cond_broadcast) tmf_pthread_cond_broadcast;

// ---- std::thread: its state is an object whose functions are, in the order of its table,
// two destructors, of which the second deletes it, and what runs

struct state {
    void (**functions)(struct state *);
};

enum { DELETES = 1, RUNS = 2 };

static void *run_state(void *argument)
{
    struct state *state = argument;

    state->functions[RUNS](state);
    state->functions[DELETES](state);
    return NULL;
}

static _Noreturn void end_by_error(const char *what)
{
    front_fatal("std::thread: %s", what);
}

void start_thread(pthread_t *number, struct state **state, void (*unused)(void))
    NAMED("tmf__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14"
          "default_deleteIS1_EEPFvvE");
void start_thread(pthread_t *number, struct state **state, void (*unused)(void))
{
    struct state *own = *state;

    (void)unused;
    *state = NULL;
    if (tmf_pthread_create(number, NULL, run_state, own) != 0) {
        end_by_error("no thread is left");
    }
}

void join_thread(pthread_t *number) NAMED("tmf__ZNSt6thread4joinEv");
void join_thread(pthread_t *number)
{
    if (*number == 0 || tmf_pthread_join(*number, NULL) != 0) {
        end_by_error("join() of a thread that cannot be joined");
    }
    *number = 0;
}

void detach_thread(pthread_t *number) NAMED("tmf__ZNSt6thread6detachEv");
void detach_thread(pthread_t *number)
{
    if (*number == 0 || tmf_pthread_detach(*number) != 0) {
        end_by_error("detach() of a thread that cannot be detached");
    }
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

// ---- what promises do at a thread's exit: every packaged task has the call, few make it

void make_ready_at_exit(void *state)
    NAMED("tmf__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv");
void make_ready_at_exit(void *state)
{
    (void)state;
    front_fatal("std::promise::set_value_at_thread_exit() cannot be had on "
                "several nodes");
}

// ---- variables of functions: the guard's first byte says that they are made

int acquire_guard(char *guard) NAMED("tmf___cxa_guard_acquire");
int acquire_guard(char *guard)
{
    (void)!tmf_pthread_spin_lock((pthread_spinlock_t *)(void *)guard);
    if (*guard == 0) {
        return 1;
    }
    (void)!tmf_pthread_spin_unlock((pthread_spinlock_t *)(void *)guard);
    return 0;
}

void release_guard(char *guard) NAMED("tmf___cxa_guard_release");
void release_guard(char *guard)
{
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
