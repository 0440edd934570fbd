// SPDX-License-Identifier: BSD-3-Clause
//
// OpenMP's library: omp_*(), as C and as Fortran have them. Fortran's names end with an
// underscore, and what they are given is given by address: with `_8_`, of 8 bytes.
#include "openmp.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern __typeof__(sysconf) tmf_sysconf;
extern __typeof__(pthread_self) tmf_pthread_self;

static int within_int(int64_t number)
{
    return number < INT_MIN   ? INT_MIN
           : number > INT_MAX ? INT_MAX
                              : (int)number;
}

// ---- questions

#define ANSWER(type, name, value)                                              \
    type name(void);                                                           \
    type name(void)                                                            \
    {                                                                          \
        return value;                                                          \
    }                                                                          \
    type name##_(void) __attribute__((alias(#name)));

#define ANSWER_OF(name, value)                                                 \
    int name(int asked);                                                       \
    int name(int asked)                                                        \
    {                                                                          \
        return value;                                                          \
    }                                                                          \
    int name##_(const int *asked);                                             \
    int name##_(const int *asked)                                              \
    {                                                                          \
        return name(*asked);                                                   \
    }                                                                          \
    int name##_8_(const int64_t *asked);                                       \
    int name##_8_(const int64_t *asked)                                        \
    {                                                                          \
        return name(within_int(*asked));                                       \
    }

static double read_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- regions around the caller's

static int is_level(int level)
{
    return level >= 0 && (unsigned)level <= openmp_self()->level;
}

static int team_size(int level)
{
    return is_level(level) ? (int)openmp_rank(openmp_self(), (unsigned)level).n
                           : -1;
}

static int ancestor(int level)
{
    return is_level(level)
               ? (int)openmp_rank(openmp_self(), (unsigned)level).number
               : -1;
}

static unsigned active_level(void)
{
    const struct team *team = openmp_self()->team;

    return team == NULL ? 0 : team->active_level;
}

// ---- of the task that the caller runs

static struct icvs *icvs(void)
{
    return &openmp_self()->icvs;
}

static int is_nested(void)
{
    return icvs()->max_active_levels > 1 &&
           icvs()->max_active_levels > active_level();
}

static void set_active_levels(int n)
{
    if (n >= 0) {
        icvs()->max_active_levels =
            n < ACTIVE_LEVELS_MAX ? (unsigned)n : ACTIVE_LEVELS_MAX;
    }
}

static void set_nested(int is_so)
{
    if (is_so) {
        set_active_levels(ACTIVE_LEVELS_MAX);
    } else if (icvs()->max_active_levels > 1) {
        set_active_levels(1);
    }
}

static int is_in_final(void)
{
    const struct task *task = openmp_self()->task;

    return task != NULL && task->is_final;
}

static int thread_limit(void)
{
    const unsigned limit = icvs()->thread_limit;

    return limit > 0 ? (int)limit : INT_MAX;
}

static int number_of_teams(void)
{
    const unsigned n = openmp_self()->n_teams;

    return n > 0 ? (int)n : 1;
}

ANSWER(int, omp_get_thread_num, (int)openmp_index(openmp_self()))
ANSWER(int, omp_get_num_threads, (int)openmp_self()->n)
ANSWER(int, omp_get_max_threads, (int)icvs()->n_threads)
ANSWER(int, omp_in_parallel, openmp_self()->team != NULL)
ANSWER(int, omp_get_num_procs, (int)tmf_sysconf(_SC_NPROCESSORS_ONLN))
ANSWER(int, omp_get_level, (int)openmp_self()->level)
ANSWER(int, omp_get_active_level, (int)active_level())
ANSWER(int, omp_get_thread_limit, thread_limit())
ANSWER(int, omp_get_nested, is_nested())
ANSWER(int, omp_get_dynamic, icvs()->is_dynamic)
ANSWER(int, omp_get_max_active_levels, (int)icvs()->max_active_levels)
ANSWER(int, omp_get_supported_active_levels, ACTIVE_LEVELS_MAX)
ANSWER(int, omp_get_cancellation, openmp_can_cancel())
ANSWER(int, omp_get_proc_bind, 0)
ANSWER(int, omp_get_num_places, 0)
ANSWER(int, omp_get_place_num, -1)
ANSWER(int, omp_get_partition_num_places, 0)
ANSWER(int, omp_get_num_devices, 0)
ANSWER(int, omp_get_default_device, 0)
ANSWER(int, omp_get_initial_device, 0)
ANSWER(int, omp_is_initial_device, 1)
ANSWER(int, omp_get_device_num, 0)
ANSWER(int, omp_get_num_teams, number_of_teams())
ANSWER(int, omp_get_team_num, (int)openmp_self()->team_number)
ANSWER(int, omp_get_max_teams, (int)openmp_teams(0))
ANSWER(int, omp_get_teams_thread_limit, (int)openmp_teams_limit())
ANSWER(int, omp_get_max_task_priority, 0)
ANSWER(int, omp_in_final, is_in_final())
ANSWER(double, omp_get_wtick, 1e-9)
ANSWER(double, omp_get_wtime, read_clock())
ANSWER_OF(omp_get_team_size, team_size(asked))
ANSWER_OF(omp_get_ancestor_thread_num, ancestor(asked))
ANSWER_OF(omp_get_place_num_procs, ((void)asked, 0))

// Of no place there is anything to tell.
void omp_get_place_proc_ids(int place, int *numbers);
void omp_get_place_proc_ids(int place, int *numbers)
{
    (void)place;
    (void)numbers;
}

void omp_get_place_proc_ids_(const int *place, int *numbers);
void omp_get_place_proc_ids_(const int *place, int *numbers)
{
    omp_get_place_proc_ids(*place, numbers);
}

void omp_get_place_proc_ids_8_(const int64_t *place, int64_t *numbers);
void omp_get_place_proc_ids_8_(const int64_t *place, int64_t *numbers)
{
    (void)place;
    (void)numbers;
}

void omp_get_partition_place_nums(int *numbers);
void omp_get_partition_place_nums(int *numbers)
{
    (void)numbers;
}

void omp_get_partition_place_nums_(int *numbers)
    __attribute__((alias("omp_get_partition_place_nums")));
void omp_get_partition_place_nums_8_(int *numbers)
    __attribute__((alias("omp_get_partition_place_nums")));

// ---- settings

#define SETTING(name, action)                                                  \
    void name(int value);                                                      \
    void name(int value)                                                       \
    {                                                                          \
        action;                                                                \
    }                                                                          \
    void name##_(const int *value);                                            \
    void name##_(const int *value)                                             \
    {                                                                          \
        name(*value);                                                          \
    }                                                                          \
    void name##_8_(const int64_t *value);                                      \
    void name##_8_(const int64_t *value)                                       \
    {                                                                          \
        name(within_int(*value));                                              \
    }

SETTING(omp_set_num_threads,
        icvs()->n_threads = value > 0 ? (unsigned)value : 1)
SETTING(omp_set_nested, set_nested(value))
SETTING(omp_set_dynamic, icvs()->is_dynamic = value != 0)
SETTING(omp_set_max_active_levels, set_active_levels(value))
SETTING(omp_set_default_device, (void)value)
SETTING(omp_set_num_teams, openmp_want_teams(value > 0 ? (unsigned)value : 0))
SETTING(omp_set_teams_thread_limit,
        openmp_limit_teams(value > 0 ? (unsigned)value : 0))

void omp_set_schedule(int kind, int chunk);
void omp_set_schedule(int kind, int chunk)
{
    enum schedule wanted = (enum schedule)(kind & 7);

    icvs()->kind = wanted == AUTO ? STATIC : wanted;
    icvs()->chunk = chunk > 0 ? (unsigned long)chunk : icvs()->kind != STATIC;
}

void omp_set_schedule_(const int *kind, const int *chunk);
void omp_set_schedule_(const int *kind, const int *chunk)
{
    omp_set_schedule(*kind, *chunk);
}

void omp_set_schedule_8_(const int *kind, const int64_t *chunk);
void omp_set_schedule_8_(const int *kind, const int64_t *chunk)
{
    omp_set_schedule(*kind, (int)*chunk);
}

void omp_get_schedule(int *kind, int *chunk);
void omp_get_schedule(int *kind, int *chunk)
{
    *kind = (int)icvs()->kind;
    *chunk = (int)icvs()->chunk;
}

void omp_get_schedule_(int *kind, int *chunk)
    __attribute__((alias("omp_get_schedule")));

void omp_get_schedule_8_(int *kind, int64_t *chunk);
void omp_get_schedule_8_(int *kind, int64_t *chunk)
{
    *kind = (int)icvs()->kind;
    *chunk = (int64_t)icvs()->chunk;
}

// ---- locks: mutexes by their address. Those that nest keep their depth and their holder
// there: 8 bytes, since Fortran has no more. Tasks hold them, not threads: of those that a thread has begun
// each is within the one before it, so that depths tell them apart

struct nest_lock {
    int count;
    unsigned holder;
};

static unsigned own_task(void)
{
    const struct member *member = openmp_self();
    const struct task *task = member->task;
    unsigned depth;

    while (task != NULL && task->is_group) {
        task = task->parent;
    }
    depth = task == NULL ? 0 : task->depth;
    return (unsigned)tmf_pthread_self() << 12 | (member->level & 63) << 6 |
           (depth & 63);
}

#define LOCK_FUNCTION(type, name, action)                                      \
    type name(void *object);                                                   \
    type name(void *object)                                                    \
    {                                                                          \
        action;                                                                \
    }                                                                          \
    type name##_(void *object) __attribute__((alias(#name)));

#define HINTED_LOCK(name)                                                      \
    void name##_with_hint(void *object, int hint);                             \
    void name##_with_hint(void *object, int hint)                              \
    {                                                                          \
        (void)hint;                                                            \
        name(object);                                                          \
    }                                                                          \
    void name##_with_hint_(void *object, const int *hint);                     \
    void name##_with_hint_(void *object, const int *hint)                      \
    {                                                                          \
        (void)hint;                                                            \
        name(object);                                                          \
    }

// Others cannot make it the caller's while the caller does not hold it.
static int is_own(const struct nest_lock *lock)
{
    return lock->count > 0 && lock->holder == own_task();
}

static int enter_nest(struct nest_lock *lock, int is_taken)
{
    if (is_taken) {
        *lock = (struct nest_lock){0, own_task()};
    }
    return ++lock->count;
}

static void take_nest(struct nest_lock *lock)
{
    enter_nest(lock, !is_own(lock) && front_lock(lock) == TM_OK);
}

static int try_nest(struct nest_lock *lock)
{
    if (is_own(lock)) {
        return enter_nest(lock, 0);
    }
    return front_try_lock(lock) == TM_OK ? enter_nest(lock, 1) : 0;
}

static void leave_nest(struct nest_lock *lock)
{
    if (--lock->count == 0) {
        front_unlock(lock);
    }
}

LOCK_FUNCTION(void, omp_init_lock, (void)object)
LOCK_FUNCTION(void, omp_destroy_lock, (void)object)
LOCK_FUNCTION(void, omp_set_lock, front_lock(object))
LOCK_FUNCTION(void, omp_unset_lock, front_unlock(object))
LOCK_FUNCTION(int, omp_test_lock, return front_try_lock(object) == TM_OK)
LOCK_FUNCTION(void, omp_init_nest_lock,
              memset(object, 0, sizeof(struct nest_lock)))
LOCK_FUNCTION(void, omp_destroy_nest_lock, (void)object)
LOCK_FUNCTION(void, omp_set_nest_lock, take_nest(object))
LOCK_FUNCTION(void, omp_unset_nest_lock, leave_nest(object))
LOCK_FUNCTION(int, omp_test_nest_lock, return try_nest(object))
HINTED_LOCK(omp_init_lock)
HINTED_LOCK(omp_init_nest_lock)

// ---- `error` when it is reached

static long say_directive(const char *kind, const char *text, size_t length)
{
    fprintf(stderr, "OpenMP: %s directive encountered%s%.*s\n", kind,
            text == NULL ? "" : ": ", length > INT_MAX ? INT_MAX : (int)length,
            text == NULL ? "" : text);
    return 0;
}

void GOMP_warning(const char *text, size_t length);
void GOMP_warning(const char *text, size_t length)
{
    FRONT_3(say_directive, "warning", text, length);
}

void GOMP_error(const char *text, size_t length);
void GOMP_error(const char *text, size_t length)
{
    FRONT_3(say_directive, "error", text, length);
    front_exit(EXIT_FAILURE);
}
